//! How a test ended, and how a process ended.
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed, as its author expects.
    Xfailed,
    /// It passed although its author expects a failure, and that is no failure by itself.
    Xpassed,
    /// It was skipped.
    Skipped,
    /// It failed.
    Failed,
    /// Its set-up or tear-down failed.
    Error,
    /// It ended the process.
    Crashed,
    /// It ran past its limit.
    TimedOut,
    /// It was selected and did not run: the budget was spent, the circuit open, or the file no longer has it.
    NotRun,
}

/// What an outcome says about the code under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quality {
    /// As it should be.
    Good,
    /// A failure of any kind.
    Bad,
    /// It says nothing: skipped or not run.
    Silent,
}

impl Outcome {
    /// Every outcome, in the order of its number.
    pub const ALL: [Self; 9] = [
        Self::Passed,
        Self::Xfailed,
        Self::Xpassed,
        Self::Skipped,
        Self::Failed,
        Self::Error,
        Self::Crashed,
        Self::TimedOut,
        Self::NotRun,
    ];

    /// What it says about the code under test.
    #[must_use]
    pub const fn quality(self) -> Quality {
        match self {
            Self::Passed | Self::Xfailed | Self::Xpassed => Quality::Good,
            Self::Failed | Self::Error | Self::Crashed | Self::TimedOut => Quality::Bad,
            Self::Skipped | Self::NotRun => Quality::Silent,
        }
    }

    /// The name that journals and reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Xfailed => "xfailed",
            Self::Xpassed => "xpassed",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed-out",
            Self::NotRun => "not-run",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How a process ended: its own status, whoever caused it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// With an exit status.
    Status(i32),
    /// By a signal.
    Signal(String),
}

impl Ending {
    /// Whether it ended as it should.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        *self == Self::Status(0)
    }
}

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Self {
        match status.signal() {
            Some(number) => Self::Signal(Signal::try_from(number).map_or_else(
                |_| format!("signal {number}"),
                |signal| signal.as_str().to_owned(),
            )),
            None => Self::Status(status.code().unwrap_or(-1)),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(code) => write!(formatter, "exit status {code}"),
            Self::Signal(name) => formatter.write_str(name),
        }
    }
}

/// Who or what ended a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The process itself.
    Itself,
    /// SIGKILL from outside of this run: the system short of memory, or somebody.
    Outside,
    /// Our limit on one test.
    TestLimit,
    /// Our limit on silence outside of tests.
    Silence,
    /// Our cap on memory.
    Memory,
    /// Our cap on what a test prints.
    Output,
    /// A test asked pytest to end the session.
    Session,
}

impl Cause {
    /// In words, for a message.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Itself => "the process ended",
            Self::Outside => "the process was killed from outside",
            Self::TestLimit => "the test ran past its limit",
            Self::Silence => "the process said nothing for too long",
            Self::Memory => "the process used more memory than its cap",
            Self::Output => "the test printed more than the log may hold",
            Self::Session => "the test ended the pytest session",
        }
    }
}

/// Where a process was when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Before it could take commands.
    Start,
    /// In a test.
    Test,
    /// Between two tests.
    Between,
    /// After all its tests.
    Exit,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_name_the_signal() {
        assert_eq!(
            Ending::from(ExitStatus::from_raw(11)).to_string(),
            "SIGSEGV"
        );
        assert_eq!(
            Ending::from(ExitStatus::from_raw(3 << 8)),
            Ending::Status(3)
        );
        assert!(Ending::from(ExitStatus::from_raw(0)).is_clean());
    }

    #[test]
    fn names_are_those_of_the_serde_form() {
        for outcome in Outcome::ALL {
            assert_eq!(
                serde_json::to_value(outcome).unwrap(),
                serde_json::Value::from(outcome.name())
            );
        }
    }
}
