//! Whether memory grows with the patches, and how surely that can be said.
use super::{Observations, per_step};
use crate::run::job::Class;
use crate::stats::contrast::{Contrast, contrast};
use crate::stats::curve::{Analysis, FEWEST, Shape};
use crate::stats::noise::Noise;
use crate::stats::robust::median;
use crate::stats::ruling::{Basis, Growth, Repeats, Ruling, rule};
use crate::stats::sequential;
use crate::verdict::{Process, ScenarioEvidence, threshold};

/// The growth that counts for a pair, in bytes per step.
#[must_use]
pub fn growth_budget(baseline_peak: Option<u64>) -> f64 {
    let peak = baseline_peak.unwrap_or(0) as f64;
    (peak / threshold::GROWTH_HORIZON_STEPS).max(threshold::GROWTH_FLOOR_BYTES)
}

/// The growth that counts for a scenario: half of what the user wants found, so that this is found for sure; else what the
/// baseline's size makes of it.
fn budget(evidence: &ScenarioEvidence, pairs: &[(&Process, &Process)]) -> f64 {
    let own = pairs
        .first()
        .and_then(|(baseline, _)| baseline.result.peak_driver_bytes);
    evidence
        .detect
        .map_or_else(|| growth_budget(own), |wanted| wanted / 2.0)
}

pub(super) fn slope(process: &Process) -> Option<f64> {
    Some(process.curve.as_ref()?.slope?.estimate)
}

/// Without a new buffer in the second half there is nothing that could grow, whatever the noise of the curve.
fn still(process: &Process) -> bool {
    process.new_buffers_per_step == Some(0.0)
}

/// Whether the second half needs no more new buffers than the baseline's.
fn makes_no_more(baseline: &Process, patched: &Process) -> bool {
    match (baseline.new_buffers_per_step, patched.new_buffers_per_step) {
        (Some(known), Some(seen)) => seen <= known,
        _ => false,
    }
}

/// A figure of memory.
#[derive(Clone, Copy)]
enum Figure {
    Driver,
    Live,
}

impl Figure {
    fn name(self) -> &'static str {
        match self {
            Self::Driver => "driver memory",
            Self::Live => "memory of live tensors",
        }
    }

    fn of(self, process: &Process) -> Option<&Analysis> {
        match self {
            Self::Driver => process.curve.as_ref(),
            Self::Live => process.live.as_ref(),
        }
    }

    /// What each pair says, in their order.
    fn contrasts(self, pairs: &[(&Process, &Process)], budget: f64) -> Vec<Contrast> {
        pairs
            .iter()
            .filter_map(|(baseline, patched)| {
                let found = contrast(self.of(baseline)?, self.of(patched)?, budget)?;
                Some(match self {
                    Self::Driver if still(patched) => Contrast {
                        difference: found.difference.min(0.0),
                        hidden: found.hidden.min(0.0),
                        detectable: 0.0,
                        floor: 0.0,
                        evident: false,
                        ..found
                    },
                    // growth below one piece still needs a buffer that the baseline does not
                    Self::Driver if makes_no_more(baseline, patched) => Contrast {
                        floor: 0.0,
                        ..found
                    },
                    _ => found,
                })
            })
            .collect()
    }
}

/// What the pairs say about driver memory.
pub(super) fn driver(evidence: &ScenarioEvidence, pairs: &[(&Process, &Process)]) -> Growth {
    let budget = budget(evidence, pairs);
    let contrasts = Figure::Driver.contrasts(pairs, budget);
    rule(&contrasts, budget, &evidence.repeats)
}

/// Whether more pairs could decide a scenario: it is about memory, and neither noise below one piece nor a flaw is in the way.
#[must_use]
pub fn needs_pairs(evidence: &ScenarioEvidence) -> bool {
    let pairs = super::whole_pairs(evidence);
    if evidence.definition.is_chance() || evidence.definition.positive_control || pairs.is_empty() {
        return false;
    }
    let found = driver(evidence, &pairs);
    let by_pairs = match found.basis {
        Basis::Noise => found.floor <= budget(evidence, &pairs),
        Basis::Split => true,
        _ => false,
    };
    found.ruling == Ruling::Undecided
        && by_pairs
        && found.pairs > 0
        && is_about_memory(evidence.definition.class)
}

/// What the two arms of a scenario differ by in driver memory, where there are pairs enough to say so.
#[must_use]
pub fn measured_noise(evidence: &ScenarioEvidence) -> Option<Noise> {
    let pairs = super::whole_pairs(evidence);
    let differences: Vec<f64> = Figure::Driver
        .contrasts(&pairs, 0.0)
        .iter()
        .map(|pair| pair.difference)
        .collect();
    (differences.len() >= sequential::fewest_pairs())
        .then(|| Noise::of(&differences))
        .flatten()
}

fn is_about_memory(class: Class) -> bool {
    matches!(class, Class::GpuOnly | Class::CpuWrite | Class::Copy)
}

pub(super) fn growth(
    evidence: &ScenarioEvidence,
    pairs: &[(&Process, &Process)],
    seen: &mut Observations,
) {
    flaws(evidence, pairs, seen);
    let budget = budget(evidence, pairs);
    let found = driver(evidence, pairs);
    if found.ruling == Ruling::Grows {
        seen.worse.push(grows(Figure::Driver, &found, pairs));
    } else if let Some(rising) = rising(pairs, budget) {
        seen.worse.push(rising);
    } else if let Some(doubt) = doubt(&found, evidence.definition.class, budget) {
        seen.unclear.push(doubt);
    } else {
        other_arm(pairs, budget, seen);
    }
    // what live tensors hold says what the driver's large pieces hide; a device may not tell it
    let live = rule(
        &Figure::Live.contrasts(pairs, budget),
        budget,
        &Repeats::Exactly,
    );
    if live.ruling == Ruling::Grows && found.ruling != Ruling::Grows {
        seen.worse.push(grows(Figure::Live, &live, pairs));
    }
}

/// Whether the scenario is one of a few steps: not where somebody asked for so few.
fn is_short_by_itself(evidence: &ScenarioEvidence) -> bool {
    let own = [
        evidence.definition.quick_steps,
        evidence.definition.full_steps,
    ];
    evidence
        .steps
        .is_some_and(|steps| steps < FEWEST as u64 && own.contains(&Some(steps)))
}

/// What makes a curve unfit to clear the patches, for processes that came to their end.
fn flaws(evidence: &ScenarioEvidence, pairs: &[(&Process, &Process)], seen: &mut Observations) {
    // a scenario of a few steps looks at values, one of threads at races: neither at growth
    let short = is_short_by_itself(evidence) || evidence.definition.is_chance();
    if !pairs.iter().any(|(_, patched)| patched.came_to_its_end()) {
        seen.unclear.push(
            "no process of the patched arm came to its end: nothing is known of what it would have done"
                .to_owned(),
        );
        return;
    }
    let arms = pairs
        .iter()
        .flat_map(|(baseline, patched)| [("baseline", *baseline), ("patched arm", *patched)]);
    for (arm, process) in arms {
        if !process.came_to_its_end() {
            continue;
        }
        let flaw = match &process.curve {
            // one that looks at values need not tell of memory at all: the explorer's scenario
            None if short || evidence.definition.class == Class::Correctness => None,
            None => Some("it left no samples".to_owned()),
            Some(curve) => match curve.flaw {
                Some(crate::stats::blocks::Flaw::TooShort(_)) if short => None,
                flaw => flaw.map(|flaw| flaw.to_string()),
            },
        };
        let counter = process
            .counter_ran_backwards
            .then(|| "a counter or the clock of it ran backwards, or leapt".to_owned());
        if let Some(text) = flaw.or(counter) {
            seen.unclear.push(format!("the {arm} cannot clear: {text}"));
            return;
        }
    }
}

fn grows(figure: Figure, found: &Growth, pairs: &[(&Process, &Process)]) -> String {
    let of = |process: &Process| Some(figure.of(process)?.slope?.estimate);
    let patched: Vec<f64> = pairs.iter().filter_map(|pair| of(pair.1)).collect();
    let baseline: Vec<f64> = pairs.iter().filter_map(|pair| of(pair.0)).collect();
    let how = match found.basis {
        Basis::Exact(look) => format!(
            "exact test over {} pairs, p = {:.4}, told after {look}",
            found.pairs, found.p
        ),
        _ => format!("in {} of {} pairs", found.evident, found.pairs),
    };
    format!(
        "{} grows by {} with the patches ({} in the baseline), {how}",
        figure.name(),
        middle(&patched),
        middle(&baseline),
    )
}

/// Why driver memory is not cleared.
fn doubt(found: &Growth, class: Class, budget: f64) -> Option<String> {
    let memory = is_about_memory(class);
    match (found.ruling, found.basis) {
        (Ruling::Undecided, Basis::Split) => Some(format!(
            "driver memory grows in {} of {} pairs: more pairs are needed",
            found.evident, found.pairs
        )),
        (Ruling::Undecided, Basis::Fading) => Some(
            "driver memory grows for longer than in the baseline, but less and less: run more steps to tell a cache from a \
             leak"
                .to_owned(),
        ),
        (Ruling::Undecided, Basis::Hidden) if memory => {
            Some("steps that the baseline does not have could hide growth".to_owned())
        }
        (Ruling::Undecided, Basis::Noise)
            if memory && found.pairs > 0 && !found.detectable.is_finite() =>
        {
            let ending = if found.pairs == 1 { "" } else { "s" };
            Some(format!(
                "{} pair{ending} cannot tell growth from noise on this device, however large it is: more pairs are needed",
                found.pairs
            ))
        }
        // nothing measured at all is said by the flaws
        (Ruling::Undecided, Basis::Noise) if memory && found.pairs > 0 => Some(format!(
            "growth of less than {} could not be told from noise, {} counts: more pairs or more steps are needed",
            per_step(found.detectable),
            per_step(budget)
        )),
        _ => None,
    }
}

/// What is said about growth that the patches do not add.
fn other_arm(pairs: &[(&Process, &Process)], budget: f64, seen: &mut Observations) {
    for figure in [Figure::Driver, Figure::Live] {
        let grew = |process: &Process| {
            figure
                .of(process)
                .is_some_and(|curve| curve.shape == Shape::Growing)
        };
        let slopes: Vec<f64> = pairs
            .iter()
            .filter(|pair| grew(pair.0) && grew(pair.1))
            .filter_map(|pair| Some(figure.of(pair.1)?.slope?.estimate))
            .collect();
        if !slopes.is_empty() {
            seen.shared.push(format!(
                "{} grows in both arms, {} with the patches",
                figure.name(),
                middle(&slopes)
            ));
            return;
        }
    }
    let turned: Vec<(&Process, &Process)> = pairs.iter().map(|pair| (pair.1, pair.0)).collect();
    let mended = rule(
        &Figure::Driver.contrasts(&turned, budget),
        budget,
        &Repeats::Exactly,
    );
    if mended.ruling == Ruling::Grows {
        let slopes: Vec<f64> = pairs.iter().filter_map(|pair| slope(pair.0)).collect();
        seen.better.push(format!(
            "fixed: driver memory grows by {} in the baseline",
            middle(&slopes)
        ));
    }
}

fn middle(slopes: &[f64]) -> String {
    median(slopes).map_or_else(|| "an unknown amount".to_owned(), per_step)
}

/// Growth between releases that the baseline does not have, in most pairs.
fn rising(pairs: &[(&Process, &Process)], budget: f64) -> Option<String> {
    let rises: Vec<f64> = pairs
        .iter()
        .filter_map(|(baseline, patched)| {
            rises(patched.curve.as_ref()?, baseline.curve.as_ref()?, budget)
        })
        .collect();
    (2 * rises.len() > pairs.len()).then(|| {
        format!(
            "driver memory rises by {} with the patches until a limit or empty_cache releases it, in {} of {} pairs",
            middle(&rises),
            rises.len(),
            pairs.len()
        )
    })
}

/// Ten times the budget, and twice what the baseline shows.
fn rises(after: &Analysis, before: &Analysis, budget: f64) -> Option<f64> {
    let known = |analysis: &Analysis| {
        let slopes = [analysis.slope, analysis.rise];
        slopes
            .iter()
            .flatten()
            .map(|slope| slope.estimate)
            .fold(0.0, f64::max)
    };
    let rise = after.rise?;
    (rise.low > 10.0 * budget && rise.low > 2.0 * known(before)).then_some(rise.estimate)
}
