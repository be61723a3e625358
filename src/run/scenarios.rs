//! Runs scenario jobs through any program that speaks the driver contract, each in a process of its own, and keeps what
//! they print: samples in `curves/`, output in `logs/`, ends in the journal.
mod collect;
mod server;

use super::folder::{RunFolder, write_atomically};
use super::job::{Arm, Definition, Flavour, Job, JobResult, Outcome};
use super::journal::{Event, Journal, JournalError};
use super::process::{self, ProcessError, Program};
use crate::error::Explain;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::report::document::Fault;
use collect::Collector;
use nix::sys::signal::Signal;
pub use server::Server;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A program that speaks the driver contract: `--list`, and `--scenario ID --seed N [--steps N] [--set key=value]…` with
/// one JSON event a line on its standard output.
#[derive(Debug, Clone)]
pub struct Driver {
    /// The program.
    pub command: PathBuf,
    /// Arguments before those of the contract (an interpreter's script).
    pub leading: Vec<OsString>,
    /// Its environment, beside ours.
    pub environment: Vec<(OsString, OsString)>,
}

impl Driver {
    /// A driver that needs nothing but its path.
    pub fn new(command: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            leading: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// The same program with one more variable in its environment.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((key.into(), value.into()));
        self
    }

    fn program(&self) -> Program {
        let mut program = Program::new(&self.command).args(self.leading.iter());
        for (key, value) in &self.environment {
            program = program.env(key, value);
        }
        program
    }

    /// The scenarios that it has.
    ///
    /// # Errors
    /// When it cannot be started or lists nothing.
    pub fn list(&self) -> Result<Vec<Definition>, ScenarioError> {
        self.lines("--list", |program, output| ScenarioError::NoList {
            program,
            output,
        })
    }

    /// The settings that it has.
    ///
    /// # Errors
    /// When it cannot be started or lists none.
    pub fn settings(&self) -> Result<Vec<Setting>, ScenarioError> {
        self.lines("--settings", |program, output| ScenarioError::NoSettings {
            program,
            output,
        })
    }

    /// What it prints with an option, an object a line; none is an error.
    fn lines<T: serde::de::DeserializeOwned>(
        &self,
        option: &str,
        none: impl FnOnce(PathBuf, String) -> ScenarioError,
    ) -> Result<Vec<T>, ScenarioError> {
        let finished = self
            .program()
            .arg(option)
            .limit(Duration::from_secs(60))
            .run()?;
        let listed: Vec<T> = finished
            .text()
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        if !finished.status.success() || listed.is_empty() {
            return Err(none(self.command.clone(), finished.tail(5)));
        }
        Ok(listed)
    }

    fn job(&self, job: &Job) -> Program {
        self.program().args(arguments(job))
    }
}

/// A setting as a driver lists it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// The other values of what it assumes; empty where it is no assumption.
    #[serde(default)]
    pub alternatives: Vec<String>,
}

/// The arguments of the contract for a job.
fn arguments(job: &Job) -> Vec<String> {
    let id = job.scenario.split(['@', '+']).next().unwrap_or_default();
    let mut words: Vec<String> = vec![
        "--scenario".to_owned(),
        id.to_owned(),
        "--seed".to_owned(),
        job.seed.to_string(),
    ];
    if let Some(steps) = job.steps {
        words.extend(["--steps".to_owned(), steps.to_string()]);
    }
    for (key, value) in &job.settings {
        words.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    words
}

/// The drivers of a run: one for each arm and flavour, and for each subset of the patches.
#[derive(Debug, Clone, Default)]
pub struct Drivers {
    all: BTreeMap<(Arm, Flavour), Driver>,
    subsets: BTreeMap<(String, Flavour), Driver>,
}

impl Drivers {
    /// Adds the driver of one arm and flavour.
    pub fn insert(&mut self, arm: Arm, flavour: Flavour, driver: Driver) {
        self.all.insert((arm, flavour), driver);
    }

    /// Adds the driver of one subset and flavour.
    pub fn insert_subset(&mut self, subset: &str, flavour: Flavour, driver: Driver) {
        self.subsets.insert((subset.to_owned(), flavour), driver);
    }

    /// The driver that a job runs in.
    fn of(&self, job: &Job) -> Option<&Driver> {
        match &job.subset {
            None => self.get(job.arm, job.flavour),
            Some(subset) => self.subsets.get(&(subset.clone(), job.flavour)),
        }
    }

    /// The driver of one arm and flavour.
    #[must_use]
    pub fn get(&self, arm: Arm, flavour: Flavour) -> Option<&Driver> {
        self.all.get(&(arm, flavour))
    }
}

/// How long a job may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Wall time of one process.
    pub job: Duration,
    /// Time without a line of output.
    pub silence: Duration,
}

/// Scenarios could not be run. A scenario that fails is no error: it is a result.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A program could not be run, or the user interrupted.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The run folder cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine is to blame, not the program: nothing that is measured now would count.
    #[error("{0}")]
    Halted(Box<dyn Explain + Send + Sync>),
    /// A driver lists no setting.
    #[error("{} lists no setting: {output}", program.display())]
    NoSettings {
        /// The driver.
        program: PathBuf,
        /// Its last output.
        output: String,
    },
    /// A driver lists no scenario.
    #[error("{} lists no scenario: {output}", program.display())]
    NoList {
        /// The driver.
        program: PathBuf,
        /// Its last output.
        output: String,
    },
}

impl Explain for ScenarioError {
    fn exit(&self) -> Exit {
        match self {
            Self::Process(error) => error.exit(),
            Self::Journal(error) => error.exit(),
            Self::Halted(error) => error.exit(),
            Self::NoList { .. } | Self::NoSettings { .. } => Exit::PatchOrBuildFailed,
        }
    }
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Process(error) => error.hints(),
            Self::Journal(error) => error.hints(),
            Self::Halted(error) => error.hints(),
            Self::NoList { .. } | Self::NoSettings { .. } => Vec::new(),
        }
    }
}

/// Looks at each job that has ended, before its result counts.
pub trait Guard: Sync {
    /// Whether it counts, after so many attempts.
    ///
    /// # Errors
    /// When the machine is to blame, so that nothing that runs now would count.
    fn examine(
        &self,
        job: &Job,
        result: &JobResult,
        attempts: u32,
    ) -> Result<Standing, ScenarioError>;
}

/// Whether a result counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Counts,
    /// The job runs again.
    Again,
}

/// Takes every result as it is: a device that is itself a program has nothing that could wedge or sleep.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unguarded;

impl Guard for Unguarded {
    fn examine(&self, _: &Job, _: &JobResult, _: u32) -> Result<Standing, ScenarioError> {
        Ok(Standing::Counts)
    }
}

/// Everything that running jobs needs.
pub struct Runner<'a> {
    /// Where results go.
    pub folder: &'a RunFolder,
    /// Where events go.
    pub journal: &'a Journal,
    /// The programs.
    pub drivers: &'a Drivers,
    /// How long a job may take.
    pub limits: Limits,
    /// Who looks at results before they count.
    pub guard: &'a dyn Guard,
    /// Processes at a time, at least 1.
    pub workers: usize,
    /// Who wants to know.
    pub progress: &'a dyn Progress,
}

impl Runner<'_> {
    /// Runs the jobs in their order, `workers` at a time. Each ends in the journal before this returns.
    ///
    /// # Errors
    /// When the user interrupts or the run folder cannot be written; jobs that ended before are in the journal.
    pub fn run(&self, jobs: &[Job]) -> Result<(), ScenarioError> {
        let next = AtomicUsize::new(0);
        let done = AtomicU64::new(0);
        let failed: Mutex<Option<ScenarioError>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..self.workers.max(1).min(jobs.len()) {
                scope.spawn(|| {
                    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::SeqCst)) {
                        if let Err(error) = self.run_one(job) {
                            // the others stop at their next job
                            next.store(jobs.len(), Ordering::SeqCst);
                            let mut first = failed.lock().unwrap_or_else(PoisonError::into_inner);
                            first.get_or_insert(error);
                            return;
                        }
                        let done = done.fetch_add(1, Ordering::SeqCst) + 1;
                        self.progress.advance(done, jobs.len() as u64);
                    }
                });
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn run_one(&self, job: &Job) -> Result<(), ScenarioError> {
        self.journal
            .append_unsynced(Event::JobStart { job: job.clone() })?;
        let mut result = self.patiently(job)?;
        let mut attempts = 1;
        while self.guard.examine(job, &result, attempts)? == Standing::Again {
            self.progress
                .note(&format!("{job}: {}, again", result.outcome));
            result = self.patiently(job)?;
            attempts += 1;
        }
        if let Outcome::Crashed { by } | Outcome::TimedOut { detail: by } = &result.outcome {
            self.progress.note(&format!("{job}: {by}"));
        }
        self.journal.append(Event::JobEnd {
            job: job.clone(),
            result: Box::new(result),
        })?;
        Ok(())
    }

    /// Runs a job, and once more with twice the time when it was too slow.
    fn patiently(&self, job: &Job) -> Result<JobResult, ScenarioError> {
        let mut result = self.attempt(job, self.limits)?;
        if matches!(result.outcome, Outcome::TimedOut { .. }) {
            // a busy machine must not look like a hang
            let patient = Limits {
                job: self.limits.job * 2,
                silence: self.limits.silence * 2,
            };
            result = self.attempt(job, patient)?;
        }
        Ok(result)
    }

    fn attempt(&self, job: &Job, limits: Limits) -> Result<JobResult, ScenarioError> {
        let Some(driver) = self.drivers.of(job) else {
            return Ok(JobResult::empty(Outcome::Unsupported {
                detail: "no program for this arm".to_owned(),
            }));
        };
        attempt(self.folder.path(), driver, job, limits, &mut |fault| {
            self.journal.append_unsynced(Event::Fault {
                job: job.clone(),
                fault,
            })
        })
    }
}

/// Runs a job once, with its output under `logs/` and its samples under `curves/` of a folder that has both.
///
/// # Errors
/// When the program cannot be run, the folder not be written, or the user interrupts.
pub fn attempt(
    folder: &Path,
    driver: &Driver,
    job: &Job,
    limits: Limits,
    each: &mut dyn FnMut(Fault) -> Result<(), JournalError>,
) -> Result<JobResult, ScenarioError> {
    let logs = folder.join("logs");
    let slug = job.slug();
    let output = logs.join(format!("{slug}.out"));
    let errors = logs.join(format!("{slug}.err"));
    // a killed run may have left one
    let _ = std::fs::remove_file(&errors);
    let mut collector = Collector::default();
    let started = Instant::now();
    let mut journal_failed = None;
    let outcome = driver
        .job(job)
        .limit(limits.job)
        .idle_limit(limits.silence)
        .stderr_log(&errors)
        .run_lines(&output, &mut |line| {
            if let Some(fault) = collector.line(line)
                && let Err(error) = each(fault)
            {
                journal_failed.get_or_insert(error);
            }
        });
    if let Some(error) = journal_failed {
        return Err(error.into());
    }
    let ended = match outcome {
        Err(error @ (ProcessError::TimedOut { .. } | ProcessError::Idle { .. })) => {
            Ended::Stopped(error.to_string())
        }
        Err(ProcessError::Interrupted { program }) => {
            return Err(ProcessError::Interrupted { program }.into());
        }
        Err(error) => return Err(error.into()),
        // Ctrl-C on a terminal reaches the program too: its end is ours, not a crash
        Ok(_) if process::interrupted() => {
            return Err(ProcessError::Interrupted {
                program: driver.command.display().to_string(),
            }
            .into());
        }
        Ok(finished) => Ended::ByItself(finished.status),
    };
    let seconds = started.elapsed().as_secs_f64();
    concluded(folder, &slug, &ended, &collector, seconds)
}

/// What the end of a process and its output make together; keeps the samples, and the logs where they say more.
fn concluded(
    folder: &Path,
    slug: &str,
    ended: &Ended,
    collector: &Collector,
    seconds: f64,
) -> Result<JobResult, ScenarioError> {
    let logs = folder.join("logs");
    let output = logs.join(format!("{slug}.out"));
    let errors = logs.join(format!("{slug}.err"));
    let mut result = JobResult {
        seconds,
        ..collector.result()
    };
    // a sanitizer sums up above its map of the memory, dozens of lines before its end
    let said = last_lines(&errors, 120);
    result.outcome = outcome_of(ended, collector.reported(), &said);
    let complaint = shown(&said);
    if let Outcome::Crashed { by } = &result.outcome {
        result.faults.push(Fault {
            kind: "crash".to_owned(),
            count: 1,
            detail: by.clone(),
            bytes: 0,
        });
    }
    if !matches!(result.outcome, Outcome::Ok | Outcome::Faulted) {
        result.last_output = if complaint.is_empty() {
            last_lines(&output, 6)
        } else {
            complaint
        };
    }
    if let Some(csv) = collector.csv() {
        let name = format!("curves/{slug}.csv");
        write_atomically(&folder.join(&name), csv.as_bytes())?;
        result.curve = Some(name);
    }
    if result.outcome == Outcome::Ok {
        // all that it said is in the journal and the curve
        let _ = std::fs::remove_file(&output);
    }
    if std::fs::metadata(&errors).is_ok_and(|metadata| metadata.len() == 0) {
        let _ = std::fs::remove_file(&errors);
    }
    Ok(result)
}
enum Ended {
    ByItself(ExitStatus),
    Stopped(String),
}

/// What the end of the process and its own report say together. The process has the last word: a driver that says "ok"
/// and then crashes while it exits has crashed.
fn outcome_of(ended: &Ended, reported: Option<Outcome>, complaint: &str) -> Outcome {
    let finished = match ended {
        Ended::Stopped(detail) => {
            return Outcome::TimedOut {
                detail: detail.clone(),
            };
        }
        Ended::ByItself(finished) => finished,
    };
    if let Some(signal) = finished.signal() {
        let name = Signal::try_from(signal)
            .map_or_else(|_| format!("signal {signal}"), |known| known.to_string());
        return Outcome::Crashed {
            by: match sanitizer(complaint) {
                Some(report) => format!("{name}, {report}"),
                None => name,
            },
        };
    }
    match finished.code() {
        Some(0) => reported.unwrap_or_else(|| Outcome::Error {
            detail: "it ended without its end event".to_owned(),
        }),
        Some(2) if reported.is_none() => Outcome::Unsupported {
            detail: complaint.lines().last().unwrap_or("usage").to_owned(),
        },
        code => match sanitizer(complaint) {
            Some(report) => Outcome::Crashed { by: report },
            None => Outcome::Error {
                detail: format!(
                    "exit status {}",
                    code.map_or_else(|| "unknown".to_owned(), |code| code.to_string())
                ),
            },
        },
    }
}

/// The end of what a program said, and before it the line in which a sanitizer sums up.
fn shown(said: &str) -> String {
    const LINES: usize = 12;
    let lines: Vec<&str> = said.lines().collect();
    let (before, end) = lines.split_at(lines.len().saturating_sub(LINES));
    let summary = before
        .iter()
        .rev()
        .find(|line| line.starts_with("SUMMARY:"))
        .into_iter();
    summary.chain(end).copied().collect::<Vec<_>>().join("\n")
}

/// The sanitizer's own name for what it found: "AddressSanitizer: heap-use-after-free".
fn sanitizer(complaint: &str) -> Option<String> {
    complaint.lines().rev().find_map(|line| {
        let at = ["AddressSanitizer:", "ThreadSanitizer:", "runtime error:"]
            .iter()
            .find_map(|mark| line.find(mark))?;
        // "data race", "signed integer overflow:", and then where
        let words = line[at..].split_whitespace().take(5);
        let what = words.take_while(|word| {
            !word.starts_with('(') && !word.contains(['.', '/']) && !matches!(*word, "in" | "on")
        });
        Some(what.collect::<Vec<_>>().join(" "))
    })
}

/// The last lines of a log that may be large.
fn last_lines(path: &Path, count: usize) -> String {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(16 * 1024)))?;
        let mut bytes = Vec::new();
        file.take(16 * 1024).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(script: &str) -> Ended {
        Ended::ByItself(
            Program::new("sh")
                .args(["-c", script])
                .run()
                .unwrap()
                .status,
        )
    }

    /// AddressSanitizer ends with a map of the memory and its legend, longer than what is shown.
    #[test]
    fn what_a_sanitizer_sums_up_is_told_above_its_map() {
        let map: Vec<String> = (0..40).map(|row| format!("  0x{row}: fd fd")).collect();
        let summary = "SUMMARY: AddressSanitizer: heap-use-after-free f.mm:3 in release";
        let said = format!(
            "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n{summary}\n{}\n==7==ABORTING",
            map.join("\n")
        );
        assert_eq!(
            outcome_of(&finished("exit 66"), None, &said).to_string(),
            "crashed (AddressSanitizer: heap-use-after-free)"
        );
        for (line, name) in [
            (
                "SUMMARY: ThreadSanitizer: data race /a/b.mm:3 in f",
                "ThreadSanitizer: data race",
            ),
            (
                "b.mm:3:4: runtime error: signed integer overflow: 1 + 2 cannot be",
                "runtime error: signed integer overflow:",
            ),
        ] {
            assert_eq!(sanitizer(line).as_deref(), Some(name));
        }
        let lines = shown(&said);
        assert!(lines.starts_with(summary), "{lines}");
        assert!(lines.ends_with("ABORTING"), "{lines}");
        assert_eq!(lines.lines().count(), 13);
        assert_eq!(shown("one\ntwo"), "one\ntwo");
    }

    #[test]
    fn the_process_has_the_last_word() {
        let ok = || Some(Outcome::Ok);
        assert_eq!(outcome_of(&finished("exit 0"), ok(), ""), Outcome::Ok);
        assert_eq!(
            outcome_of(&finished("kill -SEGV $$"), ok(), "").to_string(),
            "crashed (SIGSEGV)"
        );
        assert_eq!(
            outcome_of(
                &finished("exit 1"),
                None,
                "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1"
            )
            .to_string(),
            "crashed (AddressSanitizer: heap-use-after-free)"
        );
        assert_eq!(
            outcome_of(&finished("exit 2"), None, "no scenario x").to_string(),
            "unsupported (no scenario x)"
        );
        assert_eq!(
            outcome_of(&finished("exit 0"), None, "").to_string(),
            "error (it ended without its end event)"
        );
        assert_eq!(
            outcome_of(&finished("exit 7"), ok(), "").to_string(),
            "error (exit status 7)"
        );
    }
}
