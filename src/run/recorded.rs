//! What a run's journal holds, put together: the state that resume continues from and that reports are made of.
use super::job::{Definition, Job, JobResult};
use super::journal::{self, AblationPlan, Design, Event, Header, JournalError, Share, Skipped};
use crate::report::document::{Phase, Verdict};
use std::collections::BTreeMap;
use std::path::Path;

/// A run as its journal tells it. Events of the test runner are not kept: they are many, and their module reads them.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// The first line; absent when the run was cut before it.
    pub header: Option<Header>,
    /// When it began, in UTC; empty when not known.
    pub started: String,
    /// How the comparison is designed.
    pub design: Design,
    /// The scenarios that were to run, as planned last.
    pub scenarios: Vec<Definition>,
    /// The jobs that were to run, as planned last.
    pub jobs: Vec<Job>,
    /// Which part of a shared run it is; absent when it is a whole one.
    pub share: Option<Share>,
    /// Whether the run came as far as a plan.
    pub planned: bool,
    /// What has ended.
    pub results: BTreeMap<Job, JobResult>,
    /// What is to run of the ablation, as planned last; absent when none was asked for.
    pub ablation: Option<AblationPlan>,
    /// What has ended of the ablation.
    pub ablation_results: BTreeMap<Job, JobResult>,
    /// Time by phase, in the order of their first start.
    pub phases: Vec<Phase>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// The verdict; absent while the run is unfinished.
    pub verdict: Option<Verdict>,
    /// Lines that could not be used.
    pub skipped: Skipped,
}

impl Recorded {
    /// Reads the journal of a run folder.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(folder: &Path) -> Result<Self, JournalError> {
        let mut recorded = Self::default();
        let skipped = journal::replay(folder, |record| recorded.take(record.at, record.event))?;
        recorded.skipped = skipped;
        Ok(recorded)
    }

    fn take(&mut self, at: String, event: Event) {
        match event {
            Event::RunStart(header) => {
                if self.header.is_none() {
                    self.header = Some(*header);
                    self.started = at;
                }
            }
            Event::Design(design) => self.design = *design,
            Event::Plan { scenarios, jobs } => {
                self.scenarios = scenarios;
                self.jobs = jobs;
                self.planned = true;
            }
            Event::Share(share) => self.share = Some(*share),
            Event::Ablation(plan) => self.ablation = Some(*plan),
            Event::JobEnd { job, result } => {
                let results = match job.subset {
                    None => &mut self.results,
                    Some(_) => &mut self.ablation_results,
                };
                results.insert(job, *result);
            }
            Event::PhaseStart { phase } => self.spend(&phase, 0.0),
            Event::PhaseEnd { phase, seconds } => self.spend(&phase, seconds),
            Event::Note { text } => {
                if !self.notes.contains(&text) {
                    self.notes.push(text);
                }
            }
            Event::Verdict { verdict, .. } => self.verdict = Some(verdict),
            Event::Resume
            | Event::JobStart { .. }
            | Event::Fault { .. }
            | Event::Test(_)
            | Event::Interrupted => {}
        }
    }

    fn spend(&mut self, name: &str, seconds: f64) {
        match self.phases.iter_mut().find(|phase| phase.name == name) {
            Some(phase) => phase.seconds += seconds,
            None => self.phases.push(Phase {
                name: name.to_owned(),
                seconds,
            }),
        }
    }

    /// The planned jobs that have not ended.
    #[must_use]
    pub fn missing(&self) -> Vec<Job> {
        self.jobs
            .iter()
            .filter(|job| !self.results.contains_key(*job))
            .cloned()
            .collect()
    }

    /// The jobs of the ablation that have not ended.
    #[must_use]
    pub fn missing_of_ablation(&self) -> Vec<Job> {
        let jobs = self.ablation.iter().flat_map(|plan| &plan.jobs);
        jobs.filter(|job| !self.ablation_results.contains_key(*job))
            .cloned()
            .collect()
    }
}
