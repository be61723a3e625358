//! What happens while tests run: the events that workers send, and those that the journal keeps.
use super::outcome::{Cause, Ending, Outcome, Stage};
use super::suite::LeakCheck;
use crate::run::job::Arm;
use crate::run::shard::Shard;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a worker says, one JSON object a line; harness/pytest/worker.py describes each.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Said {
    Ids {
        ids: Vec<String>,
    },
    CollectError {
        #[serde(default)]
        message: String,
        #[serde(default)]
        excerpt: String,
    },
    Collected {
        count: u64,
        digest: String,
    },
    Start {
        id: String,
        log: u64,
    },
    Finish {
        id: String,
        outcome: SaidOutcome,
        seconds: f64,
        #[serde(default)]
        message: String,
        #[serde(default)]
        excerpt: String,
        #[serde(default)]
        output: String,
    },
    Stopped {
        id: String,
        #[serde(default)]
        message: String,
    },
    Done,
}

/// The outcomes that a worker can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SaidOutcome {
    Passed,
    Xfailed,
    Xpassed,
    Skipped,
    Failed,
    Error,
    Missing,
}

impl From<SaidOutcome> for Outcome {
    fn from(said: SaidOutcome) -> Self {
        match said {
            SaidOutcome::Passed => Self::Passed,
            SaidOutcome::Xfailed => Self::Xfailed,
            SaidOutcome::Xpassed => Self::Xpassed,
            SaidOutcome::Skipped => Self::Skipped,
            SaidOutcome::Failed => Self::Failed,
            SaidOutcome::Error => Self::Error,
            SaidOutcome::Missing => Self::NotRun,
        }
    }
}

/// Why tests run: the run itself, or a question about some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// The selection, once.
    Main,
    /// Tests that only the patched arm's file has, on the baseline's build.
    Added,
    /// Discordant tests in a fresh process.
    Fresh(u32),
    /// A discordant test in a fresh process after the tests that ran before it.
    Replay(u32),
}

/// What a run was asked for, as far as its report depends on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// As pytest's `-k`; empty for all.
    #[serde(default)]
    pub expression: String,
    /// Ids; all when absent.
    #[serde(default)]
    pub ids: Option<Vec<String>>,
    /// The probability of calling an unchanged test worse.
    pub level: f64,
    /// Whether upstream's own leak check runs.
    pub leak_check: LeakCheck,
    /// Whether the baseline is a recording.
    pub recorded: bool,
    /// Which part of the tests this run has; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// What the journal keeps of the test runner. The ledger is rebuilt from these, live and on resume alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "test", rename_all = "kebab-case")]
pub enum TestEvent {
    /// What is asked for: the first event.
    Plan(Asked),
    /// The run goes on after it was cut: what stopped it is tried again.
    Resume,
    /// A test of a recorded baseline.
    Recorded {
        /// The test.
        id: String,
        /// How it ended.
        outcome: Outcome,
        /// How long it took.
        seconds: f64,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// How long tests took in an earlier run: shards are balanced by these. In batches.
    Durations {
        /// Seconds by id.
        seconds: BTreeMap<String, f64>,
    },
    /// What follows comes from this part of a shared run, up to the next of these.
    Part {
        /// Which.
        shard: Shard,
    },
    /// Ids that an arm's file has, after the selection by expression; in batches, in the file's order.
    Collected {
        /// The arm.
        arm: Arm,
        /// The ids.
        ids: Vec<String>,
        /// Whether it is the last batch.
        last: bool,
    },
    /// A worker process began.
    WorkerStart {
        /// The arm.
        arm: Arm,
        /// Why.
        pass: Pass,
        /// Which of the workers side by side.
        lane: usize,
        /// Its number in this run.
        worker: u64,
        /// The test that a replay is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
    },
    /// A test began.
    Start {
        /// The worker process.
        worker: u64,
        /// The test.
        id: String,
    },
    /// A test ended.
    Finish {
        /// The worker process.
        worker: u64,
        /// The test.
        id: String,
        /// How.
        outcome: Outcome,
        /// Time of its phases in seconds.
        seconds: f64,
        /// One line that says why it failed or was skipped.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
        /// The end of the traceback, or of the crash's output.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        excerpt: String,
        /// The last of what it printed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
    },
    /// A worker process ended.
    WorkerEnd {
        /// The worker process.
        worker: u64,
        /// Its status.
        ending: Ending,
        /// Who ended it.
        cause: Cause,
        /// Where it was.
        stage: Stage,
        /// The test at hand, or the last one before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Its last output, when it did not end as it should.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
    },
    /// The device was checked.
    Canary {
        /// The arm.
        arm: Arm,
        /// Whether it is sound.
        sound: bool,
        /// What is wrong.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        detail: String,
        /// How long the check took.
        seconds: f64,
    },
    /// A canary failed for good: nothing more runs in this arm.
    CircuitOpen {
        /// The arm.
        arm: Arm,
        /// Why.
        reason: String,
    },
    /// The time for the run or for reruns is over.
    BudgetSpent {
        /// The arm at hand.
        arm: Arm,
        /// What was running.
        pass: Pass,
    },
    /// All has run, reruns included: the last event.
    Done,
    /// An arm has run all that the pass asked for.
    PassEnd {
        /// The arm.
        arm: Arm,
        /// Which.
        pass: Pass,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_s_line_is_understood() {
        let said: Said = serde_json::from_str(
            r#"{"event": "finish", "id": "a.py::t", "outcome": "xfailed", "seconds": 0.5, "message": "m"}"#,
        )
        .unwrap();
        assert!(matches!(
            said,
            Said::Finish {
                outcome: SaidOutcome::Xfailed,
                ..
            }
        ));
        assert_eq!(
            serde_json::from_str::<Said>(r#"{"event": "done"}"#).unwrap(),
            Said::Done
        );
    }

    #[test]
    fn an_event_survives_the_journal() {
        let event = TestEvent::WorkerEnd {
            worker: 3,
            ending: Ending::Signal("SIGSEGV".to_owned()),
            cause: Cause::Itself,
            stage: Stage::Test,
            id: Some("a.py::t".to_owned()),
            output: String::new(),
        };
        let value = serde_json::to_value(&event).unwrap();
        assert_eq!(value["test"], "worker-end");
        assert_eq!(serde_json::from_value::<TestEvent>(value).unwrap(), event);
        let fresh = TestEvent::PassEnd {
            arm: Arm::Patched,
            pass: Pass::Fresh(4),
        };
        let value = serde_json::to_value(&fresh).unwrap();
        assert_eq!(serde_json::from_value::<TestEvent>(value).unwrap(), fresh);
    }
}
