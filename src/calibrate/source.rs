//! Where the curves of an experiment come from: made by a family, or recorded on a real device.
use super::family::Family;
use super::random::Random;

/// Memory over the steps of one process: (step, bytes).
pub type Curve = Vec<(f64, f64)>;

/// A pair of processes that differ in nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct EqualPair {
    /// One of them.
    pub first: Curve,
    /// The other.
    pub second: Curve,
}

/// A supply of pairs of equal arms.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Synthetic curves.
    Synthetic(Family),
    /// Recorded ones.
    Recorded {
        /// Scenario and figure.
        name: String,
        /// The pairs.
        pairs: Vec<EqualPair>,
    },
}

/// Synthetic pairs that the noise is measured on.
const MEASURED: usize = 64;

impl Source {
    /// The name in tables.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Synthetic(family) => family.name().to_owned(),
            Self::Recorded { name, .. } => name.clone(),
        }
    }

    /// The pairs of one trial, and the pairs that its noise is measured on: none are in both. Nothing when there are too few.
    #[must_use]
    pub fn trial(&self, seed: u64, trial: u64, pairs: usize) -> Option<[Vec<EqualPair>; 2]> {
        match self {
            Self::Synthetic(family) => Some([
                (0..pairs)
                    .map(|pair| synthetic(*family, seed, trial + 1, pair as u64))
                    .collect(),
                // a machine's noise is measured once
                (0..MEASURED)
                    .map(|pair| synthetic(*family, seed, 0, pair as u64))
                    .collect(),
            ]),
            Self::Recorded {
                name,
                pairs: recorded,
            } => {
                if recorded.len() < pairs + 2 {
                    return None;
                }
                let of_name = name.bytes().fold(0_u64, |sum, byte| {
                    sum.wrapping_mul(31).wrapping_add(u64::from(byte))
                });
                let mut random = Random::new(seed, &[of_name, trial]);
                let order = random.choose(recorded.len(), recorded.len());
                let mut taken: Vec<EqualPair> = order
                    .into_iter()
                    .map(|index| {
                        let pair = recorded[index].clone();
                        // which of two equal arms is called patched is arbitrary
                        if random.coin() {
                            EqualPair {
                                first: pair.second,
                                second: pair.first,
                            }
                        } else {
                            pair
                        }
                    })
                    .collect();
                let rest = taken.split_off(pairs);
                Some([taken, rest])
            }
        }
    }
}

fn synthetic(family: Family, seed: u64, trial: u64, pair: u64) -> EqualPair {
    let of = |part: u64| Random::new(seed, &[family as u64, trial, pair, part]);
    let curve = |part: u64| {
        let bytes = family.curve(&mut of(0), &mut of(part));
        bytes
            .into_iter()
            .enumerate()
            .map(|(step, bytes)| (step as f64, bytes))
            .collect()
    };
    EqualPair {
        first: curve(1),
        second: curve(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_repeat_and_noise_is_measured_on_other_pairs() {
        let pair = |value: f64| EqualPair {
            first: vec![(0.0, value)],
            second: vec![(0.0, value)],
        };
        let source = Source::Recorded {
            name: "x".to_owned(),
            pairs: (0..10).map(|value| pair(f64::from(value))).collect(),
        };
        let [tried, measured] = source.trial(1, 7, 6).unwrap();
        assert_eq!((tried.len(), measured.len()), (6, 4));
        assert!(tried.iter().all(|pair| !measured.contains(pair)));
        assert_eq!(source.trial(1, 7, 6), source.trial(1, 7, 6));
        assert_eq!(source.trial(1, 7, 9), None);
        let family = Source::Synthetic(Family::White);
        assert_ne!(family.trial(1, 0, 1), family.trial(1, 1, 1));
    }
}
