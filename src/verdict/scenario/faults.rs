//! What went wrong in either arm: found by a scenario's own checks, or by how a process ended.
use super::Observations;
use crate::report::document::Fault;
use crate::run::job::Outcome;
use crate::stats::outcomes::paired_test;
use crate::verdict::{Process, threshold};
use std::collections::BTreeMap;

/// Kinds of faults that mean wrong bytes, or bytes that are wrong when the GPU comes to them.
pub(in crate::verdict) fn touches_data(kind: &str) -> bool {
    matches!(
        kind,
        "corruption" | "hazard" | "access" | "wrong-data" | "wrong-copy" | "host-memory"
    )
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
        Outcome::Ok | Outcome::Faulted => None,
        Outcome::Crashed { .. } => Some("crash"),
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
pub(super) fn faults(pairs: &[(&Process, &Process)], seen: &mut Observations) {
    let baseline = together(pairs.iter().map(|pair| pair.0));
    let patched = together(pairs.iter().map(|pair| pair.1));
    // one that was cut short may have shown more: how often, and on which seed, is compared only where the baseline came to
    // its end
    let ended = || pairs.iter().filter(|pair| pair.0.came_to_its_end());
    let counted_baseline = together(ended().map(|pair| pair.0));
    let counted_patched = together(ended().map(|pair| pair.1));
    let more = |kind: &String| {
        let of = |faults: &BTreeMap<String, Fault>| {
            faults
                .get(kind)
                .map_or((0.0, 0.0), |fault| (fault.count as f64, fault.bytes as f64))
        };
        let (known, fault) = (of(&counted_baseline), of(&counted_patched));
        let exceeds = |fault: f64, known: f64| fault > threshold::FAULT_RATIO * known;
        exceeds(fault.0, known.0) || exceeds(fault.1, known.1)
    };
    for (kind, fault) in &patched {
        let new_somewhere = ended().any(|(baseline, patched)| {
            kinds(patched).contains_key(kind) && !kinds(baseline).contains_key(kind)
        });
        match baseline.get(kind) {
            None => seen
                .worse
                .push(format!("{}; the baseline has none", in_words(fault))),
            Some(_) if new_somewhere => seen.worse.push(format!(
                "{} on a seed where the baseline has none",
                in_words(fault)
            )),
            Some(known) if more(kind) => {
                seen.worse.push(format!(
                    "{}; the baseline: {} times, {} bytes",
                    in_words(fault),
                    known.count,
                    known.bytes
                ));
            }
            Some(_) => seen
                .shared
                .push(format!("in both arms: {}", in_words(fault))),
        }
    }
    for (kind, fault) in &baseline {
        if !patched.contains_key(kind) {
            seen.better
                .push(format!("fixed: {} in the baseline", in_words(fault)));
        }
    }
}

/// Compares what went wrong where threads decide: a kind of fault counts as new when the exact paired test says so, or when
/// every process of the patched arm shows it and none of the baseline, three of them at least.
pub(super) fn chances(pairs: &[(&Process, &Process)], seen: &mut Observations) {
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
            seen.worse.push(format!("{}, {shown}", words(&patched)));
        } else if both + only_patched == 0 {
            seen.better
                .push(format!("fixed: {}, {shown}", words(&baseline)));
        } else if both + only_baseline == 0 {
            seen.unclear.push(format!(
                "{}, {shown}: more pairs are needed",
                words(&patched)
            ));
        } else {
            seen.shared.push(format!("{}, {shown}", words(&patched)));
        }
    }
}
