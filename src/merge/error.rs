//! Why runs cannot be put together.
use crate::error::Explain;
use crate::exit::Exit;
use crate::run::journal::JournalError;
use std::path::PathBuf;

/// Runs that cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// No folder was given.
    #[error("there is nothing to merge")]
    Nothing,
    /// There is no run in a folder.
    #[error("{} holds no run", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// A run that is a whole one, or was cut before it knew its part.
    #[error("{} holds no part of a shared run", path.display())]
    NoPart {
        /// The folder.
        path: PathBuf,
    },
    /// Two folders hold the same part.
    #[error("{} and {} both hold part {part}", first.display(), second.display())]
    Duplicate {
        /// Such as 2/4.
        part: String,
        /// One folder.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Two folders hold parts of different runs.
    #[error("{} and {} are not parts of the same run: {difference}", first.display(), second.display())]
    Mixed {
        /// One folder.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// What differs, in words.
        difference: String,
    },
    /// The new folder holds something already.
    #[error("{} holds a run already", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// A curve, a log or a list of outcomes cannot be copied.
    #[error("cannot copy {}", path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
}

impl Explain for MergeError {
    fn exit(&self) -> Exit {
        match self {
            Self::Journal(error) => error.exit(),
            Self::Copy { .. } => Exit::PatchOrBuildFailed,
            _ => Exit::Usage,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Journal(error) => return error.hints(),
            Self::NoPart { .. } => {
                "parts are made by `umpatch verify --shard i/n`; a whole run needs no merge: `umpatch report RUN`"
            }
            Self::Duplicate { .. } => "give each part once: leave the older run out",
            Self::Mixed { .. } => {
                "run all parts with the same command, tree, patches and kind of machine"
            }
            Self::Occupied { .. } => "give an empty or a new folder to --run-folder",
            Self::Nothing | Self::NoRun { .. } | Self::Copy { .. } => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}
