//! Where a PyTorch tree comes from, which tree a command works on, and what generation its allocator is.
pub mod apt;
pub mod archive;
mod base_commit;
mod checksum;
mod error;
mod fetch;
mod generation;
pub mod git;
mod store;
mod tree;
mod version;

pub use checksum::{BadChecksum, Checksum};
pub use error::UpstreamError;
pub use fetch::{Arrival, DEFAULT_VERSION, Fetched, NoRepository, Request, ensure, fetch};
pub use generation::{Generation, Recognition, recognise};
pub use store::{Cached, Origin, Record, cached, last_fetched};
pub use tree::{Tree, locate};
pub use version::{BadVersion, Version};
