//! Judges one scenario: the patched arm by itself, and against the baseline.
mod faults;
mod figures;
mod growth;

use super::goals::peak_ratio;
use super::{Pair, Process, ScenarioEvidence, threshold};
use crate::report::document::{Difference, Finding, FindingState, Reason, Verdict};
use crate::run::job::Outcome;
use crate::stats::curve::Shape;
pub(super) use faults::touches_data;
pub(super) use figures::waits_in_loader;
pub use growth::{growth_budget, measured_noise, needs_pairs};

/// What one scenario says.
#[derive(Debug, Clone)]
pub struct ScenarioJudgement {
    /// Patched minus baseline.
    pub difference: Difference,
    /// Whether the patched arm is sound by itself.
    pub absolute: Finding,
    /// Whether it is worse than the baseline.
    pub relative: Finding,
    /// What it adds to the verdict's reasons.
    pub reasons: Vec<Reason>,
    /// Whether both arms ran and can be compared.
    pub compared: bool,
}

/// What was noticed about one scenario, in words, by what it says about the patches.
#[derive(Debug, Default)]
struct Observations {
    /// Worse than the baseline.
    worse: Vec<String>,
    /// Not decided.
    unclear: Vec<String>,
    /// Better than the baseline.
    better: Vec<String>,
    /// Wrong in both arms.
    shared: Vec<String>,
}

/// Bytes per step in words.
pub(super) fn per_step(bytes: f64) -> String {
    format!(
        "{}{}/step",
        if bytes < 0.0 { "-" } else { "+" },
        size(bytes.abs())
    )
}

/// Bytes in words.
fn size(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{value:.0} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// Judges one scenario.
#[must_use]
pub fn judge_scenario(evidence: &ScenarioEvidence) -> ScenarioJudgement {
    let id = &evidence.definition.id;
    let pairs = whole_pairs(evidence);
    if pairs.is_empty() {
        return not_comparable(evidence);
    }
    if evidence.definition.positive_control {
        return positive_control(evidence, &pairs);
    }
    let mut seen = Observations::default();
    let chance = evidence.definition.is_chance();
    if chance {
        faults::chances(&pairs, &mut seen);
    } else {
        faults::faults(&pairs, &mut seen);
    }
    growth::growth(evidence, &pairs, &mut seen);
    figures::peak(evidence, &mut seen);
    figures::residual(evidence, &mut seen);
    // real threads on a real clock: how often they wait and what they find free is chance
    if !chance {
        figures::waits(evidence, &pairs, &mut seen);
        figures::cache(evidence, &mut seen);
        figures::instructions(evidence, &mut seen);
    }
    promises(evidence, &mut seen);
    let Observations {
        worse,
        unclear,
        better,
        shared,
    } = seen;
    let relative = if !worse.is_empty() {
        finding(FindingState::Regression, worse.join("; "))
    } else if !unclear.is_empty() {
        finding(FindingState::Inconclusive, unclear.join("; "))
    } else if !better.is_empty() {
        finding(FindingState::Improved, mended(evidence, &better))
    } else if !shared.is_empty() {
        finding(FindingState::PreExisting, shared.join("; "))
    } else {
        finding(FindingState::Ok, "no difference that counts".to_owned())
    };
    let absolute = if !worse.is_empty() {
        finding(FindingState::Regression, worse.join("; "))
    } else if !unclear.is_empty() {
        finding(FindingState::Inconclusive, unclear.join("; "))
    } else if !shared.is_empty() {
        finding(FindingState::PreExisting, shared.join("; "))
    } else {
        finding(FindingState::Ok, sound(&pairs))
    };
    let reasons = worse
        .iter()
        .map(|text| (Verdict::Regression, text))
        .chain(unclear.iter().map(|text| (Verdict::Inconclusive, text)))
        .map(|(verdict, text)| Reason {
            verdict,
            subject: id.clone(),
            text: text.clone(),
        })
        .collect();
    ScenarioJudgement {
        difference: difference(evidence, &pairs),
        absolute,
        relative,
        reasons,
        compared: true,
    }
}

/// The pairs of which both processes ran.
fn whole_pairs(evidence: &ScenarioEvidence) -> Vec<(&Process, &Process)> {
    evidence
        .pairs
        .iter()
        .filter_map(
            |Pair {
                 baseline, patched, ..
             }| Some((baseline.as_ref()?, patched.as_ref()?)),
        )
        .filter(|(baseline, patched)| supported(baseline) || supported(patched))
        .collect()
}

/// What a patch claims to mend, and does not, is no pre-existing fault of somebody else's.
fn promises(evidence: &ScenarioEvidence, seen: &mut Observations) {
    if evidence.definition.promised_by.is_empty() {
        return;
    }
    let patches = evidence.definition.promised_by.join(", ");
    let kept = std::mem::take(&mut seen.shared);
    seen.worse.extend(
        kept.into_iter()
            .map(|text| format!("{patches} should have mended it: {text}")),
    );
    if let Some(waits) = figures::waits_in_loader(evidence)
        && waits > threshold::WAITS_PER_STEP
    {
        seen.worse.push(format!(
            "{patches} should have mended it: {waits:.2} blocking waits a step in a data-loader loop"
        ));
    }
}

/// What is better, and whose claim that is.
fn mended(evidence: &ScenarioEvidence, better: &[String]) -> String {
    let text = better.join("; ");
    let patches = evidence.definition.promised_by.join(", ");
    if patches.is_empty() {
        text
    } else {
        format!("mended by {patches}: {text}")
    }
}

fn supported(process: &Process) -> bool {
    !matches!(process.result.outcome, Outcome::Unsupported { .. })
}

fn finding(state: FindingState, text: String) -> Finding {
    Finding { state, text }
}

fn sound(pairs: &[(&Process, &Process)]) -> String {
    match pairs
        .first()
        .and_then(|(_, patched)| patched.curve.as_ref())
    {
        Some(curve) => match (curve.shape, curve.slope) {
            (Shape::Filling, Some(slope)) => format!(
                "fills a cache, {} and slowing down",
                per_step(slope.estimate)
            ),
            (Shape::SawTooth, _) => "a saw-tooth that comes back to its floor".to_owned(),
            (Shape::TooShort, _) => "no fault; too few samples for a slope".to_owned(),
            (_, Some(slope)) => format!("no fault, {}", per_step(slope.estimate)),
            (_, None) => "no fault".to_owned(),
        },
        None => "no fault; no samples".to_owned(),
    }
}

fn not_comparable(evidence: &ScenarioEvidence) -> ScenarioJudgement {
    let said = evidence
        .pairs
        .iter()
        .flat_map(|pair| [&pair.baseline, &pair.patched])
        .flatten()
        .find_map(|process| match &process.result.outcome {
            Outcome::Unsupported { detail } => Some(detail.clone()),
            _ => None,
        });
    let text = match said {
        Some(detail) => format!("neither arm can run it: {detail}"),
        None => "it has not run in both arms".to_owned(),
    };
    ScenarioJudgement {
        difference: Difference::default(),
        absolute: finding(FindingState::NotComparable, text.clone()),
        relative: finding(FindingState::NotComparable, text),
        reasons: Vec::new(),
        compared: false,
    }
}

/// A scenario that leaks on purpose: not finding it means that nothing else would have been found either.
fn positive_control(
    evidence: &ScenarioEvidence,
    pairs: &[(&Process, &Process)],
) -> ScenarioJudgement {
    // a driver that takes memory in large pieces may stand still while live tensors grow
    let grows = |process: &Process| {
        [&process.curve, &process.live]
            .into_iter()
            .flatten()
            .any(|curve| curve.shape == Shape::Growing)
    };
    let blind = pairs
        .iter()
        .filter(|(baseline, patched)| !grows(baseline) || !grows(patched))
        .count();
    let (state, text) = if blind == 0 {
        (
            FindingState::Ok,
            "the injected leak was found in both arms".to_owned(),
        )
    } else {
        (
            FindingState::Inconclusive,
            format!(
                "the injected leak was missed in {blind} of {} pairs",
                pairs.len()
            ),
        )
    };
    ScenarioJudgement {
        difference: difference(evidence, pairs),
        absolute: finding(state, text.clone()),
        relative: finding(state, text.clone()),
        reasons: (blind > 0)
            .then(|| Reason {
                verdict: Verdict::Inconclusive,
                subject: evidence.definition.id.clone(),
                text,
            })
            .into_iter()
            .collect(),
        compared: true,
    }
}

fn difference(evidence: &ScenarioEvidence, pairs: &[(&Process, &Process)]) -> Difference {
    let growth = growth::driver(evidence, pairs);
    let ratios: Vec<f64> = pairs
        .iter()
        .filter_map(|(baseline, patched)| peak_ratio(baseline, patched))
        .collect();
    Difference {
        slope_bytes_per_step: growth.difference.map(|found| found.estimate),
        ci: growth.difference.map(|found| [found.low, found.high]),
        minimal_detectable: growth.detectable.is_finite().then_some(growth.detectable),
        peak_ratio: crate::stats::robust::median(&ratios),
    }
}
