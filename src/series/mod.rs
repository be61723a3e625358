//! The patch set: manifest, patch files, metadata. Pure: no input or output.
pub mod compare;
pub mod diff;
pub mod mail;
pub mod mailbox;
pub mod manifest;
pub mod name;
pub mod parse;
#[cfg(test)]
mod parse_tests;
pub mod path;
pub mod quilt;
mod set;
pub mod subsets;

pub use name::{PatchId, SeriesName};
pub use path::TreePath;
pub use set::{Patch, Selection, Series, SeriesError};
