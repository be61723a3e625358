//! What equal arms differ by: measured on A/A pairs, and turned into the smallest growth that a design finds.
use super::sequential;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// How surely the standard deviation of few pairs is not underestimated.
const CONFIDENCE: f64 = 0.95;
/// A leak of twice the detectable size outweighs the greatest difference that equal arms ever showed.
const GREATEST: f64 = 0.55;
/// Standard deviations of the pairs' differences that the growth has to have so that the looks up to that one find it with a
/// chance of 95%. After 8 pairs: all of them must be positive, Φ(z)⁸ = 0.95; later ones by simulation, rounded up (a test
/// repeats it).
const STANDARD: [(usize, f64); 4] = [(8, 2.55), (12, 2.1), (16, 1.75), (24, 1.35)];

/// The differences of equal arms, summed up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Pairs that it was measured on.
    pub pairs: usize,
    /// Their standard deviation; on the safe side for few pairs.
    pub deviation: f64,
    /// The greatest difference, either way.
    pub greatest: f64,
}

impl Noise {
    /// From the differences of equal arms: their center is zero. Absent with fewer than two.
    #[must_use]
    pub fn of(differences: &[f64]) -> Option<Self> {
        let finite: Vec<f64> = differences
            .iter()
            .copied()
            .filter(|value| value.is_finite())
            .collect();
        Self::from_deviations(&finite, finite.len())
    }

    /// From the differences of arms that may differ: around their own center.
    #[must_use]
    pub fn around_center(differences: &[f64]) -> Option<Self> {
        let finite: Vec<f64> = differences
            .iter()
            .copied()
            .filter(|value| value.is_finite())
            .collect();
        let center = super::robust::median(&finite)?;
        let centred: Vec<f64> = finite.iter().map(|value| value - center).collect();
        Self::from_deviations(&centred, finite.len().saturating_sub(1))
    }

    fn from_deviations(values: &[f64], freedom: usize) -> Option<Self> {
        if values.len() < 2 || freedom == 0 {
            return None;
        }
        let squares: f64 = values.iter().map(|value| value * value).sum();
        // the upper end of the deviation's interval: what was measured on few pairs may well be greater
        let lower = ChiSquared::new(freedom as f64)
            .ok()?
            .inverse_cdf(1.0 - CONFIDENCE);
        let deviation = (squares / lower).sqrt();
        let greatest = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
        (deviation.is_finite() && greatest.is_finite()).then_some(Self {
            pairs: values.len(),
            deviation,
            greatest,
        })
    }

    /// The standard deviation as it was seen around a center of the same pairs, without what [`Self::deviation`] adds for the
    /// chance that few pairs were quiet ones.
    #[must_use]
    pub fn observed(&self) -> f64 {
        let freedom = self.pairs.saturating_sub(1).max(1) as f64;
        let lower =
            ChiSquared::new(freedom).map_or(freedom, |chi| chi.inverse_cdf(1.0 - CONFIDENCE));
        self.deviation * (lower / freedom).sqrt()
    }

    /// The smallest growth that is found with a chance of 95% after so many pairs; infinite before the first look.
    #[must_use]
    pub fn detectable(&self, pairs: usize) -> f64 {
        let looked = sequential::looked_at(pairs);
        STANDARD
            .iter()
            .find(|(look, _)| *look == looked)
            .map_or(f64::INFINITY, |(_, factor)| {
                (factor * self.deviation).max(GREATEST * self.greatest)
            })
    }

    /// The fewest pairs after which growth of this size is found with a chance of 95%; nothing when no look is enough.
    #[must_use]
    pub fn pairs_for(&self, growth: f64) -> Option<usize> {
        STANDARD
            .iter()
            .map(|(look, _)| *look)
            .find(|look| self.detectable(*look) <= growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A normal number from two even ones (Box & Muller 1958).
    fn normal(random: &mut fastrand::Rng) -> f64 {
        let (first, second) = (1.0 - random.f64(), random.f64());
        (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos()
    }

    #[test]
    fn what_was_seen_is_the_plain_deviation() {
        let noise = Noise::around_center(&[1.0, -1.0, 1.0, -1.0, 0.0]).unwrap();
        assert!((noise.observed() - 1.0).abs() < 1e-9, "{noise:?}");
        assert!(noise.deviation > 2.0);
    }

    #[test]
    fn the_stated_growth_is_found() {
        let mut random = fastrand::Rng::with_seed(7);
        for (pairs, factor) in STANDARD {
            let trials = 2000;
            let found = (0..trials)
                .filter(|_| {
                    let differences: Vec<f64> =
                        (0..pairs).map(|_| factor + normal(&mut random)).collect();
                    sequential::crossed(&differences).is_some()
                })
                .count();
            let share = f64::from(found as u32) / f64::from(trials);
            assert!(share > 0.94, "{pairs} pairs: {share}");
        }
    }

    #[test]
    fn few_pairs_are_not_taken_for_quiet_ones() {
        let few = Noise::of(&[1.0, -1.0]).unwrap();
        let many = Noise::of(&[1.0, -1.0].repeat(50)).unwrap();
        assert!(few.deviation > 4.0 && many.deviation < 1.2);
        assert_eq!(Noise::of(&[1.0]), None);
        assert_eq!(Noise::of(&[f64::NAN, f64::INFINITY]), None);
        assert_eq!(Noise::of(&[0.0; 8]).unwrap().detectable(8), 0.0);
        assert_eq!(many.detectable(7), f64::INFINITY);
        assert_eq!(many.pairs_for(2.5), Some(12));
        assert_eq!(many.pairs_for(0.1), None);
    }

    proptest! {
        #[test]
        fn more_pairs_find_no_less(values in proptest::collection::vec(-1e6..1e6_f64, 2..40)) {
            let noise = Noise::of(&values).unwrap();
            prop_assert!(noise.detectable(8) >= noise.detectable(12));
            prop_assert!(noise.detectable(16) >= noise.detectable(24));
        }
    }
}
