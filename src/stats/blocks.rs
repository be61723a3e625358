//! Reduces a curve of any length to a few block medians, with memory for one block at a time, and says what is wrong with it.
use super::robust;
use std::collections::BTreeMap;
use std::fmt;

/// Samples that lie further apart than this many usual distances leave a gap.
const GAP_FACTOR: f64 = 16.0;

/// What makes a curve unfit to clear anyone: growth could hide in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// So many samples are no numbers.
    NotANumber(usize),
    /// So many samples are not after the one before: a clock that jumped, or a run that began anew.
    Backwards(usize),
    /// A stretch without samples.
    Gap,
    /// Fewer samples than anything can be said from.
    TooShort(usize),
}

impl fmt::Display for Flaw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        match *self {
            Self::NotANumber(count) => {
                write!(
                    formatter,
                    "{count} sample{} without a usable value",
                    plural(count)
                )
            }
            Self::Backwards(count) => write!(
                formatter,
                "{count} sample{} not after the one before",
                plural(count)
            ),
            Self::Gap => formatter.write_str("a stretch without samples"),
            Self::TooShort(count) => write!(formatter, "only {count} usable samples"),
        }
    }
}

/// A curve in blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Blocks {
    /// The medians of x and y of each block of usable samples.
    pub medians: Vec<(f64, f64)>,
    /// Samples that were used.
    pub used: usize,
    /// Samples that are no numbers.
    pub not_a_number: usize,
    /// Samples whose x does not go forward.
    pub backwards: usize,
    /// The longest distance between two used samples.
    pub widest: f64,
    /// The usual distance, down to a power of two; absent with fewer than two used samples. Holes do not make it longer.
    pub usual: Option<f64>,
    /// The smallest amount by which the value ever changed, from nothing at first: the pieces that the figure comes in.
    pub grain: Option<f64>,
    /// Highest used value.
    pub peak: Option<f64>,
    /// Last used value.
    pub last: Option<f64>,
}

impl Blocks {
    /// Reduces samples (x, y), in the order in which they were taken, to at most `most` blocks.
    #[must_use]
    pub fn of(samples: &[(f64, f64)], most: usize) -> Self {
        let size = samples.len().div_ceil(most.max(1)).max(1);
        let mut blocks = Self::default();
        let mut xs = Vec::with_capacity(size);
        let mut ys = Vec::with_capacity(size);
        let mut before: Option<f64> = None;
        let mut distances = Distances::default();
        for &(x, y) in samples {
            if !x.is_finite() || !y.is_finite() {
                blocks.not_a_number += 1;
                continue;
            }
            match before {
                Some(last) if x <= last => {
                    blocks.backwards += 1;
                    continue;
                }
                Some(last) => {
                    blocks.widest = blocks.widest.max(x - last);
                    distances.take(x - last);
                }
                None => {}
            }
            before = Some(x);
            blocks.used += 1;
            let change = (y - blocks.last.unwrap_or(0.0)).abs();
            if change > 0.0 {
                blocks.grain = Some(blocks.grain.map_or(change, |grain| grain.min(change)));
            }
            blocks.last = Some(y);
            blocks.peak = Some(blocks.peak.map_or(y, |peak| peak.max(y)));
            xs.push(x);
            ys.push(y);
            if xs.len() == size {
                blocks.close(&mut xs, &mut ys);
            }
        }
        blocks.close(&mut xs, &mut ys);
        blocks.usual = distances.median();
        blocks
    }

    fn close(&mut self, xs: &mut Vec<f64>, ys: &mut Vec<f64>) {
        if let (Some(x), Some(y)) = (robust::median_in_place(xs), robust::median_in_place(ys)) {
            self.medians.push((x, y));
        }
        xs.clear();
        ys.clear();
    }

    /// What is wrong with the samples, worst first; `fewest` usable ones are needed.
    #[must_use]
    pub fn flaw(&self, fewest: usize) -> Option<Flaw> {
        if self.used < fewest {
            Some(Flaw::TooShort(self.used))
        } else if self.not_a_number > 0 {
            Some(Flaw::NotANumber(self.not_a_number))
        } else if self.backwards > 0 {
            Some(Flaw::Backwards(self.backwards))
        } else if self.has_gap() {
            Some(Flaw::Gap)
        } else {
            None
        }
    }

    fn has_gap(&self) -> bool {
        self.usual
            .is_some_and(|usual| self.widest > GAP_FACTOR * usual)
    }
}

/// Distances between samples, counted by their power of two: as much memory whatever the length of the run.
#[derive(Debug, Default)]
struct Distances(BTreeMap<i32, usize>);

impl Distances {
    fn take(&mut self, distance: f64) {
        *self.0.entry(distance.log2().floor() as i32).or_default() += 1;
    }

    /// The power of two below the median.
    fn median(&self) -> Option<f64> {
        let all: usize = self.0.values().sum();
        let mut seen = 0;
        let middle = self.0.iter().find(|(_, count)| {
            seen += **count;
            2 * seen >= all
        });
        middle.map(|(power, _)| f64::from(*power).exp2())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn flaws_are_named() {
        let line =
            |length: u32| -> Vec<(f64, f64)> { (0..length).map(|x| (f64::from(x), 8.0)).collect() };
        let flaw = |samples: &[(f64, f64)]| Blocks::of(samples, 64).flaw(12);
        assert_eq!(flaw(&line(300)), None);
        assert_eq!(flaw(&[]), Some(Flaw::TooShort(0)));
        assert_eq!(flaw(&line(1)), Some(Flaw::TooShort(1)));
        let mut holes = line(300);
        holes[7].1 = f64::NAN;
        assert_eq!(flaw(&holes), Some(Flaw::NotANumber(1)));
        let mut jump = line(300);
        jump[200].0 = 3.0;
        assert_eq!(flaw(&jump), Some(Flaw::Backwards(1)));
        let mut gap = line(300);
        gap.drain(100..150);
        assert_eq!(flaw(&gap), Some(Flaw::Gap));
        // one that is most of the run, and several
        let mut gap = line(60);
        gap.drain(12..48);
        assert_eq!(flaw(&gap), Some(Flaw::Gap));
        let mut gap = line(300);
        for start in [220, 140, 60] {
            gap.drain(start..start + 50);
        }
        assert_eq!(flaw(&gap), Some(Flaw::Gap));
        // every fifth sample, and not quite regular
        let sparse: Vec<_> = line(300).into_iter().step_by(5).collect();
        assert_eq!(flaw(&sparse), None);
        let uneven = line(300)
            .into_iter()
            .filter(|(x, _)| (*x as u64 * 7919) % 10 < 4);
        assert_eq!(flaw(&uneven.collect::<Vec<_>>()), None);
        // the last step is sampled too, whatever the distance of the others
        let mut uneven: Vec<_> = line(3000).into_iter().step_by(6).collect();
        uneven.push((2999.0, 8.0));
        assert_eq!(flaw(&uneven), None);
    }

    #[test]
    fn the_pieces_of_a_figure() {
        let grain = |levels: &[f64]| {
            let samples: Vec<_> = levels
                .iter()
                .enumerate()
                .map(|(x, y)| (x as f64, *y))
                .collect();
            Blocks::of(&samples, 8).grain
        };
        assert_eq!(grain(&[24.0, 24.0, 32.0, 48.0]), Some(8.0));
        // never moved: it may come in pieces of any size up to its own
        assert_eq!(grain(&[24.0, 24.0]), Some(24.0));
        assert_eq!(grain(&[0.0, 0.0]), None);
    }

    proptest! {
        #[test]
        fn blocks_stay_within_the_samples(ys in proptest::collection::vec(-1e9..1e9_f64, 1..500), most in 1_usize..130) {
            let samples: Vec<_> = ys.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
            let blocks = Blocks::of(&samples, most);
            prop_assert!(blocks.medians.len() <= most && !blocks.medians.is_empty());
            let lowest = ys.iter().copied().fold(f64::INFINITY, f64::min);
            let highest = ys.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(blocks.medians.iter().all(|(_, y)| (lowest..=highest).contains(y)));
            prop_assert_eq!(blocks.peak, Some(highest));
        }

        #[test]
        fn nothing_panics(samples in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..300), most in 0_usize..9) {
            let _ = Blocks::of(&samples, most).flaw(12);
        }
    }
}
