//! The test bench of the statistics: how often the verdict on growth cries wolf on curves without a leak, and how often it
//! finds one of twice the size that it states, by itself and beside other rules. The rules that are judged here are those that
//! `verify` uses, not copies of them.
pub mod experiment;
pub mod family;
mod random;
pub mod recorded;
pub mod rivals;
pub mod source;
pub mod table;

use experiment::Row;
use serde::{Deserialize, Serialize};
use source::Source;

/// The schema name of [`Calibration`].
pub const SCHEMA: &str = "umpatch.calibrate/1";

/// What to try.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The kinds of curves.
    pub sources: Vec<Source>,
    /// Pairs of processes of each design.
    pub pairs: Vec<usize>,
    /// Trials of each row, with equal arms and with a leak each.
    pub trials: u64,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// All rows, and how they were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// [`SCHEMA`].
    pub schema: String,
    /// The command that makes it again.
    pub command: String,
    /// The version of umpatch.
    pub umpatch: String,
    /// Trials of each row.
    pub trials: u64,
    /// The seed.
    pub seed: u64,
    /// Whether every row holds.
    pub holds: bool,
    /// One row for each kind of curve and design.
    pub rows: Vec<Row>,
    /// Real leaks of known sizes, recorded, and how often they are found.
    #[serde(default)]
    pub injected: Vec<recorded::Injected>,
}

/// What is heard of while it runs.
#[derive(Debug)]
pub enum Heard<'r> {
    /// A row is done.
    Row(&'r Row),
    /// A recording has too few pairs with usable curves for a design.
    LeftOut {
        /// The curves' name.
        curves: String,
        /// Pairs of the design.
        pairs: usize,
    },
}

/// Runs all experiments; `hear` hears of each row, and of those that cannot be.
#[must_use]
pub fn run(plan: &Plan, command: &str, hear: &dyn Fn(Heard<'_>)) -> Calibration {
    let mut rows = Vec::new();
    for source in &plan.sources {
        for &pairs in &plan.pairs {
            match experiment::row(source, pairs, plan.trials, plan.seed) {
                Some(row) => {
                    hear(Heard::Row(&row));
                    rows.push(row);
                }
                None => hear(Heard::LeftOut {
                    curves: source.name(),
                    pairs,
                }),
            }
        }
    }
    Calibration {
        schema: SCHEMA.to_owned(),
        command: command.to_owned(),
        umpatch: env!("CARGO_PKG_VERSION").to_owned(),
        trials: plan.trials,
        seed: plan.seed,
        holds: !rows.is_empty() && rows.iter().all(Row::holds),
        rows,
        injected: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use family::Family;

    /// The checked-in calibration, repeated with few trials: every kind of curve, at the first look.
    #[test]
    fn the_bounds_hold_with_few_trials() {
        let plan = Plan {
            sources: Family::ALL.map(Source::Synthetic).to_vec(),
            pairs: vec![crate::stats::sequential::fewest_pairs()],
            trials: 24,
            seed: 1,
        };
        let calibration = run(&plan, "", &|_| {});
        assert_eq!(calibration.rows.len(), Family::ALL.len());
        for row in &calibration.rows {
            assert_eq!(row.false_alarms.count, 0, "{row:?}");
            assert!(
                row.detected.count >= 23 && row.cleared.count <= 1,
                "{row:?}"
            );
        }
        let text = table::markdown(&calibration);
        assert!(text.contains("| ar1-0.95 | 8 |") && text.contains("Beside others"));
    }
}
