//! What can go wrong with the explorer itself.
use crate::error::Explain;
use crate::exit::Exit;
use crate::run::process::ProcessError;
use std::path::PathBuf;

/// The explorer could not explore.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// Its program could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It ended without saying what it found.
    #[error("the explorer ended ({status}) without its last line{}", said(words))]
    NoEnd {
        /// How it ended.
        status: String,
        /// What it said on standard error.
        words: String,
    },
    /// It refused its arguments.
    #[error("{words}")]
    Refused {
        /// What it said.
        words: String,
    },
    /// A folder or file that it needs.
    #[error("cannot use {}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

fn said(words: &str) -> String {
    if words.is_empty() {
        String::new()
    } else {
        format!(": {words}")
    }
}

impl Explain for ExploreError {
    fn exit(&self) -> Exit {
        match self {
            Self::Process(error) => error.exit(),
            Self::NoEnd { .. } => Exit::Inconclusive,
            Self::Refused { .. } | Self::File { .. } => Exit::Usage,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Process(error) => error.hints(),
            Self::NoEnd { .. } => {
                vec!["run it again with `--jobs 1`: the last seed told is the suspect".to_owned()]
            }
            Self::Refused { .. } | Self::File { .. } => Vec::new(),
        }
    }
}
