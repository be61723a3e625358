//! What a curve looks like after its warm-up: a leak, or one of the things that only look like it.
use super::robust;
use super::slope::{Slope, theil_sen};
use super::steps::STEP_FACTOR;

/// A curve that fills a cache grows in its last part at less than this share of its growth before.
const SATURATED: f64 = 0.4;
/// A cache that fills with new shapes slows down less than one of a fixed size, but by this much (a logarithm: 0.71) …
const SLOWING: f64 = 0.85;
/// … and does not grow in proportion when the run is doubled: a leak grows twice as much again, a logarithm once as much.
const DOUBLED: f64 = 1.4;
/// Growth over the part that counts has to be this many times the range of everything else that the curve does.
pub(super) const EVIDENT: f64 = 1.2;

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

/// Tells the shape of the part that counts, given its line, the range of what the line leaves, and how much the growth
/// doubles with the run ([`super::doubling`]).
pub(super) fn shape(
    tail: &[(f64, f64)],
    slope: &Slope,
    evident: Evident,
    doubling: Option<f64>,
    budget: f64,
) -> Shape {
    if slope.low > budget {
        if !floor(tail).rises {
            return Shape::SawTooth;
        }
        if evident == Evident::No {
            return Shape::Unclear;
        }
        return if slows_down(tail, doubling, budget) {
            Shape::Filling
        } else {
            Shape::Growing
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
        // the bend itself makes the line's interval wide
        _ if evident == Evident::Yes && slows_down(tail, doubling, budget) => Shape::Filling,
        _ => Shape::Unclear,
    }
}

/// Whether growth gets less over the part that counts, as that of a cache does.
fn slows_down(tail: &[(f64, f64)], doubling: Option<f64>, budget: f64) -> bool {
    let (early, late) = tail.split_at(tail.len() / 2);
    let (Some(early), Some(late)) = (theil_sen(early), theil_sen(late)) else {
        return false;
    };
    let saturated = late.estimate < SATURATED * early.estimate && late.low <= budget;
    let slowing =
        late.estimate < SLOWING * early.estimate && doubling.is_some_and(|ratio| ratio < DOUBLED);
    saturated || slowing
}

/// Whether growth stands out from everything else that a curve does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evident {
    Yes,
    No,
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
pub(super) fn longest_rise(blocks: &[(f64, f64)]) -> Option<Slope> {
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
