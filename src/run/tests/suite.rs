//! What is run: the test file of each arm, the programs that run it, and the limits that they run under.
use super::error::TestsError;
use super::event::Asked;
use crate::run::process::Program;
use crate::run::shard::Shard;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The tests of one arm: a pytest file, and the Python that runs it.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The interpreter.
    pub python: PathBuf,
    /// The folder that test ids are relative to; for test_mps.py the tree's `test/`.
    pub root: PathBuf,
    /// The test file, relative to `root`.
    pub file: PathBuf,
    /// Its environment beside ours, for example the `PYTHONPATH` that brings the device.
    pub environment: Vec<(OsString, OsString)>,
}

/// How the tests of both arms are run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder `harness/pytest`.
    pub harness: PathBuf,
    /// Where logs and what tests write into their working folder go.
    pub folder: PathBuf,
    /// Worker processes side by side.
    pub workers: usize,
    /// Which tests.
    pub selection: Selection,
    /// Time limits.
    pub limits: Limits,
    /// Most private memory of one worker, in bytes.
    pub memory: Option<u64>,
    /// The device that is checked before the run and after each death; nothing is checked without one.
    pub canary: Option<String>,
    /// What the tests are told about the machine that they do not run on.
    pub pretence: Option<Pretence>,
    /// Whether upstream's own leak check runs in every test.
    pub leak_check: LeakCheck,
    /// How differing tests are run again.
    pub reruns: Reruns,
    /// Which part of the tests runs; all when absent.
    pub shard: Option<Shard>,
    /// How long tests took in an earlier run, by id: what parts are balanced by.
    pub durations: BTreeMap<String, f64>,
    /// So many dead processes in one pass end it: the arm is beyond counting.
    pub deaths: u32,
}

impl Settings {
    /// The usual settings for a harness folder and a folder to write into.
    pub fn new(harness: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self {
            harness: harness.into(),
            folder: folder.into(),
            workers: 2,
            selection: Selection::default(),
            limits: Limits::default(),
            memory: Some(10 << 30),
            canary: None,
            pretence: None,
            leak_check: LeakCheck::Off,
            reruns: Reruns::default(),
            shard: None,
            durations: BTreeMap::new(),
            deaths: 50,
        }
    }
}

impl Settings {
    /// The folder of programs that answer in a Mac's place.
    fn stand_ins(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// Makes the folders that workers need. The stand-ins are copied there: files that travelled inside the binary are not
    /// executable.
    pub(super) fn prepare(&self) -> Result<(), TestsError> {
        for folder in [self.folder.join("work"), self.stand_ins()] {
            std::fs::create_dir_all(&folder).map_err(TestsError::file("make", &folder))?;
        }
        let from = self.harness.join("bin").join("sysctl");
        let to = self.stand_ins().join("sysctl");
        std::fs::copy(&from, &to).map_err(TestsError::file("copy", &from))?;
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&to, executable).map_err(TestsError::file("make executable", &to))
    }

    /// What the journal keeps of them.
    #[must_use]
    pub fn asked(&self, recorded: bool) -> Asked {
        Asked {
            expression: self.selection.expression.clone(),
            ids: self.selection.ids.clone(),
            level: self.reruns.level,
            leak_check: self.leak_check,
            recorded,
            shard: self.shard,
        }
    }
}

/// Which tests of the file run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// As pytest's `-k`; empty for all.
    pub expression: String,
    /// Ids; all when absent.
    pub ids: Option<Vec<String>>,
}

/// Time limits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A test may take so many times as long as it took in the baseline…
    pub factor: f64,
    /// …but is never ended sooner than this…
    pub least: Duration,
    /// …nor later than this, which also holds where the baseline does not know the test.
    pub most: Duration,
    /// Silence outside of a test: import, collection, exit.
    pub silence: Duration,
    /// The whole run, reruns included.
    pub budget: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            factor: 10.0,
            least: Duration::from_secs(30),
            most: Duration::from_secs(300),
            silence: Duration::from_secs(180),
            budget: None,
        }
    }
}

impl Limits {
    /// The limit of a test that took so many seconds in the baseline.
    #[must_use]
    pub fn of(&self, baseline_seconds: Option<f64>) -> Duration {
        match baseline_seconds {
            None => self.most,
            Some(seconds) => Duration::try_from_secs_f64(seconds * self.factor)
                .unwrap_or(self.most)
                .clamp(self.least.min(self.most), self.most),
        }
    }
}

/// How differing tests are run again.
#[derive(Debug, Clone, Copy)]
pub struct Reruns {
    /// The probability of calling an unchanged test worse, over all tests of the run together.
    pub level: f64,
    /// Time for all reruns.
    pub budget: Duration,
    /// At most so many differing tests get a process of their own; more share processes, in a new order each round.
    pub alone: usize,
    /// A replay repeats at most so many tests that ran before.
    pub replayed: usize,
}

impl Default for Reruns {
    fn default() -> Self {
        Self {
            level: 0.01,
            budget: Duration::from_secs(20 * 60),
            alone: 4,
            replayed: 100,
        }
    }
}

/// Whether upstream's own leak check (`PYTORCH_TEST_MPS_MEM_LEAK_CHECK`) runs in every test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeakCheck {
    /// It does not.
    #[default]
    Off,
    /// It does.
    On,
}

/// What the tests are told about the machine, where it is not a Mac.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pretence {
    /// The macOS version, for example 15.1.
    pub macos: String,
    /// The machine's memory in bytes, as `sysctl hw.memsize` tells it.
    pub memory: u64,
}

impl Default for Pretence {
    fn default() -> Self {
        Self {
            macos: "15.1".to_owned(),
            memory: 24 << 30,
        }
    }
}

/// Whether a worker tells all ids that it collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    Told,
    Untold,
}

impl Suite {
    /// A worker process over this suite; `log` takes all that is printed.
    pub(super) fn worker(&self, settings: &Settings, log: &Path, listing: Listing) -> Program {
        let mut program = self
            .python_program(settings)
            .arg(settings.harness.join("worker.py"))
            .arg(&self.file)
            .arg("--root")
            .arg(&self.root)
            .arg("--log")
            .arg(log)
            .stderr_log(log);
        if listing == Listing::Told {
            program = program.arg("--list");
        }
        if !settings.selection.expression.is_empty() {
            // one word, so that an expression that starts with a dash is no option
            let mut select = OsString::from("--select=");
            select.push(&settings.selection.expression);
            program = program.arg(select);
        }
        if let Some(bytes) = settings.memory {
            program = program.arg("--memory").arg(bytes.to_string());
        }
        if let Some(pretence) = &settings.pretence {
            program = program.arg("--macos").arg(&pretence.macos);
        }
        program
    }

    /// The check of the device.
    pub(super) fn canary(&self, settings: &Settings, device: &str) -> Program {
        self.python_program(settings)
            .arg(settings.harness.join("canary.py"))
            .args(["--device", device])
            .limit(settings.limits.silence)
    }

    fn python_program(&self, settings: &Settings) -> Program {
        let mut program = Program::new(&self.python)
            .folder(settings.folder.join("work"))
            .env("OMP_NUM_THREADS", "1")
            .env("PYTHONUNBUFFERED", "1")
            // torch's own tests would end every message with how to repeat them
            .env("PYTORCH_PRINT_REPRO_ON_FAILURE", "0")
            // nothing is written beside the tests, and the second process need not compile them again
            .env("PYTHONPYCACHEPREFIX", settings.folder.join("pycache"))
            .env("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1");
        if settings.leak_check == LeakCheck::On {
            program = program.env("PYTORCH_TEST_MPS_MEM_LEAK_CHECK", "1");
        }
        if let Some(pretence) = &settings.pretence {
            let mut path = settings.stand_ins().into_os_string();
            if let Some(inherited) = std::env::var_os("PATH") {
                path.push(":");
                path.push(inherited);
            }
            program = program
                .env("PATH", path)
                .env("UMPATCH_HW_MEMSIZE", pretence.memory.to_string());
        }
        for (key, value) in &self.environment {
            program = program.env(key, value);
        }
        program
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_the_baseline_between_floor_and_ceiling() {
        let limits = Limits::default();
        assert_eq!(limits.of(None), limits.most);
        assert_eq!(limits.of(Some(0.01)), limits.least);
        assert_eq!(limits.of(Some(5.0)), Duration::from_secs(50));
        assert_eq!(limits.of(Some(1e9)), limits.most);
        assert_eq!(limits.of(Some(f64::NAN)), limits.most);
    }
}
