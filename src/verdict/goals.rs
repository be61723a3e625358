//! The goals of the patch set, checked on the evidence of a run: stricter than what makes a regression, and never silent.
use super::threshold;
use super::{Evidence, Pair, Process, ScenarioEvidence};
use crate::report::document::Goal;
use crate::run::job::Class;
use crate::stats::curve::Shape;
use crate::stats::robust::median;

/// Checks every goal. One without evidence in this run is neither met nor missed.
pub(super) fn check(evidence: &Evidence) -> Vec<Goal> {
    let scenarios: Vec<&ScenarioEvidence> = evidence
        .scenarios
        .iter()
        .filter(|scenario| !scenario.definition.positive_control)
        .collect();
    vec![
        peak(&scenarios),
        growth(&scenarios),
        waits(&scenarios),
        loaders(&scenarios),
        memcpy(&scenarios),
        instructions(&scenarios),
        hazards(&scenarios),
    ]
}

/// The worst of several figures decides a goal; each figure is (scenario, value, in words).
fn goal(text: &str, figures: &[(f64, String)], met: impl Fn(f64) -> bool) -> Goal {
    let missed: Vec<&str> = figures
        .iter()
        .filter(|(value, _)| !met(*value))
        .map(|(_, words)| words.as_str())
        .collect();
    Goal {
        text: text.to_owned(),
        met: (!figures.is_empty()).then_some(missed.is_empty()),
        evidence: if figures.is_empty() {
            "nothing in this run can tell".to_owned()
        } else if missed.is_empty() {
            let worst = figures
                .iter()
                .rev()
                .max_by(|left, right| left.0.total_cmp(&right.0));
            format!(
                "{} scenario{}, the nearest to the limit: {}",
                figures.len(),
                if figures.len() == 1 { "" } else { "s" },
                worst.map_or("", |(_, words)| words.as_str())
            )
        } else {
            missed.join("; ")
        },
    }
}

fn complete(scenario: &ScenarioEvidence) -> impl Iterator<Item = (&Process, &Process)> {
    scenario.pairs.iter().filter_map(
        |Pair {
             baseline, patched, ..
         }| Some((baseline.as_ref()?, patched.as_ref()?)),
    )
}

/// The median over the pairs of a figure that compares both arms.
pub(super) fn over_pairs(
    scenario: &ScenarioEvidence,
    figure: impl Fn(&Process, &Process) -> Option<f64>,
) -> Option<f64> {
    let values: Vec<f64> = complete(scenario)
        .filter_map(|(baseline, patched)| figure(baseline, patched))
        .collect();
    median(&values)
}

/// Patched peak divided by baseline peak.
pub(super) fn peak_ratio(baseline: &Process, patched: &Process) -> Option<f64> {
    let peak = |process: &Process| process.result.peak_driver_bytes.map(|bytes| bytes as f64);
    let below = peak(baseline).filter(|bytes| *bytes > 0.0)?;
    Some(peak(patched)? / below)
}

fn counter(process: &Process, name: &str) -> Option<f64> {
    process.result.counters.get(name).copied()
}

/// Blocking waits of the patched arm beyond the baseline's. An operation that the baseline refuses has not waited there: where
/// the patched arm carries it out, its wait is not one that the baseline would not have. One arm that was cut short has waited
/// less: only whole runs are compared.
pub(super) fn added_waits(baseline: &Process, patched: &Process) -> Option<f64> {
    (baseline.steps() == patched.steps()).then_some(())?;
    let added = counter(patched, "blocking_waits")? - counter(baseline, "blocking_waits")?;
    let carried_out = refused(baseline).saturating_sub(refused(patched)) as f64;
    Some(if added > 0.0 {
        (added - carried_out).max(0.0)
    } else {
        added
    })
}

/// Operations that ended with an error.
fn refused(process: &Process) -> u64 {
    let faults = process.result.faults.iter();
    faults
        .filter(|fault| fault.kind == "unexpected-error")
        .map(|fault| fault.count)
        .sum()
}

fn peak(scenarios: &[&ScenarioEvidence]) -> Goal {
    let figures: Vec<(f64, String)> = scenarios
        .iter()
        .filter(|scenario| scenario.definition.class == Class::GpuOnly)
        .filter_map(|scenario| {
            let ratio = over_pairs(scenario, peak_ratio)?;
            Some((ratio, format!("{} {ratio:.2} ×", scenario.definition.id)))
        })
        .collect();
    goal(
        "peak driver memory at most 1.05 × stock on every GPU-only scenario",
        &figures,
        |ratio| ratio <= threshold::PEAK_GOAL,
    )
}

fn growth(scenarios: &[&ScenarioEvidence]) -> Goal {
    let mut figures = Vec::new();
    for scenario in scenarios {
        let growing = scenario
            .pairs
            .iter()
            .filter_map(|pair| pair.patched.as_ref()?.curve.as_ref())
            .filter(|curve| curve.shape != Shape::TooShort);
        let worst = growing
            .map(|curve| match curve.shape {
                Shape::Growing => curve.slope.map_or(0.0, |slope| slope.estimate),
                _ => 0.0,
            })
            .max_by(f64::total_cmp);
        if let Some(slope) = worst {
            figures.push((
                slope,
                format!(
                    "{} {}",
                    scenario.definition.id,
                    super::scenario::per_step(slope)
                ),
            ));
        }
    }
    goal("no growth without empty_cache", &figures, |slope| {
        slope <= 0.0
    })
}

fn waits(scenarios: &[&ScenarioEvidence]) -> Goal {
    let figures: Vec<(f64, String)> = scenarios
        .iter()
        .filter(|scenario| !scenario.definition.is_chance())
        .filter_map(|scenario| {
            let added = over_pairs(scenario, added_waits)?;
            Some((added, format!("{} {added:+}", scenario.definition.id)))
        })
        .collect();
    goal(
        "no blocking wait that stock does not have",
        &figures,
        |added| added <= 0.0,
    )
}

fn loaders(scenarios: &[&ScenarioEvidence]) -> Goal {
    let figures: Vec<(f64, String)> = scenarios
        .iter()
        .filter_map(|scenario| {
            let all = super::scenario::waits_in_loader(scenario)?;
            let copies = over_pairs(scenario, |_, patched| {
                counter(patched, "blocking_copy_waits")
            });
            let id = &scenario.definition.id;
            // one wait at the end of many steps is that of the check; more are too many, whosever they are
            let seldom = all <= threshold::WAITS_PER_STEP;
            Some(match copies {
                Some(waits) if seldom => (waits, format!("{id} {waits} in all")),
                _ => (
                    if seldom { 0.0 } else { all },
                    format!("{id} {all:.2} a step"),
                ),
            })
        })
        .collect();
    goal(
        "no blocking copy wait in a data-loader loop of small tensors",
        &figures,
        |waits| waits <= 0.0,
    )
}

fn memcpy(scenarios: &[&ScenarioEvidence]) -> Goal {
    let figures: Vec<(f64, String)> = scenarios
        .iter()
        .filter(|scenario| scenario.definition.class == Class::Copy)
        .filter_map(|scenario| {
            let missed = over_pairs(scenario, |_, patched| {
                let eligible = counter(patched, "eligible_copies").filter(|count| *count > 0.0)?;
                Some(1.0 - counter(patched, "memcpy_copies")? / eligible)
            })?;
            Some((
                missed,
                format!("{} {:.0}%", scenario.definition.id, 100.0 * (1.0 - missed)),
            ))
        })
        .collect();
    goal(
        "at least 90% of eligible host-to-device copies by memcpy",
        &figures,
        |missed| missed <= 1.0 - threshold::MEMCPY_GOAL,
    )
}

/// Instructions per allocation and release, patched to baseline.
pub(super) fn instruction_ratio(baseline: &Process, patched: &Process) -> Option<f64> {
    let name = "alloc_free_instructions";
    let below = counter(baseline, name).filter(|count| *count > 0.0)?;
    Some(counter(patched, name)? / below)
}

fn instructions(scenarios: &[&ScenarioEvidence]) -> Goal {
    let figures: Vec<(f64, String)> = scenarios
        .iter()
        .filter(|scenario| !scenario.definition.is_chance())
        .filter_map(|scenario| {
            let ratio = over_pairs(scenario, instruction_ratio)?;
            Some((ratio, format!("{} {ratio:.2} ×", scenario.definition.id)))
        })
        .collect();
    goal(
        "allocation and release at most 1.00 × stock in instructions",
        &figures,
        |ratio| ratio <= threshold::INSTRUCTIONS_GOAL,
    )
}

fn hazards(scenarios: &[&ScenarioEvidence]) -> Goal {
    let figures: Vec<(f64, String)> = scenarios
        .iter()
        .filter_map(|scenario| {
            let mut seen = scenario
                .pairs
                .iter()
                .filter_map(|pair| pair.patched.as_ref())
                .peekable();
            seen.peek()?;
            let count: u64 = seen
                .flat_map(|process| &process.result.faults)
                .filter(|fault| super::scenario::touches_data(&fault.kind))
                .map(|fault| fault.count)
                .sum();
            Some((count as f64, format!("{} {count}", scenario.definition.id)))
        })
        .collect();
    goal(
        "no hazard and no wrong data on any seed",
        &figures,
        |count| count <= 0.0,
    )
}
