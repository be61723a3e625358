//! Levels that moved once: found, taken out of the fit, and reported.
use super::robust;

/// A run of this many steps or fewer in the part that counts is a level that moved, not a staircase.
const ISOLATED_STEPS: usize = 2;
/// A step is this many times the usual change from block to block.
pub(super) const STEP_FACTOR: f64 = 8.0;

/// A level that moved between two blocks and was taken out before the fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Where, on the x axis.
    pub at: f64,
    /// By how much.
    pub size: f64,
}

/// Takes isolated steps upwards out of a curve (a drop stays: without it a saw-tooth would be a ramp). More than two of
/// them are how the curve grows (memory is taken from the system in heaps of megabytes, so a leak of bytes looks like a
/// staircase): they stay.
pub(super) fn without_steps(blocks: &[(f64, f64)]) -> (Vec<(f64, f64)>, Vec<Step>) {
    let changes: Vec<f64> = blocks
        .windows(2)
        .map(|pair| pair[1].1 - pair[0].1)
        .collect();
    let usual = robust::median(&changes).unwrap_or(0.0);
    let spread = robust::deviation(&changes).unwrap_or(0.0);
    let threshold = (STEP_FACTOR * spread).max(usual.abs() * STEP_FACTOR);
    let found: Vec<usize> = (0..changes.len())
        .filter(|index| changes[*index] - usual > threshold)
        .collect();
    if found.is_empty() || found.len() > ISOLATED_STEPS {
        return (blocks.to_vec(), Vec::new());
    }
    let mut levelled = Vec::with_capacity(blocks.len());
    let mut steps = Vec::new();
    let mut shift = 0.0;
    for (index, (x, y)) in blocks.iter().enumerate() {
        if index > 0 && found.contains(&(index - 1)) {
            let size = changes[index - 1] - usual;
            shift += size;
            steps.push(Step { at: *x, size });
        }
        levelled.push((*x, y - shift));
    }
    (levelled, steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(level: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..64)
            .map(|x| (f64::from(x), level(f64::from(x))))
            .collect()
    }

    #[test]
    fn one_step_goes_and_a_staircase_stays() {
        let (levelled, steps) = without_steps(&curve(|x| x + if x < 30.0 { 0.0 } else { 500.0 }));
        assert_eq!(
            steps,
            [Step {
                at: 30.0,
                size: 500.0
            }]
        );
        assert_eq!(levelled, curve(|x| x));
        let stairs = curve(|x| (x / 10.0).floor() * 8.0);
        assert_eq!(without_steps(&stairs), (stairs, Vec::new()));
        let drop = curve(|x| if x < 30.0 { 8.0 } else { 0.0 });
        assert_eq!(without_steps(&drop), (drop, Vec::new()));
    }

    proptest! {
        #[test]
        fn what_is_taken_out_is_reported(ys in proptest::collection::vec(-1e6..1e6_f64, 2..64)) {
            let points: Vec<_> = ys.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
            let (levelled, steps) = without_steps(&points);
            let gone: f64 = steps.iter().map(|step| step.size).sum();
            let (last, kept) = (points[points.len() - 1].1, levelled[levelled.len() - 1].1);
            prop_assert!((last - kept - gone).abs() < 1e-6 * (1.0 + last.abs() + gone.abs()));
        }
    }
}
