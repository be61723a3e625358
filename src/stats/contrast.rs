//! One pair of curves with the same seed: how much more the second grows, and whether this one pair shows it by itself.
use super::curve::{Analysis, Shape};

/// What one pair says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// Slope of the second minus slope of the first, in units of y per x.
    pub difference: f64,
    /// The same over the first and over the second half of the part that counts.
    pub halves: Option<[f64; 2]>,
    /// Growth that only the second hides in steps that were taken out of its fit, per x.
    pub hidden: f64,
    /// The smallest difference that this pair alone would show, were it not for `floor`.
    pub detectable: f64,
    /// Growth that can hide below one piece of the figure, however quiet it is: memory that comes in segments of megabytes
    /// does not move for a while.
    pub floor: f64,
    /// Whether this pair alone shows growth: beyond the budget, beyond everything else that the curve does, all along, and not
    /// slowing down.
    pub evident: bool,
}

/// Compares the curve of the patched process with that of the baseline, against a budget of growth; nothing when one of them
/// is too short.
#[must_use]
pub fn contrast(before: &Analysis, after: &Analysis, budget: f64) -> Option<Contrast> {
    let (known, seen) = (before.slope?, after.slope?);
    let difference = seen.estimate - known.estimate;
    // what both do at the same steps is not noise: their difference may be far quieter than either
    let apart = after.minus(before, budget);
    let by_itself = after.shape == Shape::Growing
        && after.steady
        && difference > budget
        && !bends(after)
        && seen.low > known.high
        // where the baseline grows all the same, it has to be a different growth
        && (before.shape != Shape::Growing || seen.low > 2.0 * known.high.max(0.0));
    // two caches that fill at different speeds differ by a rise, too
    let fills = after.shape == Shape::Filling || bends(after);
    let by_difference = apart.as_ref().is_some_and(|apart| {
        // what both do alike is gone, to less than a tenth: then nothing of a cache is left either
        let cancels = apart.range < 0.1 * after.range;
        (cancels || !fills)
            && apart.shape == Shape::Growing
            && apart.steady
            && !bends(apart)
            && apart.slope.is_some_and(|slope| slope.estimate > budget)
    });
    let hidden = after.hidden() - before.hidden();
    let floor = if after.span > 0.0 {
        before.grain.min(after.grain) / after.span
    } else {
        f64::INFINITY
    };
    let detectable = [Some(after), apart.as_ref()]
        .into_iter()
        .flatten()
        .filter_map(|analysis| analysis.minimal_detectable)
        .fold(f64::INFINITY, f64::min);
    Some(Contrast {
        difference,
        halves: after
            .halves
            .zip(before.halves)
            .map(|(after, before)| [after[0] - before[0], after[1] - before[1]]),
        hidden,
        detectable,
        floor,
        evident: by_itself || by_difference,
    })
}

/// Whether a curve gives any sign of a cache that fills: less growth in its second half than in its second quarter, and less
/// in the later part of what counts than in the earlier. A leak has the second of these half of the time, never the first.
fn bends(curve: &Analysis) -> bool {
    curve.doubling.is_some_and(|ratio| ratio < 1.0)
        && curve.halves.is_some_and(|[early, late]| late < early)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::curve::analyse;
    use proptest::prelude::*;

    fn of(before: impl Fn(f64) -> f64, after: impl Fn(f64) -> f64) -> Contrast {
        let curve = |level: &dyn Fn(f64) -> f64| {
            let samples: Vec<_> = (0..400)
                .map(|x| (f64::from(x), level(f64::from(x))))
                .collect();
            analyse(&samples, 1.0)
        };
        contrast(&curve(&before), &curve(&after), 1.0).unwrap()
    }

    #[test]
    fn what_both_arms_do_cancels() {
        let teeth = |x: f64| 900.0 * (x % 100.0);
        let found = of(teeth, |x| teeth(x) + 40.0 * x);
        assert!(found.evident, "{found:?}");
        assert!((found.difference - 40.0).abs() < 1e-6);
        assert!(found.detectable < 1.0 && found.floor < 5.0, "{found:?}");
        assert!(!of(teeth, teeth).evident);
    }

    #[test]
    fn a_cache_that_fills_and_a_step_are_no_evidence() {
        assert!(!of(|_| 5.0, |x| 9e4 * (1.0 - (-x / 90.0).exp())).evident);
        let step = of(|_| 5.0, |x| if x < 300.0 { 5.0 } else { 9e4 });
        assert!(!step.evident);
        assert!(step.hidden > 400.0 && step.detectable > 400.0);
        // a different growth than the baseline's own
        assert!(of(|x| 10.0 * x, |x| 90.0 * x).evident);
    }

    proptest! {
        #[test]
        fn nothing_panics(
            before in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..60),
            after in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..60),
            budget in any::<f64>(),
        ) {
            let _ = contrast(&analyse(&before, budget), &analyse(&after, budget), budget);
        }

        #[test]
        fn an_arm_is_never_worse_than_itself(ys in proptest::collection::vec(0.0..1e9_f64, 12..300)) {
            let samples: Vec<_> = ys.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
            let analysis = analyse(&samples, 1.0);
            let found = contrast(&analysis, &analysis, 1.0).unwrap();
            prop_assert!(!found.evident && found.difference == 0.0);
        }
    }
}
