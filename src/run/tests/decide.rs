//! Whether a test is worse in one arm: the exact test on its reruns. Pure.
//!
//! Each rerun is a process of its own, and the arms take turns, so the runs of one arm are as independent of each other as
//! of the other arm's: Fisher's exact test on the two-by-two table applies. It is one-sided, since the direction is known
//! from the run that raised the question, and that run itself is not counted: it was picked for its outcome.

/// At most so many rounds, whatever the level.
const MOST_ROUNDS: u32 = 12;
/// Two looks at the data: after `rounds`, and after twice as many where the first look shows a tendency.
const LOOKS: f64 = 2.0;

/// How often, and at which level, each of several tests is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Design {
    /// Rounds until the first look.
    pub rounds: u32,
    /// Error level of one look at one test.
    pub level: f64,
}

impl Design {
    /// The fewest rounds whose clearest result reaches the level, shared among all `tests` (Bonferroni) and both looks.
    pub(super) fn new(level: f64, tests: usize) -> Self {
        let level = level / tests.max(1) as f64 / LOOKS;
        let rounds = (3..MOST_ROUNDS)
            .find(|rounds| fisher(*rounds, *rounds, 0, *rounds) <= level)
            .unwrap_or(MOST_ROUNDS);
        Self { rounds, level }
    }

    /// What the reruns so far say: `suspect` of `runs` runs in the arm under suspicion, `other` of `other_runs` in the
    /// other. `other_runs` is 0 where that arm is a recording.
    pub(super) fn decide(&self, suspect: u32, runs: u32, other: u32, other_runs: u32) -> Decision {
        if other_runs == 0 {
            return match (runs >= self.rounds, suspect) {
                (_, 0) if runs >= 3 => Decision::NotSeen,
                (true, count) if count == runs => Decision::Differs,
                (true, _) if runs >= 2 * self.rounds => Decision::Open,
                (true, count) if count * 3 <= runs => Decision::Open,
                _ => Decision::More,
            };
        }
        let rounds = runs.min(other_runs);
        let look = rounds == self.rounds || rounds >= 2 * self.rounds;
        if look && fisher(suspect, runs, other, other_runs) <= self.level {
            return Decision::Differs;
        }
        if rounds >= 3 && suspect == 0 && other == 0 {
            return Decision::NotSeen;
        }
        if rounds >= 2 * self.rounds {
            return if suspect > other {
                Decision::Open
            } else {
                Decision::Same
            };
        }
        if rounds >= self.rounds && suspect.saturating_sub(other) * 3 <= rounds {
            return Decision::Same;
        }
        if rounds >= 3 && suspect == runs && other == other_runs {
            return Decision::Same;
        }
        Decision::More
    }
}

/// What reruns of one test say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// Run it again.
    More,
    /// The arm under suspicion does it more often.
    Differs,
    /// Both do it, about as often.
    Same,
    /// Neither did it again.
    NotSeen,
    /// All rounds are spent, and there is a tendency that may be chance.
    Open,
}

/// The probability that the first arm has at least `first` of the events, if which arm has them is chance.
pub(super) fn fisher(first: u32, first_runs: u32, second: u32, second_runs: u32) -> f64 {
    let events = first + second;
    let all = first_runs + second_runs;
    let most = events.min(first_runs);
    let ways: f64 = (first..=most)
        .filter(|count| events - count <= second_runs)
        .map(|count| choose(first_runs, count) * choose(second_runs, events - count))
        .sum();
    (ways / choose(all, events)).clamp(0.0, 1.0)
}

fn choose(of: u32, count: u32) -> f64 {
    if count > of {
        return 0.0;
    }
    (0..count.min(of - count)).fold(1.0, |product, step| {
        product * f64::from(of - step) / f64::from(step + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_exact_test_has_known_values() {
        // the lady tasting tea
        assert!((fisher(4, 4, 0, 4) - 1.0 / 70.0).abs() < 1e-12);
        assert!((fisher(3, 4, 1, 4) - 17.0 / 70.0).abs() < 1e-12);
        assert!((fisher(0, 5, 0, 5) - 1.0).abs() < 1e-12);
        assert!((fisher(5, 5, 0, 5) - 1.0 / 252.0).abs() < 1e-12);
    }

    #[test]
    fn rounds_suffice_for_the_level() {
        for tests in [1, 2, 10, 100] {
            let design = Design::new(0.01, tests);
            assert_eq!(
                design.decide(design.rounds, design.rounds, 0, design.rounds),
                Decision::Differs,
                "{tests}"
            );
        }
        assert_eq!(Design::new(0.01, 1).rounds, 5);
    }

    #[test]
    fn what_is_not_seen_again_is_dropped_early() {
        let design = Design::new(0.01, 1);
        assert_eq!(design.decide(0, 2, 0, 2), Decision::More);
        assert_eq!(design.decide(0, 3, 0, 3), Decision::NotSeen);
        assert_eq!(design.decide(3, 3, 3, 3), Decision::Same);
    }

    #[test]
    fn a_tendency_gets_more_rounds_and_stays_open_when_they_do_not_decide() {
        let design = Design::new(0.01, 1);
        assert_eq!(design.decide(3, 5, 0, 5), Decision::More);
        assert_eq!(design.decide(3, 10, 1, 10), Decision::Open);
        assert_eq!(design.decide(8, 10, 0, 10), Decision::Differs);
        assert_eq!(design.decide(2, 10, 2, 10), Decision::Same);
    }

    #[test]
    fn against_a_recording_only_what_happens_every_time_counts() {
        let design = Design::new(0.01, 1);
        assert_eq!(design.decide(5, 5, 0, 0), Decision::Differs);
        assert_eq!(design.decide(4, 5, 0, 0), Decision::More);
        assert_eq!(design.decide(0, 3, 0, 0), Decision::NotSeen);
        assert_eq!(design.decide(9, 10, 0, 0), Decision::Open);
    }

    /// The whole procedure, on a test that fails with the same probability in both arms.
    #[test]
    fn the_error_level_holds() {
        let design = Design::new(0.01, 1);
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut chance = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 11) as f64 / (1_u64 << 53) as f64
        };
        for probability in [0.1, 0.3, 0.5, 0.8] {
            let wrong = (0..4000)
                .filter(|_| {
                    let (mut suspect, mut other) = (0, 0);
                    for round in 1.. {
                        suspect += u32::from(chance() < probability);
                        other += u32::from(chance() < probability);
                        match design.decide(suspect, round, other, round) {
                            Decision::More => {}
                            decision => return decision == Decision::Differs,
                        }
                    }
                    false
                })
                .count();
            assert!(wrong <= 60, "{wrong} of 4000 at {probability}");
        }
    }

    proptest! {
        #[test]
        fn a_probability_is_one(first in 0_u32..20, more in 0_u32..20, second in 0_u32..20, others in 0_u32..20) {
            let value = fisher(first, first + more, second, second + others);
            prop_assert!((0.0..=1.0).contains(&value));
        }

        #[test]
        fn rounds_end(bits in proptest::collection::vec(any::<(bool, bool)>(), 30), tests in 1_usize..200) {
            let design = Design::new(0.01, tests);
            let (mut suspect, mut other) = (0, 0);
            let ended = (1..).zip(&bits).any(|(round, (first, second))| {
                suspect += u32::from(*first);
                other += u32::from(*second);
                design.decide(suspect, round, other, round) != Decision::More
            });
            prop_assert!(ended);
        }
    }
}
