//! One recorded run against another, scenario by scenario and seed by seed, by the rules of `verify`; their stock arms
//! against each other tell whether the machine is still the same.
use super::error::BaselineError;
use super::{Baseline, key};
use crate::report::document::{Difference, Finding, FindingState, Reason, Trust, Verdict};
use crate::run::job::Arm;
use crate::stats::ruling::Repeats;
use crate::verdict::{self, Evidence, Judgement, Pair, ScenarioEvidence};
use serde::Serialize;
use std::collections::BTreeSet;

/// The schema name of [`Against`].
pub const SCHEMA: &str = "umpatch.baseline-compare/1";

/// What a comparison says: `right` against `left`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Against {
    /// [`SCHEMA`].
    pub schema: String,
    /// The run that is compared with.
    pub left: String,
    /// The run that is judged.
    pub right: String,
    /// The conclusion on its patched arm.
    pub verdict: Verdict,
    /// The exit status that says it.
    pub exit_code: u8,
    /// What decided, most important first.
    pub reasons: Vec<Reason>,
    /// Scenarios that both have.
    pub scenarios: Vec<Row>,
    /// Scenarios that only one has.
    pub not_compared: Vec<String>,
}

/// One scenario in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// Patched arm of the right run minus that of the left.
    pub difference: Difference,
    /// Whether it got worse.
    pub relative: Finding,
    /// The same for the arms without patches: what the machine itself does.
    pub control: Finding,
}

/// Compares two recorded runs.
///
/// # Errors
/// When their keys differ, naming where, or nothing is in both.
pub fn compare(left: &Baseline, right: &Baseline) -> Result<Against, BaselineError> {
    let differences = key::differences(&left.key, &right.key);
    if !differences.is_empty() {
        return Err(BaselineError::NotComparable {
            left: left.name.clone(),
            right: right.name.clone(),
            differences,
        });
    }
    let patched = judged(left, right, Arm::Patched);
    let control = judged(left, right, Arm::Baseline);
    if patched.0.is_empty() {
        return Err(BaselineError::NothingShared {
            left: left.name.clone(),
            right: right.name.clone(),
        });
    }
    let (ids, judgement) = patched;
    let drifted = drift(&control);
    let (verdict, reasons) = with_control(judgement.verdict, judgement.reasons, &drifted);
    let scenarios = ids
        .iter()
        .zip(&judgement.scenarios)
        .map(|(id, found)| Row {
            id: id.clone(),
            difference: found.difference.clone(),
            relative: found.relative.clone(),
            control: finding(&control, id),
        })
        .collect();
    Ok(Against {
        schema: SCHEMA.to_owned(),
        left: left.name.clone(),
        right: right.name.clone(),
        verdict,
        exit_code: verdict::exit_of(verdict).code(),
        reasons,
        scenarios,
        not_compared: only_in_one(left, right, &ids),
    })
}

/// Where the machine itself is not what it was, no difference between the patched arms is the patches'.
fn with_control(
    verdict: Verdict,
    mut reasons: Vec<Reason>,
    drifted: &[String],
) -> (Verdict, Vec<Reason>) {
    if drifted.is_empty() {
        return (verdict, reasons);
    }
    let reason = Reason {
        verdict: Verdict::Inconclusive,
        subject: drifted.join(", "),
        text: "the arms without patches differ between the runs: the machine is not what it was"
            .to_owned(),
    };
    reasons.insert(0, reason);
    (Verdict::Inconclusive, reasons)
}

fn judged(left: &Baseline, right: &Baseline, arm: Arm) -> (Vec<String>, Judgement) {
    let scenarios: Vec<ScenarioEvidence> = left
        .scenarios
        .iter()
        .filter_map(|definition| {
            let pairs = pairs(left, right, &definition.id, arm);
            (!pairs.is_empty()).then(|| ScenarioEvidence {
                definition: definition.clone(),
                pairs,
                steps: left
                    .processes
                    .iter()
                    .find(|kept| kept.job.scenario == definition.id)
                    .and_then(|kept| kept.job.steps),
                detect: None,
                repeats: match left.trust {
                    Trust::Simulated | Trust::Rehearsed => Repeats::Exactly,
                    Trust::Hardware | Trust::Paravirtual => Repeats::Unknown,
                },
            })
        })
        .collect();
    let ids = scenarios
        .iter()
        .map(|scenario| scenario.definition.id.clone())
        .collect();
    let judgement = verdict::judge(&Evidence {
        scenarios,
        trust: Some(left.trust),
        complete: true,
        ..Evidence::default()
    });
    (ids, judgement)
}

fn pairs(left: &Baseline, right: &Baseline, scenario: &str, arm: Arm) -> Vec<Pair> {
    left.processes
        .iter()
        .filter(|kept| kept.job.scenario == scenario && kept.job.arm == arm)
        .filter_map(|before| {
            let after = right.find(scenario, arm, before.job.seed)?;
            let budget = before.budget();
            Some(Pair {
                seed: before.job.seed,
                baseline: Some(before.process(budget)),
                patched: Some(after.process(budget)),
            })
        })
        .collect()
}

/// Scenarios whose arms without patches differ.
fn drift(control: &(Vec<String>, Judgement)) -> Vec<String> {
    control
        .0
        .iter()
        .zip(&control.1.scenarios)
        .filter(|(_, found)| {
            matches!(
                found.relative.state,
                FindingState::Regression | FindingState::Improved
            )
        })
        .map(|(id, _)| id.clone())
        .collect()
}

fn finding(control: &(Vec<String>, Judgement), id: &str) -> Finding {
    control
        .0
        .iter()
        .zip(&control.1.scenarios)
        .find(|(known, _)| *known == id)
        .map_or_else(
            || Finding {
                state: FindingState::NotComparable,
                text: "no arm without patches with the same seed in both runs".to_owned(),
            },
            |(_, found)| found.relative.clone(),
        )
}

fn only_in_one(left: &Baseline, right: &Baseline, compared: &[String]) -> Vec<String> {
    let all: BTreeSet<&String> = left
        .scenarios
        .iter()
        .chain(&right.scenarios)
        .map(|definition| &definition.id)
        .collect();
    all.into_iter()
        .filter(|id| !compared.contains(id))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::{Kept, SCHEMA as BASELINE};
    use crate::report::document::Fingerprint;
    use crate::run::job::{Class, Definition, Flavour, Job, JobResult, Outcome};
    use std::collections::BTreeMap;

    const MIB: f64 = 1_048_576.0;

    fn run(name: &str, chip: &str, growth: [f64; 2]) -> Baseline {
        let kept = |arm: Arm, seed: u64, per_step: f64| Kept {
            job: Job {
                scenario: "steady".to_owned(),
                arm,
                pair: 0,
                seed,
                flavour: Flavour::Plain,
                steps: Some(100),
                settings: BTreeMap::new(),
                subset: None,
            },
            result: JobResult {
                peak_driver_bytes: Some(64 << 20),
                ..JobResult::empty(Outcome::Ok)
            },
            driver_bytes: Some(
                (0..100)
                    .map(|step| (f64::from(step), (64.0 + per_step * f64::from(step)) * MIB))
                    .collect(),
            ),
            current_bytes: None,
            new_buffers_per_step: Some(per_step),
            counter_ran_backwards: false,
        };
        Baseline {
            schema: BASELINE.to_owned(),
            name: name.to_owned(),
            recorded: String::new(),
            umpatch: String::new(),
            started: String::new(),
            trust: Trust::Simulated,
            verdict: None,
            key: Fingerprint {
                key: chip.to_owned(),
                parts: BTreeMap::from([("chip".to_owned(), chip.to_owned())]),
            },
            about: BTreeMap::new(),
            scenarios: vec![Definition {
                id: "steady".to_owned(),
                class: Class::GpuOnly,
                ..Definition::default()
            }],
            processes: [1, 2]
                .into_iter()
                .flat_map(|seed| {
                    [
                        kept(Arm::Baseline, seed, growth[0]),
                        kept(Arm::Patched, seed, growth[1]),
                    ]
                })
                .collect(),
        }
    }

    #[test]
    fn as_a_table() {
        let verdict = |right: [f64; 2]| {
            let found = compare(&run("a", "m1", [0.0, 0.0]), &run("b", "m1", right)).unwrap();
            (found.verdict, found.scenarios[0].relative.state)
        };
        assert_eq!(verdict([0.0, 0.0]), (Verdict::Pass, FindingState::Ok));
        assert_eq!(
            verdict([0.0, 2.0]),
            (Verdict::Regression, FindingState::Regression)
        );
        // stock grows too: it is the machine
        assert_eq!(verdict([2.0, 2.0]).0, Verdict::Inconclusive);
    }

    #[test]
    fn other_keys_are_refused_by_name() {
        let error = compare(&run("a", "m1", [0.0; 2]), &run("b", "m2", [0.0; 2])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a and b are not comparable, they differ in chip (m1 and m2)"
        );
        let mut other = run("b", "m1", [0.0; 2]);
        for kept in &mut other.processes {
            kept.job.seed += 10;
        }
        assert!(matches!(
            compare(&run("a", "m1", [0.0; 2]), &other),
            Err(BaselineError::NothingShared { .. })
        ));
    }
}
