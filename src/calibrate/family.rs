//! Curves without a leak, of the kinds that memory of training runs has: what a verdict must not cry wolf at.
use super::random::Random;

/// Steps of a synthetic run.
pub const STEPS: usize = 400;
const MIB: f64 = 1_048_576.0;

/// A kind of synthetic curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A level with independent noise.
    White,
    /// A level with noise that follows itself, each step 0.95 of the one before.
    Correlated,
    /// A cache that fills, each process at its own speed and to its own size.
    Saturating,
    /// One level shift at any step.
    OneStep,
    /// Four level shifts on average, at any steps.
    SeveralSteps,
    /// A cache that takes a block for each shape that it has not seen: both arms of a pair see the same shapes.
    ShapeFill,
    /// Garbage that is collected now and then, each process at its own times.
    SawTooth,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::White,
        Self::Correlated,
        Self::Saturating,
        Self::OneStep,
        Self::SeveralSteps,
        Self::ShapeFill,
        Self::SawTooth,
    ];

    /// The name in tables and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::White => "white",
            Self::Correlated => "ar1-0.95",
            Self::Saturating => "saturating-cache",
            Self::OneStep => "one-step",
            Self::SeveralSteps => "several-steps",
            Self::ShapeFill => "shape-fill",
            Self::SawTooth => "gc-sawtooth",
        }
    }

    /// The memory of one process in bytes, step by step. `seed` is what both arms of a pair share, `own` what they do not.
    #[must_use]
    pub fn curve(self, seed: &mut Random, own: &mut Random) -> Vec<f64> {
        let level = 64.0;
        let mebibytes: Vec<f64> = match self {
            Self::White => (0..STEPS).map(|_| level + own.normal()).collect(),
            Self::Correlated => {
                let mut noise = own.normal();
                (0..STEPS)
                    .map(|_| {
                        noise = 0.95 * noise + (1.0_f64 - 0.95 * 0.95).sqrt() * own.normal();
                        level + noise
                    })
                    .collect()
            }
            Self::Saturating => {
                let (size, speed) = (own.between(16.0, 64.0), own.between(30.0, 150.0));
                (0..STEPS)
                    .map(|step| {
                        level + size * (1.0 - (-(step as f64) / speed).exp()) + 0.25 * own.normal()
                    })
                    .collect()
            }
            Self::OneStep => shifted(level, 1, own),
            Self::SeveralSteps => {
                let count = own.poisson(4.0);
                shifted(level, count, own)
            }
            Self::ShapeFill => filled(level, seed, own),
            Self::SawTooth => {
                let mut garbage = own.between(0.0, 16.0);
                let mut limit = own.between(12.0, 20.0);
                (0..STEPS)
                    .map(|_| {
                        garbage += own.between(0.2, 0.6);
                        if garbage > limit {
                            garbage = 0.0;
                            limit = own.between(12.0, 20.0);
                        }
                        level + garbage
                    })
                    .collect()
            }
        };
        mebibytes.into_iter().map(|value| value * MIB).collect()
    }
}

/// A level that moves up by a heap at a few steps.
fn shifted(level: f64, count: usize, own: &mut Random) -> Vec<f64> {
    let at: Vec<usize> = (0..count).map(|_| own.below(STEPS)).collect();
    (0..STEPS)
        .map(|step| {
            let passed = at.iter().filter(|shift| **shift <= step).count();
            level + 8.0 * passed as f64 + 0.1 * own.normal()
        })
        .collect()
}

/// A block for each new shape; now and then one arm finds no room for it and takes another.
fn filled(level: f64, seed: &mut Random, own: &mut Random) -> Vec<f64> {
    const SHAPES: usize = 512;
    let mut seen = [false; SHAPES];
    let mut held = level;
    (0..STEPS)
        .map(|_| {
            let shape = seed.below(SHAPES);
            if !seen[shape] {
                seen[shape] = true;
                let block = 0.1 + shape as f64 / SHAPES as f64;
                held += block;
                if own.below(10) == 0 {
                    held += block;
                }
            }
            held
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_a_name_and_a_finite_curve_that_repeats() {
        for family in Family::ALL {
            let curve = || family.curve(&mut Random::new(1, &[1]), &mut Random::new(1, &[2]));
            assert_eq!(curve(), curve(), "{}", family.name());
            assert_eq!(curve().len(), STEPS);
            assert!(
                curve()
                    .iter()
                    .all(|bytes| bytes.is_finite() && *bytes > 0.0)
            );
        }
    }
}
