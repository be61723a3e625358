//! What can go wrong in a build, and what to do then.
use crate::engine::EngineError;
use crate::error::Explain;
use crate::exit::Exit;
use crate::run::process::ProcessError;
use crate::share::ShareError;
use std::path::{Path, PathBuf};

/// A build failed.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The recipe cannot be read.
    #[error("cannot read the recipe {}", path.display())]
    Recipe {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The recipe names a source that is not there.
    #[error("the recipe names {path}, which {place} does not have")]
    NoSource {
        /// The path or pattern.
        path: String,
        /// The tree or the harness.
        place: &'static str,
    },
    /// A rewrite no longer fits the tree's source.
    #[error("{file} has {found} times what the recipe rewrites {expected} times: `{find}`")]
    Rewrite {
        /// The file in the tree.
        file: String,
        /// What is looked for.
        find: String,
        /// How often it should be there.
        expected: usize,
        /// How often it is.
        found: usize,
    },
    /// A placeholder that nothing is known for.
    #[error("the recipe uses {{{name}}}, for which this machine has no value")]
    Placeholder {
        /// Its name.
        name: String,
    },
    /// A source does not compile.
    #[error("{source_file} does not compile: {location}: {message}")]
    Compile {
        /// The source.
        source_file: String,
        /// File and line of the first error.
        location: String,
        /// The first error.
        message: String,
        /// All that the compiler said.
        log: PathBuf,
    },
    /// The linker failed.
    #[error("cannot link {name}: {message}")]
    Link {
        /// The program.
        name: String,
        /// The first lines of what the linker said.
        message: String,
        /// All of it.
        log: PathBuf,
    },
    /// A generator of the recipe failed.
    #[error("the generator of {output} failed: {message}")]
    Generate {
        /// The file that it should have made.
        output: String,
        /// The last line that it said.
        message: String,
    },
    /// The cache cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The compiler could not be run, or the user interrupted.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The arm's files cannot be had.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The harness cannot be had.
    #[error(transparent)]
    Share(#[from] ShareError),
}

impl BuildError {
    pub(super) fn write(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Write { path, source }
    }

    pub(super) fn read(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Read { path, source }
    }
}

impl Explain for BuildError {
    fn exit(&self) -> Exit {
        match self {
            Self::Process(error) => error.exit(),
            Self::Engine(error) => error.exit(),
            Self::Share(error) => error.exit(),
            _ => Exit::PatchOrBuildFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Process(error) => error.hints(),
            Self::Engine(error) => error.hints(),
            Self::Share(error) => error.hints(),
            Self::Compile { log, .. } | Self::Link { log, .. } => {
                vec![format!("everything that it said is in {}", log.display())]
            }
            Self::Rewrite { .. } => vec![
                "the tree's source has changed there: adapt the rewrite in the recipe".to_owned(),
            ],
            Self::Placeholder { .. } | Self::Generate { .. } => {
                vec!["`umpatch doctor` names what is missing".to_owned()]
            }
            Self::Write { path, .. } => vec![format!(
                "make {} writable, free some space there, or set UMPATCH_CACHE to another folder",
                path.display()
            )],
            Self::Recipe { .. } | Self::NoSource { .. } | Self::Read { .. } => Vec::new(),
        }
    }
}
