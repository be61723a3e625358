//! The tables of a pull request: figures of scenarios, and the cost of an allocation.
use super::body::pair;
use super::evidence::Evidence;
use crate::report::document::{ArmFigures, Arms, Scenario};
use crate::report::figures::{self, NONE};
use crate::report::markup::code;
use crate::report::summary;
use crate::run::job::Arm;
use crate::stats::robust;
use std::fmt::Write;

/// A row for each scenario; a column that says nothing of any is left out.
#[must_use]
pub fn figures(scenarios: &[&Scenario]) -> String {
    let columns: [(&str, fn(&ArmFigures) -> String); 6] = [
        ("processes that failed", failed),
        ("peak driver memory", |arm| {
            figures::bytes_option(arm.peak_bytes)
        }),
        ("left after empty_cache", |arm| {
            figures::bytes_option(arm.residual_bytes)
        }),
        ("blocking waits", |arm| counter(arm, "blocking_waits")),
        ("copies by memcpy", |arm| {
            summary::memcpy_share(arm).map_or_else(|| NONE.to_owned(), figures::share)
        }),
        ("corrupted bytes and faults", faults),
    ];
    let cells: Vec<(&str, Vec<String>)> = columns
        .into_iter()
        .map(|(name, value)| {
            let column = scenarios
                .iter()
                .map(|scenario| {
                    pair(&Arms {
                        baseline: value(&scenario.baseline),
                        patched: value(&scenario.patched),
                    })
                })
                .collect();
            (name, column)
        })
        .filter(|(_, column): &(_, Vec<String>)| column.iter().any(|cell| cell != NONE))
        .collect();
    let mut table = String::from("| scenario, before → after |");
    for (name, _) in &cells {
        let _ = write!(table, " {name} |");
    }
    table.push_str("\n|-|");
    table.push_str(&"-|".repeat(cells.len()));
    for (index, scenario) in scenarios.iter().enumerate() {
        let _ = write!(table, "\n| {} |", code(&scenario.id));
        for (_, column) in &cells {
            let _ = write!(table, " {} |", column[index]);
        }
    }
    table
}

fn counter(arm: &ArmFigures, name: &str) -> String {
    arm.counters
        .get(name)
        .map_or_else(|| NONE.to_owned(), |value| figures::count(*value))
}

fn failed(arm: &ArmFigures) -> String {
    let failed = arm
        .outcomes
        .iter()
        .filter(|outcome| *outcome != "ok")
        .count();
    format!("{failed} of {}", arm.outcomes.len())
}

fn faults(arm: &ArmFigures) -> String {
    let count: u64 = arm.faults.iter().map(|fault| fault.count).sum();
    let bytes: u64 = arm.faults.iter().map(|fault| fault.bytes).sum();
    match (count, bytes) {
        (0, _) => "0".to_owned(),
        (count, 0) => figures::count(count as f64),
        (count, bytes) => format!(
            "{} ({})",
            figures::count(count as f64),
            figures::bytes(bytes as f64)
        ),
    }
}

/// The cost of an allocation and its free in each scenario that measured it: instructions where they were counted, else
/// time. Nothing where none did.
#[must_use]
pub fn microbenchmark(evidence: &Evidence, scenarios: &[String]) -> Option<String> {
    let mut rows = String::new();
    for scenario in scenarios {
        for (counter, unit) in [
            ("alloc_free_instructions", "instructions"),
            ("alloc_free_ns", "ns"),
        ] {
            let before = evidence.counter(scenario, Arm::Baseline, counter);
            let after = evidence.counter(scenario, Arm::Patched, counter);
            if let (Some(before), Some(after)) = (spread(&before), spread(&after)) {
                let _ = writeln!(
                    rows,
                    "| {} | {before} {unit} | {after} {unit} |",
                    code(scenario)
                );
            }
        }
    }
    (!rows.is_empty()).then(|| {
        format!("| scenario | before: median [quartiles] | after: median [quartiles] |\n|-|-|-|\n{rows}")
    })
}

/// Median and quartiles; of fewer than four values the ends, and how many there are.
fn spread(values: &[f64]) -> Option<String> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = robust::median(&sorted)?;
    let number = sorted.len();
    let (low, high) = if number >= 4 {
        let at = |share: f64| sorted[((number - 1) as f64 * share).round() as usize];
        (at(0.25), at(0.75))
    } else {
        (*sorted.first()?, *sorted.last()?)
    };
    let shown = |value: f64| figures::count(value.round());
    let note = if number < 4 {
        format!(" ends of {number}")
    } else {
        String::new()
    };
    Some(format!(
        "{} [{}, {}{note}]",
        shown(middle),
        shown(low),
        shown(high)
    ))
}
