//! Judges one scenario: the patched arm by itself, and against the baseline.
use super::goals::{added_waits, instruction_ratio, over_pairs, peak_ratio};
use super::{Pair, Process, ScenarioEvidence, threshold};
use crate::report::document::{Difference, Fault, Finding, FindingState, Reason, Verdict};
use crate::run::job::{Class, Outcome};
use crate::stats::curve::{Analysis, Shape};
use crate::stats::outcomes::paired_test;
use crate::stats::paired::hodges_lehmann;
use std::collections::BTreeMap;

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

/// Kinds of faults that mean wrong bytes.
pub(super) fn touches_data(kind: &str) -> bool {
    matches!(kind, "corruption" | "hazard" | "wrong-data")
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
    let pairs: Vec<(&Process, &Process)> = evidence
        .pairs
        .iter()
        .filter_map(
            |Pair {
                 baseline, patched, ..
             }| Some((baseline.as_ref()?, patched.as_ref()?)),
        )
        .filter(|(baseline, patched)| supported(baseline) || supported(patched))
        .collect();
    if pairs.is_empty() {
        return not_comparable(evidence);
    }
    if evidence.definition.positive_control {
        return positive_control(evidence, &pairs);
    }
    let mut worse = Vec::new();
    let mut unclear = Vec::new();
    let mut better = Vec::new();
    let mut shared = Vec::new();
    let chance = evidence.definition.is_chance();
    if chance {
        chances(&pairs, &mut worse, &mut unclear, &mut better, &mut shared);
    } else {
        faults(&pairs, &mut worse, &mut better, &mut shared);
    }
    growth(&pairs, &mut worse, &mut unclear, &mut better, &mut shared);
    // what a patch claims to mend, and does not, is no pre-existing fault of somebody else's
    if !evidence.definition.promised_by.is_empty() {
        let patches = evidence.definition.promised_by.join(", ");
        worse.extend(
            shared
                .drain(..)
                .map(|text| format!("{patches} should have mended it: {text}")),
        );
        if let Some(waits) = waits_in_loader(evidence)
            && waits > threshold::WAITS_PER_STEP
        {
            worse.push(format!(
                "{patches} should have mended it: {waits:.2} blocking waits a step in a data-loader loop"
            ));
        }
    }
    peak(evidence, &mut worse);
    residual(evidence, &mut worse);
    // real threads on a real clock: how often they wait and what they find free is chance
    if !chance {
        waits(evidence, &pairs, &mut worse);
        cache(evidence, &mut worse);
        instructions(evidence, &mut worse);
    }
    let relative = if !worse.is_empty() {
        finding(FindingState::Regression, worse.join("; "))
    } else if !unclear.is_empty() {
        finding(FindingState::Inconclusive, unclear.join("; "))
    } else if !better.is_empty() {
        finding(FindingState::Improved, better.join("; "))
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
        difference: difference(&pairs),
        absolute,
        relative,
        reasons,
        compared: true,
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
    let grows = |process: &Process| {
        process
            .curve
            .as_ref()
            .is_some_and(|curve| curve.shape == Shape::Growing)
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
        difference: difference(pairs),
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

/// What a process did wrong, by kind: what its checks found, and how it ended.
fn kinds(process: &Process) -> BTreeMap<String, Fault> {
    let mut kinds: BTreeMap<String, Fault> = BTreeMap::new();
    for fault in &process.result.faults {
        let entry = kinds.entry(fault.kind.clone()).or_insert_with(|| Fault {
            count: 0,
            bytes: 0,
            ..fault.clone()
        });
        entry.count = entry.count.saturating_add(fault.count);
        entry.bytes = entry.bytes.saturating_add(fault.bytes);
    }
    let ended = match &process.result.outcome {
        Outcome::Ok | Outcome::Faulted | Outcome::Crashed { .. } => None,
        Outcome::OutOfMemory => Some("out-of-memory"),
        Outcome::TimedOut { .. } => Some("timed-out"),
        Outcome::Error { .. } => Some("unexpected-error"),
        Outcome::Unsupported { .. } => Some("unsupported"),
    };
    if let Some(kind) = ended {
        kinds.entry(kind.to_owned()).or_insert_with(|| Fault {
            kind: kind.to_owned(),
            count: 1,
            detail: process.result.outcome.to_string(),
            bytes: 0,
        });
    }
    kinds
}

fn in_words(fault: &Fault) -> String {
    let mut words = if fault.count == 1 {
        fault.kind.clone()
    } else {
        format!("{} {} times", fault.kind, fault.count)
    };
    if fault.bytes > 0 {
        words.push_str(&format!(", {} bytes", fault.bytes));
    }
    if !fault.detail.is_empty() {
        words.push_str(&format!(" ({})", fault.detail));
    }
    words
}

/// What went wrong over several processes, by kind.
fn together<'a>(processes: impl Iterator<Item = &'a Process>) -> BTreeMap<String, Fault> {
    let mut union: BTreeMap<String, Fault> = BTreeMap::new();
    for (kind, fault) in processes.flat_map(kinds) {
        union
            .entry(kind)
            .and_modify(|known| {
                known.count = known.count.saturating_add(fault.count);
                known.bytes = known.bytes.saturating_add(fault.bytes);
            })
            .or_insert(fault);
    }
    union
}

/// Compares what went wrong, each seed with itself: there a seed decides everything.
fn faults(
    pairs: &[(&Process, &Process)],
    worse: &mut Vec<String>,
    better: &mut Vec<String>,
    shared: &mut Vec<String>,
) {
    let baseline = together(pairs.iter().map(|pair| pair.0));
    let patched = together(pairs.iter().map(|pair| pair.1));
    let more = |fault: u64, known: u64| fault as f64 > threshold::FAULT_RATIO * known as f64;
    for (kind, fault) in &patched {
        let new_somewhere = pairs.iter().any(|(baseline, patched)| {
            kinds(patched).contains_key(kind) && !kinds(baseline).contains_key(kind)
        });
        match baseline.get(kind) {
            None => worse.push(format!("{}; the baseline has none", in_words(fault))),
            Some(_) if new_somewhere => worse.push(format!(
                "{} on a seed where the baseline has none",
                in_words(fault)
            )),
            Some(known) if more(fault.count, known.count) || more(fault.bytes, known.bytes) => {
                worse.push(format!(
                    "{}; the baseline: {} times, {} bytes",
                    in_words(fault),
                    known.count,
                    known.bytes
                ));
            }
            Some(_) => shared.push(format!("in both arms: {}", in_words(fault))),
        }
    }
    for (kind, fault) in &baseline {
        if !patched.contains_key(kind) {
            better.push(format!("fixed: {} in the baseline", in_words(fault)));
        }
    }
}

/// Compares what went wrong where threads decide: a kind of fault counts as new when the exact paired test says so, or when
/// every process of the patched arm shows it and none of the baseline, three of them at least.
fn chances(
    pairs: &[(&Process, &Process)],
    worse: &mut Vec<String>,
    unclear: &mut Vec<String>,
    better: &mut Vec<String>,
    shared: &mut Vec<String>,
) {
    let baseline = together(pairs.iter().map(|pair| pair.0));
    let patched = together(pairs.iter().map(|pair| pair.1));
    let names: std::collections::BTreeSet<&String> =
        baseline.keys().chain(patched.keys()).collect();
    for kind in names {
        let has = |process: &Process| kinds(process).contains_key(kind);
        let count = |first: bool, second: bool| {
            pairs
                .iter()
                .filter(|pair| has(pair.0) == first && has(pair.1) == second)
                .count() as u64
        };
        let (both, only_baseline, only_patched) =
            (count(true, true), count(true, false), count(false, true));
        let all = pairs.len() as u64;
        let shown = format!(
            "in {} of {all} processes of the baseline and {} with the patches",
            both + only_baseline,
            both + only_patched
        );
        let words =
            |faults: &BTreeMap<String, Fault>| faults.get(kind).map(in_words).unwrap_or_default();
        let significant = only_patched > only_baseline
            && (paired_test(only_baseline, only_patched) <= threshold::ERROR_LEVEL
                || only_patched == all && all >= threshold::FEWEST_CERTAIN);
        if significant {
            worse.push(format!("{}, {shown}", words(&patched)));
        } else if both + only_patched == 0 {
            better.push(format!("fixed: {}, {shown}", words(&baseline)));
        } else if both + only_baseline == 0 {
            unclear.push(format!(
                "{}, {shown}: more pairs are needed",
                words(&patched)
            ));
        } else {
            shared.push(format!("{}, {shown}", words(&patched)));
        }
    }
}

/// The growth that counts for a pair, in bytes per step.
#[must_use]
pub fn growth_budget(baseline_peak: Option<u64>) -> f64 {
    let peak = baseline_peak.unwrap_or(0) as f64;
    (peak / threshold::GROWTH_HORIZON_STEPS).max(threshold::GROWTH_FLOOR_BYTES)
}

fn slope(process: &Process) -> Option<f64> {
    Some(process.curve.as_ref()?.slope?.estimate)
}

/// Without a new buffer in the second half there is nothing that could grow, whatever the noise of the curve.
fn still(process: &Process) -> bool {
    process.new_buffers_per_step == Some(0.0)
}

fn growth(
    pairs: &[(&Process, &Process)],
    worse: &mut Vec<String>,
    unclear: &mut Vec<String>,
    better: &mut Vec<String>,
    shared: &mut Vec<String>,
) {
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
        worse.push(format!(
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
        worse.push(format!(
            "driver memory rises by {} with the patches until a limit or empty_cache releases it, in {} of {} pairs",
            middle(&rising),
            growing.len() + rising.len(),
            pairs.len()
        ));
    } else if !growing.is_empty() {
        unclear.push(format!(
            "driver memory grows in {} of {} pairs: more pairs are needed",
            growing.len(),
            pairs.len()
        ));
    } else if 2 * doubtful.len() > pairs.len() {
        unclear.extend(doubtful.into_iter().next());
    } else if both > 0 {
        shared.push(format!(
            "driver memory grows in both arms, {} with the patches",
            middle(
                &pairs
                    .iter()
                    .filter_map(|(_, patched)| slope(patched))
                    .collect::<Vec<_>>()
            )
        ));
    } else if 2 * only_baseline > pairs.len() {
        better.push(format!(
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

fn peak(evidence: &ScenarioEvidence, worse: &mut Vec<String>) {
    let limit = match evidence.definition.class {
        Class::GpuOnly => threshold::PEAK_REGRESSION,
        _ => threshold::PEAK_REGRESSION_COPIES,
    };
    let bytes = |process: &Process| process.result.peak_driver_bytes.map(|bytes| bytes as f64);
    let more = over_pairs(evidence, |baseline, patched| {
        Some(bytes(patched)? - bytes(baseline)?)
    });
    if let (Some(ratio), Some(more)) = (over_pairs(evidence, peak_ratio), more)
        && ratio > limit
        && more > threshold::PEAK_FLOOR_BYTES
    {
        worse.push(format!(
            "peak driver memory {ratio:.2} × the baseline's ({} more)",
            size(more)
        ));
    }
}

fn steps(process: &Process) -> f64 {
    process
        .result
        .last_step
        .map_or(1.0, |step| step as f64 + 1.0)
}

fn waits(evidence: &ScenarioEvidence, pairs: &[(&Process, &Process)], worse: &mut Vec<String>) {
    let rate = over_pairs(evidence, |baseline, patched| {
        // a run that was cut short by a fault has waited less: compare only whole runs
        (steps(baseline) == steps(patched)).then_some(())?;
        Some(added_waits(baseline, patched)? / steps(patched))
    });
    if let Some(rate) = rate
        && rate > threshold::WAITS_PER_STEP
    {
        let total = |arm: fn(&(&Process, &Process)) -> Option<f64>| {
            pairs.iter().filter_map(arm).sum::<f64>()
        };
        worse.push(format!(
            "blocking waits that the baseline does not have, {rate:.2} a step ({} in all against {})",
            total(|pair| pair.1.result.counters.get("blocking_waits").copied()),
            total(|pair| pair.0.result.counters.get("blocking_waits").copied()),
        ));
    }
}

/// Blocking waits per step of the patched arm, where the set's goal is to have none.
pub(super) fn waits_in_loader(evidence: &ScenarioEvidence) -> Option<f64> {
    let id = evidence.definition.id.split('@').next().unwrap_or_default();
    if !threshold::LOADERS.contains(&id) {
        return None;
    }
    over_pairs(evidence, |_, patched| {
        Some(patched.result.counters.get("blocking_waits")? / steps(patched))
    })
}

/// The share of allocations that needed a new MTLBuffer.
fn new_share(process: &Process) -> Option<f64> {
    let of = |name: &str| process.result.counters.get(name).copied();
    let allocations = of("allocations").filter(|count| *count >= threshold::FEWEST_ALLOCATIONS)?;
    Some(of("new_buffers")? / allocations)
}

fn cache(evidence: &ScenarioEvidence, worse: &mut Vec<String>) {
    let before = over_pairs(evidence, |baseline, _| new_share(baseline));
    let after = over_pairs(evidence, |_, patched| new_share(patched));
    if let (Some(before), Some(after)) = (before, after)
        && after - before > threshold::NEW_BUFFER_SHARE
    {
        worse.push(format!(
            "{:.1}% of allocations need a new buffer ({:.1}% in the baseline): the cache does not work",
            100.0 * after,
            100.0 * before
        ));
    }
}

fn residual(evidence: &ScenarioEvidence, worse: &mut Vec<String>) {
    let both = |figure: fn(&Process) -> Option<u64>| {
        over_pairs(evidence, |baseline, patched| {
            Some(figure(patched)? as f64 - figure(baseline)? as f64)
        })
    };
    if let Some(more) = both(|process| process.result.residual_driver_bytes)
        && more > threshold::RESIDUAL_BYTES
    {
        worse.push(format!(
            "{} more driver memory than the baseline left after everything was released",
            size(more)
        ));
    }
    if let Some(more) = both(|process| process.result.residual_current_bytes)
        && more > 0.0
    {
        worse.push(format!(
            "{} more than the baseline still counted as allocated after everything was released",
            size(more)
        ));
    }
}

fn instructions(evidence: &ScenarioEvidence, worse: &mut Vec<String>) {
    if let Some(ratio) = over_pairs(evidence, instruction_ratio)
        && ratio > threshold::INSTRUCTIONS_REGRESSION
    {
        worse.push(format!(
            "allocation and release take {ratio:.2} × the baseline's instructions"
        ));
    }
}

fn difference(pairs: &[(&Process, &Process)]) -> Difference {
    let slopes: Vec<f64> = pairs
        .iter()
        .filter_map(|(baseline, patched)| Some(slope(patched)? - slope(baseline)?))
        .collect();
    let estimate = hodges_lehmann(&slopes);
    // few pairs give a narrow interval that means little: what a single curve could have shown bounds it from below
    let detectable = |process: &Process| process.curve.as_ref()?.minimal_detectable;
    let within: Vec<f64> = pairs
        .iter()
        .filter_map(|(baseline, patched)| Some(detectable(baseline)?.max(detectable(patched)?)))
        .collect();
    let ratios: Vec<f64> = pairs
        .iter()
        .filter_map(|(baseline, patched)| peak_ratio(baseline, patched))
        .collect();
    Difference {
        slope_bytes_per_step: estimate.map(|found| found.estimate),
        ci: estimate.map(|found| [found.low, found.high]),
        minimal_detectable: match (estimate, crate::stats::robust::median(&within)) {
            (Some(found), Some(within)) => Some(within.max((found.high - found.low) / 2.0)),
            _ => None,
        },
        peak_ratio: crate::stats::robust::median(&ratios),
    }
}
