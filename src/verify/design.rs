//! How many pairs of processes run: those of the suite, or as many as it takes to tell growth of a given size in the time that
//! there is. The looks at which more pairs are decided upon are those of [`sequential`], whose error level holds however a run
//! is ended.
use super::plan::Plan;
use crate::run::job::{Arm, Job, JobResult};
use crate::stats::sequential;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What the user wants of the comparison.
#[derive(Debug, Clone, Default)]
pub struct Design {
    /// Growth in bytes per step that must be found.
    pub detect: Option<f64>,
    /// Time for the scenarios.
    pub budget: Option<Duration>,
    /// What is compared.
    pub arms: Contest,
}

/// What is compared with what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Contest {
    /// The patched tree with stock.
    #[default]
    PatchedWithStock,
    /// Stock with itself: what equal arms differ by.
    StockWithItself,
}

impl Design {
    /// Whether pairs are added as long as they are needed.
    #[must_use]
    pub fn is_sequential(&self) -> bool {
        self.detect.is_some() || self.budget.is_some()
    }
}

/// The pairs that the scenarios of `undecided` have so far, and those of the next look; nothing when there is no further one.
#[must_use]
pub fn next_look(jobs: &[Job], undecided: &BTreeSet<String>) -> Option<(usize, usize)> {
    let pairs = jobs
        .iter()
        .filter(|job| undecided.contains(&job.scenario))
        .map(|job| job.pair as usize + 1)
        .max()?;
    Some((pairs, sequential::next_look(pairs)?))
}

/// The jobs of a plan, and those that a longer plan adds for the undecided scenarios.
#[must_use]
pub fn extended(known: &[Job], longer: Plan, undecided: &BTreeSet<String>) -> Vec<Job> {
    let mut jobs = known.to_vec();
    let planned: BTreeSet<&Job> = known.iter().collect();
    let more: Vec<Job> = longer
        .jobs
        .into_iter()
        .filter(|job| undecided.contains(&job.scenario) && !planned.contains(job))
        .collect();
    jobs.extend(more);
    jobs
}

/// How long the next round takes, from how long the pairs so far took.
#[must_use]
pub fn expected(
    results: &BTreeMap<Job, JobResult>,
    undecided: &BTreeSet<String>,
    more_pairs: usize,
    workers: usize,
) -> Duration {
    let mut seconds = 0.0;
    for scenario in undecided {
        for arm in Arm::ALL {
            let took: Vec<f64> = results
                .iter()
                .filter(|(job, _)| job.scenario == *scenario && job.arm == arm)
                .map(|(_, result)| result.seconds)
                .collect();
            if !took.is_empty() {
                seconds += took.iter().sum::<f64>() / took.len() as f64 * more_pairs as f64;
            }
        }
    }
    Duration::try_from_secs_f64(seconds / workers.max(1) as f64).unwrap_or(Duration::MAX)
}

/// Reads an amount of memory: `4096`, `64KiB`, `1.5 MiB`.
///
/// # Errors
/// When it is no positive amount.
pub fn parse_bytes(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let split = text
        .find(|letter: char| letter.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(format!("{unit:?} is no unit: B, KiB, MiB or GiB")),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value * factor),
        _ => Err(format!("{text:?} is no positive amount of bytes")),
    }
}

/// Reads a time: `90`, `90s`, `10m`, `1.5h`.
///
/// # Errors
/// When it is no positive time.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let split = text
        .find(|letter: char| letter.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("{unit:?} is no unit: s, m or h")),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value > 0.0 => {
            Duration::try_from_secs_f64(value * factor).map_err(|_| format!("{text:?} is too long"))
        }
        _ => Err(format!("{text:?} is no positive time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::job::{Flavour, Outcome};
    use proptest::prelude::*;

    fn jobs(scenario: &str, pairs: u32) -> Vec<Job> {
        (0..pairs)
            .flat_map(|pair| {
                Arm::ALL.map(|arm| Job {
                    scenario: scenario.to_owned(),
                    arm,
                    pair,
                    seed: u64::from(pair),
                    flavour: Flavour::Plain,
                    steps: None,
                    settings: BTreeMap::new(),
                    subset: None,
                })
            })
            .collect()
    }

    #[test]
    fn only_the_undecided_get_more_pairs() {
        let known = [jobs("a", 2), jobs("b", 2)].concat();
        let undecided = BTreeSet::from(["b".to_owned()]);
        assert_eq!(next_look(&known, &undecided), Some((2, 8)));
        let longer = Plan {
            scenarios: Vec::new(),
            jobs: [jobs("a", 8), jobs("b", 8)].concat(),
        };
        let all = extended(&known, longer, &undecided);
        assert_eq!(all[..known.len()], known[..]);
        assert_eq!(all.len(), known.len() + 12);
        assert!(all[known.len()..].iter().all(|job| job.scenario == "b"));
        assert_eq!(next_look(&jobs("b", 24), &undecided), None);
        assert_eq!(next_look(&known, &BTreeSet::new()), None);
    }

    #[test]
    fn a_round_is_expected_to_take_as_long_as_its_pairs_did() {
        let results: BTreeMap<Job, JobResult> = jobs("b", 2)
            .into_iter()
            .map(|job| {
                let result = JobResult {
                    seconds: 3.0,
                    ..JobResult::empty(Outcome::Ok)
                };
                (job, result)
            })
            .collect();
        let undecided = BTreeSet::from(["b".to_owned()]);
        assert_eq!(
            expected(&results, &undecided, 6, 2),
            Duration::from_secs(18)
        );
        assert_eq!(expected(&results, &BTreeSet::new(), 6, 0), Duration::ZERO);
    }

    #[test]
    fn amounts_and_times() {
        assert_eq!(parse_bytes("4096"), Ok(4096.0));
        assert_eq!(parse_bytes("64KiB"), Ok(65536.0));
        assert_eq!(parse_bytes("1.5 mib"), Ok(1_572_864.0));
        assert_eq!(parse_time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("1.5h"), Ok(Duration::from_secs(5400)));
        for bad in ["", "0", "-4", "x", "4 parsecs", "NaN", "inf"] {
            assert!(
                parse_bytes(bad).is_err() && parse_time(bad).is_err(),
                "{bad}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,40}") {
            let _ = (parse_bytes(&text), parse_time(&text));
        }
    }
}
