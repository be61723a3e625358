//! The tables of a pull request: figures of scenarios, and the cost of an allocation.
use super::body::pair;
use super::evidence::Evidence;
use crate::report::document::{ArmFigures, Arms, Report, Scenario};
use crate::report::figures::{self, NONE};
use crate::report::markup::code;
use crate::report::summary;
use crate::run::job::Arm;
use crate::stats::robust;
use std::fmt::Write;

/// A row for each scenario; a column that says nothing of any is left out.
#[must_use]
pub fn figures(scenarios: &[&Scenario]) -> String {
    let columns: [(&str, Column); 6] = [
        ("processes that failed", |_, arm| failed(arm)),
        ("peak driver memory", |_, arm| {
            figures::bytes_option(arm.peak_bytes)
        }),
        ("left after empty_cache", |_, arm| {
            figures::bytes_option(arm.residual_bytes)
        }),
        ("blocking waits", waits),
        ("copies by memcpy", |_, arm| {
            summary::memcpy_share(arm).map_or_else(|| NONE.to_owned(), figures::share)
        }),
        ("faults (wrong bytes)", |_, arm| faults(arm)),
    ];
    let rows: Vec<Row<'_>> = scenarios
        .iter()
        .map(|scenario| {
            let cells = columns
                .iter()
                .map(|(name, value)| {
                    (
                        *name,
                        value(scenario, &scenario.baseline),
                        value(scenario, &scenario.patched),
                    )
                })
                .collect();
            (code(&scenario.id), cells)
        })
        .collect();
    before_and_after(&rows)
}

/// A scenario, and for each column its name, the figure before and the one after.
pub(super) type Row<'c> = (String, Vec<(&'c str, String, String)>);

/// A row for each scenario; a column that says nothing of any is left out.
pub(super) fn before_and_after(rows: &[Row<'_>]) -> String {
    let count = rows.first().map_or(0, |(_, cells)| cells.len());
    let told: Vec<usize> = (0..count)
        .filter(|index| {
            rows.iter().any(|(_, cells)| {
                let (_, before, after) = &cells[*index];
                before != NONE || after != NONE
            })
        })
        .collect();
    let mut table = String::from("| scenario, before → after |");
    for index in &told {
        let _ = write!(table, " {} |", rows[0].1[*index].0);
    }
    table.push_str("\n|-|");
    table.push_str(&"-|".repeat(told.len()));
    for (scenario, cells) in rows {
        let _ = write!(table, "\n| {scenario} |");
        for index in &told {
            let (_, baseline, patched) = cells[*index].clone();
            let _ = write!(table, " {} |", pair(&Arms { baseline, patched }));
        }
    }
    table
}

/// Instructions that were counted, scenario by scenario: the same in each run, so that one number says it.
#[must_use]
pub fn counted_instructions(rows: &[(String, f64, f64)]) -> Option<String> {
    let lines: Vec<String> = rows
        .iter()
        .filter(|(_, before, _)| *before > 0.0)
        .map(|(scenario, before, after)| {
            format!(
                "| {} | {} | {} | {} |",
                code(scenario),
                figures::count(before.round()),
                figures::count(after.round()),
                figures::ratio(after / before)
            )
        })
        .collect();
    (!lines.is_empty()).then(|| {
        format!(
            "| scenario | instructions before | after | difference |\n|-|-|-|-|\n{}\n",
            lines.join("\n")
        )
    })
}

/// The same of the whole series, where the run tells no more.
#[must_use]
pub fn instructions(report: &Report) -> Vec<(String, f64, f64)> {
    let name = "alloc_free_instructions";
    let scenarios = report.scenarios.iter();
    scenarios
        .filter_map(|scenario| {
            let before = scenario.baseline.counters.get(name)?;
            let after = scenario.patched.counters.get(name)?;
            Some((scenario.id.clone(), *before, *after))
        })
        .collect()
}

/// A cell of one arm of a scenario.
type Column = fn(&Scenario, &ArmFigures) -> String;

/// Threads race on the wall clock in the class "stress", and a process that crashed did less: their waits compare nothing.
fn waits(scenario: &Scenario, arm: &ArmFigures) -> String {
    match arm.counters.get("blocking_waits") {
        Some(waits) if scenario.class != "stress" => figures::count(*waits),
        _ => NONE.to_owned(),
    }
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

/// The time of an allocation and its free in each scenario that measured it and runs no threads of its own. Nothing where none
/// did.
#[must_use]
pub fn microbenchmark(evidence: &Evidence, scenarios: &[&Scenario]) -> Option<String> {
    let mut rows = String::new();
    for scenario in scenarios
        .iter()
        .filter(|scenario| scenario.class == "gpu-only")
    {
        let before = evidence.counter(&scenario.id, Arm::Baseline, "alloc_free_ns");
        let after = evidence.counter(&scenario.id, Arm::Patched, "alloc_free_ns");
        if let (Some(before), Some(after)) = (Spread::of(&before), Spread::of(&after)) {
            let _ = writeln!(
                rows,
                "| {} | {} ns | {} ns | {} |",
                code(&scenario.id),
                before.text(),
                after.text(),
                before.against(&after)
            );
        }
    }
    (!rows.is_empty()).then(|| {
        format!(
            "| scenario | before: median (range, processes) | after: median (range, processes) | difference |\n|-|-|-|-|\n{rows}"
        )
    })
}

/// The middle of some values and where they lie: quartiles of four or more, else the ends.
struct Spread {
    median: f64,
    low: f64,
    high: f64,
    ends: [f64; 2],
    number: usize,
}

/// So many values of each arm lie apart by chance in 3 of 100 cases; of three, in 10.
const FEWEST: usize = 4;
/// What stands where there are fewer.
pub(super) const TOO_FEW: &str = "too few to tell";

impl Spread {
    fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = robust::median(&sorted)?;
        let number = sorted.len();
        let (low, high) = if number >= 4 {
            let at = |share: f64| sorted[((number - 1) as f64 * share).round() as usize];
            (at(0.25), at(0.75))
        } else {
            (*sorted.first()?, *sorted.last()?)
        };
        Some(Self {
            median,
            low,
            high,
            ends: [*sorted.first()?, *sorted.last()?],
            number,
        })
    }

    fn text(&self) -> String {
        let shown = |value: f64| figures::count(value.round());
        let kind = match self.number {
            4.. => "IQR ",
            _ => "",
        };
        format!(
            "{} ({kind}{}–{}, n={})",
            shown(self.median),
            shown(self.low),
            shown(self.high),
            self.number
        )
    }

    /// The ratio of the medians where all values of one arm lie above all of the other, and there are enough of them.
    fn against(&self, after: &Self) -> String {
        let apart = after.ends[0] > self.ends[1] || self.ends[0] > after.ends[1];
        if self.number.min(after.number) < FEWEST {
            TOO_FEW.to_owned()
        } else if apart && self.median > 0.0 {
            figures::ratio(after.median / self.median)
        } else {
            "within the noise".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_only_where_the_ranges_lie_apart() {
        let spread = |values: &[f64]| Spread::of(values).unwrap();
        let (before, near, far) = (
            spread(&[300.0, 400.0, 320.0, 380.0]),
            spread(&[350.0, 500.0, 600.0, 700.0]),
            spread(&[100.0, 200.0, 150.0, 150.0]),
        );
        assert_eq!(before.text(), "350 (IQR 320–380, n=4)");
        assert_eq!(before.against(&near), "within the noise");
        assert_eq!(before.against(&far), figures::ratio(150.0 / 350.0));
        let two = spread(&[100.0, 200.0]);
        assert_eq!(two.text(), "150 (100–200, n=2)");
        assert_eq!(before.against(&two), "too few to tell");
        assert!(Spread::of(&[]).is_none());
    }
}
