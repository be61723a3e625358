//! Where a PyTorch tree comes from, which tree a command works on, and what generation its allocator is.
pub mod error;
pub mod generation;
mod store;
pub mod tree;
mod version;

pub use error::UpstreamError;
pub use generation::{Generation, Recognition, recognise};
pub use store::last_fetched;
pub use tree::{Tree, locate};
pub use version::Version;
