//! The run that a bundle rests on: found, read, and refused where it proves nothing about these patches.
use super::BundleError;
use crate::compare;
use crate::engine::{Proposal, PullRequest};
use crate::report::document::{
    Arms, FindingState, Report, RunState, Scenario, TestChange, Trust, Verdict,
};
use crate::report::summary;
use crate::run::job::{Arm, Job, JobResult};
use crate::run::journal;
use crate::run::recorded::Recorded;
use crate::run::tests::Story;
use crate::run::tests::outcome::{Outcome, Quality};
use crate::series::Patch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A run with all that a bundle takes from it.
#[derive(Debug)]
pub struct Evidence {
    /// The run folder's own name.
    pub name: String,
    /// Its report, rebuilt from the journal.
    pub report: Report,
    story: Story,
    results: BTreeMap<Job, JobResult>,
}

/// One proof of a patch, as the run recorded it.
#[derive(Debug, Clone, PartialEq)]
pub enum Proof<'e> {
    /// A scenario under one setting.
    Scenario(&'e Scenario),
    /// A test.
    Test {
        /// Its id.
        id: String,
        /// How it ended in each arm.
        outcomes: Arms<Option<Outcome>>,
        /// What the report says of it, where the arms differ or one lacks it.
        change: Option<&'e TestChange>,
    },
}

impl Evidence {
    /// Reads a run folder.
    ///
    /// # Errors
    /// When there is no run in it.
    pub fn read(folder: &Path) -> Result<Self, BundleError> {
        if !folder.join(journal::FILE).is_file() {
            return Err(BundleError::NoJournal(folder.to_owned()));
        }
        let report = compare::report(folder)?;
        let recorded = Recorded::read(folder).map_err(compare::CompareError::from)?;
        let story = Story::read(folder).map_err(compare::CompareError::from)?;
        let name = folder
            .canonicalize()
            .unwrap_or_else(|_| folder.to_owned())
            .file_name()
            .map_or_else(
                || "run".to_owned(),
                |name| name.to_string_lossy().into_owned(),
            );
        Ok(Self {
            name,
            report,
            story,
            results: recorded.results,
        })
    }

    /// The newest run below `runs` that passed with exactly these patches on exactly this tree.
    ///
    /// # Errors
    /// When there is none: with the reason for which each of the newest was not taken.
    pub fn newest(
        runs: &Path,
        proposal: &Proposal,
        harness: &str,
    ) -> Result<(PathBuf, Self), BundleError> {
        let mut folders: Vec<PathBuf> = std::fs::read_dir(runs)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|folder| folder.join(journal::FILE).is_file())
            .collect();
        // names begin with the time of their start
        folders.sort();
        let mut reasons = Vec::new();
        for folder in folders.iter().rev() {
            let found = Self::read(folder).and_then(|evidence| {
                evidence.accept(proposal, harness)?;
                Ok(evidence)
            });
            match found {
                Ok(evidence) => return Ok((folder.clone(), evidence)),
                Err(error) if reasons.len() < 5 => {
                    let name = folder.file_name().unwrap_or_default().to_string_lossy();
                    reasons.push(format!("{name}: {error}"));
                }
                Err(_) => {}
            }
        }
        Err(BundleError::NoRun {
            runs: runs.to_owned(),
            reasons,
        })
    }

    /// Whether the run proves these patches on this tree.
    ///
    /// # Errors
    /// With the first thing that it lacks.
    pub fn accept(&self, proposal: &Proposal, harness: &str) -> Result<(), BundleError> {
        let report = &self.report;
        if report.trust == Trust::Rehearsed {
            return Err(BundleError::Rehearsed);
        }
        let last = proposal.requests.last();
        let patches: Vec<&str> = proposal
            .requests
            .iter()
            .map(|request| request.id.as_str())
            .collect();
        for (part, here) in [
            ("baseline", proposal.base_tree.as_str()),
            ("patched", last.map_or("", |request| request.tree.as_str())),
            ("patches", &patches.join(" ")),
            ("harness", harness),
        ] {
            let run = report.fingerprint.parts.get(part);
            if run.is_none_or(|run| run != here) {
                return Err(BundleError::OtherRun {
                    part,
                    here: here.to_owned(),
                    run: run.cloned().unwrap_or_default(),
                });
            }
        }
        if report.state == RunState::Partial {
            return Err(BundleError::Unfinished);
        }
        if report.verdict != Verdict::Pass {
            return Err(BundleError::NotPassing {
                verdict: report.verdict,
                reason: summary::deciding(report).map_or_else(String::new, summary::reason_line),
            });
        }
        let lacking: Vec<String> = proposal
            .requests
            .iter()
            .filter_map(|request| proposal.patch(&request.id))
            .flat_map(|patch| self.lacking(patch))
            .collect();
        if lacking.is_empty() {
            Ok(())
        } else {
            Err(BundleError::Uncovered { lacking })
        }
    }

    /// The proofs of a patch that the run does not hold, or that did not hold in it.
    fn lacking(&self, patch: &Patch) -> Vec<String> {
        if patch.proven_by.is_empty() {
            return vec![format!("{}: its manifest names no proof", patch.id)];
        }
        patch
            .proven_by
            .iter()
            .filter(|proof| !self.proofs(proof).iter().any(Proof::holds))
            .map(|proof| format!("{} by {proof}", patch.id))
            .collect()
    }

    /// What the run recorded of one proof: a scenario under each of its settings, or a test.
    #[must_use]
    pub fn proofs(&self, name: &str) -> Vec<Proof<'_>> {
        let scenarios = self.report.scenarios.iter().filter(|scenario| {
            scenario.id.split(['@', '+']).next() == Some(name) || scenario.id == name
        });
        let mut proofs: Vec<Proof<'_>> = scenarios.map(Proof::Scenario).collect();
        let changes = || self.report.tests.iter().flat_map(|tests| &tests.changes);
        for (id, outcomes) in self.story.outcomes(name) {
            let change = changes().find(|change| change.id == id);
            proofs.push(Proof::Test {
                id,
                outcomes,
                change,
            });
        }
        proofs
    }

    /// The command that repeats the run on a tree of the same commit, wherever it lies.
    #[must_use]
    pub fn command(&self, proposal: &Proposal) -> String {
        let command = super::anywhere(&summary::run_command(&self.report));
        command.replace(&proposal.path.display().to_string(), "TREE")
    }

    /// A counter of each process of one arm of a scenario.
    #[must_use]
    pub fn counter(&self, scenario: &str, arm: Arm, counter: &str) -> Vec<f64> {
        self.results
            .iter()
            .filter(|(job, _)| job.scenario == scenario && job.arm == arm)
            .filter_map(|(_, result)| result.counters.get(counter).copied())
            .filter(|value| value.is_finite())
            .collect()
    }
}

impl Proof<'_> {
    /// Whether the patched arm is as it should be.
    #[must_use]
    pub fn holds(&self) -> bool {
        match self {
            Self::Scenario(scenario) => {
                let sound = |state| {
                    matches!(
                        state,
                        FindingState::Ok | FindingState::Improved | FindingState::PreExisting
                    )
                };
                sound(scenario.relative.state) && sound(scenario.absolute.state)
            }
            Self::Test { outcomes, .. } => outcomes
                .patched
                .is_some_and(|outcome| outcome.quality() == Quality::Good),
        }
    }
}

impl Proposal {
    /// What the manifest says of a patch.
    #[must_use]
    pub fn patch(&self, id: &crate::series::PatchId) -> Option<&Patch> {
        self.series.patches.iter().find(|patch| patch.id == *id)
    }

    /// The place of a pull request among all, from 1.
    #[must_use]
    pub fn position(&self, request: &PullRequest) -> usize {
        self.requests
            .iter()
            .position(|other| other.id == request.id)
            .map_or(0, |index| index + 1)
    }
}
