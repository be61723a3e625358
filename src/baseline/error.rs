//! What can go wrong with recorded runs, and what to do about it.
use super::key::Difference;
use crate::error::Explain;
use crate::exit::Exit;
use crate::run::journal::JournalError;
use std::path::PathBuf;

/// A recorded run cannot be made, kept, read or compared.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The run's journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A folder holds no run.
    #[error("{} holds no run of this version of umpatch", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// A run has nothing to keep.
    #[error("no process of the run in {} has ended", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// No recorded run has this name.
    #[error("there is no recorded run {name}")]
    Unknown {
        /// The name.
        name: String,
        /// Names that there are.
        known: Vec<String>,
    },
    /// A name that cannot be a file's.
    #[error("{name:?} is no name for a recorded run")]
    Name {
        /// What was given.
        name: String,
    },
    /// The name is taken.
    #[error("there is a recorded run {name} already")]
    Taken {
        /// The name.
        name: String,
    },
    /// Two runs that must not be compared.
    #[error(
        "{left} and {right} are not comparable, they differ in {}",
        listed(differences)
    )]
    NotComparable {
        /// One run.
        left: String,
        /// The other.
        right: String,
        /// Where.
        differences: Vec<Difference>,
    },
    /// Two runs without a scenario and seed in common.
    #[error("{left} and {right} have no scenario with the same seed in common")]
    NothingShared {
        /// One run.
        left: String,
        /// The other.
        right: String,
    },
    /// A file is no recorded run, or was changed.
    #[error("{} is no recorded run: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The store cannot be used.
    #[error("cannot {action} {}", path.display())]
    Store {
        /// What was tried.
        action: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

fn listed(differences: &[Difference]) -> String {
    let words: Vec<String> = differences.iter().map(ToString::to_string).collect();
    words.join(", ")
}

impl Explain for BaselineError {
    fn exit(&self) -> Exit {
        match self {
            Self::NotComparable { .. } | Self::NothingShared { .. } | Self::Empty { .. } => {
                Exit::NothingRan
            }
            Self::Journal(error) => error.exit(),
            _ => Exit::Usage,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Journal(error) => error.hints(),
            Self::Unknown { known, .. } if known.is_empty() => {
                vec!["`umpatch baseline record RUN` records one".to_owned()]
            }
            Self::Unknown { known, .. } => vec![format!("there are: {}", known.join(", "))],
            Self::Name { .. } => {
                vec!["letters, digits, `.`, `_` and `-`, no `.` or `-` at the start, and not `last`: that is the newest run".to_owned()]
            }
            Self::Taken { .. } => vec!["give another one with --name".to_owned()],
            Self::NotComparable { .. } | Self::NothingShared { .. } => vec![
                "record both with the same tree, device and settings: `umpatch baseline show NAME` prints a run's key"
                    .to_owned(),
            ],
            Self::Damaged { .. } => vec!["export it again where it was recorded".to_owned()],
            Self::Store { .. } => vec!["UMPATCH_DATA names the folder that holds recorded runs".to_owned()],
            Self::NoRun { .. } | Self::Empty { .. } => {
                vec!["`umpatch verify` makes a run; `last` names the newest".to_owned()]
            }
        }
    }

    fn detail(&self) -> Option<serde_json::Value> {
        match self {
            Self::NotComparable { differences, .. } => {
                Some(serde_json::json!({ "differences": differences }))
            }
            _ => None,
        }
    }
}
