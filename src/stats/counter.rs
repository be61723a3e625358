//! Counters that only ever rise: their rate, and whether they ran backwards.

/// The usable samples of a counter: finite, and each after the one before.
fn usable(samples: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut clean: Vec<(f64, f64)> = Vec::with_capacity(samples.len());
    for &(x, y) in samples {
        if x.is_finite() && y.is_finite() && clean.last().is_none_or(|last| x > last.0) {
            clean.push((x, y));
        }
    }
    clean
}

/// The growth of a cumulative counter per x after half of the run; absent when it ran backwards (a counter that wrapped or
/// was reset) or with fewer than two usable samples.
#[must_use]
pub fn rate_after_half(samples: &[(f64, f64)]) -> Option<f64> {
    let clean = usable(samples);
    let tail = clean.get(clean.len() / 2..)?;
    let (first, last) = (tail.first()?, tail.last()?);
    if last.0 <= first.0 || tail.windows(2).any(|pair| pair[1].1 < pair[0].1) {
        return None;
    }
    Some((last.1 - first.1) / (last.0 - first.0))
}

/// Whether a counter ever fell.
#[must_use]
pub fn runs_backwards(samples: &[(f64, f64)]) -> bool {
    usable(samples).windows(2).any(|pair| pair[1].1 < pair[0].1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counter(length: u32, count: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..length)
            .map(|x| (f64::from(x), count(f64::from(x))))
            .collect()
    }

    #[test]
    fn a_rate_unless_it_wraps() {
        let late = counter(100, |x| if x < 50.0 { 0.0 } else { x - 50.0 });
        assert_eq!(rate_after_half(&late), Some(1.0));
        assert!(!runs_backwards(&late));
        let wrapped = counter(100, |x| if x < 90.0 { x } else { 0.0 });
        assert_eq!(rate_after_half(&wrapped), None);
        assert!(runs_backwards(&wrapped));
        assert_eq!(rate_after_half(&[(0.0, 1.0)]), None);
        assert!(!runs_backwards(&[]));
    }

    proptest! {
        #[test]
        fn nothing_panics(samples in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..200)) {
            if let Some(rate) = rate_after_half(&samples) {
                prop_assert!(rate >= 0.0 || rate.is_nan());
            }
            let _ = runs_backwards(&samples);
        }
    }
}
