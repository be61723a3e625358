//! What can go wrong while a tree is found or brought, and what to do then.
use crate::error::Explain;
use crate::exit::Exit;
use crate::paths;
use std::path::PathBuf;

/// A tree could not be found or brought.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// Neither the current folder nor the cache gives a tree.
    #[error("there is no PyTorch tree here, and none was fetched yet")]
    NoTree,
    /// The path does not exist.
    #[error("{} does not exist", path.display())]
    NoSuchPath {
        /// The path as given.
        path: PathBuf,
    },
    /// The folder holds something else.
    #[error("{} is no PyTorch tree: {reason}", path.display())]
    NotPyTorch {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// git cannot read the repository.
    #[error("git cannot read {}", path.display())]
    Repository {
        /// The repository.
        path: PathBuf,
        /// What git says.
        #[source]
        source: git2::Error,
    },
    /// A file or folder of ours cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    Storage {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
}

impl UpstreamError {
    /// Turns an input/output error into a [`UpstreamError::Storage`].
    pub(super) fn storage(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Storage {
            action,
            path,
            source,
        }
    }

    /// Turns a git error into a [`UpstreamError::Repository`].
    pub(super) fn repository(path: impl Into<PathBuf>) -> impl FnOnce(git2::Error) -> Self {
        let path = path.into();
        move |source| Self::Repository { path, source }
    }
}

impl Explain for UpstreamError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoTree
            | Self::NoSuchPath { .. }
            | Self::NotPyTorch { .. }
            | Self::Repository { .. } => Exit::Usage,
            Self::Storage { .. } => Exit::PatchOrBuildFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::NoTree => vec![
                "bring one with `umpatch fetch`, or name one with `-C TREE`".to_owned(),
            ],
            Self::NoSuchPath { .. } | Self::Repository { .. } => Vec::new(),
            Self::NotPyTorch { .. } => vec![
                "name the root of a PyTorch checkout with `-C TREE`, or bring one with `umpatch fetch`".to_owned(),
            ],
            Self::Storage { source, .. } => storage_hint(source),
        }
    }
}

/// What to do when the cache cannot be written.
fn storage_hint(source: &std::io::Error) -> Vec<String> {
    let cache = paths::cache();
    match source.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => vec![format!(
            "free some space under {}, or set UMPATCH_CACHE to a folder on a larger disk",
            cache.display()
        )],
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            vec![format!(
                "make {} writable, or set UMPATCH_CACHE to a folder that is",
                cache.display()
            )]
        }
        _ => Vec::new(),
    }
}
