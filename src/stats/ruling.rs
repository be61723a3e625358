//! Whether one arm grows more than the other over several pairs of processes, and what growth would not have been missed.
//!
//! Two rules, either of which is enough. *Exact*: the differences of the pairs' slopes are greater than chance allows, by the
//! signed-rank test at the looks of [`super::sequential`]; it holds whatever the curves look like, because two equal arms could
//! be exchanged, and needs eight pairs. *Evident*: most pairs show growth each by itself ([`super::contrast`]); for few pairs,
//! and for devices on which a seed decides everything.
use super::contrast::Contrast;
use super::noise::Noise;
use super::paired::{Difference, hodges_lehmann};
use super::robust::median;
use super::sequential;
use super::signed_rank::p_greater;

/// Growth that has shrunk to less than this share in the later half is that of a cache that fills.
const FADING: f64 = 0.3;

/// What the pairs say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// It grows by more than the budget.
    Grows,
    /// It does not, and growth of the budget would not have been missed.
    Bounded,
    /// More pairs, or longer runs, are needed.
    Undecided,
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The exact test, at the look after so many pairs.
    Exact(usize),
    /// Most pairs by themselves.
    Evident,
    /// The differences are real but shrink: a cache that fills later.
    Fading,
    /// A few pairs show growth, the others do not.
    Split,
    /// Steps that the baseline does not have could be growth.
    Hidden,
    /// Noise: the smallest growth that would have been found is above the budget.
    Noise,
    /// Nothing that counts.
    Nothing,
}

/// The conclusion from all pairs of one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// What they say.
    pub ruling: Ruling,
    /// What decided.
    pub basis: Basis,
    /// Hodges–Lehmann estimate and interval; absent without pairs.
    pub difference: Option<Difference>,
    /// The one-sided exact signed-rank probability over all pairs.
    pub p: f64,
    /// Pairs that show growth by themselves.
    pub evident: usize,
    /// Pairs.
    pub pairs: usize,
    /// The smallest growth that this design finds with a chance of 95%; twice that it does not miss. Infinite where nothing can
    /// be stated: fewer than eight pairs on a device that does not repeat itself.
    pub detectable: f64,
    /// The part of it that more pairs do not lower: what hides below one piece of the figure.
    pub floor: f64,
}

/// What is known of how much two runs of the same program differ.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Repeats {
    /// Not at all: a seed decides everything, or close to it.
    #[default]
    Exactly,
    /// By this much, as measured on equal arms.
    Within(Noise),
    /// Nobody knows: few pairs then clear nobody.
    Unknown,
}

/// Draws the conclusion.
#[must_use]
pub fn rule(contrasts: &[Contrast], budget: f64, repeats: &Repeats) -> Growth {
    let differences: Vec<f64> = contrasts.iter().map(|pair| pair.difference).collect();
    let evident = contrasts.iter().filter(|pair| pair.evident).count();
    let difference = hodges_lehmann(&differences);
    let mut growth = Growth {
        ruling: Ruling::Undecided,
        basis: Basis::Noise,
        difference,
        p: p_greater(&differences),
        evident,
        pairs: contrasts.len(),
        detectable: detectable(contrasts, repeats),
        floor: floor(contrasts),
    };
    let estimate = difference.map_or(0.0, |found| found.estimate);
    let mut decide = |ruling, basis| {
        growth.ruling = ruling;
        growth.basis = basis;
    };
    if let Some(look) = sequential::crossed(&differences).filter(|_| estimate > budget) {
        if fades(contrasts) {
            decide(Ruling::Undecided, Basis::Fading);
        } else {
            decide(Ruling::Grows, Basis::Exact(look));
        }
    } else if 2 * evident > contrasts.len() {
        decide(Ruling::Grows, Basis::Evident);
    } else if evident > 0 {
        decide(Ruling::Undecided, Basis::Split);
    } else if contrasts.is_empty() || growth.detectable.is_nan() {
        decide(Ruling::Undecided, Basis::Noise);
    } else if hides(contrasts, budget) {
        decide(Ruling::Undecided, Basis::Hidden);
    } else if growth.detectable > budget {
        decide(Ruling::Undecided, Basis::Noise);
    } else {
        decide(Ruling::Bounded, Basis::Nothing);
    }
    growth
}

/// Whether the differences shrink over the run.
fn fades(contrasts: &[Contrast]) -> bool {
    let half = |index: usize| {
        let values: Vec<f64> = contrasts
            .iter()
            .filter_map(|pair| Some(pair.halves?[index]))
            .collect();
        hodges_lehmann(&values).map(|found| found.estimate)
    };
    match (half(0), half(1)) {
        (Some(early), Some(late)) => late < FADING * early,
        _ => false,
    }
}

/// Whether most pairs hide growth above the budget in steps that only one arm takes.
fn hides(contrasts: &[Contrast], budget: f64) -> bool {
    let hidden = contrasts.iter().filter(|pair| pair.hidden > budget).count();
    2 * hidden > contrasts.len()
}

fn floor(contrasts: &[Contrast]) -> f64 {
    let floors: Vec<f64> = contrasts.iter().map(|pair| pair.floor).collect();
    median(&floors).unwrap_or(f64::INFINITY)
}

fn detectable(contrasts: &[Contrast], repeats: &Repeats) -> f64 {
    let differences: Vec<f64> = contrasts.iter().map(|pair| pair.difference).collect();
    let looked = sequential::looked_at(contrasts.len());
    if looked > 0 {
        // what these pairs show around their center, wherever that is
        let seen = Noise::around_center(&differences);
        let at = |noise: Noise| noise.detectable(looked);
        let stated = match (repeats, seen) {
            // equal arms may repeat themselves where arms that differ do not: then what is seen counts
            (Repeats::Within(known), Some(seen)) if seen.observed() > known.deviation => {
                at(seen).max(at(*known))
            }
            (Repeats::Within(known), _) => at(*known),
            (Repeats::Exactly | Repeats::Unknown, seen) => seen.map_or(f64::INFINITY, at),
        };
        return stated.max(floor(contrasts));
    }
    let alone: Vec<f64> = contrasts
        .iter()
        .map(|pair| pair.detectable.max(pair.floor))
        .collect();
    let Some(alone) = median(&alone) else {
        return f64::INFINITY;
    };
    let lowest = differences.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = differences
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let between = match repeats {
        Repeats::Exactly => 0.0,
        // what one pair shows says nothing about how much the next may differ
        Repeats::Within(noise) if noise.greatest > 0.0 => f64::INFINITY,
        Repeats::Within(_) => 0.0,
        Repeats::Unknown => f64::INFINITY,
    };
    alone.max((highest - lowest) / 2.0).max(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn silent_equal_arms_do_not_silence_what_the_pairs_show() {
        let silent = Repeats::Within(Noise::of(&[0.0; 8]).unwrap());
        let pairs = [-4e5, 1e5, 5e5, -2e5, 3e5, -1e5, 2e5, -3e5].map(pair);
        let found = rule(&pairs, 7e3, &silent);
        assert_eq!(
            (found.ruling, found.basis),
            (Ruling::Undecided, Basis::Noise)
        );
        assert!(found.detectable > 4e5, "{found:?}");
    }

    fn pair(difference: f64) -> Contrast {
        Contrast {
            difference,
            halves: Some([difference, difference]),
            hidden: 0.0,
            detectable: 1.0,
            floor: 0.0,
            evident: false,
        }
    }

    fn ruled(contrasts: &[Contrast], budget: f64) -> (Ruling, Basis) {
        let growth = rule(contrasts, budget, &Repeats::Exactly);
        (growth.ruling, growth.basis)
    }

    #[test]
    fn as_a_table() {
        use Basis as B;
        use Ruling::{Bounded, Grows, Undecided};
        let eight = |size: f64| -> Vec<Contrast> {
            (0..8)
                .map(|index| pair(size + 0.01 * f64::from(index)))
                .collect()
        };
        let fading = |size: f64| -> Vec<Contrast> {
            eight(size)
                .into_iter()
                .map(|pair| Contrast {
                    halves: Some([2.0 * size, 0.1 * size]),
                    ..pair
                })
                .collect()
        };
        let evident = |count: usize, all: usize| -> Vec<Contrast> {
            (0..all)
                .map(|index| Contrast {
                    evident: index < count,
                    ..pair(0.0)
                })
                .collect()
        };
        let hidden = vec![
            Contrast {
                hidden: 90.0,
                ..pair(0.0)
            };
            3
        ];
        let rows: Vec<(&str, Vec<Contrast>, f64, Ruling, Basis)> = vec![
            ("no pairs", vec![], 5.0, Undecided, B::Noise),
            ("equal arms", vec![pair(0.0); 2], 5.0, Bounded, B::Nothing),
            ("too noisy", vec![pair(0.0); 2], 0.5, Undecided, B::Noise),
            ("eight pairs up", eight(9.0), 5.0, Grows, B::Exact(8)),
            (
                "seven pairs up",
                eight(9.0)[..7].to_vec(),
                5.0,
                Bounded,
                B::Nothing,
            ),
            ("real but small", eight(3.0), 5.0, Bounded, B::Nothing),
            ("real but fading", fading(9.0), 5.0, Undecided, B::Fading),
            ("all evident", evident(2, 2), 5.0, Grows, B::Evident),
            ("most evident", evident(2, 3), 5.0, Grows, B::Evident),
            ("half evident", evident(1, 2), 5.0, Undecided, B::Split),
            ("steps", hidden, 5.0, Undecided, B::Hidden),
        ];
        for (name, contrasts, budget, ruling, basis) in rows {
            assert_eq!(ruled(&contrasts, budget), (ruling, basis), "{name}");
        }
    }

    #[test]
    fn what_equal_arms_differ_by_limits_what_can_be_said() {
        let quiet = vec![pair(0.0); 2];
        let noise = Noise::of(&[-40.0, 10.0, 35.0, -5.0, 20.0, -22.0, 3.0, 17.0]).unwrap();
        let ruling = |budget, repeats: &Repeats| rule(&quiet, budget, repeats).ruling;
        assert_eq!(ruling(5.0, &Repeats::Within(noise)), Ruling::Undecided);
        assert_eq!(ruling(500.0, &Repeats::Within(noise)), Ruling::Undecided);
        let quiet_machine = Noise::of(&[0.0; 8]).unwrap();
        assert_eq!(
            ruling(5.0, &Repeats::Within(quiet_machine)),
            Ruling::Bounded
        );
        assert_eq!(ruling(500.0, &Repeats::Exactly), Ruling::Bounded);
        assert_eq!(ruling(500.0, &Repeats::Unknown), Ruling::Undecided);
        let many = vec![pair(0.0); 8];
        assert_eq!(rule(&many, 5.0, &Repeats::Unknown).ruling, Ruling::Bounded);
    }

    proptest! {
        #[test]
        fn nothing_panics_and_nothing_is_bounded_without_power(
            values in proptest::collection::vec((any::<f64>(), any::<f64>(), any::<bool>()), 0..30), budget in any::<f64>(),
        ) {
            let contrasts: Vec<Contrast> = values
                .iter()
                .map(|(difference, detectable, evident)| Contrast {
                    detectable: *detectable,
                    evident: *evident,
                    ..pair(*difference)
                })
                .collect();
            let growth = rule(&contrasts, budget, &Repeats::Exactly);
            if growth.ruling == Ruling::Bounded {
                prop_assert!(growth.detectable <= budget);
            }
        }
    }
}
