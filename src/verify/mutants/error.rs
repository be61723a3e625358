//! What can go wrong with mutants, and what to do then.
use crate::error::Explain;
use crate::exit::Exit;
use crate::explore::ExploreError;
use crate::mutate::argued::ArguedError;
use std::path::PathBuf;

/// Mutants cannot be made or judged.
#[derive(Debug, thiserror::Error)]
pub enum MutantsError {
    /// The list of argued mutants is not there.
    #[error("cannot read {}", path.display())]
    List {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The list of argued mutants does not fit.
    #[error(transparent)]
    Argued(ArguedError),
    /// There is no such mutant.
    #[error("there is no mutant {name}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// Nothing is left to judge.
    #[error("no mutant was chosen")]
    None,
    /// The text with the mutants in it has errors that are no mutant's.
    #[error("{file}:{line}: {message}: the sources with their mutants do not compile")]
    Weave {
        /// The file.
        file: String,
        /// The line.
        line: usize,
        /// The compiler's words.
        message: String,
    },
    /// Without a mutant chosen the program is refused: nothing that it finds would mean a mutant.
    #[error("{scenario} refuses the series without any mutant: {reason}")]
    Unsound {
        /// The scenario.
        scenario: String,
        /// The verdict's reason.
        reason: String,
    },
    /// The explorer could not look for them.
    #[error(transparent)]
    Explore(#[from] ExploreError),
    /// What was found cannot be kept.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

impl Explain for MutantsError {
    fn exit(&self) -> Exit {
        match self {
            Self::Unknown { .. } | Self::None | Self::Argued(_) | Self::List { .. } => Exit::Usage,
            Self::Weave { .. } | Self::Write { .. } => Exit::PatchOrBuildFailed,
            Self::Unsound { .. } => Exit::Inconclusive,
            Self::Explore(error) => error.exit(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown { .. } => {
                vec!["`umpatch verify --mutants --json` names all".to_owned()]
            }
            Self::Argued(ArguedError::Unknown(_)) => vec![
                "the line that a name was made of has changed: argue anew in fixtures/mutants/argued.toml, or take the name out"
                    .to_owned(),
            ],
            Self::Unsound { .. } => {
                vec!["`umpatch verify` says more about the series itself".to_owned()]
            }
            Self::Explore(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}
