//! Reads one memory curve: where the warm-up ends, which steps it takes, how it grows after that, and what shape it has.
use super::blocks::{Blocks, Flaw};
use super::robust;
use super::shape::{self, EVIDENT, Evident, longest_rise};
use super::slope::{Slope, theil_sen};
use super::steps::without_steps;
use super::{doubling, warm_up};

pub use super::shape::Shape;
pub use super::steps::Step;

/// Most blocks that a curve is reduced to: bounds the work of the fit whatever the length of the run.
const BLOCKS: usize = 128;
/// Fewer samples than this in all say nothing about growth.
pub const FEWEST: usize = 12;
/// Parts of the tail between which a leak has to go up, and how many of their borders may not.
const PARTS: usize = 8;
/// Borders between parts that a steady growth has to pass upwards.
const STEADY: usize = PARTS - 2;

/// What a curve says.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// What it looks like.
    pub shape: Shape,
    /// Growth after warm-up with isolated steps removed; absent when [`Shape::TooShort`].
    pub slope: Option<Slope>,
    /// The same of the first and of the second half of the part that counts.
    pub halves: Option<[f64; 2]>,
    /// Growth in the longest stretch between two releases after the first quarter; absent when nothing was released there. A
    /// limit or `empty_cache` that takes everything back hides from `slope` what happens in between.
    pub rise: Option<Slope>,
    /// Where the part that counts begins, on the x axis.
    pub warm_up_end: f64,
    /// Length of the part that counts, on the x axis.
    pub span: f64,
    /// Highest minus lowest of what the fitted line leaves in the part that counts.
    pub range: f64,
    /// Whether the part that counts goes up all along, not in a few places.
    pub steady: bool,
    /// Isolated steps that were removed.
    pub steps: Vec<Step>,
    /// By how much growth multiplied when the run doubled, see [`doubling::within`].
    pub doubling: Option<f64>,
    /// The pieces that the figure comes in, see [`Blocks::grain`].
    pub grain: f64,
    /// The smallest growth that this curve alone would have shown, in units of y per x: what stands out from its range, or
    /// what its steps could hide, whichever is greater.
    pub minimal_detectable: Option<f64>,
    /// Highest usable value.
    pub peak: Option<f64>,
    /// Last usable value.
    pub last: Option<f64>,
    /// Samples that were left out: not finite, or not after the one before.
    pub unusable: usize,
    /// Samples that were used.
    pub used: usize,
    /// What makes the curve unfit to clear anyone.
    pub flaw: Option<Flaw>,
    /// The whole curve in block medians.
    pub blocks: Vec<(f64, f64)>,
}

/// Analyses samples (x, y) in the order in which they were taken, against a budget of growth in units of y per x.
#[must_use]
pub fn analyse(samples: &[(f64, f64)], budget: f64) -> Analysis {
    let blocks = Blocks::of(samples, BLOCKS);
    let unusable = blocks.not_a_number + blocks.backwards;
    let mut analysis = Analysis {
        shape: Shape::TooShort,
        slope: None,
        halves: None,
        rise: None,
        warm_up_end: blocks.medians.first().map_or(0.0, |first| first.0),
        span: 0.0,
        range: 0.0,
        steady: false,
        steps: Vec::new(),
        doubling: None,
        grain: blocks.grain.unwrap_or(0.0),
        minimal_detectable: None,
        peak: blocks.peak,
        last: blocks.last,
        unusable,
        used: blocks.used,
        flaw: blocks.flaw(FEWEST),
        blocks: Vec::new(),
    };
    // a curve that is mostly holes is not a short good one
    if blocks.used >= FEWEST && unusable <= blocks.used {
        analysis.measure(blocks.medians, budget);
    }
    analysis
}

impl Analysis {
    /// The curve of the differences of two, block by block; nothing when they were not sampled at the same places.
    #[must_use]
    pub fn minus(&self, other: &Self, budget: f64) -> Option<Self> {
        let same = self.blocks.len() == other.blocks.len()
            && !self.blocks.is_empty()
            && self
                .blocks
                .iter()
                .zip(&other.blocks)
                .all(|(left, right)| left.0 == right.0);
        let differences: Vec<(f64, f64)> = self
            .blocks
            .iter()
            .zip(&other.blocks)
            .map(|(left, right)| (left.0, left.1 - right.1))
            .collect();
        same.then(|| analyse(&differences, budget))
            .filter(|found| found.slope.is_some())
    }

    fn measure(&mut self, blocks: Vec<(f64, f64)>, budget: f64) {
        self.rise = longest_rise(&blocks[blocks.len() / 4..]);
        self.doubling = doubling::within(&blocks);
        let (tail, steps) = without_steps(&blocks[warm_up::end(&blocks)..]);
        self.blocks = blocks;
        let (Some(first), Some(last)) = (tail.first(), tail.last()) else {
            return;
        };
        self.warm_up_end = first.0;
        self.span = last.0 - first.0;
        let Some(slope) = theil_sen(&tail) else {
            return;
        };
        let (early, late) = tail.split_at(tail.len() / 2);
        self.halves = theil_sen(early)
            .zip(theil_sen(late))
            .map(|(early, late)| [early.estimate, late.estimate]);
        self.range = range(&tail, &slope);
        self.steady = steady(&tail, slope.estimate * self.span);
        let hidden = steps.iter().map(|step| step.size).sum::<f64>().max(0.0);
        self.minimal_detectable = Some(if self.span > 0.0 {
            (EVIDENT * self.range).max(hidden) / self.span
        } else {
            f64::INFINITY
        });
        let evident = if slope.estimate * self.span > EVIDENT * self.range {
            Evident::Yes
        } else {
            Evident::No
        };
        self.shape = shape::shape(&tail, &slope, evident, self.doubling, budget);
        self.slope = Some(slope);
        self.steps = steps;
    }

    /// Growth that is hidden in the steps that were taken out, per x.
    #[must_use]
    pub fn hidden(&self) -> f64 {
        let sum: f64 = self.steps.iter().map(|step| step.size).sum();
        if self.span > 0.0 {
            sum / self.span
        } else {
            0.0
        }
    }
}

/// Highest minus lowest of what a line leaves.
fn range(tail: &[(f64, f64)], slope: &Slope) -> f64 {
    let rest = || tail.iter().map(|(x, y)| y - slope.estimate * x);
    let highest = rest().fold(f64::NEG_INFINITY, f64::max);
    let lowest = rest().fold(f64::INFINITY, f64::min);
    highest - lowest
}

/// Whether a curve passes nearly all borders between eight parts upwards, each by a fifth at least of its even share: a leak
/// does, a few levels that moved and a slow wave do not.
fn steady(tail: &[(f64, f64)], growth: f64) -> bool {
    if tail.len() < 2 * PARTS || growth <= 0.0 {
        return false;
    }
    let levels: Vec<f64> = (0..PARTS)
        .filter_map(|part| {
            let (from, to) = (part * tail.len() / PARTS, (part + 1) * tail.len() / PARTS);
            let values: Vec<f64> = tail[from..to].iter().map(|(_, y)| *y).collect();
            robust::median(&values)
        })
        .collect();
    let share = 0.2 * growth / (PARTS - 1) as f64;
    levels
        .windows(2)
        .filter(|pair| pair[1] - pair[0] > share)
        .count()
        >= STEADY
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: f64 = 1_048_576.0;
    const BUDGET: f64 = 4096.0;

    fn curve(length: usize, level: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..length).map(|x| (x as f64, level(x as f64))).collect()
    }

    fn shape_of(samples: &[(f64, f64)]) -> Shape {
        analyse(samples, BUDGET).shape
    }

    /// A fixed, even noise in −1 … 1.
    fn noise(x: f64) -> f64 {
        ((x * 12.9898).sin() * 43_758.545_3).fract()
    }

    #[test]
    fn the_shapes_of_training_runs() {
        let flat = curve(300, |_| 32.0 * MIB);
        assert_eq!(shape_of(&flat), Shape::Flat);
        // too noisy for the budget: not flat, and it says so
        let noisy = analyse(&curve(300, |x| 32.0 * MIB + noise(x) * 2.0 * MIB), BUDGET);
        assert_eq!(noisy.shape, Shape::Unclear);
        assert!(noisy.minimal_detectable.unwrap() > BUDGET);
        assert_eq!(
            shape_of(&curve(300, |x| (8.0 + 26.0 * x) * MIB)),
            Shape::Growing
        );
        // a leak of 400 KiB a step, seen in heaps of 8 MiB
        assert_eq!(
            shape_of(&curve(300, |x| ((x * 0.4 / 8.0).floor() * 8.0 + 8.0) * MIB)),
            Shape::Growing
        );
        // saw-tooth of empty_cache each 100 steps
        assert_eq!(
            shape_of(&curve(1000, |x| (32.0 + 26.0 * (x % 100.0)) * MIB)),
            Shape::SawTooth
        );
        // growth until a limit takes everything back
        let limited = analyse(
            &curve(
                200,
                |x| if x < 195.0 { 64.0 + 44.0 * x } else { 72.0 } * MIB,
            ),
            BUDGET,
        );
        assert_ne!(limited.shape, Shape::Flat);
        assert!((limited.rise.unwrap().estimate - 44.0 * MIB).abs() < MIB);
        assert_eq!(analyse(&curve(300, |_| 32.0 * MIB), BUDGET).rise, None);
        // the same with a leak under it
        assert_eq!(
            shape_of(&curve(1000, |x| (32.0 + 26.0 * (x % 100.0) + 20.0 * x) * MIB)),
            Shape::Growing
        );
        // a cache that fills
        let filling = curve(400, |x| 64.0 * MIB * (1.0 - (-x / 60.0).exp()));
        assert!(
            matches!(shape_of(&filling), Shape::Filling | Shape::Flat),
            "{:?}",
            shape_of(&filling)
        );
        assert_eq!(shape_of(&curve(300, |x| (900.0 - x) * MIB)), Shape::Falling);
    }

    #[test]
    fn a_late_warm_up_is_not_growth() {
        let samples = curve(400, |x| if x < 240.0 { x } else { 240.0 } * MIB);
        let analysis = analyse(&samples, BUDGET);
        assert!(analysis.warm_up_end >= 235.0, "{}", analysis.warm_up_end);
        assert_eq!(analysis.shape, Shape::Flat);
    }

    #[test]
    fn one_step_is_reported_and_limits_what_can_be_said() {
        let samples = curve(400, |x| if x < 300.0 { 32.0 } else { 40.0 } * MIB);
        let analysis = analyse(&samples, BUDGET);
        assert_eq!(analysis.shape, Shape::Flat);
        assert_eq!(analysis.steps.len(), 1);
        assert!((analysis.steps[0].size - 8.0 * MIB).abs() < 1.0);
        assert!(analysis.minimal_detectable.unwrap() > 8.0 * MIB / 200.0);
    }

    #[test]
    fn nothing_usable_is_never_flat() {
        for samples in [
            vec![],
            vec![(0.0, 1.0)],
            curve(300, |_| f64::NAN),
            curve(5, |_| 1.0),
            // a clock that stands still
            vec![(1.0, 8.0); 500],
            // mostly holes
            curve(300, |x| if x % 10.0 == 0.0 { 1.0 } else { f64::INFINITY }),
        ] {
            let analysis = analyse(&samples, BUDGET);
            assert_eq!(analysis.shape, Shape::TooShort);
            assert_eq!(analysis.minimal_detectable, None);
        }
    }

    #[test]
    fn a_million_samples_take_less_than_a_second() {
        let samples = curve(1_000_000, |x| 32.0 * MIB + noise(x) * MIB);
        let started = std::time::Instant::now();
        assert_eq!(shape_of(&samples), Shape::Flat);
        // unoptimised and on a busy machine
        assert!(started.elapsed().as_secs() < 5);
    }

    proptest! {
        #[test]
        fn nothing_panics(samples in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..200), budget in any::<f64>()) {
            let _ = analyse(&samples, budget);
        }

        #[test]
        fn a_leak_above_the_noise_is_found(leak in 0.05..50.0_f64, amplitude in 0.0..2.0_f64) {
            let samples = curve(400, |x| (32.0 + leak * x + amplitude * noise(x)) * MIB);
            prop_assert_eq!(shape_of(&samples), Shape::Growing);
        }

        #[test]
        fn noise_around_a_level_never_grows(level in 1.0..1e4_f64, amplitude in 0.0..1.0_f64, offset in 0.0..1e3_f64) {
            let samples = curve(400, |x| (level + amplitude * noise(x + offset)) * MIB);
            prop_assert_ne!(shape_of(&samples), Shape::Growing);
        }
    }
}
