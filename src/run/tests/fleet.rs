//! Worker processes side by side: gives each its tests, listens, ends what hangs or eats memory, names the test that ended
//! a process, and goes on after it in a new one.
mod worker;

use super::canary;
use super::error::TestsError;
use super::event::{Pass, TestEvent};
use super::ledger::Ledger;
use super::outcome::{Ending, Quality};
use super::suite::{Listing, Settings, Suite};
use crate::progress::Progress;
use crate::run::job::Arm;
use crate::run::process::{self, conversation};
use nix::sys::statvfs::statvfs;
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};
use worker::{Heard, Worker};

/// Longest time between two looks at limits and interrupts.
const TICK: Duration = Duration::from_millis(100);
/// Time between two looks at the memory of the workers.
const MEMORY_EVERY: Duration = Duration::from_secs(1);
/// Processes of one lane that may die in a row without having run a test.
const BARREN: u32 = 3;
/// Starts and passes reach the disk at least this often; all else at once.
const SYNC_EVERY: Duration = Duration::from_millis(200);
/// With less than this left on the disk, a failure may be the disk's.
const LEAST_FREE: u64 = 16 << 20;
/// A lane is given more when it has this many tests left: it has to know the one after the next.
const LOW: usize = 2;

/// Where events go before anything is made of them.
pub trait Record {
    /// Appends an event; with [`Durability::Synced`] it is on the disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written.
    fn record(&mut self, event: &TestEvent, durability: Durability) -> Result<(), TestsError>;
}

/// Whether an event may be lost when the machine dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// On the disk at once, with all before it.
    Synced,
    /// With the next that is synced.
    Unsynced,
}

/// The tests to be given out.
#[derive(Debug)]
pub(super) enum Feed {
    /// Not known until the first worker has told what there is.
    Listed,
    /// Whoever is free takes the next chunk.
    Shared(VecDeque<Vec<String>>),
    /// Each lane has its own chunks: the arms run the same tests in the same processes, in the same order.
    Lanes(Vec<VecDeque<Vec<String>>>),
}

impl Feed {
    fn take(&mut self, lane: usize) -> Option<Vec<String>> {
        match self {
            Self::Listed => None,
            Self::Shared(chunks) => chunks.pop_front(),
            Self::Lanes(lanes) => lanes.get_mut(lane).and_then(VecDeque::pop_front),
        }
    }

    fn has_more(&self, lane: usize) -> bool {
        match self {
            Self::Listed => true,
            Self::Shared(chunks) => !chunks.is_empty(),
            Self::Lanes(lanes) => lanes.get(lane).is_some_and(|chunks| !chunks.is_empty()),
        }
    }

    fn len(&self) -> usize {
        let count = |chunks: &VecDeque<Vec<String>>| chunks.iter().map(Vec::len).sum::<usize>();
        match self {
            Self::Listed => 0,
            Self::Shared(chunks) => count(chunks),
            Self::Lanes(lanes) => lanes.iter().map(count).sum(),
        }
    }
}

/// What one process takes of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// Chunk after chunk: starting a process takes longer than most tests.
    Many,
    /// One chunk, so that each chunk meets a fresh process.
    One,
}

/// One pass over one arm.
pub(super) struct Task<'a> {
    pub arm: Arm,
    pub pass: Pass,
    pub suite: &'a Suite,
    pub feed: Feed,
    pub lanes: usize,
    /// What one process takes.
    pub share: Share,
    /// The test that a replay is about.
    pub subject: Option<String>,
    /// When time is over.
    pub deadline: Option<Instant>,
}

/// How a pass ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// All that was asked for has run.
    Complete,
    /// The time is over.
    OutOfTime,
    /// The device is not sound, or too many processes died.
    Unsound(String),
    /// The tests cannot be collected.
    Broken(String),
}

/// One worker after another.
#[derive(Debug, Default)]
struct Lane {
    worker: Option<Worker>,
    /// Given out and not finished.
    owed: VecDeque<String>,
    /// Whether this worker has been given something.
    given: bool,
    /// Whether the worker has been told that nothing follows.
    told_end: bool,
    finished: bool,
    barren: u32,
}

/// Decides what runs once the ids are known.
pub(super) type Arrange<'a> = &'a mut dyn FnMut(&Ledger) -> Result<Feed, TestsError>;

/// Runs passes and keeps the ledger.
pub(super) struct Fleet<'a> {
    pub settings: &'a Settings,
    pub ledger: &'a mut Ledger,
    pub record: &'a mut dyn Record,
    pub progress: &'a dyn Progress,
    pub synced: Instant,
}

impl Fleet<'_> {
    /// Writes an event and takes it into the ledger.
    pub(super) fn tell(
        &mut self,
        event: &TestEvent,
        durability: Durability,
    ) -> Result<(), TestsError> {
        let durability = if self.synced.elapsed() > SYNC_EVERY {
            Durability::Synced
        } else {
            durability
        };
        if durability == Durability::Synced {
            self.synced = Instant::now();
        }
        self.record.record(event, durability)?;
        self.ledger.apply(event);
        Ok(())
    }

    /// Runs one pass to its end.
    ///
    /// # Errors
    /// When the user interrupts, or a program or the journal fails.
    pub(super) fn run(
        &mut self,
        mut task: Task<'_>,
        arrange: Arrange<'_>,
    ) -> Result<End, TestsError> {
        let mut lanes: Vec<Lane> = (0..task.lanes.max(1)).map(|_| Lane::default()).collect();
        let mut total = task.feed.len() as u64;
        let mut finished = 0;
        let deaths_before = self.ledger.arm(task.arm).all_deaths;
        let mut memory_seen = Instant::now();
        loop {
            if process::interrupted() {
                return Err(TestsError::Interrupted);
            }
            if task
                .deadline
                .is_some_and(|deadline| Instant::now() > deadline)
            {
                let (arm, pass) = (task.arm, task.pass);
                self.tell(&TestEvent::BudgetSpent { arm, pass }, Durability::Synced)?;
                return Ok(End::OutOfTime);
            }
            for (number, lane) in lanes.iter_mut().enumerate() {
                self.start(&task, number, lane)?;
            }
            if lanes.iter().all(|lane| lane.finished) {
                let (arm, pass) = (task.arm, task.pass);
                self.tell(&TestEvent::PassEnd { arm, pass }, Durability::Synced)?;
                return Ok(End::Complete);
            }
            conversation::wait_for_any(
                lanes
                    .iter()
                    .filter_map(|lane| lane.worker.as_ref().map(Worker::conversation)),
                TICK,
            );
            let look_at_memory = memory_seen.elapsed() > MEMORY_EVERY;
            if look_at_memory {
                memory_seen = Instant::now();
            }
            for (number, lane) in lanes.iter_mut().enumerate() {
                let Some(worker) = &mut lane.worker else {
                    continue;
                };
                let ended = worker.ended()?;
                for heard in worker.hear()? {
                    match heard {
                        Heard::Finished(event) => {
                            finished += 1;
                            self.outcome(&mut lane.owed, &event)?;
                            self.progress.advance(finished, total);
                        }
                        Heard::Event(event) => self.tell(&event, Durability::Unsynced)?,
                        Heard::Listed(ids) => self.listed(task.arm, ids)?,
                        Heard::Ready => {
                            if matches!(task.feed, Feed::Listed) && number == 0 {
                                self.tell(
                                    &TestEvent::Collected {
                                        arm: task.arm,
                                        ids: Vec::new(),
                                        last: true,
                                    },
                                    Durability::Synced,
                                )?;
                                task.feed = arrange(self.ledger)?;
                                total = task.feed.len() as u64;
                            }
                        }
                        Heard::Broken(message) => return Ok(End::Broken(message)),
                    }
                }
                if let Some(status) = ended {
                    if let Some(end) = self.bury(&task, lane, status.into(), deaths_before)? {
                        return Ok(end);
                    }
                    continue;
                }
                supply(&mut task.feed, task.share, number, lane);
                if let Some(worker) = &mut lane.worker {
                    let waiting = lane.owed.is_empty() && !lane.told_end;
                    let ledger = &*self.ledger;
                    let limits = &self.settings.limits;
                    worker.watch(self.settings, waiting, look_at_memory, |id| {
                        limits.of(ledger.baseline_seconds(id))
                    });
                }
            }
        }
    }

    fn start(&mut self, task: &Task<'_>, number: usize, lane: &mut Lane) -> Result<(), TestsError> {
        if lane.worker.is_some() || lane.finished {
            return Ok(());
        }
        if lane.owed.is_empty() && !task.feed.has_more(number) {
            lane.finished = true;
            return Ok(());
        }
        let listing = match task.feed {
            Feed::Listed if number == 0 => Listing::Told,
            _ => Listing::Untold,
        };
        let worker = self.ledger.next_worker();
        self.tell(
            &TestEvent::WorkerStart {
                arm: task.arm,
                pass: task.pass,
                lane: number,
                worker,
                subject: task.subject.clone(),
            },
            Durability::Unsynced,
        )?;
        let mut started = Worker::start(task.suite, self.settings, worker, listing)?;
        if !lane.owed.is_empty() {
            started.send_run(lane.owed.make_contiguous());
        }
        lane.given = !lane.owed.is_empty();
        lane.worker = Some(started);
        lane.told_end = false;
        Ok(())
    }

    /// Takes a test's outcome, unless the disk is full and the outcome may be the disk's.
    fn outcome(
        &mut self,
        owed: &mut VecDeque<String>,
        event: &TestEvent,
    ) -> Result<(), TestsError> {
        let TestEvent::Finish { id, outcome, .. } = event else {
            return Ok(());
        };
        let bad = outcome.quality() == Quality::Bad;
        if bad {
            enough_disk(&self.settings.folder)?;
        }
        if let Some(position) = owed.iter().position(|other| other == id) {
            owed.remove(position);
        }
        let durability = if bad {
            Durability::Synced
        } else {
            Durability::Unsynced
        };
        self.tell(event, durability)
    }

    fn listed(&mut self, arm: Arm, ids: Vec<String>) -> Result<(), TestsError> {
        self.tell(
            &TestEvent::Collected {
                arm,
                ids,
                last: false,
            },
            Durability::Unsynced,
        )
    }

    /// A process has ended: says what that was, and whether the pass can go on.
    fn bury(
        &mut self,
        task: &Task<'_>,
        lane: &mut Lane,
        ending: Ending,
        deaths_before: u32,
    ) -> Result<Option<End>, TestsError> {
        let Some(worker) = lane.worker.take() else {
            return Ok(None);
        };
        let ran = worker.ran();
        let end = worker.conclude(ending);
        if end.in_test() && !end.deserves_another_try(self.ledger, task.arm) {
            let event = end.outcome_of_test();
            self.outcome(&mut lane.owed, &event)?;
        }
        let event = end.event();
        self.tell(&event, Durability::Synced)?;
        let fruitless = ran == 0 && !end.in_test() && !(end.is_clean() && lane.owed.is_empty());
        lane.barren = if fruitless { lane.barren + 1 } else { 0 };
        if lane.barren >= BARREN {
            return Ok(Some(End::Broken(end.description())));
        }
        if !end.is_death() {
            return Ok(None);
        }
        self.progress
            .note(&format!("{}: {}", task.arm, end.description()));
        let deaths = self.ledger.arm(task.arm).all_deaths - deaths_before;
        if deaths >= self.settings.deaths {
            return Ok(Some(End::Unsound(format!(
                "{deaths} processes died in one pass"
            ))));
        }
        Ok(self
            .device_fault(task.arm, task.suite)?
            .map(|fault| End::Unsound(format!("after {}: {fault}", end.description()))))
    }

    /// Checks the device, twice when the first check finds a fault.
    pub(super) fn device_fault(
        &mut self,
        arm: Arm,
        suite: &Suite,
    ) -> Result<Option<String>, TestsError> {
        let Some(device) = &self.settings.canary else {
            return Ok(None);
        };
        let mut fault = None;
        for _ in 0..2 {
            let health = canary::check(suite, self.settings, device)?;
            self.tell(
                &TestEvent::Canary {
                    arm,
                    sound: health.fault.is_none(),
                    detail: health.fault.clone().unwrap_or_default(),
                    seconds: health.seconds,
                },
                Durability::Synced,
            )?;
            fault = health.fault;
            if fault.is_none() {
                break;
            }
        }
        Ok(fault)
    }
}

/// Gives the lane's worker more when it runs low, and says when nothing follows.
fn supply(feed: &mut Feed, share: Share, number: usize, lane: &mut Lane) {
    let Some(worker) = &mut lane.worker else {
        return;
    };
    while lane.owed.len() <= LOW && !lane.told_end && !matches!(feed, Feed::Listed) {
        let chunk = match share {
            Share::One if lane.given => None,
            Share::One | Share::Many => feed.take(number),
        };
        match chunk {
            Some(chunk) => {
                lane.given = true;
                worker.send_run(&chunk);
                lane.owed.extend(chunk);
            }
            None => {
                worker.send_end();
                lane.told_end = true;
            }
        }
    }
}

fn enough_disk(folder: &Path) -> Result<(), TestsError> {
    let Ok(system) = statvfs(folder) else {
        return Ok(());
    };
    // the counts are 32 bits wide on macOS
    #[allow(clippy::unnecessary_cast)]
    let free = system.blocks_available() as u64 * system.fragment_size() as u64;
    if free < LEAST_FREE {
        return Err(TestsError::DiskFull {
            path: folder.to_owned(),
            free,
        });
    }
    Ok(())
}
