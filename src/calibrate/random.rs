//! Random numbers of an experiment: the same seed, the same curves, on every machine.

/// A source of random numbers.
#[derive(Debug, Clone)]
pub struct Random(fastrand::Rng);

impl Random {
    /// A source for one part of one trial: parts with different numbers do not follow each other.
    #[must_use]
    pub fn new(seed: u64, parts: &[u64]) -> Self {
        // SplitMix64's finalizer (Steele, Lea & Flood 2014) over all parts
        let mixed = parts.iter().fold(seed, |state, part| {
            let mut word = state
                .wrapping_add(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(*part);
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        });
        Self(fastrand::Rng::with_seed(mixed))
    }

    /// Evenly between two bounds.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.f64()
    }

    /// A whole number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { self.0.usize(..bound) }
    }

    /// Heads or tails.
    pub fn coin(&mut self) -> bool {
        self.0.bool()
    }

    /// Normal, mean 0, deviation 1 (Box & Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let (first, second) = (1.0 - self.0.f64(), self.0.f64());
        (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos()
    }

    /// How many of many rare things happen, `mean` on average (Knuth's product of even numbers).
    pub fn poisson(&mut self, mean: f64) -> usize {
        let limit = (-mean).exp();
        let mut product = self.0.f64();
        let mut count = 0;
        while product > limit && count < 1000 {
            product *= self.0.f64();
            count += 1;
        }
        count
    }

    /// Some of `count` things in random order.
    pub fn choose(&mut self, count: usize, of: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..of).collect();
        self.0.shuffle(&mut all);
        all.truncate(count);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_right_and_seeds_repeat() {
        let mut random = Random::new(1, &[2, 3]);
        let values: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f64>() / 20_000.0;
        let square = values.iter().map(|value| value * value).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.05);
        let count: usize = (0..5000).map(|_| random.poisson(4.0)).sum();
        assert!((count as f64 / 5000.0 - 4.0).abs() < 0.15);
        let (mut one, mut same) = (Random::new(7, &[1]), Random::new(7, &[1]));
        assert!((one.normal() - same.normal()).abs() < f64::EPSILON);
        let mut other = Random::new(7, &[2]);
        assert!((one.normal() - other.normal()).abs() > f64::EPSILON);
    }
}
