//! Single figures of a run against the baseline's: peak, residue, waits, cache, instructions.
use super::{Observations, size};
use crate::run::job::Class;
use crate::verdict::goals::{added_waits, instruction_ratio, over_pairs, peak_ratio};
use crate::verdict::{Process, ScenarioEvidence, threshold};

pub(super) fn peak(evidence: &ScenarioEvidence, seen: &mut Observations) {
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
        seen.worse.push(format!(
            "peak driver memory {ratio:.2} × the baseline's ({} more)",
            size(more)
        ));
    }
}

pub(super) fn waits(
    evidence: &ScenarioEvidence,
    pairs: &[(&Process, &Process)],
    seen: &mut Observations,
) {
    let rate = over_pairs(evidence, |baseline, patched| {
        Some(added_waits(baseline, patched)? / patched.steps())
    });
    if let Some(rate) = rate
        && rate > threshold::WAITS_PER_STEP
    {
        let total = |arm: fn(&(&Process, &Process)) -> Option<f64>| {
            pairs.iter().filter_map(arm).sum::<f64>()
        };
        seen.worse.push(format!(
            "blocking waits that the baseline does not have, {rate:.2} a step ({} in all against {})",
            total(|pair| pair.1.result.counters.get("blocking_waits").copied()),
            total(|pair| pair.0.result.counters.get("blocking_waits").copied()),
        ));
    }
}

/// Blocking waits per step of the patched arm, where the set's goal is to have none.
pub(in crate::verdict) fn waits_in_loader(evidence: &ScenarioEvidence) -> Option<f64> {
    let id = evidence.definition.id.split('@').next().unwrap_or_default();
    if !threshold::LOADERS.contains(&id) {
        return None;
    }
    over_pairs(evidence, |_, patched| {
        Some(patched.result.counters.get("blocking_waits")? / patched.steps())
    })
}

/// The share of allocations that need a new MTLBuffer, once the cache has filled where the samples tell when that was: a
/// cache that fills for longer is not one that does not work.
fn new_share(process: &Process) -> Option<f64> {
    let of = |name: &str| process.result.counters.get(name).copied();
    let allocations = of("allocations").filter(|count| *count >= threshold::FEWEST_ALLOCATIONS)?;
    match process.new_buffers_per_step {
        Some(settled) => Some(settled * process.steps() / allocations),
        None => Some(of("new_buffers")? / allocations),
    }
}

pub(super) fn cache(evidence: &ScenarioEvidence, seen: &mut Observations) {
    let before = over_pairs(evidence, |baseline, _| new_share(baseline));
    let after = over_pairs(evidence, |_, patched| new_share(patched));
    if let (Some(before), Some(after)) = (before, after)
        && after - before > threshold::NEW_BUFFER_SHARE
    {
        seen.worse.push(format!(
            "{:.1}% of allocations need a new buffer ({:.1}% in the baseline): the cache does not work",
            100.0 * after,
            100.0 * before
        ));
    }
}

pub(super) fn residual(evidence: &ScenarioEvidence, seen: &mut Observations) {
    let both = |figure: fn(&Process) -> Option<u64>| {
        over_pairs(evidence, |baseline, patched| {
            Some(figure(patched)? as f64 - figure(baseline)? as f64)
        })
    };
    if let Some(more) = both(|process| process.result.residual_driver_bytes)
        && more > threshold::RESIDUAL_BYTES
    {
        seen.worse.push(format!(
            "{} more driver memory than the baseline left after everything was released",
            size(more)
        ));
    }
    if let Some(more) = both(|process| process.result.residual_current_bytes)
        && more > 0.0
    {
        seen.worse.push(format!(
            "{} more than the baseline still counted as allocated after everything was released",
            size(more)
        ));
    }
}

pub(super) fn instructions(evidence: &ScenarioEvidence, seen: &mut Observations) {
    if let Some(ratio) = over_pairs(evidence, instruction_ratio)
        && ratio > threshold::INSTRUCTIONS_REGRESSION
    {
        seen.worse.push(format!(
            "allocation and release take {ratio:.2} × the baseline's instructions"
        ));
    }
}
