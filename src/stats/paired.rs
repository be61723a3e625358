//! The difference between two arms, estimated over pairs of processes: Hodges–Lehmann with the exact signed-rank interval.
use super::robust;
use super::signed_rank::distribution;

/// A difference with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The median of all Walsh averages (means of two differences, each with itself too).
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The confidence that the interval really has: few pairs cannot reach 95%. One pair has none at all.
    pub confidence: f64,
}

/// Above this number of pairs the exact distribution is replaced by its normal limit.
const EXACT: usize = 100;
/// The confidence that is aimed at.
const WANTED: f64 = 0.95;

/// Estimates from the differences of the pairs; those that are not finite are left out. Absent when none is left.
#[must_use]
pub fn hodges_lehmann(differences: &[f64]) -> Option<Difference> {
    let finite: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    let count = finite.len();
    let mut walsh = Vec::with_capacity(count * (count + 1) / 2);
    for (index, first) in finite.iter().enumerate() {
        walsh.extend(
            finite[index..]
                .iter()
                .map(|second| first / 2.0 + second / 2.0),
        );
    }
    walsh.sort_by(f64::total_cmp);
    let estimate = robust::median(&walsh)?;
    let (skip, confidence) = ranks_left_out(count);
    Some(Difference {
        estimate,
        low: walsh[skip],
        high: walsh[walsh.len() - 1 - skip],
        confidence,
    })
}

/// How many Walsh averages the interval leaves out at either end, and its confidence.
fn ranks_left_out(pairs: usize) -> (usize, f64) {
    let total = pairs * (pairs + 1) / 2;
    if pairs > EXACT {
        let n = pairs as f64;
        let sigma = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        let skip = (total as f64 / 2.0 - 1.96 * sigma).max(0.0) as usize;
        return (skip.min(total / 2), WANTED);
    }
    let chances = distribution(pairs);
    let mut skip = 0;
    let mut tail = chances[0];
    // leaving out k at either end costs twice P(W ≤ k)
    while skip + 1 < total.div_ceil(2) && 2.0 * (tail + chances[skip + 1]) <= 1.0 - WANTED {
        skip += 1;
        tail += chances[skip];
    }
    (skip, (1.0 - 2.0 * tail).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_pairs_say_how_little_they_know() {
        assert_eq!(hodges_lehmann(&[]), None);
        let one = hodges_lehmann(&[4.0]).unwrap();
        assert_eq!(
            (one.estimate, one.low, one.high, one.confidence),
            (4.0, 4.0, 4.0, 0.0)
        );
        let three = hodges_lehmann(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((three.low, three.high, three.confidence), (1.0, 3.0, 0.75));
        let six = hodges_lehmann(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert!((six.confidence - 0.96875).abs() < 1e-12);
        assert_eq!((six.low, six.high), (1.0, 6.0));
    }

    #[test]
    fn depression_scores() {
        // Hollander & Wolfe, example 3.1: estimate −0.46, 96% interval (−0.786, −0.010)
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        #[allow(clippy::approx_constant)]
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        let found = hodges_lehmann(&differences).unwrap();
        assert!((found.estimate + 0.46).abs() < 1e-9, "{found:?}");
        assert!((found.low + 0.786).abs() < 1e-9, "{found:?}");
        assert!((found.high + 0.010).abs() < 1e-9, "{found:?}");
        assert!((found.confidence - 0.961).abs() < 1e-3, "{found:?}");
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_estimate_and_follows_a_shift(
            values in proptest::collection::vec(-1e6..1e6_f64, 1..30), shift in -1e3..1e3_f64,
        ) {
            let plain = hodges_lehmann(&values).unwrap();
            prop_assert!(plain.low <= plain.estimate && plain.estimate <= plain.high);
            let moved: Vec<f64> = values.iter().map(|value| value + shift).collect();
            let moved = hodges_lehmann(&moved).unwrap();
            prop_assert!((moved.estimate - plain.estimate - shift).abs() < 1e-6);
            prop_assert!((moved.low - plain.low - shift).abs() < 1e-6);
        }

        #[test]
        fn nothing_panics(values in proptest::collection::vec(any::<f64>(), 0..130)) {
            let _ = hodges_lehmann(&values);
        }
    }
}
