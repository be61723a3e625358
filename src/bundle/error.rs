//! Why no bundle is made, or none is checked, and what to do then.
use crate::compare::CompareError;
use crate::engine::EngineError;
use crate::error::{Explain, StorageError};
use crate::exit::Exit;
use crate::report::ReportError;
use crate::report::document::Verdict;
use crate::run::process::ProcessError;
use crate::share::ShareError;
use std::io;
use std::path::PathBuf;

/// Why no bundle is made, or none is checked.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The tree or the series.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The run cannot be read.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// The run's report cannot be rendered.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// umpatch's own files cannot be read.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// A program that the check needs failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The named run is none.
    #[error("{} holds no journal of a run", .0.display())]
    NoJournal(PathBuf),
    /// Nothing that could be taken as evidence.
    #[error("no run below {} passed with these patches on this tree", runs.display())]
    NoRun {
        /// Where runs were looked for.
        runs: PathBuf,
        /// Why each of the newest was not taken.
        reasons: Vec<String>,
    },
    /// The run is about something else.
    #[error("the run is about something else: its {part} is {run:?}, here it is {here:?}")]
    OtherRun {
        /// The part of the fingerprint.
        part: &'static str,
        /// What it is here.
        here: String,
        /// What it was in the run.
        run: String,
    },
    /// The run was cut off.
    #[error("the run has not come to its end")]
    Unfinished,
    /// The run did not pass.
    #[error("the run did not pass ({}): {reason}", crate::report::summary::verdict_id(*verdict))]
    NotPassing {
        /// What it concluded.
        verdict: Verdict,
        /// The line that decided.
        reason: String,
    },
    /// A rehearsal with recorded output.
    #[error("the run is a rehearsal with recorded output: that is no evidence")]
    Rehearsed,
    /// The run does not show what the patches claim.
    #[error("the run does not prove {}", lacking.join(", "))]
    Uncovered {
        /// Patch and proof.
        lacking: Vec<String>,
    },
    /// A patch without a text for its pull request.
    #[error("the manifest of the series has no [patch.pull_request] for {0}")]
    NoText(String),
    /// Nothing to send.
    #[error("every patch of the series is in the tree already")]
    NothingLeft,
    /// Something else is where the bundle would go.
    #[error("{} is there already and is no bundle of umpatch", .0.display())]
    Occupied(PathBuf),
    /// What is to be checked is no bundle.
    #[error("{} is no bundle of umpatch: {reason}", path.display())]
    NoBundle {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// git refused something that it has to be able to do.
    #[error("git {command}: {said}")]
    Git {
        /// What it was asked.
        command: String,
        /// The end of what it said.
        said: String,
    },
    /// A file or folder.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl BundleError {
    /// A file or folder that cannot be used.
    pub(super) fn storage(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let at = StorageError::at(action, path);
        move |source| at(source).into()
    }
}

impl Explain for BundleError {
    fn exit(&self) -> Exit {
        match self {
            Self::Engine(error) => error.exit(),
            Self::Compare(error) => error.exit(),
            Self::Report(error) => error.exit(),
            Self::Share(error) => error.exit(),
            Self::Process(error) => error.exit(),
            Self::NoRun { .. } | Self::OtherRun { .. } => Exit::NothingRan,
            Self::NotPassing {
                verdict: Verdict::Regression,
                ..
            } => Exit::Regression,
            Self::NotPassing { .. }
            | Self::Unfinished
            | Self::Rehearsed
            | Self::Uncovered { .. } => Exit::Inconclusive,
            Self::NoJournal(_)
            | Self::NoText(_)
            | Self::NothingLeft
            | Self::Occupied(_)
            | Self::NoBundle { .. }
            | Self::Git { .. }
            | Self::Storage(_) => Exit::Usage,
        }
    }

    fn hints(&self) -> Vec<String> {
        let verify =
            || "`umpatch verify` runs stock against patched; then make the bundle again".to_owned();
        match self {
            Self::Engine(error) => error.hints(),
            Self::Compare(error) => error.hints(),
            Self::Report(error) => error.hints(),
            Self::Share(error) => error.hints(),
            Self::Process(error) => error.hints(),
            Self::NoRun { reasons, .. } => {
                let mut hints = reasons.clone();
                hints.push(verify());
                hints
            }
            Self::OtherRun { .. } | Self::Unfinished => vec![verify()],
            Self::NotPassing { .. } => {
                vec!["`umpatch report RUN` shows the evidence; a bundle needs a run that passed".to_owned()]
            }
            Self::Rehearsed => {
                vec!["run `umpatch verify` on a Mac, or with --device simulated".to_owned()]
            }
            Self::Uncovered { .. } => vec![
                "`umpatch verify` without --scenario, --tests or --no-tests runs the proof of every patch".to_owned(),
            ],
            Self::NoJournal(_) => vec!["name a run folder, or leave --run out for the newest that fits".to_owned()],
            Self::NoText(_) => vec!["patches/README.md describes it".to_owned()],
            Self::Occupied(_) => vec!["choose another place with --output, or move it away".to_owned()],
            Self::NothingLeft
            | Self::NoBundle { .. }
            | Self::Git { .. }
            | Self::Storage(_) => Vec::new(),
        }
    }
}
