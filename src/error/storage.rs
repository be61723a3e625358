//! A file or folder of ours that the system would not give us: the same words in every part of the program.
use std::io;
use std::path::PathBuf;

/// A file or folder cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct StorageError {
    /// What was tried, as a verb: `read`, `write`.
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// What the system says.
    #[source]
    pub source: io::Error,
}

impl StorageError {
    /// Puts what was tried, and where, to what the system says: `.map_err(StorageError::at("read", path))`.
    pub fn at(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self {
            action,
            path,
            source,
        }
    }
}
