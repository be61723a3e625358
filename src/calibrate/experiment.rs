//! One row of the calibration: many trials with equal arms, and as many with a leak of twice the stated size in one.
use super::rivals::Rival;
use super::source::{Curve, EqualPair, Source};
use crate::stats::contrast::{Contrast, contrast};
use crate::stats::curve::analyse;
use crate::stats::noise::Noise;
use crate::stats::proportion::wilson;
use crate::stats::robust::median;
use crate::stats::ruling::{Growth, Repeats, Ruling, rule};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Below this a stated size means nothing: an allocation has whole kibibytes.
const FINEST: f64 = 1024.0;

/// A count among trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// How often.
    pub count: u64,
    /// Among how many.
    pub trials: u64,
    /// The share.
    pub rate: f64,
    /// Its 95% Wilson interval.
    pub interval: [f64; 2],
}

impl Rate {
    fn of(found: impl IntoIterator<Item = bool>) -> Self {
        let (mut count, mut trials) = (0, 0);
        for one in found {
            count += u64::from(one);
            trials += 1;
        }
        Self {
            count,
            trials,
            rate: if trials == 0 {
                0.0
            } else {
                count as f64 / trials as f64
            },
            interval: wilson(count, trials),
        }
    }
}

/// What another rule says about the same curves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RivalRates {
    /// Its name.
    pub name: String,
    /// How often it calls an arm without a leak a leak.
    pub false_alarms: Rate,
    /// How often it finds the leak.
    pub detected: Rate,
}

/// One kind of curve in one design.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The kind of curve.
    pub curves: String,
    /// Pairs of processes.
    pub pairs: usize,
    /// The stated minimal detectable leak, in bytes per step: its median over the trials. Absent when none is stated: too few
    /// pairs for a device that does not repeat itself, which is never cleared then.
    pub detectable: Option<f64>,
    /// Verdicts "grows" with equal arms, whatever the size.
    pub false_alarms: Rate,
    /// Verdicts "grows" with a leak of twice the stated size.
    pub detected: Rate,
    /// Verdicts "does not grow" with that leak: what must never happen.
    pub cleared: Rate,
    /// Others on the first pair of the same trials.
    pub rivals: Vec<RivalRates>,
}

impl Row {
    /// Whether at most 1% are false alarms and at least 95% of the leaks are found, where a size is stated.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.false_alarms.rate <= 0.01 && (self.detectable.is_none() || self.detected.rate >= 0.95)
    }
}

struct Trial {
    detectable: f64,
    equal: Growth,
    /// Absent when no size is stated that could be doubled.
    leaking: Option<Growth>,
    rivals: Vec<[bool; 2]>,
}

/// Runs the trials of one row; nothing when there are too few recorded pairs for the design.
#[must_use]
pub fn row(source: &Source, pairs: usize, trials: u64, seed: u64) -> Option<Row> {
    // synthetic noise is the same in every trial: measured once
    let noise = match source {
        Source::Synthetic(_) => Some(measure(&source.trial(seed, 0, pairs)?[1])?),
        Source::Recorded { .. } => None,
    };
    let outcomes: Vec<Trial> = (0..trials)
        .into_par_iter()
        .map(|trial| {
            let [tried, measured] = source.trial(seed, trial, pairs)?;
            let noise = match noise {
                Some(noise) => noise,
                None => measure(&measured)?,
            };
            Some(one(&tried, &noise))
        })
        .collect::<Option<Vec<_>>>()?;
    let of = |verdict: fn(&Trial) -> bool| Rate::of(outcomes.iter().map(verdict));
    let of_leaks = |ruling: Ruling| {
        let leaks = outcomes.iter().filter_map(|trial| trial.leaking);
        Rate::of(leaks.map(|growth| growth.ruling == ruling))
    };
    let stated: Vec<f64> = outcomes.iter().map(|trial| trial.detectable).collect();
    Some(Row {
        curves: source.name(),
        pairs,
        detectable: median(&stated),
        false_alarms: of(|trial| trial.equal.ruling == Ruling::Grows),
        detected: of_leaks(Ruling::Grows),
        cleared: of_leaks(Ruling::Bounded),
        rivals: Rival::ALL
            .iter()
            .enumerate()
            .map(|(index, rival)| RivalRates {
                name: rival.name().to_owned(),
                false_alarms: Rate::of(outcomes.iter().map(|trial| trial.rivals[index][0])),
                detected: Rate::of(outcomes.iter().map(|trial| trial.rivals[index][1])),
            })
            .collect(),
    })
}

/// What equal arms differ by.
#[must_use]
pub fn measure(pairs: &[EqualPair]) -> Option<Noise> {
    let differences: Vec<f64> = contrasts(pairs, 0.0, 0.0)
        .iter()
        .map(|found| found.difference)
        .collect();
    Noise::of(&differences)
}

fn one(pairs: &[EqualPair], noise: &Noise) -> Trial {
    let repeats = Repeats::Within(*noise);
    // equal arms are judged as strictly as can be: any growth counts
    let equal = rule(&contrasts(pairs, 0.0, 0.0), 0.0, &repeats);
    let detectable = equal.detectable.max(FINEST);
    let leak = 2.0 * detectable;
    let leaking = detectable
        .is_finite()
        .then(|| rule(&contrasts(pairs, leak, detectable), detectable, &repeats));
    let rivals = match pairs.first() {
        Some(pair) if leak.is_finite() => {
            let bytes = |curve: &Curve| curve.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>();
            let (baseline, patched) = (bytes(&pair.first), bytes(&pair.second));
            let leaked = bytes(&with_leak(&pair.second, leak));
            Rival::ALL
                .iter()
                .map(|rival| {
                    [
                        rival.cries(&baseline, &patched),
                        rival.cries(&baseline, &leaked),
                    ]
                })
                .collect()
        }
        _ => vec![[false; 2]; Rival::ALL.len()],
    };
    Trial {
        detectable,
        equal,
        leaking,
        rivals,
    }
}

fn contrasts(pairs: &[EqualPair], leak: f64, budget: f64) -> Vec<Contrast> {
    pairs
        .iter()
        .filter_map(|pair| {
            contrast(
                &analyse(&pair.first, budget),
                &analyse(&with_leak(&pair.second, leak), budget),
                budget,
            )
        })
        .collect()
}

fn with_leak(curve: &Curve, leak: f64) -> Curve {
    curve
        .iter()
        .map(|(step, bytes)| (*step, bytes + leak * step))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::family::Family;

    #[test]
    fn a_row_is_the_same_each_time_and_counts_what_it_says() {
        let source = Source::Synthetic(Family::White);
        let found = row(&source, 8, 10, 3).unwrap();
        assert_eq!(found, row(&source, 8, 10, 3).unwrap());
        assert_eq!(found.false_alarms.trials, 10);
        assert!(found.detectable.unwrap() > FINEST && found.holds());
        // two pairs state nothing, and are not held to it
        let few = row(&source, 2, 10, 3).unwrap();
        assert!(few.detectable.is_none() && few.detected.trials == 0 && few.holds());
        assert_eq!(found.rivals.len(), Rival::ALL.len());
    }

    #[test]
    fn a_row_that_does_not_hold_is_told() {
        let mut bad = row(&Source::Synthetic(Family::White), 8, 4, 3).unwrap();
        bad.false_alarms = Rate::of([true, false, false, false]);
        assert!(!bad.holds());
    }
}
