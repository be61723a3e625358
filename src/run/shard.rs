//! One part of a run that several machines share: which part it is, and what belongs to it. Pure.
mod durations;

pub use durations::{Durations, DurationsError};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// More parts than this are a typing error.
const MOST: u32 = 10_000;

/// Part `index` of `count`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    /// Which part it is, from 1.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// How many parts there are.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// Whether what was dealt to part `dealt` (from 0) is this part's.
    #[must_use]
    pub const fn has(self, dealt: u32) -> bool {
        dealt + 1 == self.index
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.index, self.count)
    }
}

/// Not `i/n` with i from 1 to n.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no shard: give i/n with i from 1 to n, such as 2/4")]
pub struct BadShard(String);

impl FromStr for Shard {
    type Err = BadShard;

    fn from_str(text: &str) -> Result<Self, BadShard> {
        let bad = || BadShard(text.to_owned());
        let number = |digits: &str| -> Option<u32> {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse().ok()).flatten()
        };
        let (index, count) = text.split_once('/').ok_or_else(bad)?;
        let (index, count) = number(index).zip(number(count)).ok_or_else(bad)?;
        if (1..=count).contains(&index) && count <= MOST {
            Ok(Self { index, count })
        } else {
            Err(bad())
        }
    }
}

impl TryFrom<String> for Shard {
    type Error = BadShard;

    fn try_from(text: String) -> Result<Self, BadShard> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

/// Deals things of these weights out to `count` parts: the heaviest first, each to the part that has least so far; the part
/// of each thing, from 0. The same weights in the same order always give the same deal.
#[must_use]
pub fn deal(weights: &[f64], count: u32) -> Vec<u32> {
    let count = count.max(1) as usize;
    let sane = |weight: f64| {
        if weight.is_finite() {
            weight.max(0.0)
        } else {
            0.0
        }
    };
    let mut heaviest_first: Vec<usize> = (0..weights.len()).collect();
    heaviest_first.sort_by(|left, right| {
        let order = sane(weights[*right]).total_cmp(&sane(weights[*left]));
        order.then(left.cmp(right))
    });
    // things without weight still count as things: the number decides between parts of equal weight
    let mut loads = vec![(0.0_f64, 0_usize); count];
    let mut parts = vec![0_u32; weights.len()];
    for thing in heaviest_first {
        let least = (0..count)
            .min_by(|left, right| {
                let (left, right) = (&loads[*left], &loads[*right]);
                left.0.total_cmp(&right.0).then(left.1.cmp(&right.1))
            })
            .unwrap_or(0);
        loads[least].0 += sane(weights[thing]);
        loads[least].1 += 1;
        parts[thing] = u32::try_from(least).unwrap_or(0);
    }
    parts
}

/// Weights for [`deal`]: what is recorded, and for what is not recorded the median of what is; 1 where nothing is.
#[must_use]
pub fn weights(recorded: &[Option<f64>]) -> Vec<f64> {
    let known: Vec<f64> = recorded.iter().flatten().copied().collect();
    let usual = crate::stats::robust::median(&known).unwrap_or(1.0);
    recorded
        .iter()
        .map(|weight| weight.unwrap_or(usual))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_shard_is_one_of_n() {
        for (text, index, count) in [("1/1", 1, 1), ("2/4", 2, 4), ("8/8", 8, 8)] {
            let shard: Shard = text.parse().unwrap();
            assert_eq!((shard.index(), shard.count()), (index, count));
            assert_eq!(shard.to_string(), text);
        }
        for text in [
            "", "1", "0/4", "5/4", "1/0", "-1/4", "+1/4", "1/4/2", "a/b", " 1/2", "1/99999",
        ] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_recorded_weighs_the_usual() {
        assert_eq!(weights(&[None, None]), [1.0, 1.0]);
        assert_eq!(weights(&[Some(4.0), None, Some(2.0)]), [4.0, 3.0, 2.0]);
    }

    proptest! {
        #[test]
        fn every_text_is_a_shard_or_refused(text in "[0-9/+ -]{0,8}") {
            if let Ok(shard) = text.parse::<Shard>() {
                prop_assert!(shard.index() >= 1 && shard.index() <= shard.count());
            }
        }

        #[test]
        fn a_deal_is_whole_balanced_and_repeatable(
            weights in prop::collection::vec(0.0..100.0_f64, 0..60), count in 1_u32..9,
        ) {
            let parts = deal(&weights, count);
            prop_assert_eq!(&parts, &deal(&weights, count));
            prop_assert_eq!(parts.len(), weights.len());
            let load = |part: u32| -> f64 {
                parts.iter().zip(&weights).filter(|(own, _)| **own == part).map(|(_, weight)| weight).sum()
            };
            let total: f64 = weights.iter().sum();
            let heaviest = weights.iter().copied().fold(0.0, f64::max);
            for part in 0..count {
                // what dealing the heaviest first guarantees
                prop_assert!(load(part) <= total / f64::from(count) + heaviest + 1e-9);
            }
            prop_assert!(parts.iter().all(|part| *part < count));
        }

        #[test]
        fn equal_weights_are_dealt_by_count(things in 0_usize..50, count in 1_u32..9) {
            let parts = deal(&vec![1.0; things], count);
            let sizes: Vec<usize> = (0..count).map(|part| parts.iter().filter(|own| **own == part).count()).collect();
            let (least, most) = (sizes.iter().min().copied(), sizes.iter().max().copied());
            prop_assert!(most.unwrap_or(0) - least.unwrap_or(0) <= 1);
        }
    }
}
