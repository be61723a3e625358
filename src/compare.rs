//! From a run folder to its report: reads the journal and the curves, measures, judges, and fills the document. The only
//! source of a report, so that a run in one piece, a resumed one and `umpatch report` cannot differ.
mod ablation;
pub(crate) mod curves;
mod settings;

use crate::error::Explain;
use crate::exit::Exit;
use crate::report::document::{
    self, ArmFigures, Arms, Fault, Reason, Report, RunState, Scenario, Tests, Trust,
};
use crate::run::job::{Arm, Class, Definition, Job, JobResult};
use crate::run::journal::JournalError;
use crate::run::recorded::Recorded;
use crate::run::tests;
use crate::stats::counter::rate_after_half;
use crate::stats::curve::analyse;
use crate::stats::noise::Noise;
use crate::stats::ruling::Repeats;
use crate::verdict::{self, Evidence, Pair, Process, ScenarioEvidence, ScenarioJudgement};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A run folder does not give a report.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its journal has no first line that we know.
    #[error("{} holds no run of this version of umpatch", path.display())]
    NoRun {
        /// The folder.
        path: std::path::PathBuf,
    },
}

impl Explain for CompareError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
}

/// What the test runner found, when tests were part of the run.
#[derive(Debug, Clone, Default)]
pub struct TestFindings {
    /// Outcomes of both arms.
    pub tests: Option<Tests>,
    /// Reasons that it found by itself.
    pub reasons: Vec<Reason>,
    /// Whether tests were to run and have not come to their end.
    pub cut: bool,
}

/// Makes the report of a run folder.
///
/// # Errors
/// When there is no run in it.
pub fn report(folder: &Path) -> Result<Report, CompareError> {
    let found = test_findings(folder)?;
    report_with(folder, found)
}

/// What the journal tells of tests.
fn test_findings(folder: &Path) -> Result<TestFindings, CompareError> {
    let story = tests::Story::read(folder)?;
    Ok(match story.findings(&tests::known_failures()) {
        None => TestFindings::default(),
        Some(findings) => TestFindings {
            cut: !findings.complete,
            tests: Some(findings.tests),
            reasons: findings.reasons,
        },
    })
}

/// Makes the report of a run folder, with the findings of the test runner joined in.
///
/// # Errors
/// When there is no run in it.
pub fn report_with(folder: &Path, found: TestFindings) -> Result<Report, CompareError> {
    let recorded = Recorded::read(folder)?;
    let Some(header) = recorded.header.clone() else {
        return Err(CompareError::NoRun {
            path: folder.to_owned(),
        });
    };
    let complete = recorded.planned
        && recorded.missing().is_empty()
        && recorded.missing_of_ablation().is_empty()
        && !found.cut;
    let evidence = Evidence {
        scenarios: recorded
            .scenarios
            .iter()
            .map(|definition| scenario_evidence(folder, definition, &recorded, header.trust))
            .collect(),
        tests: found.tests,
        test_reasons: found.reasons,
        trust: Some(header.trust),
        require_hardware: header.require_hardware,
        complete,
    };
    let judgement = match header.trust {
        Trust::Paravirtual => verdict::judge(&functional(evidence.clone())),
        _ => verdict::judge(&evidence),
    };
    let scenarios = evidence
        .scenarios
        .iter()
        .zip(&judgement.scenarios)
        .map(|(scenario, judged)| row(scenario, judged, &recorded, &header.row_command))
        .collect();
    let mut notes = recorded.notes.clone();
    notes.extend(recorded.skipped.note());
    if header.trust == Trust::Simulated {
        notes.push(
            "simulated device: allocation, accounting, lock order, copies and hazards are those of the real sources; \
             kernel numerics, driver behaviour and timing are not"
                .to_owned(),
        );
    }
    let by_setting = settings::verdicts(&evidence.scenarios, header.trust);
    notes.extend(settings::note(&by_setting));
    Ok(Report {
        schema: document::SCHEMA.to_owned(),
        verdict: judgement.verdict,
        exit_code: judgement.exit.code(),
        state: if complete {
            RunState::Complete
        } else {
            RunState::Partial
        },
        reasons: judgement.reasons,
        compared: header.compared,
        command: header.command,
        started: recorded.started.clone(),
        trust: header.trust,
        fingerprint: header.fingerprint,
        tests: evidence.tests,
        scenarios,
        goals: judgement.goals,
        by_setting,
        ablation: ablation::of(folder, &recorded, header.trust, &evidence.scenarios),
        phases: recorded.phases,
        notes,
        run: folder.display().to_string(),
    })
}

/// What is left to judge where memory and time are not those of a real GPU: values, faults, crashes, tests.
fn functional(mut evidence: Evidence) -> Evidence {
    for scenario in &mut evidence.scenarios {
        scenario.definition.class = Class::Correctness;
        scenario.definition.positive_control = false;
        // as one of few steps by itself: nobody asks it for growth
        scenario.steps = Some(1);
        scenario.definition.quick_steps = scenario.steps;
        let pairs = scenario.pairs.iter_mut();
        for process in pairs
            .flat_map(|pair| [&mut pair.baseline, &mut pair.patched])
            .flatten()
        {
            let result = &process.result;
            *process = Process {
                result: JobResult {
                    faults: result.faults.clone(),
                    seconds: result.seconds,
                    ..JobResult::empty(result.outcome.clone())
                },
                curve: None,
                live: None,
                new_buffers_per_step: None,
                counter_ran_backwards: false,
            };
        }
    }
    evidence
}

/// The scenarios of a run that more pairs could decide, by whether driver memory grows.
///
/// # Errors
/// When there is no run in the folder.
pub fn undecided(folder: &Path) -> Result<BTreeSet<String>, CompareError> {
    Ok(evidence(folder)?
        .iter()
        .filter(|scenario| verdict::needs_pairs(scenario))
        .map(|scenario| scenario.definition.id.clone())
        .collect())
}

/// What the arms of a run differ by, by scenario: of use where they were equal.
///
/// # Errors
/// When there is no run in the folder.
pub fn noise(folder: &Path) -> Result<BTreeMap<String, Noise>, CompareError> {
    Ok(evidence(folder)?
        .iter()
        .filter_map(|scenario| {
            Some((
                scenario.definition.id.clone(),
                verdict::measured_noise(scenario)?,
            ))
        })
        .collect())
}

fn evidence(folder: &Path) -> Result<Vec<ScenarioEvidence>, CompareError> {
    let recorded = Recorded::read(folder)?;
    let Some(header) = &recorded.header else {
        return Err(CompareError::NoRun {
            path: folder.to_owned(),
        });
    };
    Ok(recorded
        .scenarios
        .iter()
        .map(|definition| scenario_evidence(folder, definition, &recorded, header.trust))
        .collect())
}

fn scenario_evidence(
    folder: &Path,
    definition: &Definition,
    recorded: &Recorded,
    trust: Trust,
) -> ScenarioEvidence {
    let jobs: Vec<(&Job, Option<&JobResult>)> = recorded
        .jobs
        .iter()
        .filter(|job| job.scenario == definition.id)
        .map(|job| (job, recorded.results.get(job)))
        .collect();
    evidence_of(folder, definition, &jobs, recorded, trust)
}

/// The evidence that these jobs of one scenario give.
fn evidence_of(
    folder: &Path,
    definition: &Definition,
    jobs: &[(&Job, Option<&JobResult>)],
    recorded: &Recorded,
    trust: Trust,
) -> ScenarioEvidence {
    let mut pairs: BTreeMap<u32, Pair> = BTreeMap::new();
    // the budget of growth is one for both arms of a scenario: that of the baseline's own size
    let peak = jobs
        .iter()
        .filter(|(job, _)| job.arm == Arm::Baseline)
        .find_map(|(_, result)| result.as_ref()?.peak_driver_bytes);
    let budget = recorded
        .design
        .detect
        .map_or_else(|| verdict::growth_budget(peak), |wanted| wanted / 2.0);
    for (job, result) in jobs {
        let pair = pairs.entry(job.pair).or_default();
        pair.seed = job.seed;
        let process = result.map(|result| process(folder, result, budget));
        match job.arm {
            Arm::Baseline => pair.baseline = process,
            Arm::Patched => pair.patched = process,
        }
    }
    ScenarioEvidence {
        definition: definition.clone(),
        pairs: pairs.into_values().collect(),
        steps: jobs.iter().find_map(|(job, _)| job.steps),
        detect: recorded.design.detect,
        repeats: match recorded.design.noise.get(&definition.id) {
            Some(noise) => Repeats::Within(*noise),
            None => repeats(trust),
        },
    }
}

/// A process of a pair: what it left behind, and the folder that its curve is in.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// The result.
    pub result: &'a JobResult,
}

/// Judges one scenario from pairs of processes (seed, baseline, patched) that are in no run folder, by the rules of all runs.
#[must_use]
pub fn judge_pairs(
    definition: &Definition,
    steps: Option<u64>,
    trust: Trust,
    pairs: &[(u64, Side<'_>, Side<'_>)],
) -> ScenarioJudgement {
    let peak = pairs
        .iter()
        .find_map(|pair| pair.1.result.peak_driver_bytes);
    let budget = verdict::growth_budget(peak);
    let read = |side: &Side<'_>| Some(process(side.folder, side.result, budget));
    verdict::judge_scenario(&ScenarioEvidence {
        definition: definition.clone(),
        pairs: pairs
            .iter()
            .map(|(seed, baseline, patched)| Pair {
                seed: *seed,
                baseline: read(baseline),
                patched: read(patched),
            })
            .collect(),
        steps,
        detect: None,
        repeats: repeats(trust),
    })
}

/// On the simulated device a seed decides what is allocated when; a real one is only known as far as it was measured.
fn repeats(trust: Trust) -> Repeats {
    match trust {
        Trust::Simulated | Trust::Rehearsed => Repeats::Exactly,
        Trust::Hardware | Trust::Paravirtual => Repeats::Unknown,
    }
}

fn process(folder: &Path, result: &JobResult, budget: f64) -> Process {
    let curve = result
        .curve
        .as_ref()
        .and_then(|name| curves::read(&folder.join(name)));
    let analysed = |samples: &Vec<(f64, f64)>| analyse(samples, budget);
    let new_buffers = curve.as_ref().map(|curve| &curve.new_buffers);
    Process {
        result: result.clone(),
        curve: curve
            .as_ref()
            .and_then(|curve| curve.driver_bytes.as_ref())
            .map(analysed),
        live: curve
            .as_ref()
            .and_then(|curve| curve.current_bytes.as_ref())
            .map(analysed),
        new_buffers_per_step: new_buffers.and_then(|counter| rate_after_half(counter)),
        counter_ran_backwards: curve.as_ref().is_some_and(|curve| curve.is_disordered),
    }
}

fn row(
    evidence: &ScenarioEvidence,
    judged: &ScenarioJudgement,
    recorded: &Recorded,
    row_command: &str,
) -> Scenario {
    let definition = &evidence.definition;
    let jobs: Vec<&Job> = recorded
        .jobs
        .iter()
        .filter(|job| job.scenario == definition.id)
        .collect();
    let curves = |arm: Arm| {
        jobs.iter()
            .filter(|job| job.arm == arm)
            .filter_map(|job| recorded.results.get(*job)?.curve.clone())
            .collect()
    };
    let processes = |choose: fn(&Pair) -> Option<&Process>| -> Vec<&Process> {
        evidence.pairs.iter().filter_map(choose).collect()
    };
    Scenario {
        id: definition.id.clone(),
        title: definition.title.clone(),
        reproduces: definition.reproduces.clone(),
        class: definition.class.name().to_owned(),
        patches: definition.patches.clone(),
        command: if row_command.is_empty() {
            String::new()
        } else {
            format!("{row_command} --scenario {}", definition.id)
        },
        settings: jobs
            .first()
            .map(|job| job.settings.clone())
            .unwrap_or_default(),
        baseline: figures(&processes(|pair| pair.baseline.as_ref())),
        patched: figures(&processes(|pair| pair.patched.as_ref())),
        difference: judged.difference.clone(),
        absolute: judged.absolute.clone(),
        relative: judged.relative.clone(),
        curves: Arms {
            baseline: curves(Arm::Baseline),
            patched: curves(Arm::Patched),
        },
    }
}

/// The figures of one arm: of the process with the median slope, the highest peak, the sums of the counters.
fn figures(processes: &[&Process]) -> ArmFigures {
    let mut by_slope: Vec<(f64, &Process)> = processes
        .iter()
        .filter_map(|process| Some((process.curve.as_ref()?.slope?.estimate, *process)))
        .collect();
    by_slope.sort_by(|left, right| left.0.total_cmp(&right.0));
    let curve = by_slope
        .get(by_slope.len().saturating_sub(1) / 2)
        .and_then(|(_, process)| process.curve.as_ref());
    let slope = curve.and_then(|curve| curve.slope);
    let mut faults: BTreeMap<&str, Fault> = BTreeMap::new();
    for process in processes {
        for fault in &process.result.faults {
            faults
                .entry(&fault.kind)
                .and_modify(|known| {
                    known.count = known.count.saturating_add(fault.count);
                    known.bytes = known.bytes.saturating_add(fault.bytes);
                })
                .or_insert_with(|| fault.clone());
        }
    }
    let highest = |figure: fn(&JobResult) -> Option<u64>| {
        processes
            .iter()
            .filter_map(|process| figure(&process.result))
            .max()
    };
    ArmFigures {
        slope_bytes_per_step: slope.map(|slope| slope.estimate),
        slope_ci: slope.map(|slope| [slope.low, slope.high]),
        warm_up_steps: curve.map(|curve| curve.warm_up_end.max(0.0) as u64),
        intercept_bytes: slope.map(|slope| slope.intercept),
        steps: curve.map_or_else(Vec::new, |curve| {
            let steps = curve.steps.iter();
            steps
                .map(|step| document::MemoryStep {
                    at: step.at,
                    bytes: step.size,
                })
                .collect()
        }),
        peak_bytes: highest(|result| result.peak_driver_bytes),
        residual_bytes: highest(|result| result.residual_driver_bytes),
        counters: counters(processes),
        outcomes: processes
            .iter()
            .map(|process| process.result.outcome.to_string())
            .collect(),
        faults: faults.into_values().collect(),
    }
}

/// Counters that are means over a process already: their median over the processes is reported, not their sum.
const MEANS: [&str; 2] = ["alloc_free_ns", "alloc_free_instructions"];

fn counters(processes: &[&Process]) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for process in processes {
        for (name, value) in &process.result.counters {
            all.entry(name).or_default().push(*value);
        }
    }
    all.into_iter()
        .filter_map(|(name, values)| {
            let value = if MEANS.contains(&name) {
                crate::stats::robust::median(&values)?
            } else {
                values.iter().sum()
            };
            Some((name.to_owned(), value))
        })
        .collect()
}

#[cfg(test)]
mod tests_of_trust {
    use super::*;
    use crate::report::document::Verdict;
    use crate::run::job::Outcome;

    fn process(outcome: Outcome, peak: u64) -> Process {
        Process {
            result: JobResult {
                peak_driver_bytes: Some(peak),
                ..JobResult::empty(outcome)
            },
            curve: None,
            live: None,
            new_buffers_per_step: None,
            counter_ran_backwards: false,
        }
    }

    fn judged(patched: Outcome) -> Verdict {
        let pair = Pair {
            seed: 1,
            baseline: Some(process(Outcome::Ok, 1 << 20)),
            patched: Some(process(patched, 1 << 30)),
        };
        let evidence = Evidence {
            scenarios: vec![ScenarioEvidence {
                definition: Definition {
                    id: "steady".to_owned(),
                    class: Class::GpuOnly,
                    ..Definition::default()
                },
                pairs: vec![pair],
                ..ScenarioEvidence::default()
            }],
            trust: Some(Trust::Paravirtual),
            complete: true,
            ..Evidence::default()
        };
        verdict::judge(&functional(evidence)).verdict
    }

    #[test]
    fn a_paravirtual_gpu_s_memory_is_not_judged_and_its_crashes_are() {
        assert_eq!(judged(Outcome::Ok), Verdict::Pass);
        let crashed = Outcome::Crashed {
            by: "SIGSEGV".to_owned(),
        };
        assert_ne!(judged(crashed), Verdict::Pass);
    }
}
