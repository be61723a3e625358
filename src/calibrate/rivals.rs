//! How others look for a leak in one process, on the same curves. Each is written from its documented rule; none looks at a
//! second arm, but for the limit, which is set from the baseline.
use statrs::distribution::{ContinuousCDF, Normal};

/// A rule for one curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rival {
    /// Mann–Kendall's trend test over the whole run, one side, 1%.
    MannKendall,
    /// The last value is above the first.
    FirstLast,
    /// A limit on memory, as pytest-memray's markers set: 10% above the baseline's highest.
    Limit,
    /// psleak's: ever more calls, a leak when each round grows by more than the one before, ten rounds at most.
    GrowingRetries,
    /// The check of PyTorch's own tests: more memory after than before, at the end and after two more looks.
    Upstream,
}

impl Rival {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::MannKendall,
        Self::FirstLast,
        Self::Limit,
        Self::GrowingRetries,
        Self::Upstream,
    ];

    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MannKendall => "Mann–Kendall",
            Self::FirstLast => "first/last",
            Self::Limit => "limit (memray)",
            Self::GrowingRetries => "retries (psleak)",
            Self::Upstream => "upstream's check",
        }
    }

    /// Whether it calls the patched curve a leak.
    #[must_use]
    pub fn cries(self, baseline: &[f64], patched: &[f64]) -> bool {
        match self {
            Self::MannKendall => mann_kendall(patched) < 0.01,
            Self::FirstLast => match (patched.first(), patched.last()) {
                (Some(first), Some(last)) => last > first,
                _ => false,
            },
            Self::Limit => highest(patched) > 1.1 * highest(baseline),
            Self::GrowingRetries => growing_retries(patched),
            Self::Upstream => match (patched.first(), patched) {
                (Some(before), [.., first, second, last]) => {
                    [first, second, last].into_iter().all(|now| now > before)
                }
                _ => false,
            },
        }
    }
}

fn highest(curve: &[f64]) -> f64 {
    curve.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The one-sided probability of Kendall's S with its normal limit (Mann 1945; Kendall 1975).
fn mann_kendall(curve: &[f64]) -> f64 {
    let mut s = 0_i64;
    for (index, before) in curve.iter().enumerate() {
        for after in &curve[index + 1..] {
            s += i64::from(after > before) - i64::from(after < before);
        }
    }
    let n = curve.len() as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    match Normal::new(0.0, 1.0) {
        Ok(normal) if deviation > 0.0 => 1.0 - normal.cdf((s - 1) as f64 / deviation),
        _ => 1.0,
    }
}

/// Rounds of 1, 2, 3, … units of steps: it passes at the first round that grows by no more than the one before.
fn growing_retries(curve: &[f64]) -> bool {
    const ROUNDS: usize = 10;
    let unit = curve.len() / (ROUNDS * (ROUNDS + 1) / 2);
    if unit == 0 {
        return false;
    }
    let (mut start, mut grown) = (0, 0.0);
    for round in 1..=ROUNDS {
        let end = start + round * unit;
        let (Some(before), Some(after)) = (curve.get(start), curve.get(end - 1)) else {
            return false;
        };
        let growth = after - before;
        if growth <= grown {
            return false;
        }
        grown = growth;
        start = end;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finds_a_plain_leak_and_not_a_level() {
        let level = vec![100.0; 400];
        let leak: Vec<f64> = (0..400).map(|step| 100.0 + f64::from(step)).collect();
        for rival in Rival::ALL {
            assert!(rival.cries(&level, &leak), "{}", rival.name());
            assert!(!rival.cries(&level, &level), "{}", rival.name());
            assert!(!rival.cries(&[], &[]), "{}", rival.name());
        }
    }

    #[test]
    fn a_published_trend() {
        // ten values in order: S = 45, variance 125, z = 44 / 11.18
        let rising: Vec<f64> = (0..10).map(f64::from).collect();
        assert!((mann_kendall(&rising) - 4.15e-5).abs() < 1e-6);
    }
}
