//! Runs a test file in both arms, and says what the patches changed.
//!
//! The baseline runs first; its durations limit the patched arm's tests, and the patched arm runs the same tests in the
//! same processes in the same order. Tests that then differ run again in fresh processes, the arms taking turns, until the
//! exact test decides. Everything that happens is an event: it goes to the journal first and into the ledger then, and the
//! report is made of the ledger alone, so that a run that was cut goes on where it was, and ends as if it had not been.
mod canary;
mod classify;
mod deal;
mod decide;
mod error;
pub mod event;
mod expected;
mod findings;
mod fleet;
mod junit;
mod ledger;
mod memory;
pub mod outcome;
mod question;
mod rerun;
mod selection;
mod suite;

pub use error::TestsError;
pub use expected::Expected;
pub use findings::Findings;
pub use fleet::{Durability, Record};
pub use junit::{Case, read as read_junit};
pub use selection::read_ids;
pub use suite::{LeakCheck, Limits, Pretence, Reruns, Selection, Settings, Suite};

use crate::progress::Progress;
use crate::report::document::Arms;
use crate::run::job::Arm;
use crate::run::journal::{self, Event, JournalError};
use crate::share;
use event::{Pass, TestEvent};
use fleet::{End, Feed, Fleet, Share, Task};
use ledger::{Id, Ledger};
use outcome::Outcome;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Instant;

/// Durations that one event holds.
const BATCH: usize = 500;

/// What is compared with what, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The arm without the patches.
    pub baseline: Baseline,
    /// The arm with the patches.
    pub patched: Suite,
    /// How both are run.
    pub settings: Settings,
}

/// The arm without the patches.
#[derive(Debug, Clone)]
pub enum Baseline {
    /// It runs.
    Run(Suite),
    /// It is a recording, for example a JUnit file of another machine.
    Recorded(Vec<Case>),
}

impl Baseline {
    const fn suite(&self) -> Option<&Suite> {
        match self {
            Self::Run(suite) => Some(suite),
            Self::Recorded(_) => None,
        }
    }
}

/// The failures that the simulated device is known to have, each with its reason; none where the list cannot be read, so
/// that every failure counts as unexplained.
#[must_use]
pub fn known_failures() -> Expected {
    share::root()
        .ok()
        .map(|root| root.join("harness/device/expected_failures.toml"))
        .and_then(|path| Expected::read(&path).ok())
        .unwrap_or_default()
}

/// What is known of a run so far, taken from its events.
#[derive(Debug, Default)]
pub struct Story(Ledger);

impl Story {
    /// Reads it from the journal of a run folder.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn read(folder: &Path) -> Result<Self, JournalError> {
        let mut story = Self::default();
        journal::replay(folder, |record| {
            if let Event::Test(value) = record.event
                // an event of another version tells this one nothing
                && let Ok(event) = serde_json::from_value(value)
            {
                story.take(&event);
            }
        })?;
        Ok(story)
    }

    /// Whether no tests are part of the run, as far as it came.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.asked().is_none()
    }

    /// Takes the next event.
    pub fn take(&mut self, event: &TestEvent) {
        self.0.apply(event);
    }

    /// Seconds that each test took in the baseline.
    #[must_use]
    pub fn seconds(&self) -> BTreeMap<String, f64> {
        self.0.seconds()
    }

    /// Writes the outcomes of both arms as JUnit into a folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_junit(&self, folder: &Path) -> Result<(), TestsError> {
        std::fs::create_dir_all(folder).map_err(TestsError::file("make", folder))?;
        write_junit(&self.0, folder)
    }

    /// Whether all that was asked for has run.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// How a test ended in each arm, by its own name without file and class; nothing where no arm ran it.
    #[must_use]
    pub fn outcomes(&self, test: &str) -> Vec<(String, Arms<Option<Outcome>>)> {
        self.0
            .names()
            .filter(|id| id.rsplit("::").next() == Some(test))
            .filter_map(|id| {
                let outcomes = Arms {
                    baseline: self.0.outcome(Arm::Baseline, id),
                    patched: self.0.outcome(Arm::Patched, id),
                };
                let ran = outcomes.baseline.is_some() || outcomes.patched.is_some();
                ran.then(|| (id.to_owned(), outcomes))
            })
            .collect()
    }

    /// What it shows; nothing when no tests were part of the run.
    #[must_use]
    pub fn findings(&self, expected: &Expected) -> Option<Findings> {
        findings::of(&self.0, expected)
    }
}

/// Runs all that the story does not tell already, and goes on with it.
///
/// # Errors
/// When the user interrupts, the selection names tests that do not exist, the baseline cannot be collected, or a program or
/// the journal fails. What was reached is in the journal.
pub fn run(
    plan: &Plan,
    story: &mut Story,
    record: &mut dyn Record,
    progress: &dyn Progress,
) -> Result<(), TestsError> {
    plan.settings.prepare()?;
    let deadline = plan
        .settings
        .limits
        .budget
        .map(|budget| Instant::now() + budget);
    let mut fleet = Fleet {
        settings: &plan.settings,
        ledger: &mut story.0,
        record,
        progress,
        synced: Instant::now(),
    };
    begin(&mut fleet, plan)?;
    if run_arms(&mut fleet, plan, deadline)? {
        progress.stage("tests: rerun what differs");
        let questions = question::all(fleet.ledger);
        let suites = Arms {
            baseline: plan.baseline.suite(),
            patched: Some(&plan.patched),
        };
        rerun::ask(&mut fleet, &suites, &questions, deadline)?;
    }
    write_junit(fleet.ledger, &plan.settings.folder)?;
    fleet.tell(&TestEvent::Done, Durability::Synced)
}

fn write_junit(ledger: &Ledger, folder: &Path) -> Result<(), TestsError> {
    for arm in Arm::ALL {
        junit::write(ledger, arm, &folder.join(format!("{arm}.xml")))?;
    }
    Ok(())
}

/// Tells what is asked for, or that the run goes on.
fn begin(fleet: &mut Fleet<'_>, plan: &Plan) -> Result<(), TestsError> {
    if fleet.ledger.asked().is_some() {
        fleet.tell(&TestEvent::Resume, Durability::Synced)?;
    } else {
        let recorded = matches!(plan.baseline, Baseline::Recorded(_));
        let asked = plan.settings.asked(recorded);
        fleet.tell(&TestEvent::Plan(asked), Durability::Synced)?;
    }
    let durations: Vec<_> = plan.settings.durations.iter().collect();
    for batch in durations.chunks(BATCH) {
        let seconds = batch.iter().map(|(id, took)| ((*id).clone(), **took));
        let event = TestEvent::Durations {
            seconds: seconds.collect(),
        };
        fleet.tell(&event, Durability::Unsynced)?;
    }
    if let Baseline::Recorded(cases) = &plan.baseline {
        for case in cases {
            let event = TestEvent::Recorded {
                id: case.id.clone(),
                outcome: case.outcome,
                seconds: case.seconds,
                message: case.message.clone(),
            };
            fleet.tell(&event, Durability::Unsynced)?;
        }
    }
    Ok(())
}

/// Runs the selection in both arms; whether reruns make sense.
fn run_arms(
    fleet: &mut Fleet<'_>,
    plan: &Plan,
    deadline: Option<Instant>,
) -> Result<bool, TestsError> {
    let baseline = plan.baseline.suite();
    if !sound(fleet, baseline, &plan.patched)? {
        return Ok(false);
    }
    if let Some(suite) = baseline {
        fleet.progress.stage("tests: baseline");
        match main_pass(fleet, plan, Arm::Baseline, suite, deadline)? {
            End::Complete => {}
            End::OutOfTime => return Ok(false),
            End::Unsound(reason) => {
                open(fleet, Arm::Baseline, reason)?;
                return Ok(false);
            }
            End::Broken(message) => {
                return Err(TestsError::Collect {
                    arm: Arm::Baseline,
                    message,
                });
            }
        }
    }
    fleet.progress.stage("tests: patched");
    match main_pass(fleet, plan, Arm::Patched, &plan.patched, deadline)? {
        End::Complete => {}
        End::OutOfTime => return Ok(false),
        End::Unsound(reason) => {
            // is it the device or the build? the other build on the same device tells
            if let Some(suite) = baseline
                && let Some(fault) = fleet.device_fault(Arm::Baseline, suite)?
            {
                open(fleet, Arm::Baseline, fault)?;
            }
            open(fleet, Arm::Patched, reason)?;
            return Ok(false);
        }
        End::Broken(message) => {
            if baseline.is_none() {
                return Err(TestsError::Collect {
                    arm: Arm::Patched,
                    message,
                });
            }
            open(
                fleet,
                Arm::Patched,
                format!("the tests do not start: {message}"),
            )?;
            return Ok(false);
        }
    }
    if let Some(suite) = baseline {
        added_pass(fleet, plan, suite, deadline)?;
    }
    Ok(true)
}

fn open(fleet: &mut Fleet<'_>, arm: Arm, reason: String) -> Result<(), TestsError> {
    fleet
        .progress
        .note(&format!("{arm}: no more tests: {reason}"));
    fleet.tell(&TestEvent::CircuitOpen { arm, reason }, Durability::Synced)
}

/// Checks the device under both builds. When only the patched build's check fails, again and again, it is the build.
fn sound(
    fleet: &mut Fleet<'_>,
    baseline: Option<&Suite>,
    patched: &Suite,
) -> Result<bool, TestsError> {
    if fleet.settings.canary.is_none() {
        return Ok(true);
    }
    fleet.progress.stage("tests: check the device");
    if let Some(suite) = baseline
        && let Some(fault) = fleet.device_fault(Arm::Baseline, suite)?
    {
        open(fleet, Arm::Baseline, fault)?;
        return Ok(false);
    }
    let Some(fault) = fleet.device_fault(Arm::Patched, patched)? else {
        return Ok(true);
    };
    if let Some(suite) = baseline
        && let Some(fault) = fleet.device_fault(Arm::Baseline, suite)?
    {
        open(fleet, Arm::Baseline, fault)?;
        return Ok(false);
    }
    if fleet.device_fault(Arm::Patched, patched)?.is_none() {
        return Ok(true);
    }
    open(
        fleet,
        Arm::Patched,
        format!("the device is sound with the baseline's build and not with this one: {fault}"),
    )?;
    Ok(false)
}

fn main_pass(
    fleet: &mut Fleet<'_>,
    plan: &Plan,
    arm: Arm,
    suite: &Suite,
    deadline: Option<Instant>,
) -> Result<End, TestsError> {
    let pass = Pass::Main;
    if fleet.ledger.arm(arm).done.contains(&pass) {
        return Ok(End::Complete);
    }
    let workers = plan.settings.workers.max(1);
    let mut arrange = |ledger: &Ledger| arranged(ledger, plan, arm, workers);
    let feed = if fleet.ledger.arm(arm).listed {
        arrange(fleet.ledger)?
    } else {
        Feed::Listed
    };
    let task = Task {
        arm,
        pass,
        suite,
        feed,
        lanes: workers,
        share: Share::Many,
        subject: None,
        deadline,
    };
    fleet.run(task, &mut arrange)
}

fn arranged(ledger: &Ledger, plan: &Plan, arm: Arm, workers: usize) -> Result<Feed, TestsError> {
    if let Some(names) = &plan.settings.selection.ids {
        // the patched file may have tests that the baseline's does not: only the patched arm can tell, unless it is the same
        let same_file = plan.baseline.suite().is_some_and(|suite| {
            suite.root.join(&suite.file) == plan.patched.root.join(&plan.patched.file)
        });
        if arm == Arm::Patched || same_file {
            selection::all_known(ledger, names)?;
        }
    }
    let chosen = ledger.chosen();
    let wanted = deal::remaining(ledger, arm, chosen.as_ref());
    let alike = arm == Arm::Patched && matches!(plan.baseline, Baseline::Run(_));
    if alike {
        return Ok(deal::like_baseline(ledger, &wanted, workers));
    }
    let names: Vec<String> = wanted
        .iter()
        .map(|id| ledger.name(*id).to_owned())
        .collect();
    Ok(deal::shared(&names, workers))
}

/// Runs the tests that the patches bring on the baseline's build, where they should fail.
fn added_pass(
    fleet: &mut Fleet<'_>,
    plan: &Plan,
    baseline: &Suite,
    deadline: Option<Instant>,
) -> Result<(), TestsError> {
    let ledger = &*fleet.ledger;
    let record = ledger.arm(Arm::Baseline);
    if record.done.contains(&Pass::Added) {
        return Ok(());
    }
    let known: HashSet<Id> = record.collected.iter().copied().collect();
    let chosen = ledger.chosen();
    let names: Vec<String> = ledger
        .arm(Arm::Patched)
        .collected
        .iter()
        .filter(|id| !known.contains(id) && !record.added.contains_key(id))
        .filter(|id| chosen.as_ref().is_none_or(|chosen| chosen.contains(id)))
        .map(|id| ledger.name(*id).to_owned())
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    fleet
        .progress
        .stage("tests: what the patches add, on the baseline's build");
    let suite = Suite {
        python: baseline.python.clone(),
        root: plan.patched.root.clone(),
        file: plan.patched.file.clone(),
        environment: baseline.environment.clone(),
    };
    let task = Task {
        arm: Arm::Baseline,
        pass: Pass::Added,
        suite: &suite,
        feed: deal::shared(&names, 1),
        lanes: 1,
        share: Share::Many,
        subject: None,
        deadline,
    };
    match fleet.run(task, &mut |_| Ok(Feed::Listed))? {
        End::Complete | End::OutOfTime => {}
        End::Unsound(reason) | End::Broken(reason) => {
            fleet.progress.note(&format!(
                "the added tests could not be run on the baseline's build: {reason}"
            ));
        }
    }
    Ok(())
}
