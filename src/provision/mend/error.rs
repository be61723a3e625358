//! Why a machine could not be mended, and what to do then.
use crate::error::{Explain, StorageError};
use crate::exit::Exit;
use crate::paths;
use crate::run::process::ProcessError;
use std::path::PathBuf;

/// A machine could not be mended.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// A program could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// No apt.
    #[error("this machine has no apt, so its packages cannot be installed from here")]
    NoPackageManager {
        /// What is missing.
        packages: Vec<String>,
    },
    /// Neither root nor sudo.
    #[error(
        "packages can be installed by root only, and sudo does not work here without a password"
    )]
    NotRoot {
        /// What root has to run.
        command: String,
    },
    /// A step failed.
    #[error("{what} failed: {words}")]
    Failed {
        /// What was done.
        what: &'static str,
        /// The last line that it said.
        words: String,
        /// Why, where that can be told, and what to do.
        advice: Option<&'static str>,
        /// Where all its words are kept.
        log: PathBuf,
    },
    /// No Python that can make an environment.
    #[error("there is no Python that can make a virtual environment")]
    NoPython,
    /// A file of ours cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl Explain for ProvisionError {
    fn exit(&self) -> Exit {
        match self {
            Self::Process(error) => error.exit(),
            Self::Interrupted => Exit::Interrupted,
            _ => Exit::PatchOrBuildFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Process(error) => error.hints(),
            Self::NoPackageManager { packages } => vec![format!(
                "install what corresponds to these packages of Debian: {}",
                packages.join(" ")
            )],
            Self::NotRoot { command } => vec![format!("as root: {command}")],
            Self::Failed { advice, log, .. } => {
                let mut hints: Vec<String> = advice.iter().map(|&line| line.to_owned()).collect();
                hints.push(format!("all its words are in {}", log.display()));
                hints.push("run the same command again: it resumes".to_owned());
                hints
            }
            Self::NoPython => vec![
                "install Python 3 with its venv and ensurepip modules, or name an environment with UMPATCH_TORCH_VENV"
                    .to_owned(),
            ],
            Self::Storage(_) => vec![format!(
                "make {} writable, free some space there, or set UMPATCH_CACHE to another folder",
                paths::cache().display()
            )],
            Self::Interrupted => vec!["run the same command again to resume".to_owned()],
        }
    }
}
