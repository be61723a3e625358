//! Whether driver memory grows with the patches, and how surely that can be said.
use super::{Observations, per_step};
use crate::run::job::Outcome;
use crate::stats::curve::{Analysis, Shape};
use crate::verdict::{Process, threshold};

/// The growth that counts for a pair, in bytes per step.
#[must_use]
pub fn growth_budget(baseline_peak: Option<u64>) -> f64 {
    let peak = baseline_peak.unwrap_or(0) as f64;
    (peak / threshold::GROWTH_HORIZON_STEPS).max(threshold::GROWTH_FLOOR_BYTES)
}

pub(super) fn slope(process: &Process) -> Option<f64> {
    Some(process.curve.as_ref()?.slope?.estimate)
}

/// Without a new buffer in the second half there is nothing that could grow, whatever the noise of the curve.
fn still(process: &Process) -> bool {
    process.new_buffers_per_step == Some(0.0)
}

pub(super) fn growth(pairs: &[(&Process, &Process)], seen: &mut Observations) {
    let mut growing = Vec::new();
    let mut doubtful = Vec::new();
    let mut rising: Vec<f64> = Vec::new();
    let (mut both, mut only_baseline) = (0, 0);
    for (baseline, patched) in pairs {
        let budget = growth_budget(baseline.result.peak_driver_bytes);
        let (Some(before), Some(after)) = (&baseline.curve, &patched.curve) else {
            if baseline.curve.is_some() && patched.result.outcome == Outcome::Ok {
                doubtful.push("the patched arm left no samples".to_owned());
            }
            continue;
        };
        let more = slope(patched).unwrap_or(0.0) - slope(baseline).unwrap_or(0.0);
        let grew = before.shape == Shape::Growing;
        match after.shape {
            Shape::Growing if more > budget && above(after, before) => growing.push(patched),
            _ if let Some(rise) = rises(after, before, budget) => rising.push(rise),
            Shape::Growing if grew => both += 1,
            Shape::Growing | Shape::Unclear if more > budget && !still(patched) => {
                doubtful.push(format!("{} cannot be told from noise", per_step(more)));
            }
            Shape::TooShort
                if before.shape != Shape::TooShort && patched.result.outcome == Outcome::Ok =>
            {
                doubtful.push(format!("only {} usable samples", after.used));
            }
            _ => {
                if hidden_growth(before, after, budget) && !still(patched) {
                    doubtful
                        .push("steps that the baseline does not have could hide growth".to_owned());
                }
                only_baseline += usize::from(grew);
            }
        }
    }
    if 2 * growing.len() > pairs.len() || growing.len() == pairs.len() && !growing.is_empty() {
        seen.worse.push(format!(
            "driver memory grows by {} with the patches ({} in the baseline), in {} of {} pairs",
            middle(
                &growing
                    .iter()
                    .filter_map(|process| slope(process))
                    .collect::<Vec<_>>()
            ),
            middle(
                &pairs
                    .iter()
                    .filter_map(|(baseline, _)| slope(baseline))
                    .collect::<Vec<_>>()
            ),
            growing.len(),
            pairs.len()
        ));
    } else if 2 * (growing.len() + rising.len()) > pairs.len() {
        seen.worse.push(format!(
            "driver memory rises by {} with the patches until a limit or empty_cache releases it, in {} of {} pairs",
            middle(&rising),
            growing.len() + rising.len(),
            pairs.len()
        ));
    } else if !growing.is_empty() {
        seen.unclear.push(format!(
            "driver memory grows in {} of {} pairs: more pairs are needed",
            growing.len(),
            pairs.len()
        ));
    } else if 2 * doubtful.len() > pairs.len() {
        seen.unclear.extend(doubtful.into_iter().next());
    } else if both > 0 {
        seen.shared.push(format!(
            "driver memory grows in both arms, {} with the patches",
            middle(
                &pairs
                    .iter()
                    .filter_map(|(_, patched)| slope(patched))
                    .collect::<Vec<_>>()
            )
        ));
    } else if 2 * only_baseline > pairs.len() {
        seen.better.push(format!(
            "fixed: driver memory grows by {} in the baseline",
            middle(
                &pairs
                    .iter()
                    .filter_map(|(baseline, _)| slope(baseline))
                    .collect::<Vec<_>>()
            )
        ));
    }
}

fn middle(slopes: &[f64]) -> String {
    crate::stats::robust::median(slopes).map_or_else(|| "an unknown amount".to_owned(), per_step)
}

/// Growth between releases that the baseline does not have: ten times the budget, and twice what the baseline shows.
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

/// Whether the whole interval of one slope lies above that of the other.
fn above(after: &Analysis, before: &Analysis) -> bool {
    match (&after.slope, &before.slope) {
        (Some(after), Some(before)) => after.low > before.high,
        (Some(_), None) => true,
        _ => false,
    }
}

/// Whether isolated steps that only the patched arm takes could be a leak above the budget.
fn hidden_growth(before: &Analysis, after: &Analysis, budget: f64) -> bool {
    let sum = |analysis: &Analysis| analysis.steps.iter().map(|step| step.size).sum::<f64>();
    after.span > 0.0 && (sum(after) - sum(before)) / after.span > budget
}
