//! Small pytest files, run in two arms by the real workers; a test knows its arm by the variable `ARM`.
use std::path::{Path, PathBuf};
use std::time::Duration;
use umpatch::progress::Silent;
use umpatch::report::document::{Bearing, TestChange, Tests};
use umpatch::run::tests::event::TestEvent;
use umpatch::run::tests::{
    Baseline, Durability, Expected, Findings, Limits, Plan, Record, Settings, Story, Suite,
    TestsError, run,
};

/// A Python that has pytest. Absence is a failure: a test that cannot run has shown nothing.
pub fn python() -> PathBuf {
    let venv = std::env::var_os("UMPATCH_TORCH_VENV").map(PathBuf::from);
    let cached = umpatch::paths::cache().join("torch");
    let cached = std::fs::read_dir(cached)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let candidates = venv
        .into_iter()
        .chain(cached)
        .map(|venv| venv.join("bin/python"))
        .chain([PathBuf::from("python3")]);
    for candidate in candidates {
        let has_pytest = std::process::Command::new(&candidate)
            .args(["-c", "import pytest"])
            .output()
            .is_ok_and(|output| output.status.success());
        if has_pytest {
            return candidate;
        }
    }
    panic!(
        "no Python with pytest: set UMPATCH_TORCH_VENV to a virtual environment that has it, or run `umpatch fetch`"
    )
}

pub fn harness() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("harness/pytest")
}

/// A folder with a test file for each arm, and the plan to run them.
pub struct Stage {
    pub folder: tempfile::TempDir,
    pub plan: Plan,
}

impl Stage {
    /// The same file in both arms.
    pub fn new(tests: &str) -> Self {
        Self::with_files(tests, tests)
    }

    pub fn with_files(baseline: &str, patched: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let python = python();
        let suite = |arm: &str, text: &str| {
            let root = folder.path().join(arm);
            std::fs::create_dir_all(&root).unwrap();
            std::fs::write(root.join("test_it.py"), text).unwrap();
            Suite {
                python: python.clone(),
                root,
                file: "test_it.py".into(),
                environment: vec![
                    ("ARM".into(), arm.into()),
                    ("MARKS".into(), folder.path().into()),
                ],
            }
        };
        let mut settings = Settings::new(harness(), folder.path().join("run"));
        settings.workers = 2;
        settings.memory = Some(2 << 30);
        settings.limits = Limits {
            least: Duration::from_secs(60),
            most: Duration::from_secs(60),
            silence: Duration::from_secs(120),
            ..Limits::default()
        };
        // three rounds: what these tests do is the same every time
        settings.reruns.level = 0.2;
        let plan = Plan {
            baseline: Baseline::Run(suite("baseline", baseline)),
            patched: suite("patched", patched),
            settings,
        };
        Self { folder, plan }
    }

    pub fn run(&self) -> Findings {
        self.run_into(&mut Kept::default()).unwrap()
    }

    /// Goes on from what was kept, and keeps what happens.
    pub fn run_into(&self, kept: &mut Kept) -> Result<Findings, TestsError> {
        let mut story = kept.story();
        run(&self.plan, &mut story, kept, &Silent)?;
        Ok(story.findings(&Expected::default()).unwrap())
    }
}

/// A journal in memory, which may fail after so many events.
#[derive(Default)]
pub struct Kept {
    pub events: Vec<TestEvent>,
    pub fails_after: Option<usize>,
}

impl Kept {
    pub fn story(&self) -> Story {
        let mut story = Story::default();
        for event in &self.events {
            story.take(event);
        }
        story
    }
}

impl Record for Kept {
    fn record(&mut self, event: &TestEvent, _durability: Durability) -> Result<(), TestsError> {
        if self
            .fails_after
            .is_some_and(|most| self.events.len() >= most)
        {
            return Err(TestsError::Interrupted);
        }
        self.events.push(event.clone());
        Ok(())
    }
}

/// The row of a test, by the last part of its id.
pub fn change<'a>(tests: &'a Tests, name: &str) -> Option<&'a TestChange> {
    tests
        .changes
        .iter()
        .find(|change| change.id.rsplit("::").next() == Some(name))
}

/// Names and classes of all rows, sorted.
pub fn classes(tests: &Tests) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = tests
        .changes
        .iter()
        .map(|change| {
            let name = change.id.rsplit("::").next().unwrap_or_default();
            (name.to_owned(), change.class.clone())
        })
        .collect();
    rows.sort();
    rows
}

/// The findings without what differs between two runs of the same: times, and the figures of processes.
pub fn comparable(findings: &Findings) -> Findings {
    let mut findings = findings.clone();
    findings.tests.seconds.baseline = 0.0;
    findings.tests.seconds.patched = 0.0;
    for change in &mut findings.tests.changes {
        change.excerpt.clear();
    }
    findings
}

/// How many rows have this weight.
pub fn weighing(findings: &Findings, bearing: Bearing) -> usize {
    let changes = &findings.tests.changes;
    changes
        .iter()
        .filter(|change| change.weight() == bearing)
        .count()
}
