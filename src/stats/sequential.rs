//! When a comparison may stop early: looks after a fixed number of pairs, each of which may spend a fixed part of the error
//! level, so that the chance of ever crying wolf stays below the whole however the run is ended.
//!
//! Alpha spending (Lan & DeMets, Biometrika 70 (1983) 659) over looks that are fixed beforehand. Pairs are ranked within the
//! stage that brought them, so that the sums of the stages are independent and the joint distribution over all looks is a
//! plain convolution: the bounds are exact for the sizes that were seen, with ties, without a normal limit.
use super::signed_rank::{doubled_ranks, flipped};

/// Pairs that each stage adds: looks after 8, 12, 16 and 24.
pub const STAGES: [usize; 4] = [8, 4, 4, 8];
/// What each look may spend. The first is what eight pairs on one side reach (1/256), the others little more. Together 0.5%: a
/// rate that is counted in a thousand trials then stays below 1%.
pub const SPENDING: [f64; 4] = [0.004, 0.0003, 0.0003, 0.0003];

/// The whole error level: the chance that two equal arms are ever told apart.
#[must_use]
pub fn level() -> f64 {
    SPENDING.iter().sum()
}

/// The fewest pairs with which anything can be told exactly.
#[must_use]
pub const fn fewest_pairs() -> usize {
    STAGES[0]
}

/// The most pairs that are looked at.
#[must_use]
pub fn most_pairs() -> usize {
    STAGES.iter().sum()
}

/// How many pairs the next look needs, after so many; nothing after the last.
#[must_use]
pub fn next_look(pairs: usize) -> Option<usize> {
    let mut looks = STAGES.iter().scan(0, |sum, stage| {
        *sum += stage;
        Some(*sum)
    });
    looks.find(|look| *look > pairs)
}

/// How many pairs the last completed look had; 0 before the first.
#[must_use]
pub fn looked_at(pairs: usize) -> usize {
    let mut done = 0;
    for stage in STAGES {
        if done + stage > pairs {
            break;
        }
        done += stage;
    }
    done
}

/// The look, counted in pairs, at which the differences are greater than chance allows; nothing when no look so far tells.
/// Differences in the order in which the pairs ran; those after the last completed stage wait for the next look.
#[must_use]
pub fn crossed(differences: &[f64]) -> Option<usize> {
    let mut undecided = vec![1.0];
    let mut sum = 0;
    let mut done = 0;
    for (stage, spend) in STAGES.iter().zip(SPENDING) {
        let batch = differences.get(done..done + stage)?;
        done += stage;
        let (ranks, positive) = doubled_ranks(batch);
        sum += positive;
        undecided = convolve(&undecided, &flipped(&ranks));
        let bound = bound(&undecided, spend);
        if sum >= bound {
            return Some(done);
        }
        // what has crossed would have stopped: it takes no part in later looks
        undecided.truncate(bound);
    }
    None
}

/// The lowest sum from which on all sums together are no likelier than `spend`; beyond the highest when there is none.
fn bound(chances: &[f64], spend: f64) -> usize {
    let mut tail = 0.0;
    for (sum, chance) in chances.iter().enumerate().rev() {
        tail += chance;
        if tail > spend {
            return sum + 1;
        }
    }
    // a stage of nothing but ties at zero: no sum is out of the ordinary
    chances.len()
}

fn convolve(left: &[f64], right: &[f64]) -> Vec<f64> {
    let mut together = vec![0.0; (left.len() + right.len()).saturating_sub(1)];
    for (offset, chance) in left.iter().enumerate() {
        if *chance > 0.0 {
            for (index, other) in right.iter().enumerate() {
                together[offset + index] += chance * other;
            }
        }
    }
    together
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_looks() {
        assert_eq!(next_look(0), Some(8));
        assert_eq!(next_look(8), Some(12));
        assert_eq!(next_look(23), Some(24));
        assert_eq!(next_look(24), None);
        assert_eq!((looked_at(7), looked_at(8), looked_at(15)), (0, 8, 12));
        assert_eq!(looked_at(400), most_pairs());
        assert!(level() < 0.005);
    }

    #[test]
    fn a_plain_difference_is_told_at_the_first_look() {
        let up: Vec<f64> = (1..=24).map(f64::from).collect();
        assert_eq!(crossed(&up), Some(8));
        assert_eq!(crossed(&up[..7]), None);
        assert_eq!(crossed(&[0.0; 24]), None);
        // one pair against it: the first look does not tell, a later one does
        let mut mixed = up;
        mixed[0] = -1.0;
        assert!(crossed(&mixed).is_some_and(|look| look > 8));
    }

    /// Over all 2^16 ways in which signs can fall, the share that ever crosses is the level that those looks spend, at most.
    #[test]
    fn the_level_is_kept_exactly() {
        let pairs = 16;
        let mut crossings = 0_u32;
        for signs in 0..1_u32 << pairs {
            let differences: Vec<f64> = (0..pairs)
                .map(|bit| {
                    let size = f64::from((bit * 7) % 16 + 1);
                    if signs >> bit & 1 == 1 { size } else { -size }
                })
                .collect();
            crossings += u32::from(crossed(&differences).is_some());
        }
        let share = f64::from(crossings) / f64::from(1_u32 << pairs);
        let spent: f64 = SPENDING[..3].iter().sum();
        assert!(share <= spent && share > 0.7 * spent, "{share}");
    }

    proptest! {
        #[test]
        fn nothing_panics(values in proptest::collection::vec(any::<f64>(), 0..40)) {
            let _ = crossed(&values);
        }

        #[test]
        fn both_directions_never_cross(values in proptest::collection::vec(-100.0..100.0_f64, 24)) {
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            prop_assert!(crossed(&values).is_none() || crossed(&turned).is_none());
        }
    }
}
