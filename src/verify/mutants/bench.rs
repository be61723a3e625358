//! Runs single jobs in the cache: stock, the series without any mutant, the series with one. What stock and the series do is
//! kept, so that it is run once.
use super::error::MutantsError;
use super::subject::write;
use crate::error::Failure;
use crate::run::job::{Arm, Definition, Flavour, Job, JobResult, Outcome};
use crate::run::scenarios::{Driver, Limits, ScenarioError, Server, attempt};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A job that was run, and where its curve is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ran {
    pub folder: PathBuf,
    pub result: JobResult,
    /// The numbers of the mutants whose places it came to; empty where that was not asked.
    pub reached: BTreeSet<u32>,
}

/// Which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    /// The tree without patches.
    Stock,
    /// The series, all mutants asleep.
    Series,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Series => "series",
        }
    }
}

/// A job of one scenario.
pub(super) fn job(
    definition: &Definition,
    seed: u64,
    pair: u32,
    steps: Option<u64>,
    settings: &BTreeMap<String, String>,
) -> Job {
    Job {
        scenario: definition.id.clone(),
        arm: Arm::Patched,
        subset: None,
        pair,
        seed: seed.wrapping_add(u64::from(pair)),
        flavour: Flavour::Plain,
        steps: steps.or(definition.quick_steps),
        settings: settings.clone(),
    }
}

/// The programs and what is known of them.
pub(super) struct Bench {
    stock: Driver,
    mutants: Driver,
    /// Holds `stock/` and `series/`.
    folder: PathBuf,
    known: Mutex<BTreeMap<(Side, Job), Cell>>,
    /// Mutants that the program comes to before its main function: a forked process would be too late for them.
    early: BTreeSet<u32>,
    /// Drivers that wait for their next job.
    idle: Mutex<Vec<(Program, Server)>>,
}

/// What a job of a side showed, once it has run.
type Cell = Arc<Mutex<Option<Arc<Ran>>>>;

/// Whose driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    Stock,
    Mutants,
}

/// The variable that chooses a mutant.
pub(super) const CHOSEN: &str = "UMPATCH_MUTANT";
/// The variable that names the file for what was reached.
pub(super) const REACHED: &str = "UMPATCH_MUTANTS_REACHED";
/// What is no hang at all, on a busy machine too.
const LIMIT: Duration = Duration::from_secs(120);
/// A mutant may take so many times as long as the series does …
const PATIENCE: f64 = 20.0;
/// … but is always given so many seconds.
const LEAST_SECONDS: f64 = 20.0;

impl Bench {
    pub fn new(stock: PathBuf, mutants: PathBuf, folder: PathBuf) -> Result<Self, MutantsError> {
        for side in [Side::Stock, Side::Series] {
            make(&folder.join(side.name()))?;
        }
        Ok(Self {
            stock: Driver::new(stock),
            mutants: Driver::new(mutants),
            folder,
            known: Mutex::new(BTreeMap::new()),
            early: BTreeSet::new(),
            idle: Mutex::new(Vec::new()),
        })
    }

    /// Finds out which mutants are reached before main.
    pub fn find_early(&mut self) -> Result<(), Failure> {
        let file = self.folder.join("early.reached");
        let _ = std::fs::remove_file(&file);
        self.mutants.clone().with(REACHED, &file).list()?;
        self.early = marked(&file);
        Ok(())
    }

    /// Runs a job through a driver that stays.
    fn serve(
        &self,
        program: Program,
        folder: &Path,
        job: &Job,
        limits: Limits,
        environment: &[(&str, String)],
    ) -> Result<JobResult, ScenarioError> {
        let driver = match program {
            Program::Stock => &self.stock,
            Program::Mutants => &self.mutants,
        };
        let waiting = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.iter()
                .position(|(whose, _)| *whose == program)
                .map(|index| idle.swap_remove(index).1)
        };
        let mut server = match waiting {
            Some(server) => server,
            None => Server::start(driver, &self.folder)?,
        };
        let result = server.attempt(folder, job, limits, environment)?;
        // one that failed is not asked again
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((program, server));
        Ok(result)
    }

    pub fn list(&self) -> Result<Vec<Definition>, Failure> {
        Ok(self.mutants.list()?)
    }

    /// What a side does, from memory, from the cache, or by running it, once however many ask.
    pub fn side(&self, side: Side, job: &Job) -> Result<Arc<Ran>, Failure> {
        let cell = {
            let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry((side, job.clone())).or_default().clone()
        };
        let mut cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ran) = &*cell {
            return Ok(ran.clone());
        }
        let folder = self.folder.join(side.name());
        let name = format!("{}.{}", job.slug(), job.seed);
        let record = folder.join(format!("{name}.json"));
        let kept: Option<Ran> = std::fs::read(&record)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let ran = match kept {
            Some(ran) => ran,
            None => {
                let ran = self.run_side(side, job, &folder, &name)?;
                let bytes = serde_json::to_vec(&ran).unwrap_or_default();
                std::fs::write(&record, bytes).map_err(write(&record))?;
                ran
            }
        };
        Ok(cell.insert(Arc::new(ran)).clone())
    }

    fn run_side(&self, side: Side, job: &Job, folder: &Path, name: &str) -> Result<Ran, Failure> {
        let reached = folder.join(format!("{name}.reached"));
        // what an earlier program reached must not count for this one
        let _ = std::fs::remove_file(&reached);
        let limits = Limits {
            job: LIMIT,
            silence: LIMIT,
        };
        let result = match side {
            Side::Stock => self.serve(Program::Stock, folder, job, limits, &[])?,
            Side::Series => {
                let asked = [(REACHED, reached.display().to_string())];
                self.serve(Program::Mutants, folder, job, limits, &asked)?
            }
        };
        let mut places = marked(&reached);
        if side == Side::Series {
            places.extend(&self.early);
        }
        Ok(Ran {
            folder: folder.to_owned(),
            result,
            reached: places,
        })
    }

    /// What the series does with one mutant awake. Its files are below `folder`.
    pub fn mutant(&self, number: u32, job: &Job, folder: &Path) -> Result<Ran, Failure> {
        let series = self.side(Side::Series, job)?;
        let seconds = (series.result.seconds * PATIENCE).max(LEAST_SECONDS);
        let limit = Duration::from_secs_f64(seconds.min(LIMIT.as_secs_f64()));
        let limits = Limits {
            job: limit,
            silence: limit,
        };
        let run = |limits: Limits| -> Result<JobResult, ScenarioError> {
            if self.early.contains(&number) {
                let driver = self.mutants.clone().with(CHOSEN, number.to_string());
                return attempt(folder, &driver, job, limits, &mut |_| Ok(()));
            }
            self.serve(
                Program::Mutants,
                folder,
                job,
                limits,
                &[(CHOSEN, number.to_string())],
            )
        };
        let mut result = run(limits)?;
        if matches!(result.outcome, Outcome::TimedOut { .. }) {
            // a busy machine must not look like a hang
            result = run(Limits {
                job: limits.job * 2,
                silence: limits.silence * 2,
            })?;
        }
        Ok(Ran {
            folder: folder.to_owned(),
            result,
            reached: BTreeSet::new(),
        })
    }
}

/// The numbers that a program marked in its file, which is not needed any more.
pub(super) fn marked(file: &Path) -> BTreeSet<u32> {
    let marks = std::fs::read(file).unwrap_or_default();
    let _ = std::fs::remove_file(file);
    (0..)
        .zip(marks)
        .filter(|(_, mark)| *mark != 0)
        .map(|(number, _)| number)
        .collect()
}

/// A folder that jobs can be run in.
pub(super) fn make(folder: &Path) -> Result<(), MutantsError> {
    for part in ["logs", "curves"] {
        let path = folder.join(part);
        std::fs::create_dir_all(&path).map_err(write(&path))?;
    }
    Ok(())
}
