//! The patch set: manifest, patch files, metadata. Pure: no input or output.
pub mod name;
pub mod path;

pub use name::{PatchId, SeriesName};
pub use path::TreePath;
