//! Why a Mac's GPU cannot be used, and what to do then.
use crate::error::Explain;
use crate::exit::Exit;
use crate::run::process::ProcessError;

/// A Mac's GPU cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MetalError {
    /// The user interrupted.
    #[error(transparent)]
    Process(ProcessError),
    /// A program of the system does not answer.
    #[error("{program} does not answer")]
    Silent {
        /// Which.
        program: &'static str,
        /// Why.
        #[source]
        source: ProcessError,
    },
    /// A program of the system answers in a way that is not understood.
    #[error("{program} says what is not understood: {answer}")]
    Unreadable {
        /// Which.
        program: &'static str,
        /// What it says.
        answer: String,
    },
    /// There is no GPU, or one without Metal.
    #[error("this Mac has no GPU with Metal")]
    NoGpu,
    /// An Intel Mac.
    #[error("{chip} is no Apple silicon")]
    NotArm64 {
        /// What it is.
        chip: String,
    },
    /// Xcode's licence has not been agreed to.
    #[error("the licence of Xcode has not been agreed to: no compiler runs before that")]
    NoLicence,
    /// There is no compiler.
    #[error("there are no command line tools: {answer}")]
    NoTools {
        /// What xcrun says.
        answer: String,
    },
    /// The SDK is too old or not there.
    #[error("the macOS SDK is {found}; PyTorch with MPS wants at least {wanted}")]
    Sdk {
        /// Its version.
        found: String,
        /// The least.
        wanted: &'static str,
    },
    /// The device does not compute.
    #[error("the GPU is not sound: {fault}")]
    Unsound {
        /// What is wrong.
        fault: String,
        /// Whether it is a virtual machine's.
        paravirtual: bool,
    },
    /// The GPU went away.
    #[error("the GPU was lost while {what} ran: {said}")]
    Lost {
        /// What ran.
        what: String,
        /// What Metal says.
        said: String,
    },
    /// The system ended a process, again and again.
    #[error("the system ended {what} twice (SIGKILL), as it does when memory runs out")]
    Killed {
        /// What ran.
        what: String,
    },
    /// The machine slept.
    #[error("the machine slept during the run: what was measured across it is void")]
    Slept,
    /// Settings of the environment contradict each other.
    #[error("{found}")]
    Settings {
        /// Which, and how.
        found: String,
        /// What mends it.
        mend: String,
    },
}

impl MetalError {
    pub(super) fn unreadable(program: &'static str, answer: String) -> Self {
        Self::Unreadable { program, answer }
    }
}

impl Explain for MetalError {
    fn exit(&self) -> Exit {
        match self {
            Self::Process(error) => error.exit(),
            Self::Silent { .. }
            | Self::Unreadable { .. }
            | Self::NoGpu
            | Self::Unsound { .. }
            | Self::Lost { .. }
            | Self::Killed { .. }
            | Self::Slept => Exit::Inconclusive,
            Self::NotArm64 { .. } | Self::Settings { .. } => Exit::Usage,
            Self::NoLicence | Self::NoTools { .. } | Self::Sdk { .. } => Exit::PatchOrBuildFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hints: &[&str] = match self {
            Self::Process(error) => return error.hints(),
            Self::Silent { .. } | Self::Unreadable { .. } => {
                &["`umpatch doctor` asks each program of the system and shows its answer"]
            }
            Self::NoGpu => {
                &["run on a Mac with Apple silicon, or on Linux with --device simulated"]
            }
            Self::NotArm64 { .. } => &["run on a Mac with Apple silicon"],
            Self::NoLicence => &["sudo xcodebuild -license accept"],
            Self::NoTools { .. } => &["xcode-select --install"],
            Self::Sdk { .. } => &[
                "install a newer Xcode, then: sudo xcode-select --switch /Applications/Xcode.app",
                "a DEVELOPER_DIR or SDKROOT in the environment may name an old one: unset it",
            ],
            Self::Unsound {
                paravirtual: true, ..
            } => &[
                "a hosted runner's paravirtual GPU wedges: run on a self-hosted Mac, or on Linux with --device simulated",
            ],
            Self::Unsound { .. } => &["restart the Mac: a wedged GPU does not recover by itself"],
            Self::Lost { .. } => &[
                "restart the Mac, then run the same command again: it resumes",
                "an external or virtual display that comes and goes can take the GPU with it",
            ],
            Self::Killed { .. } => &[
                "end other programs, or run fewer at a time: --workers 1; then run the same command again: it resumes",
            ],
            Self::Slept => {
                &["keep it awake: caffeinate -dims umpatch verify …; what had ended before is kept"]
            }
            Self::Settings { mend, .. } => return vec![mend.clone()],
        };
        hints.iter().map(|hint| (*hint).to_owned()).collect()
    }
}
