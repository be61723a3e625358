//! How much less a series says than its length suggests, because neighbours resemble each other.

/// Fewer values than this say nothing about their correlation.
const FEWEST: usize = 10;
/// Beyond this a series is a random walk as far as anyone can tell.
const HIGHEST: f64 = 0.98;

/// The factor by which the variance of a trend's test grows when the errors follow each other: (1 + r) / (1 − r) for
/// first-order errors (Bayley & Hammersley 1946; for Kendall's S: Hamed & Rao, J. Hydrology 204 (1998) 182). Never below 1:
/// errors that alternate are not rewarded. r is corrected for the bias that taking a fitted line away gives it (Kendall 1954).
#[must_use]
pub fn variance_inflation(residuals: &[f64]) -> f64 {
    let n = residuals.len();
    if n < FEWEST {
        return 1.0;
    }
    let count = n as f64;
    let mean = residuals.iter().sum::<f64>() / count;
    let square: f64 = residuals.iter().map(|value| (value - mean).powi(2)).sum();
    let product: f64 = residuals
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    let raw = product / square;
    if !raw.is_finite() {
        return 1.0;
    }
    let correlation = ((count * raw + 2.0) / (count - 4.0)).clamp(0.0, HIGHEST);
    (1.0 + correlation) / (1.0 - correlation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_series_that_follows_itself_says_less() {
        let alternating: Vec<f64> = (0..64)
            .map(|x| if x % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        assert!((variance_inflation(&alternating) - 1.0).abs() < 1e-9);
        let slow: Vec<f64> = (0..64).map(|x| (f64::from(x) / 10.0).sin()).collect();
        assert!(variance_inflation(&slow) > 20.0);
        assert!((variance_inflation(&[3.0; 64]) - 1.0).abs() < 1e-9);
        assert!((variance_inflation(&[1.0, 2.0]) - 1.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn it_only_ever_widens(values in proptest::collection::vec(any::<f64>(), 0..100)) {
            prop_assert!(variance_inflation(&values) >= 1.0);
        }
    }
}
