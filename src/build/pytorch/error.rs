//! Why a full build of PyTorch cannot be made, and what to do then.
use super::machine::Lacking;
use super::output::Complaint;
use crate::engine::EngineError;
use crate::error::{Explain, StorageError};
use crate::exit::Exit;
use crate::run::process::ProcessError;
use std::path::PathBuf;

/// A full build failed.
#[derive(Debug, thiserror::Error)]
pub enum PyTorchError {
    /// The tree is no git repository with a commit.
    #[error("{} is no git checkout: a built torch states the commit that it was made from", path.display())]
    NoCommit {
        /// The tree.
        path: PathBuf,
    },
    /// The machine lacks room or memory.
    #[error("{}", lacking(.0))]
    Machine(Lacking),
    /// A program cannot be started, or the user interrupted.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The arm's sources cannot be read or written.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A folder or file of the build cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A command failed.
    #[error("{side}: {what} failed{}", reason(.0), side = .0.side, what = .0.what)]
    Failed(Box<Failed>),
    /// It printed nothing for too long.
    #[error("{side}: {what} has printed nothing for {} s{}", limit.as_secs(), at(.progress))]
    Stalled {
        /// Which arm.
        side: &'static str,
        /// Which step, in words.
        what: &'static str,
        /// The limit.
        limit: std::time::Duration,
        /// All that it printed.
        log: PathBuf,
        /// Steps of ninja that ended, and all.
        progress: (u64, u64),
    },
}

/// How a command failed.
#[derive(Debug)]
pub struct Failed {
    /// Which arm.
    pub side: &'static str,
    /// Which step, in words.
    pub what: &'static str,
    /// What went wrong first.
    pub complaint: Option<Complaint>,
    /// What ninja could not make.
    pub target: Option<String>,
    /// The last lines.
    pub last: String,
    /// All that it printed.
    pub log: PathBuf,
    /// Steps of ninja that ended, and all.
    pub progress: (u64, u64),
}

fn lacking(lacking: &Lacking) -> String {
    let gib = |bytes: &u64| bytes >> 30;
    match lacking {
        Lacking::Room { free, wanted } => format!(
            "the disk has {} GiB free, and the build takes {} GiB",
            gib(free),
            gib(wanted)
        ),
        Lacking::Memory { there, wanted } => format!(
            "the machine has {} GiB of memory, and the build takes {} GiB",
            gib(there),
            gib(wanted)
        ),
    }
}

fn at(progress: &(u64, u64)) -> String {
    match progress {
        (_, 0) => String::new(),
        (done, total) => format!(", at step {done} of {total}"),
    }
}

fn reason(failed: &Failed) -> String {
    match failed.complaint.as_ref() {
        Some(Complaint::Compile { place, message }) => format!(": {place}: {message}"),
        Some(Complaint::NoRoom(_)) => ": the disk is full".to_owned(),
        Some(Complaint::Killed(_)) => {
            ": the system ended a compiler, as it does when memory runs out".to_owned()
        }
        Some(Complaint::NoNinja) => ": there is no ninja".to_owned(),
        Some(Complaint::NoLicence) => ": the licence of Xcode has not been agreed to".to_owned(),
        Some(
            Complaint::Link(said)
            | Complaint::Configure(said)
            | Complaint::Sdk(said)
            | Complaint::Python(said),
        ) => format!(": {said}"),
        None => match (&failed.target, failed.last.lines().last()) {
            (Some(target), _) => format!(": {target}"),
            (None, Some(line)) => format!(": {line}"),
            (None, None) => String::new(),
        },
    }
}

impl Explain for PyTorchError {
    fn exit(&self) -> Exit {
        match self {
            Self::Process(error) => error.exit(),
            Self::Engine(error) => error.exit(),
            Self::NoCommit { .. } => Exit::Usage,
            _ => Exit::PatchOrBuildFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        let resumes = "then run the same command again: it goes on where it was";
        match self {
            Self::Process(error) => error.hints(),
            Self::Engine(error) => error.hints(),
            Self::NoCommit { .. } => vec!["`umpatch fetch` brings a tree that is one".to_owned()],
            Self::Machine(Lacking::Room { .. }) => vec![
                "free some space, or set UMPATCH_CACHE to a folder on a larger disk".to_owned(),
            ],
            Self::Machine(Lacking::Memory { .. }) => {
                vec!["build on a machine with more memory".to_owned()]
            }
            Self::Storage(_) => vec![format!("free some space, {resumes}")],
            Self::Stalled { log, .. } => vec![
                format!("its output: {}", log.display()),
                format!(
                    "a compiler that waits for memory or a download that hangs looks like this: see to it, {resumes}"
                ),
            ],
            Self::Failed(failed) => {
                let deed = match failed.complaint {
                    Some(Complaint::NoRoom(_)) => Some(format!("free some space, {resumes}")),
                    Some(Complaint::Killed(_)) => Some(format!(
                        "end other programs, or set MAX_JOBS to a smaller number, {resumes}"
                    )),
                    Some(Complaint::NoNinja) => {
                        Some(format!("python3 -m pip install ninja, {resumes}"))
                    }
                    Some(Complaint::NoLicence) => {
                        Some("sudo xcodebuild -license accept".to_owned())
                    }
                    Some(Complaint::Sdk(_)) => Some(
                        "install a newer Xcode, then: sudo xcode-select --switch /Applications/Xcode.app"
                            .to_owned(),
                    ),
                    _ => None,
                };
                deed.into_iter()
                    .chain([format!("its output: {}", failed.log.display())])
                    .collect()
            }
        }
    }
}
