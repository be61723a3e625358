//! One worker process: what it says, what it is about, and what its end means.
use crate::run::job::Arm;
use crate::run::process::ProcessError;
use crate::run::process::conversation::Conversation;
use crate::run::tests::error::TestsError;
use crate::run::tests::event::{Said, SaidOutcome, TestEvent};
use crate::run::tests::ledger::Ledger;
use crate::run::tests::memory;
use crate::run::tests::outcome::{Cause, Ending, Outcome, Stage};
use crate::run::tests::suite::{Listing, Settings, Suite};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// Time for a process to print its stacks before it is killed.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Most that one process may print.
const LOG_CAP: u64 = 256 << 20;
/// Bytes kept of the beginning and of the end of a dead process's output.
const KEPT: usize = 2500;

/// What became of a worker's words.
pub(super) enum Heard {
    /// A test has its outcome.
    Finished(TestEvent),
    /// Something for the journal alone.
    Event(TestEvent),
    /// Some of the ids that it has collected.
    Listed(Vec<String>),
    /// It takes commands.
    Ready,
    /// It cannot collect the tests.
    Broken(String),
}

#[derive(Debug)]
enum State {
    Starting,
    Idle,
    Running {
        id: String,
        since: Instant,
        log: u64,
    },
    Done,
}

/// A worker process.
#[derive(Debug)]
pub(super) struct Worker {
    number: u64,
    conversation: Conversation,
    log: PathBuf,
    state: State,
    heard: Instant,
    ran: u32,
    last: Option<String>,
    stopped: bool,
    doomed: Option<(Cause, Instant)>,
}

impl Worker {
    pub(super) fn start(
        suite: &Suite,
        settings: &Settings,
        number: u64,
        listing: Listing,
    ) -> Result<Self, TestsError> {
        let log = settings.folder.join(format!("worker-{number}.log"));
        let conversation = suite.worker(settings, &log, listing).converse()?;
        Ok(Self {
            number,
            conversation,
            log,
            state: State::Starting,
            heard: Instant::now(),
            ran: 0,
            last: None,
            stopped: false,
            doomed: None,
        })
    }

    pub(super) const fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// How many tests it has ended.
    pub(super) const fn ran(&self) -> u32 {
        self.ran
    }

    /// Gives it tests. A worker that is gone does not hear: its end tells.
    pub(super) fn send_run(&mut self, ids: &[String]) {
        let command = serde_json::json!({ "run": ids });
        let _ = self.conversation.send(&command.to_string());
    }

    /// Tells it that nothing follows.
    pub(super) fn send_end(&mut self) {
        let _ = self.conversation.send(r#"{"end": true}"#);
    }

    /// Its status when it has ended. Ask before [`Worker::hear`], so that nothing said before the end is missed.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>, TestsError> {
        self.conversation.status().map_err(lost)
    }

    /// What it has said since the last call.
    pub(super) fn hear(&mut self) -> Result<Vec<Heard>, TestsError> {
        let lines = self.conversation.lines().map_err(lost)?;
        if !lines.is_empty() {
            self.heard = Instant::now();
        }
        Ok(lines
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter_map(|said| self.understand(said))
            .collect())
    }

    fn understand(&mut self, said: Said) -> Option<Heard> {
        match said {
            Said::Ids { ids } => Some(Heard::Listed(ids)),
            Said::CollectError { message, excerpt } => Some(Heard::Broken(if excerpt.is_empty() {
                message
            } else {
                format!("{message}\n{excerpt}")
            })),
            Said::Collected { .. } => {
                self.state = State::Idle;
                Some(Heard::Ready)
            }
            Said::Start { id, log } => {
                self.state = State::Running {
                    id: id.clone(),
                    since: self.heard,
                    log,
                };
                Some(Heard::Event(TestEvent::Start {
                    worker: self.number,
                    id,
                }))
            }
            // it came too late: the test is out of time, whatever it says now
            Said::Finish { .. } | Said::Stopped { .. } if self.doomed.is_some() => None,
            Said::Finish {
                id,
                outcome,
                seconds,
                message,
                excerpt,
                output,
            } => {
                let message = if outcome == SaidOutcome::Missing {
                    "the file does not have this test".to_owned()
                } else {
                    message
                };
                Some(self.finished(id, outcome.into(), seconds, message, excerpt, output))
            }
            Said::Stopped { id, message } => {
                self.stopped = true;
                let seconds = match &self.state {
                    State::Running { since, .. } => since.elapsed().as_secs_f64(),
                    _ => 0.0,
                };
                let message = format!("{}: {message}", Cause::Session.words());
                Some(self.finished(
                    id,
                    Outcome::Failed,
                    seconds,
                    message,
                    String::new(),
                    String::new(),
                ))
            }
            Said::Done => {
                self.state = State::Done;
                None
            }
        }
    }

    fn finished(
        &mut self,
        id: String,
        outcome: Outcome,
        seconds: f64,
        message: String,
        excerpt: String,
        output: String,
    ) -> Heard {
        self.ran += 1;
        self.state = State::Idle;
        self.last = Some(id.clone());
        Heard::Finished(TestEvent::Finish {
            worker: self.number,
            id,
            outcome,
            seconds,
            message,
            excerpt,
            output,
        })
    }

    /// Ends it when it is past a limit. `waiting`: it has nothing to do, and silence is no sign.
    pub(super) fn watch(
        &mut self,
        settings: &Settings,
        waiting: bool,
        look_at_memory: bool,
        limit_of: impl Fn(&str) -> Duration,
    ) {
        if let Some((_, since)) = self.doomed {
            if since.elapsed() > LAST_WORDS {
                self.conversation.end();
            }
            return;
        }
        let late = match &self.state {
            State::Running { id, since, .. } => {
                (since.elapsed() > limit_of(id)).then_some(Cause::TestLimit)
            }
            _ if waiting && matches!(self.state, State::Idle) => None,
            _ => (self.heard.elapsed() > settings.limits.silence).then_some(Cause::Silence),
        };
        if let Some(cause) = late {
            self.doomed = Some((cause, Instant::now()));
            self.conversation.ask_for_stack();
        } else if look_at_memory {
            let too_much = settings.memory.is_some_and(|cap| {
                memory::resident(self.conversation.pid()).is_some_and(|bytes| bytes > cap)
            });
            let talkative = std::fs::metadata(&self.log).is_ok_and(|log| log.len() > LOG_CAP);
            if too_much || talkative {
                let cause = if too_much {
                    Cause::Memory
                } else {
                    Cause::Output
                };
                self.doomed = Some((cause, Instant::now()));
                self.conversation.end();
            }
        }
    }

    /// What its end means.
    pub(super) fn conclude(self, ending: Ending) -> Burial {
        let cause = match self.doomed {
            Some((cause, _)) => cause,
            None if self.stopped => Cause::Session,
            None if ending == Ending::Signal("SIGKILL".to_owned()) => Cause::Outside,
            None => Cause::Itself,
        };
        let (stage, id, from, seconds) = match self.state {
            State::Starting => (Stage::Start, None, 0, 0.0),
            State::Running { id, since, log } => {
                (Stage::Test, Some(id), log, since.elapsed().as_secs_f64())
            }
            State::Idle if self.ran == 0 => (Stage::Start, None, 0, 0.0),
            State::Idle => (Stage::Between, self.last, 0, 0.0),
            State::Done => (Stage::Exit, self.last, 0, 0.0),
        };
        let clean = ending.is_clean() && stage == Stage::Exit;
        let output = if clean {
            // nothing in it is wanted any more; one that stays does no harm
            let _ = std::fs::remove_file(&self.log);
            String::new()
        } else {
            printed_since(&self.log, from)
        };
        Burial {
            worker: self.number,
            ending,
            cause,
            stage,
            id,
            seconds,
            output,
        }
    }
}

fn lost(source: std::io::Error) -> TestsError {
    TestsError::Process(ProcessError::Output {
        program: "worker.py".to_owned(),
        source,
    })
}

/// The beginning and the end of what a log holds from `start` on.
fn printed_since(log: &Path, start: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        let start = start.min(length);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        if length - start <= 2 * KEPT as u64 {
            file.take(2 * KEPT as u64).read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        file.by_ref().take(KEPT as u64).read_to_end(&mut bytes)?;
        bytes.extend_from_slice("\n[…]\n".as_bytes());
        file.seek(SeekFrom::Start(length - KEPT as u64))?;
        file.take(KEPT as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_or_else(
        |error| format!("(the log cannot be read: {error})"),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}

/// The end of a worker process.
#[derive(Debug)]
pub(super) struct Burial {
    worker: u64,
    ending: Ending,
    cause: Cause,
    stage: Stage,
    id: Option<String>,
    seconds: f64,
    output: String,
}

impl Burial {
    /// Whether it ended as it should.
    pub(super) fn is_clean(&self) -> bool {
        self.ending.is_clean() && self.stage == Stage::Exit
    }

    /// Whether a test was at hand.
    pub(super) fn in_test(&self) -> bool {
        self.stage == Stage::Test
    }

    /// Whether it died, rather than ended early because a test asked pytest to.
    pub(super) fn is_death(&self) -> bool {
        !self.is_clean() && self.cause != Cause::Session
    }

    /// Somebody's SIGKILL says nothing about the test, the first time: it runs again.
    pub(super) fn deserves_another_try(&self, ledger: &Ledger, arm: Arm) -> bool {
        self.cause == Cause::Outside
            && self
                .id
                .as_ref()
                .is_some_and(|id| ledger.killed_outside(arm, id) == 0)
    }

    /// The outcome of the test at hand.
    pub(super) fn outcome_of_test(&self) -> TestEvent {
        let outcome = match self.cause {
            Cause::TestLimit => Outcome::TimedOut,
            _ => Outcome::Crashed,
        };
        TestEvent::Finish {
            worker: self.worker,
            id: self.id.clone().unwrap_or_default(),
            outcome,
            seconds: self.seconds,
            message: match self.cause {
                Cause::Itself => self.ending.to_string(),
                cause => cause.words().to_owned(),
            },
            excerpt: self.output.clone(),
            output: String::new(),
        }
    }

    /// The end itself.
    pub(super) fn event(&self) -> TestEvent {
        TestEvent::WorkerEnd {
            worker: self.worker,
            ending: self.ending.clone(),
            cause: self.cause,
            stage: self.stage,
            id: self.id.clone(),
            // a test's own row has it
            output: if self.in_test() {
                String::new()
            } else {
                self.output.clone()
            },
        }
    }

    /// One line for people.
    pub(super) fn description(&self) -> String {
        let place = match (self.stage, &self.id) {
            (Stage::Test, Some(id)) => format!(" in {id}"),
            (Stage::Between, Some(id)) => format!(" after {id}"),
            (Stage::Exit, _) => " on its way out".to_owned(),
            (Stage::Start, _) => " before the first test".to_owned(),
            (_, None) => String::new(),
        };
        format!("{} ({}){place}", self.cause.words(), self.ending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_of_a_long_log_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(
            &log,
            format!("before{}middle{}end", "a".repeat(5000), "b".repeat(5000)),
        )
        .unwrap();
        let text = printed_since(&log, 6);
        assert!(text.starts_with("aaa") && text.contains("[…]") && text.ends_with("end"));
        assert!(!text.contains("middle"));
        assert_eq!(printed_since(&log, 1 << 40), "");
    }
}
