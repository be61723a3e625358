//! The journal of a run: one JSON object a line, appended and synced, never rewritten. Every report is rebuilt from it.
use super::job::{Definition, Job, JobResult};
use super::shard::Shard;
use crate::error::Explain;
use crate::exit::Exit;
use crate::report::document::{Arms, Compared, Fault, Fingerprint, Subset, Trust, Verdict};
use crate::stats::noise::Noise;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The schema name in the first line.
pub const SCHEMA: &str = "umpatch.journal/1";
/// The journal's file name in a run folder.
pub const FILE: &str = "journal.ndjson";
/// A longer line is no line of ours.
const LONGEST_LINE: u64 = 16 << 20;

/// What a run is, written once at its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of umpatch.
    pub umpatch: String,
    /// What makes this run comparable with another.
    pub fingerprint: Fingerprint,
    /// What kind of device gives the figures.
    pub trust: Trust,
    /// Whether a verdict needs a real device.
    pub require_hardware: bool,
    /// What is compared with what.
    #[serde(default)]
    pub compared: Arms<Compared>,
    /// The command line that repeats the whole run.
    #[serde(default)]
    pub command: String,
    /// The command line that repeats one scenario, but for `--scenario ID` at its end.
    #[serde(default)]
    pub row_command: String,
}

/// One part of a run that several machines share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Which part.
    pub shard: Shard,
    /// The scenarios of the whole run, in order.
    pub scenarios: Vec<Definition>,
    /// The jobs of the whole run, in order.
    pub jobs: Vec<Job>,
    /// Ids of the scenarios that are this part's.
    pub own: Vec<String>,
}

/// What the comparison is to find, and what is known of the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Growth in bytes per step that must be found; absent: what each scenario's size makes of it.
    #[serde(default)]
    pub detect: Option<f64>,
    /// What equal arms differ by, by scenario, as measured on this machine before.
    #[serde(default)]
    pub noise: BTreeMap<String, Noise>,
}

/// Which patch does what: the jobs that run beside those of the two arms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AblationPlan {
    /// The subsets of the patches, and other patch sets.
    pub subsets: Vec<Subset>,
    /// The jobs, in order; each names its subset, and its scenario, pair and seed are those of a job of the baseline.
    pub jobs: Vec<Job>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The run began.
    RunStart(Box<Header>),
    /// The run goes on after it was cut.
    Resume,
    /// A phase began.
    PhaseStart {
        /// Its name.
        phase: String,
    },
    /// A phase ended.
    PhaseEnd {
        /// Its name.
        phase: String,
        /// Wall time in seconds.
        seconds: f64,
    },
    /// How the comparison is designed: once, before the plan.
    Design(Box<Design>),
    /// What is going to run: written when the programs are there.
    Plan {
        /// The scenarios, with the ids that their jobs use.
        scenarios: Vec<Definition>,
        /// The jobs, in order.
        jobs: Vec<Job>,
    },
    /// What runs of the ablation, after the plan's own jobs.
    Ablation(Box<AblationPlan>),
    /// The run is one part of several: written before its own plan.
    Share(Box<Share>),
    /// A job began.
    JobStart {
        /// The job.
        job: Job,
    },
    /// A job's check found something; the sums are in its end.
    Fault {
        /// The job.
        job: Job,
        /// The first fault of its kind.
        fault: Fault,
    },
    /// A job ended.
    JobEnd {
        /// The job.
        job: Job,
        /// What it left behind.
        result: Box<JobResult>,
    },
    /// Something a reader of the report must know.
    Note {
        /// In words.
        text: String,
    },
    /// An event of the test runner, in its own form.
    Test(serde_json::Value),
    /// The user interrupted the run.
    Interrupted,
    /// The run ended with a verdict.
    Verdict {
        /// The verdict.
        verdict: Verdict,
        /// The command's exit status.
        exit_code: u8,
    },
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When, in UTC.
    pub at: String,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// The journal could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct JournalError {
    action: &'static str,
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

impl JournalError {
    pub(crate) fn new(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

impl Explain for JournalError {
    fn exit(&self) -> Exit {
        Exit::PatchOrBuildFailed
    }
    fn hints(&self) -> Vec<String> {
        use std::io::ErrorKind;
        let folder = self.path.parent().unwrap_or(&self.path).display();
        match self.source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => vec![
                format!(
                    "free some space where {folder} is, then run the same command again: it resumes"
                ),
                "or keep the run elsewhere: --run-folder FOLDER".to_owned(),
            ],
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => vec![format!(
                "make {folder} writable, or keep the run elsewhere: --run-folder FOLDER, UMPATCH_CACHE=FOLDER"
            )],
            _ => Vec::new(),
        }
    }
}

/// Appends events. May be shared between threads: each event is one line.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

impl Journal {
    /// Opens the journal of a run folder for appending; makes it when there is none.
    ///
    /// # Errors
    /// When the file cannot be opened or mended.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let path = folder.join(FILE);
        let mut file = File::options()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)
            .map_err(|source| JournalError::new("open", &path, source))?;
        end_cut_line(&mut file).map_err(|source| JournalError::new("mend", &path, source))?;
        Ok(Self {
            path,
            file: Mutex::new(file),
        })
    }

    /// Appends one event; when this returns, it is on the disk.
    ///
    /// # Errors
    /// When the disk is full or gone.
    pub fn append(&self, event: Event) -> Result<(), JournalError> {
        self.write(event, Durability::Synced)
    }

    /// Appends one event that may be lost when the machine (not only the program) dies: for starts, which resume repeats.
    ///
    /// # Errors
    /// When the disk is full or gone.
    pub fn append_unsynced(&self, event: Event) -> Result<(), JournalError> {
        self.write(event, Durability::Unsynced)
    }

    fn write(&self, event: Event, durability: Durability) -> Result<(), JournalError> {
        let failed = |source| JournalError::new("write", &self.path, source);
        let record = Record {
            at: jiff::Timestamp::now().to_string(),
            event,
        };
        let mut line = serde_json::to_vec(&record).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).map_err(failed)?;
        match durability {
            Durability::Synced => file.sync_data().map_err(failed),
            Durability::Unsynced => Ok(()),
        }
    }
}

enum Durability {
    Synced,
    Unsynced,
}

/// A journal that was cut in the middle of a line gets its line end, or the next event would be lost with it.
fn end_cut_line(file: &mut File) -> std::io::Result<()> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0_u8];
    file.read_exact(&mut last)?;
    if last != [b'\n'] {
        file.write_all(b"\n")?;
    }
    Ok(())
}

/// Lines of a journal that could not be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// The last line was cut: a run was killed while it wrote.
    pub cut: u64,
    /// Lines that are no event of this version.
    pub foreign: u64,
}

impl Skipped {
    /// In words for the report; nothing when nothing was skipped.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.cut > 0 {
            parts.push(format!("{} cut in the middle", self.cut));
        }
        if self.foreign > 0 {
            parts.push(format!("{} not understood", self.foreign));
        }
        (!parts.is_empty()).then(|| format!("journal lines left out: {}", parts.join(", ")))
    }
}

/// Reads a journal and gives each event to `each`, in order.
///
/// # Errors
/// When the file cannot be read; never because of what is in it.
pub fn replay(folder: &Path, mut each: impl FnMut(Record)) -> Result<Skipped, JournalError> {
    let path = folder.join(FILE);
    let failed = |source| JournalError::new("read", &path, source);
    let mut reader = BufReader::new(File::open(&path).map_err(failed)?);
    let mut skipped = Skipped::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = reader
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .map_err(failed)?;
        if count == 0 {
            return Ok(skipped);
        }
        let whole = line.last() == Some(&b'\n');
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Record>(&line) {
            Ok(record) => each(record),
            // what a kill leaves of a line starts like one of ours
            Err(_)
                if !whole
                    || line.starts_with(b"{\"at\":") && !line.trim_ascii().ends_with(b"}") =>
            {
                skipped.cut += 1;
            }
            Err(_) => skipped.foreign += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::job::{Arm, Flavour, Outcome};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn job() -> Job {
        Job {
            scenario: "steady".to_owned(),
            arm: Arm::Patched,
            pair: 1,
            seed: 3,
            flavour: Flavour::Plain,
            steps: Some(10),
            settings: BTreeMap::from([("mode".to_owned(), "asynchronous".to_owned())]),
            subset: None,
        }
    }

    fn events() -> Vec<Event> {
        vec![
            Event::RunStart(Box::new(Header {
                schema: SCHEMA.to_owned(),
                umpatch: "0".to_owned(),
                fingerprint: Fingerprint::default(),
                trust: Trust::Simulated,
                require_hardware: false,
                compared: Arms::default(),
                command: String::new(),
                row_command: String::new(),
            })),
            Event::JobStart { job: job() },
            Event::JobEnd {
                job: job(),
                result: Box::new(JobResult::empty(Outcome::Crashed {
                    by: "SIGSEGV".to_owned(),
                })),
            },
            Event::Test(serde_json::json!({"id": "TestMPS::test_add", "outcome": "passed"})),
            Event::Verdict {
                verdict: Verdict::Regression,
                exit_code: 1,
            },
        ]
    }

    fn read_back(folder: &Path) -> (Vec<Event>, Skipped) {
        let mut seen = Vec::new();
        let skipped = replay(folder, |record| seen.push(record.event)).unwrap();
        (seen, skipped)
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        for event in events() {
            journal.append(event).unwrap();
        }
        assert_eq!(read_back(folder.path()), (events(), Skipped::default()));
    }

    #[test]
    fn a_cut_line_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        for event in events() {
            journal.append(event).unwrap();
        }
        drop(journal);
        let path = folder.path().join(FILE);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let cut = Skipped { cut: 1, foreign: 0 };
        assert_eq!(read_back(folder.path()).1, cut);
        // a resumed run appends after it, and nothing of the new is lost
        Journal::open(folder.path())
            .unwrap()
            .append(Event::Resume)
            .unwrap();
        let (seen, skipped) = read_back(folder.path());
        assert_eq!(skipped, cut);
        assert_eq!(seen.last(), Some(&Event::Resume));
        assert_eq!(seen.len(), events().len());
    }

    #[test]
    fn foreign_lines_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join(FILE),
            b"hello\n\xff\xfe\n{\"at\":\"x\",\"event\":\"from-the-future\"}\n\n[1]\n",
        )
        .unwrap();
        let (seen, skipped) = read_back(folder.path());
        assert!(seen.is_empty());
        assert_eq!(skipped, Skipped { cut: 0, foreign: 4 });
        assert_eq!(
            skipped.note().as_deref(),
            Some("journal lines left out: 4 not understood")
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(FILE), &bytes).unwrap();
            let _ = replay(folder.path(), |_| ()).unwrap();
            Journal::open(folder.path()).unwrap().append(Event::Resume).unwrap();
            let mut last = None;
            replay(folder.path(), |record| last = Some(record.event)).unwrap();
            prop_assert_eq!(last, Some(Event::Resume));
        }
    }
}
