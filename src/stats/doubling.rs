//! The doubling test: run twice as long, a leak adds in proportion, a cache that fills does not.
use super::robust;

/// By how much growth multiplies when a run doubles: what the second half adds, divided by what the second quarter added.
/// A leak gives 2, growth with the logarithm of time (ever rarer new shapes) 1, a cache that is full 0. Levels are medians of
/// an eighth of the run. Absent when the second quarter does not grow, or there are too few blocks.
#[must_use]
pub fn within(blocks: &[(f64, f64)]) -> Option<f64> {
    let count = blocks.len();
    let window = count / 8;
    if window < 2 {
        return None;
    }
    let level = |end: usize| {
        let values: Vec<f64> = blocks[end - window..end].iter().map(|(_, y)| *y).collect();
        robust::median(&values)
    };
    let (quarter, half, whole) = (level(count / 4)?, level(count / 2)?, level(count)?);
    let before = half - quarter;
    (before > 0.0).then(|| (whole - half) / before)
}

/// The same for two runs, one twice as long as the other: growth after the warm-up of the short one, in both. Give the
/// levels at a quarter and at the end of the short run, and at the end of the long one.
#[must_use]
pub fn between(at_quarter: f64, at_end: f64, at_twice: f64) -> Option<f64> {
    let before = at_end - at_quarter;
    (before > 0.0 && before.is_finite() && at_twice.is_finite())
        .then(|| (at_twice - at_end) / before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ratio(level: impl Fn(f64) -> f64) -> Option<f64> {
        let blocks: Vec<_> = (1..=128)
            .map(|x| (f64::from(x), level(f64::from(x))))
            .collect();
        within(&blocks)
    }

    #[test]
    fn a_leak_doubles_and_caches_do_not() {
        assert!((ratio(|x| 7.0 + 3.0 * x).unwrap() - 2.0).abs() < 0.01);
        assert!((ratio(f64::ln).unwrap() - 1.0).abs() < 0.25);
        assert!(ratio(|x| 1.0 - (-x / 20.0).exp()).unwrap() < 0.3);
        assert_eq!(ratio(|_| 4.0), None);
        assert_eq!(within(&[(0.0, 1.0)]), None);
        assert_eq!(between(10.0, 40.0, 80.0), Some(4.0 / 3.0));
        assert_eq!(between(10.0, 10.0, 80.0), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(blocks in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..140)) {
            let _ = within(&blocks);
        }
    }
}
