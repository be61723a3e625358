//! Whether two arms differ in outcomes that either happen or not, pair by pair, and the correction for asking often.
use statrs::distribution::{Binomial, DiscreteCDF};

/// The two-sided exact paired test (McNemar's, by the binomial distribution): how likely it is that among
/// `only_baseline + only_patched` discordant pairs the split is at least this uneven, when neither arm fails more.
#[must_use]
pub fn paired_test(only_baseline: u64, only_patched: u64) -> f64 {
    let discordant = only_baseline.saturating_add(only_patched);
    if discordant == 0 {
        return 1.0;
    }
    let rarer = only_baseline.min(only_patched);
    match Binomial::new(0.5, discordant) {
        Ok(binomial) => (2.0 * binomial.cdf(rarer)).min(1.0),
        Err(_) => 1.0,
    }
}

/// How many discordant pairs, all on one side, it takes until [`paired_test`] can go below `level` after a correction for
/// `tests` tests: what a rerun has to plan for.
#[must_use]
pub fn pairs_needed(level: f64, tests: usize) -> u64 {
    let level = level / tests.max(1) as f64;
    (1..=1_000)
        .find(|pairs| paired_test(0, *pairs) <= level)
        .unwrap_or(1_000)
}

/// Holm's step-down correction: the adjusted value of each, in the order given. A value that is no probability counts
/// as 1.
#[must_use]
pub fn holm(values: &[f64]) -> Vec<f64> {
    let clean: Vec<f64> = values
        .iter()
        .map(|value| {
            if (0.0..=1.0).contains(value) {
                *value
            } else {
                1.0
            }
        })
        .collect();
    let mut order: Vec<usize> = (0..clean.len()).collect();
    order.sort_by(|left, right| clean[*left].total_cmp(&clean[*right]));
    let mut adjusted = vec![1.0; clean.len()];
    let mut highest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        let factor = (clean.len() - rank) as f64;
        highest = highest.max((clean[index] * factor).min(1.0));
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        assert_eq!(paired_test(0, 0), 1.0);
        assert!((paired_test(0, 5) - 0.0625).abs() < 1e-12);
        assert!((paired_test(0, 6) - 0.03125).abs() < 1e-12);
        assert!((paired_test(2, 10) - 0.038_574_218_75).abs() < 1e-12);
        assert_eq!(pairs_needed(0.05, 1), 6);
        assert_eq!(pairs_needed(0.05, 10), 9);
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let wanted = [0.03, 0.06, 0.06, 0.02];
        assert!(
            adjusted
                .iter()
                .zip(wanted)
                .all(|(left, right)| (left - right).abs() < 1e-12)
        );
        assert_eq!(holm(&[f64::NAN]), [1.0]);
    }

    proptest! {
        #[test]
        fn the_test_is_symmetric(left in 0_u64..400, right in 0_u64..400) {
            prop_assert_eq!(paired_test(left, right), paired_test(right, left));
            prop_assert!((0.0..=1.0).contains(&paired_test(left, right)));
        }

        #[test]
        fn a_correction_never_helps(values in proptest::collection::vec(0.0..=1.0_f64, 0..40)) {
            for (value, adjusted) in values.iter().zip(holm(&values)) {
                prop_assert!(adjusted >= *value && adjusted <= 1.0);
            }
        }
    }
}
