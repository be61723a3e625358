//! What can keep tests from being run at all. A test that fails is no error: it is a result.
use crate::error::Explain;
use crate::exit::Exit;
use crate::run::job::Arm;
use crate::run::journal::JournalError;
use crate::run::process::ProcessError;
use std::path::PathBuf;

/// Tests could not be run.
#[derive(Debug, thiserror::Error)]
pub enum TestsError {
    /// A program could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The user interrupted the run.
    #[error("interrupted while tests ran")]
    Interrupted,
    /// The disk is nearly full: what tests say now is about the disk.
    #[error("only {free} bytes are free where {} is", path.display())]
    DiskFull {
        /// The folder of the run.
        path: PathBuf,
        /// What is left.
        free: u64,
    },
    /// A folder or file of the run cannot be used.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// Neither arm's file could be collected.
    #[error("the tests cannot be collected in the {arm} arm: {message}")]
    Collect {
        /// The arm.
        arm: Arm,
        /// Why.
        message: String,
    },
    /// The selection names tests that neither arm has.
    #[error("no such test: {}", names.join(", "))]
    Unknown {
        /// The first few names.
        names: Vec<String>,
        /// Ids that look alike.
        alike: Vec<String>,
    },
    /// A file that the user gave makes no sense.
    #[error("{} is no {what}: {detail}", path.display())]
    Input {
        /// What it should be.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
}

impl TestsError {
    pub(super) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }
}

impl Explain for TestsError {
    fn exit(&self) -> Exit {
        match self {
            Self::Process(error) => error.exit(),
            Self::Journal(error) => error.exit(),
            Self::Interrupted => Exit::Interrupted,
            Self::DiskFull { .. } => Exit::Inconclusive,
            Self::File { .. } | Self::Collect { .. } => Exit::PatchOrBuildFailed,
            Self::Unknown { .. } | Self::Input { .. } => Exit::Usage,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Process(error) => error.hints(),
            Self::Journal(error) => error.hints(),
            Self::Interrupted => vec!["run the same command again to resume".to_owned()],
            Self::DiskFull { .. } => vec![
                "free some space, then run the same command again: it resumes with the test at hand"
                    .to_owned(),
            ],
            Self::Unknown { alike, .. } => alike
                .iter()
                .map(|id| format!("there is {id}"))
                .chain(["ids are written as pytest writes them: FILE::CLASS::TEST".to_owned()])
                .collect(),
            Self::File { .. } | Self::Collect { .. } | Self::Input { .. } => Vec::new(),
        }
    }
}
