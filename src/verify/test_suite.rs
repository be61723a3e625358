//! The part of a run that is test_mps.py: which tests, with which limits, on which device.
use super::programs::Programs;
use crate::error::Failure;
use crate::progress::Progress;
use crate::report::document::Arms;
use crate::run::folder::RunFolder;
use crate::run::job::Arm;
use crate::run::journal::{self, Event, Journal};
use crate::run::shard::{Durations, Shard};
use crate::run::tests::event::TestEvent;
use crate::run::tests::{
    self as runner, Baseline, Durability, LeakCheck, Limits, Plan, Pretence, Record, Selection,
    Settings, Story, Suite, TestsError,
};
use crate::share;
use std::path::PathBuf;
use std::time::Duration;

/// The test file.
pub const FILE: &str = "test_mps.py";
/// The tests of the quick suite, as an expression: those that allocate, copy, view, count or release memory by name, but
/// for one that needs gigabytes.
pub const QUICK: &str = "TestMemoryLeak or (TestMPS and (alloc or memory or empty or copy or clone or storage or cat or \
    to_device or contiguous or slice or strided or view or resize or pin or event or item or scalar or fill or zeros or \
    from_numpy or cpu_copy or non_blocking) and not copy_large)";

/// Which tests are wanted, and what they may cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Which tests.
    pub selection: Selection,
    /// A JUnit file in place of the baseline's run.
    pub baseline: Option<PathBuf>,
    /// Time for all tests.
    pub budget: Option<Duration>,
    /// Most memory of one worker in bytes.
    pub memory: u64,
    /// Whether upstream's own leak check runs.
    pub leak_check: LeakCheck,
    /// Which part of the tests runs, balanced by what; all when absent.
    pub shard: Option<(Shard, Durations)>,
}

impl Wanted {
    /// What makes two runs of tests comparable, in one line.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let ids = self.selection.ids.as_ref().map(|ids| ids.join(" "));
        format!(
            "-k {:?}, ids {ids:?}, baseline {:?}, memory {}, leak check {:?}",
            self.selection.expression, self.baseline, self.memory, self.leak_check
        )
    }

    fn settings(&self, folder: &RunFolder) -> Result<Settings, Failure> {
        let harness = share::root()?.join("harness").join("pytest");
        let mut settings = Settings::new(harness, folder.path().join("tests"));
        settings.selection = self.selection.clone();
        settings.memory = Some(self.memory);
        settings.leak_check = self.leak_check;
        if let Some((shard, durations)) = &self.shard {
            settings.shard = Some(*shard);
            settings.durations = durations.tests.clone();
        }
        settings.limits = Limits {
            budget: self.budget,
            ..Limits::default()
        };
        Ok(settings)
    }
}

/// The suites of both arms; the baseline's is absent when it is a recording.
pub type Suites = Arms<Option<Suite>>;

/// Says in the journal that tests are part of the run.
///
/// # Errors
/// When the journal cannot be written.
pub fn announce(wanted: &Wanted, folder: &RunFolder, journal: &Journal) -> Result<(), Failure> {
    if Story::read(folder.path())?.is_empty() {
        let asked = wanted.settings(folder)?.asked(wanted.baseline.is_some());
        Journaled(journal).record(&TestEvent::Plan(asked), Durability::Synced)?;
    }
    Ok(())
}

/// Builds the device for each arm that runs, and brings the test file.
///
/// # Errors
/// When a build fails or there are no tests.
pub fn suites(
    wanted: &Wanted,
    programs: &dyn Programs,
    folder: &RunFolder,
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<Suites, Failure> {
    let files = folder.path().join("tests");
    let of = |arm: Arm| -> Result<Option<Suite>, Failure> {
        let (suite, notes) = programs.tests(arm, &files, progress)?;
        for text in notes {
            journal.append(Event::Note { text })?;
        }
        Ok(Some(suite))
    };
    Ok(Arms {
        baseline: match wanted.baseline {
            Some(_) => None,
            None => of(Arm::Baseline)?,
        },
        patched: of(Arm::Patched)?,
    })
}

/// Runs the tests, or what is left of them.
///
/// # Errors
/// When the selection names no test, the tests do not start, or the user interrupts.
pub fn run(
    wanted: &Wanted,
    suites: Suites,
    pretence: Option<Pretence>,
    workers: usize,
    folder: &RunFolder,
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let mut settings = wanted.settings(folder)?;
    settings.workers = workers;
    settings.canary = Some("mps".to_owned());
    settings.pretence = pretence;
    let baseline = match (&wanted.baseline, suites.baseline) {
        (Some(path), _) => Baseline::Recorded(runner::read_junit(path, FILE)?),
        (None, Some(suite)) => Baseline::Run(suite),
        (None, None) => return Err(Failure::usage("there is no baseline to run tests in")),
    };
    let Some(patched) = suites.patched else {
        return Err(Failure::usage("there is no patched arm to run tests in"));
    };
    let plan = Plan {
        baseline,
        patched,
        settings,
    };
    let mut story = Story::read(folder.path())?;
    runner::run(&plan, &mut story, &mut Journaled(journal), progress)?;
    Ok(())
}

/// The run's journal as the test runner's record.
struct Journaled<'a>(&'a Journal);

impl Record for Journaled<'_> {
    fn record(&mut self, event: &TestEvent, durability: Durability) -> Result<(), TestsError> {
        let value = serde_json::to_value(event).map_err(|error| TestsError::File {
            action: "write",
            path: journal::FILE.into(),
            source: error.into(),
        })?;
        match durability {
            Durability::Synced => self.0.append(Event::Test(value))?,
            Durability::Unsynced => self.0.append_unsynced(Event::Test(value))?,
        }
        Ok(())
    }
}
