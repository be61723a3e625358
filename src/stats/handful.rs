//! What a handful of published figures supports, where there are too few for a slope with an interval.

/// Figures that only a few samples allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Handful {
    /// Last value minus first.
    pub growth: f64,
    /// Growth per x over all.
    pub average: f64,
    /// Growth per x between neighbours, in order.
    pub rates: Vec<f64>,
    /// Share of the growth before the second sample: a warm-up, as far as so few samples can show one.
    pub at_first: f64,
    /// Growth per x after the second sample.
    pub afterwards: f64,
}

impl Handful {
    /// From samples in order; nothing with fewer than three, or with one that is no number or not after the one before.
    #[must_use]
    pub fn of(samples: &[(f64, f64)]) -> Option<Self> {
        let (first, second, last) = match samples {
            [first, second, .., last] => (*first, *second, *last),
            _ => return None,
        };
        let usable = samples.iter().all(|(x, y)| x.is_finite() && y.is_finite())
            && samples.windows(2).all(|pair| pair[1].0 > pair[0].0);
        if !usable {
            return None;
        }
        let rate = |from: (f64, f64), to: (f64, f64)| (to.1 - from.1) / (to.0 - from.0);
        let growth = last.1 - first.1;
        Some(Self {
            growth,
            average: rate(first, last),
            rates: samples
                .windows(2)
                .map(|pair| rate(pair[0], pair[1]))
                .collect(),
            at_first: if growth > 0.0 {
                (second.1 - first.1) / growth
            } else {
                0.0
            },
            afterwards: rate(second, last),
        })
    }

    /// Whether growth gets less from each pair of neighbours to the next.
    #[must_use]
    pub fn flattens(&self) -> bool {
        self.rates.windows(2).all(|pair| pair[1] < pair[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::blocks::Flaw;
    use crate::stats::curve::{Shape, analyse};
    use proptest::prelude::*;

    fn published(arm: &str) -> Vec<(f64, f64)> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures/curves/seed-004")
            .join(format!("{arm}.csv"));
        std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .skip(1)
            .map(|line| {
                let (step, value) = line.split_once(',').unwrap();
                (step.parse().unwrap(), value.parse::<f64>().unwrap() * 1e3)
            })
            .collect()
    }

    /// In megabytes. The published figures of the change that `fixtures/controls/seed-004` carries: nine tenths of the growth
    /// come before step 100 in either arm, so that the average over the run (156 MB a step) is no rate of a leak; both go on
    /// growing afterwards.
    #[test]
    fn what_the_published_figures_support() {
        let close = |found: f64, wanted: f64| (found - wanted).abs() < 0.05;
        let before = Handful::of(&published("before")).unwrap();
        assert!(
            close(before.growth, 75_400.0) && close(before.average, 155.8),
            "{before:?}"
        );
        assert!(
            before.at_first > 0.90 && close(before.afterwards, 18.4),
            "{before:?}"
        );
        assert!(close(before.rates[1], 10.0) && close(before.rates[2], 21.4));
        assert!(!before.flattens());
        // out of memory by step 800 at that pace: at 124.6 GB
        let at_800 = 118_900.0 + before.afterwards * 315.0;
        assert!((at_800 - 124_709.0).abs() < 10.0, "{at_800}");

        let after = Handful::of(&published("after")).unwrap();
        assert!(
            close(after.growth, 55_500.0) && close(after.afterwards, 10.0),
            "{after:?}"
        );
        assert!(after.at_first > 0.92 && after.flattens());
        assert!(close(after.rates[1], 20.0) && close(after.rates[2], 6.7));
    }

    #[test]
    fn four_samples_are_no_verdict() {
        for arm in ["before", "after"] {
            let analysis = analyse(&published(arm), 4096.0);
            assert_eq!(analysis.shape, Shape::TooShort);
            assert_eq!(analysis.flaw, Some(Flaw::TooShort(4)));
        }
        assert_eq!(Handful::of(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(
            Handful::of(&[(0.0, 1.0), (1.0, f64::NAN), (2.0, 2.0)]),
            None
        );
        assert_eq!(Handful::of(&[(0.0, 1.0), (0.0, 1.0), (2.0, 2.0)]), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(samples in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..12)) {
            if let Some(found) = Handful::of(&samples) {
                let _ = found.flattens();
            }
        }
    }
}
