//! Reads one memory curve: where the warm-up ends, which steps it takes, how it grows after that, and what shape it has.
use super::robust;
use super::slope::{Slope, theil_sen};

/// Most blocks that a curve is reduced to: bounds the work of the fit whatever the length of the run.
const BLOCKS: usize = 128;
/// Fewer samples than this in all say nothing about growth.
const FEWEST: usize = 12;
/// A run of this many steps or fewer in the part that counts is a level that moved, not a staircase.
const ISOLATED_STEPS: usize = 2;
/// A step is this many times the usual change from block to block.
const STEP_FACTOR: f64 = 8.0;
/// A curve that fills a cache grows in its last part at less than this share of its growth before.
const SATURATED: f64 = 0.4;

/// What a curve looks like after its warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Its slope is within the budget.
    Flat,
    /// It grows by more than the budget and does not slow down.
    Growing,
    /// It grows by more than the budget but slows down: a cache that fills.
    Filling,
    /// It rises by more than the budget between drops that take it all back.
    SawTooth,
    /// It falls by more than the budget.
    Falling,
    /// Its interval holds both growth beyond the budget and none.
    Unclear,
    /// Too few usable samples to say anything.
    TooShort,
}

/// A level that moved between two blocks and was taken out before the fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Where, on the x axis.
    pub at: f64,
    /// By how much.
    pub size: f64,
}

/// What a curve says.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// What it looks like.
    pub shape: Shape,
    /// Growth after warm-up with isolated steps removed; absent when [`Shape::TooShort`].
    pub slope: Option<Slope>,
    /// Growth in the longest stretch between two releases after the first quarter; absent when nothing was released there. A
    /// limit or `empty_cache` that takes everything back hides from `slope` what happens in between.
    pub rise: Option<Slope>,
    /// Where the part that counts begins, on the x axis.
    pub warm_up_end: f64,
    /// Length of the part that counts, on the x axis.
    pub span: f64,
    /// Isolated steps that were removed.
    pub steps: Vec<Step>,
    /// The smallest growth that this curve would have shown, in units of y per x: half its interval, or what its steps
    /// could hide, whichever is greater.
    pub minimal_detectable: Option<f64>,
    /// Highest usable value.
    pub peak: Option<f64>,
    /// Last usable value.
    pub last: Option<f64>,
    /// Samples that were left out: not finite, or not after the one before.
    pub unusable: usize,
    /// Samples that were used.
    pub used: usize,
}

/// Analyses samples (x, y) in the order in which they were taken, against a budget of growth in units of y per x.
#[must_use]
pub fn analyse(samples: &[(f64, f64)], budget: f64) -> Analysis {
    let clean = clean(samples);
    let mut analysis = Analysis {
        shape: Shape::TooShort,
        slope: None,
        rise: None,
        warm_up_end: clean.first().map_or(0.0, |first| first.0),
        span: 0.0,
        steps: Vec::new(),
        minimal_detectable: None,
        peak: clean.iter().map(|(_, y)| *y).max_by(f64::total_cmp),
        last: clean.last().map(|(_, y)| *y),
        unusable: samples.len() - clean.len(),
        used: clean.len(),
    };
    // a curve that is mostly holes is not a short good one
    if clean.len() < FEWEST || analysis.unusable > clean.len() {
        return analysis;
    }
    let blocks = block_medians(&clean, BLOCKS);
    analysis.rise = longest_rise(&blocks[blocks.len() / 4..]);
    let start = warm_up(&blocks);
    let (tail, steps) = without_steps(&blocks[start..]);
    let (Some(first), Some(last)) = (tail.first(), tail.last()) else {
        return analysis;
    };
    analysis.warm_up_end = first.0;
    analysis.span = last.0 - first.0;
    let Some(slope) = theil_sen(&tail) else {
        return analysis;
    };
    let hidden = steps.iter().map(|step| step.size).sum::<f64>().max(0.0);
    let width = (slope.high - slope.low) / 2.0;
    analysis.minimal_detectable = Some(if analysis.span > 0.0 {
        width.max(hidden / analysis.span)
    } else {
        f64::INFINITY
    });
    analysis.shape = shape(&tail, &slope, budget);
    analysis.slope = Some(slope);
    analysis.steps = steps;
    analysis
}

/// Finite samples whose x goes forward.
fn clean(samples: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::with_capacity(samples.len());
    for (x, y) in samples {
        if x.is_finite() && y.is_finite() && kept.last().is_none_or(|last| *x > last.0) {
            kept.push((*x, *y));
        }
    }
    kept
}

/// Reduces to at most `most` blocks of equal length: the medians of x and y of each. A rest at the end joins the last.
#[must_use]
pub fn block_medians(samples: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let size = samples.len().div_ceil(most.max(1)).max(1);
    samples
        .chunks(size)
        .filter_map(|block| {
            let mut xs: Vec<f64> = block.iter().map(|(x, _)| *x).collect();
            let mut ys: Vec<f64> = block.iter().map(|(_, y)| *y).collect();
            Some((
                robust::median_in_place(&mut xs)?,
                robust::median_in_place(&mut ys)?,
            ))
        })
        .collect()
}

/// The index of the first block that counts: at least half is dropped, and more (up to three quarters) where two lines with
/// a break there fit far better than one.
fn warm_up(blocks: &[(f64, f64)]) -> usize {
    let count = blocks.len();
    let half = count / 2;
    let sums = Sums::over(blocks);
    let one_line = sums.residual(0, count);
    let best = (3..count.saturating_sub(3))
        .map(|at| (at, sums.residual(0, at) + sums.residual(at, count)))
        .min_by(|left, right| left.1.total_cmp(&right.1));
    match best {
        Some((at, two_lines))
            if at > half
                && at <= count * 3 / 4
                && improves(one_line, two_lines, count)
                && !jumps(&blocks[half..=at]) =>
        {
            at
        }
        _ => half,
    }
}

/// Whether most of the change over these blocks happens between two of them: a step, which is reported, not a warm-up,
/// which is dropped in silence.
fn jumps(blocks: &[(f64, f64)]) -> bool {
    let changes = || blocks.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs());
    changes().fold(0.0, f64::max) > 0.5 * changes().sum::<f64>()
}

/// Whether three more parameters, each worth log(n) by Schwarz's criterion, pay.
fn improves(one_line: f64, two_lines: f64, count: usize) -> bool {
    let n = count as f64;
    if one_line <= 0.0 {
        return false;
    }
    let ratio = (two_lines.max(0.0) / one_line).max(1e-12);
    n * ratio.ln() + 3.0 * n.ln() < 0.0
}

/// Running sums, so that the residual of a line over any range costs the same.
struct Sums(Vec<[f64; 5]>);

impl Sums {
    fn over(points: &[(f64, f64)]) -> Self {
        // centred first: the sums of squares of bytes would lose the digits that matter
        let n = points.len().max(1) as f64;
        let cx = points.iter().map(|point| point.0 / n).sum::<f64>();
        let cy = points.iter().map(|point| point.1 / n).sum::<f64>();
        let mut sums = vec![[0.0; 5]];
        let mut running = [0.0; 5];
        for (x, y) in points {
            let (x, y) = (x - cx, y - cy);
            for (sum, term) in running.iter_mut().zip([x, y, x * x, x * y, y * y]) {
                *sum += term;
            }
            sums.push(running);
        }
        Self(sums)
    }

    /// Sum of squared residuals of the least-squares line over a range.
    fn residual(&self, from: usize, to: usize) -> f64 {
        let n = (to - from) as f64;
        let mut part = self.0[to];
        for (sum, before) in part.iter_mut().zip(self.0[from]) {
            *sum -= before;
        }
        let [x, y, xx, xy, yy] = part;
        let (sxx, sxy, syy) = (xx - x * x / n, xy - x * y / n, yy - y * y / n);
        if sxx > 0.0 {
            (syy - sxy * sxy / sxx).max(0.0)
        } else {
            syy.max(0.0)
        }
    }
}

/// Takes isolated steps upwards out of a curve (a drop stays: without it a saw-tooth would be a ramp). More than [`ISOLATED_STEPS`] of them are how the curve grows (memory is taken from
/// the system in heaps of megabytes, so a leak of bytes looks like a staircase): they stay.
fn without_steps(blocks: &[(f64, f64)]) -> (Vec<(f64, f64)>, Vec<Step>) {
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

fn shape(tail: &[(f64, f64)], slope: &Slope, budget: f64) -> Shape {
    if slope.low > budget {
        if !floor(tail).rises {
            return Shape::SawTooth;
        }
        let (early, late) = tail.split_at(tail.len() / 2);
        return match (theil_sen(early), theil_sen(late)) {
            (Some(early), Some(late))
                if late.estimate < SATURATED * early.estimate && late.low <= budget =>
            {
                Shape::Filling
            }
            _ => Shape::Growing,
        };
    }
    if slope.high < -budget {
        return Shape::Falling;
    }
    if slope.high <= budget
        || slope.estimate.abs() <= budget && slope.low >= -budget && slope.high <= 2.0 * budget
    {
        return Shape::Flat;
    }
    match floor(tail) {
        Floor {
            rises: false,
            teeth: 3..,
        } => Shape::SawTooth,
        _ => Shape::Unclear,
    }
}

/// The lower edge of a curve.
struct Floor {
    /// Whether its lowest level rises.
    rises: bool,
    /// Parts between its drops.
    teeth: usize,
}

/// The parts of a curve between its drops.
fn teeth(tail: &[(f64, f64)]) -> Vec<&[(f64, f64)]> {
    let changes: Vec<f64> = tail.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let usual = robust::median(&changes).unwrap_or(0.0);
    let spread = robust::deviation(&changes).unwrap_or(0.0);
    let deepest = 0.5 * STEP_FACTOR * spread.max(usual.abs());
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, change) in changes.iter().enumerate() {
        if usual - change > deepest && deepest > 0.0 {
            parts.push(&tail[start..=index]);
            start = index + 1;
        }
    }
    parts.push(&tail[start..]);
    // a block across a drop is no tooth
    parts.retain(|part| part.len() > 1);
    parts
}

/// The slope of the longest part between drops; nothing when there are none, or no part is long enough for a slope.
fn longest_rise(blocks: &[(f64, f64)]) -> Option<Slope> {
    let teeth = teeth(blocks);
    let longest = teeth.iter().max_by_key(|tooth| tooth.len())?;
    if longest.len() == blocks.len() || longest.len() < 6 {
        return None;
    }
    theil_sen(longest)
}

/// Whether the lowest level rises by at least a fifth of the whole range. Pairwise slopes alone take a saw-tooth for growth:
/// it rises most of the time. The parts that are compared lie between its drops where it has some, else they are the first
/// and the last third.
fn floor(tail: &[(f64, f64)]) -> Floor {
    let lowest = |part: &[(f64, f64)]| part.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
    let highest = tail
        .iter()
        .map(|(_, y)| *y)
        .fold(f64::NEG_INFINITY, f64::max);
    let teeth = teeth(tail);
    let third = (tail.len() / 3).max(1);
    // the first tooth is cut somewhere on its way up
    let (first, last) = match teeth.as_slice() {
        [_, first, .., last] => (*first, *last),
        _ => (&tail[..third], &tail[tail.len() - third..]),
    };
    Floor {
        rises: lowest(last) - lowest(first) > 0.2 * (highest - lowest(tail)),
        teeth: teeth.len(),
    }
}

/// The growth of a cumulative counter per x after half of the run; absent when it ran backwards (a counter that wrapped or
/// was reset) or with fewer than two usable samples.
#[must_use]
pub fn rate_after_half(samples: &[(f64, f64)]) -> Option<f64> {
    let clean = clean(samples);
    let tail = clean.get(clean.len() / 2..)?;
    let (first, last) = (tail.first()?, tail.last()?);
    if last.0 <= first.0 || tail.windows(2).any(|pair| pair[1].1 < pair[0].1) {
        return None;
    }
    Some((last.1 - first.1) / (last.0 - first.0))
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

    #[test]
    fn counters_have_a_rate_unless_they_wrap() {
        assert_eq!(
            rate_after_half(&curve(100, |x| if x < 50.0 { 0.0 } else { x - 50.0 })),
            Some(1.0)
        );
        assert_eq!(
            rate_after_half(&curve(100, |x| if x < 90.0 { x } else { 0.0 })),
            None
        );
        assert_eq!(rate_after_half(&[(0.0, 1.0)]), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(samples in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..200), budget in any::<f64>()) {
            let _ = analyse(&samples, budget);
            let _ = rate_after_half(&samples);
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
