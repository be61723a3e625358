//! Counters that only ever rise: their rate, and whether they fell.

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

/// Watches a figure that only ever rises, value by value.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rising {
    last: Option<f64>,
    fell: bool,
}

impl Rising {
    /// Takes the next value; holes are passed over.
    pub fn take(&mut self, value: f64) {
        if value.is_finite() {
            self.fell |= self.last.is_some_and(|last| value < last);
            self.last = Some(value);
        }
    }

    /// Whether it ever fell: it wrapped, was reset, or is a clock that was set back.
    #[must_use]
    pub const fn fell(&self) -> bool {
        self.fell
    }
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

    fn fell(samples: &[(f64, f64)]) -> bool {
        let mut rising = Rising::default();
        samples.iter().for_each(|&(_, y)| rising.take(y));
        rising.fell()
    }

    #[test]
    fn a_rate_unless_it_wraps() {
        let late = counter(100, |x| if x < 50.0 { 0.0 } else { x - 50.0 });
        assert_eq!(rate_after_half(&late), Some(1.0));
        assert!(!fell(&late));
        let wrapped = counter(100, |x| if x < 90.0 { x } else { 0.0 });
        assert_eq!(rate_after_half(&wrapped), None);
        assert!(fell(&wrapped));
        assert_eq!(rate_after_half(&[(0.0, 1.0)]), None);
        assert!(!fell(&[]));
        assert!(fell(&[(0.0, 2.0), (1.0, f64::NAN), (2.0, 1.0)]));
    }

    proptest! {
        #[test]
        fn nothing_panics(samples in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..200)) {
            if let Some(rate) = rate_after_half(&samples) {
                prop_assert!(rate >= 0.0 || rate.is_nan());
            }
            let _ = fell(&samples);
        }
    }
}
