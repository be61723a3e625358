//! Recorded runs: kept under a name, keyed by what makes them comparable, and compared with each other by the rules of
//! `verify`.
pub mod against;
pub mod error;
pub mod key;
pub mod noise;
pub mod store;

use crate::compare;
use crate::report::document::{Fingerprint, Trust, Verdict};
use crate::run::job::{Arm, Definition, Job, JobResult};
use crate::run::recorded::Recorded;
use crate::stats::curve::analyse;
use crate::verdict::{Process, growth_budget};
use error::BaselineError;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The schema name of [`Baseline`].
pub const SCHEMA: &str = "umpatch.baseline/1";
/// Samples of a curve that are kept: what its analysis looks at.
const SAMPLES: usize = 128;

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its name in the store.
    pub name: String,
    /// When it was recorded, in UTC.
    pub recorded: String,
    /// The version of umpatch that ran it.
    pub umpatch: String,
    /// When the run began, in UTC.
    pub started: String,
    /// What kind of device gave the figures.
    pub trust: Trust,
    /// What the run concluded; absent when it was not finished.
    pub verdict: Option<Verdict>,
    /// What has to be equal for a comparison.
    pub key: Fingerprint,
    /// What may differ: the patches, the selection.
    pub about: std::collections::BTreeMap<String, String>,
    /// The scenarios.
    pub scenarios: Vec<Definition>,
    /// What each process showed.
    pub processes: Vec<Kept>,
}

/// One process of a recorded run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// What ran.
    pub job: Job,
    /// How it ended.
    pub result: JobResult,
    /// Driver memory over the steps; absent when there are no samples, or they have a flaw.
    #[serde(default)]
    pub driver_bytes: Option<Vec<(f64, f64)>>,
    /// Memory of live tensors over the steps.
    #[serde(default)]
    pub current_bytes: Option<Vec<(f64, f64)>>,
    /// New MTLBuffers per step in the second half.
    #[serde(default)]
    pub new_buffers_per_step: Option<f64>,
    /// Whether a counter fell that only ever rises.
    #[serde(default)]
    pub counter_ran_backwards: bool,
}

impl Baseline {
    /// Reads a run folder.
    ///
    /// # Errors
    /// When there is no run in it, or none of its processes has ended.
    pub fn of_run(folder: &Path, name: &str) -> Result<Self, BaselineError> {
        let recorded = Recorded::read(folder)?;
        let Some(header) = recorded.header.clone() else {
            return Err(BaselineError::NoRun {
                path: folder.to_owned(),
            });
        };
        let processes: Vec<Kept> = recorded
            .jobs
            .iter()
            .filter_map(|job| Some(keep(folder, job, recorded.results.get(job)?)))
            .collect();
        if processes.is_empty() {
            return Err(BaselineError::Empty {
                path: folder.to_owned(),
            });
        }
        let (key, about) = key::split(&header.fingerprint);
        Ok(Self {
            schema: SCHEMA.to_owned(),
            name: name.to_owned(),
            recorded: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            umpatch: header.umpatch,
            started: recorded.started.clone(),
            trust: header.trust,
            verdict: recorded.verdict,
            key,
            about,
            scenarios: recorded.scenarios,
            processes,
        })
    }

    /// The process of an arm with this seed.
    fn find(&self, scenario: &str, arm: Arm, seed: u64) -> Option<&Kept> {
        self.processes.iter().find(|kept| {
            kept.job.scenario == scenario && kept.job.arm == arm && kept.job.seed == seed
        })
    }
}

fn keep(folder: &Path, job: &Job, result: &JobResult) -> Kept {
    let samples = result
        .curve
        .as_ref()
        .and_then(|name| compare::curves::read(&folder.join(name)));
    let figure = |curve: Option<Vec<(f64, f64)>>| {
        let curve = curve?;
        // a flaw must not vanish with the samples that are left out
        analyse(&curve, 0.0).flaw.is_none().then(|| thinned(&curve))
    };
    let counter = samples.as_ref().map(|curve| curve.new_buffers.as_slice());
    Kept {
        job: job.clone(),
        result: JobResult {
            curve: None,
            last_output: String::new(),
            ..result.clone()
        },
        new_buffers_per_step: counter.and_then(crate::stats::counter::rate_after_half),
        counter_ran_backwards: samples.as_ref().is_some_and(|curve| curve.is_disordered),
        driver_bytes: samples
            .as_ref()
            .and_then(|curve| figure(curve.driver_bytes.clone())),
        current_bytes: samples.and_then(|curve| figure(curve.current_bytes)),
    }
}

/// At most so many samples, evenly chosen, with the last.
fn thinned(curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let every = curve.len().div_ceil(SAMPLES).max(1);
    let mut kept: Vec<(f64, f64)> = curve.iter().copied().step_by(every).collect();
    if let Some(last) = curve.last()
        && kept.last() != Some(last)
    {
        kept.push(*last);
    }
    kept
}

impl Kept {
    /// The process as the verdict sees it, with the growth that counts for it.
    fn process(&self, budget: f64) -> Process {
        let analysed = |curve: &Option<Vec<(f64, f64)>>| {
            curve.as_ref().map(|samples| analyse(samples, budget))
        };
        Process {
            result: self.result.clone(),
            curve: analysed(&self.driver_bytes),
            live: analysed(&self.current_bytes),
            new_buffers_per_step: self.new_buffers_per_step,
            counter_ran_backwards: self.counter_ran_backwards,
        }
    }

    fn budget(&self) -> f64 {
        growth_budget(self.result.peak_driver_bytes)
    }
}
