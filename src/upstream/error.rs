//! What can go wrong while a tree is found or brought, and what to do then.
use super::apt::AptError;
use super::archive::{ArchiveError, ENDINGS};
use super::checksum::Checksum;
use crate::error::{Explain, StorageError};
use crate::exit::Exit;
use crate::paths;
use crate::run::process::ProcessError;
use std::path::{Path, PathBuf};

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
    /// A folder that is used in place is no git repository.
    #[error("{} is no git repository, and the patches are applied as commits", path.display())]
    NoRepository {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that is used in place is a git repository without a commit.
    #[error("the git repository {} has no commit yet", path.display())]
    NoCommit {
        /// The folder.
        path: PathBuf,
    },
    /// A text that is no address of a repository.
    #[error("{address:?} is no address of a git repository")]
    BadAddress {
        /// The text.
        address: String,
    },
    /// The repository has no such branch, tag or commit.
    #[error("{address} has no branch, tag or commit {reference:?}")]
    NoSuchReference {
        /// What was asked for.
        reference: String,
        /// Where.
        address: String,
        /// Where git's words are kept, if it was asked.
        log: Option<PathBuf>,
    },
    /// The repository cannot be fetched from.
    #[error("git cannot fetch from {address}")]
    Unreachable {
        /// Where.
        address: String,
        /// Where git's words are kept.
        log: PathBuf,
    },
    /// The git program failed.
    #[error("git {command} failed: {words}")]
    GitFailed {
        /// What it was asked for.
        command: String,
        /// The last line that it said.
        words: String,
        /// Where all its words are kept.
        log: PathBuf,
    },
    /// A program could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A source package could not be had.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// An archive could not be unpacked.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// An archive is not what it must be.
    #[error("{} has the wrong checksum: expected {expected}, got {found}", path.display())]
    WrongChecksum {
        /// The archive.
        path: PathBuf,
        /// What it must be.
        expected: Checksum,
        /// What it is.
        found: Checksum,
    },
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
    /// A file or folder of ours cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl UpstreamError {
    /// Turns an input/output error into a [`UpstreamError::Storage`].
    pub(super) fn storage(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let at = StorageError::at(action, path);
        move |source| at(source).into()
    }

    /// Turns a git error into a [`UpstreamError::Repository`].
    pub(super) fn repository(path: impl Into<PathBuf>) -> impl FnOnce(git2::Error) -> Self {
        let path = path.into();
        move |source| match source.class() {
            git2::ErrorClass::Os | git2::ErrorClass::Filesystem => {
                StorageError::at("write to", path)(system_error(&source)).into()
            }
            _ => Self::Repository { path, source },
        }
    }
}

impl Explain for UpstreamError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoTree
            | Self::NoSuchPath { .. }
            | Self::NotPyTorch { .. }
            | Self::NoRepository { .. }
            | Self::NoCommit { .. }
            | Self::BadAddress { .. }
            | Self::NoSuchReference { .. }
            | Self::WrongChecksum { .. }
            | Self::Repository { .. } => Exit::Usage,
            Self::Archive(error) => match error {
                ArchiveError::Storage(_) => Exit::PatchOrBuildFailed,
                ArchiveError::Interrupted => Exit::Interrupted,
                ArchiveError::UnknownKind { .. }
                | ArchiveError::Damaged { .. }
                | ArchiveError::Refused { .. } => Exit::Usage,
            },
            Self::Apt(error) => error.exit(),
            Self::Process(error) => error.exit(),
            Self::Interrupted => Exit::Interrupted,
            Self::Unreachable { .. } | Self::GitFailed { .. } | Self::Storage(_) => {
                Exit::PatchOrBuildFailed
            }
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::NoTree => {
                vec!["bring one with `umpatch fetch`, or name one with `-C TREE`".to_owned()]
            }
            Self::NotPyTorch { .. } => {
                vec!["name the root of a PyTorch tree; `umpatch fetch` brings one".to_owned()]
            }
            Self::NoRepository { path } => vec![format!(
                "`umpatch fetch dir --init {}` makes it one, with one commit of all its files",
                path.display()
            )],
            Self::NoCommit { .. } => vec!["commit the tree first".to_owned()],
            Self::NoSuchReference { log, .. } => log.iter().map(|log| words_in(log)).collect(),
            Self::Unreachable { log, .. } => vec![
                "check the address, the network and git's proxy settings".to_owned(),
                words_in(log),
            ],
            Self::GitFailed { log, .. } => vec![words_in(log)],
            Self::Archive(error) => archive_hint(error),
            Self::Apt(AptError::Storage(StorageError { source, .. }))
            | Self::Storage(StorageError { source, .. }) => storage_hint(source),
            Self::Apt(error) => error.hints(),
            Self::Process(error) => error.hints(),
            Self::Interrupted => vec!["run the same command again to resume".to_owned()],
            Self::NoSuchPath { .. }
            | Self::Repository { .. }
            | Self::BadAddress { .. }
            | Self::WrongChecksum { .. } => Vec::new(),
        }
    }
}

fn words_in(log: &Path) -> String {
    format!("git's own words are in {}", log.display())
}

fn archive_hint(error: &ArchiveError) -> Vec<String> {
    match error {
        ArchiveError::UnknownKind { .. } => {
            let endings: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
            vec![format!(
                "its name must end in one of {}",
                endings.join(", ")
            )]
        }
        ArchiveError::Damaged { .. } => vec!["download it again".to_owned()],
        ArchiveError::Storage(StorageError { source, .. }) => storage_hint(source),
        ArchiveError::Refused { .. } | ArchiveError::Interrupted => Vec::new(),
    }
}

/// The system's error behind one of libgit2's, as far as its text tells.
fn system_error(error: &git2::Error) -> std::io::Error {
    let kind = if error.message().contains("No space left") {
        std::io::ErrorKind::StorageFull
    } else if error.message().contains("Read-only") {
        std::io::ErrorKind::ReadOnlyFilesystem
    } else if error.message().contains("Permission denied") {
        std::io::ErrorKind::PermissionDenied
    } else {
        std::io::ErrorKind::Other
    };
    std::io::Error::new(kind, error.message().to_owned())
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
