//! How many mutants the proof finds, over all, by patch, by operator, by what found them.
use super::argued::Claim;
use super::operator::Operator;
use serde::Serialize;
use std::collections::BTreeMap;

/// The share of non-equivalent mutants that has to be found.
pub const GOAL: f64 = 0.95;

/// What shows a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// Wrong bytes.
    Data,
    /// The allocator's accounting, or the state of its blocks.
    Books,
    /// Memory, reuse, waits, instructions.
    Figures,
    /// The process crashed.
    Crash,
    /// Nothing moved any more.
    Deadlock,
    /// An error of the program's own.
    Error,
}

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Fate {
    /// Something found it.
    Killed {
        /// The scenario.
        scenario: String,
        /// The explorer's seed, where it was the explorer.
        #[serde(skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
        /// What showed it.
        by: Means,
        /// The verdict's reason.
        reason: String,
    },
    /// Nothing did.
    Survived {
        /// What the list says of it; nothing when it is not listed.
        claim: Option<Claim>,
        /// The list's reason.
        reason: String,
        /// Whether anything that ran came to its place.
        reached: bool,
    },
}

/// A mutant and what became of it, as far as the score needs to know.
#[derive(Debug, Clone)]
pub struct Judged<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its patch.
    pub patch: &'a str,
    /// Its operator.
    pub operator: Operator,
    /// What the list claims.
    pub claim: Option<Claim>,
    /// What became of it.
    pub fate: &'a Fate,
}

/// Counts of some mutants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Tally {
    /// All of them.
    pub mutants: usize,
    /// Those that were found.
    pub killed: usize,
    /// Those that are no faults.
    pub equivalent: usize,
    /// Killed ÷ (mutants − equivalent); 1 where there is nothing to find.
    pub score: f64,
}

impl Tally {
    fn add(&mut self, judged: &Judged<'_>) {
        self.mutants += 1;
        match judged.fate {
            Fate::Killed { .. } => self.killed += 1,
            Fate::Survived {
                claim: Some(Claim::Equivalent),
                ..
            } => self.equivalent += 1,
            Fate::Survived { .. } => {}
        }
        let faults = self.mutants - self.equivalent;
        self.score = if faults == 0 {
            1.0
        } else {
            self.killed as f64 / faults as f64
        };
    }
}

/// The score.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Score {
    /// Over all.
    pub all: Tally,
    /// By patch.
    pub by_patch: BTreeMap<String, Tally>,
    /// By operator.
    pub by_operator: BTreeMap<String, Tally>,
    /// Killed mutants by what showed them.
    pub by_means: BTreeMap<Means, usize>,
    /// Killed mutants by scenario.
    pub by_scenario: BTreeMap<String, usize>,
    /// Survivors that no list explains.
    pub unlisted: Vec<String>,
    /// Mutants that are listed as survivors, and were found.
    pub refuted: Vec<String>,
}

impl Score {
    /// Adds it up.
    #[must_use]
    pub fn of(all: &[Judged<'_>]) -> Self {
        let mut score = Self::default();
        for judged in all {
            score.all.add(judged);
            score
                .by_patch
                .entry(judged.patch.to_owned())
                .or_default()
                .add(judged);
            score
                .by_operator
                .entry(judged.operator.name().to_owned())
                .or_default()
                .add(judged);
            match judged.fate {
                Fate::Killed { scenario, by, .. } => {
                    *score.by_means.entry(*by).or_default() += 1;
                    *score.by_scenario.entry(scenario.clone()).or_default() += 1;
                    if judged.claim.is_some() {
                        score.refuted.push(judged.name.to_owned());
                    }
                }
                Fate::Survived { claim: None, .. } => score.unlisted.push(judged.name.to_owned()),
                Fate::Survived { .. } => {}
            }
        }
        score
    }

    /// Whether enough was found, and the list says what is so.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.all.mutants > 0
            && self.all.score >= GOAL
            && self.unlisted.is_empty()
            && self.refuted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn killed() -> Fate {
        Fate::Killed {
            scenario: "s".to_owned(),
            seed: None,
            by: Means::Books,
            reason: String::new(),
        }
    }

    fn survived(claim: Option<Claim>) -> Fate {
        Fate::Survived {
            claim,
            reason: String::new(),
            reached: true,
        }
    }

    fn score(fates: &[(&Fate, Option<Claim>)]) -> Score {
        let all: Vec<Judged<'_>> = fates
            .iter()
            .map(|(fate, claim)| Judged {
                name: "m",
                patch: "p",
                operator: Operator::OffByOne,
                claim: *claim,
                fate,
            })
            .collect();
        Score::of(&all)
    }

    #[test]
    fn equivalent_ones_do_not_count_and_unseen_ones_do() {
        let (killed, same, unseen) = (
            killed(),
            survived(Some(Claim::Equivalent)),
            survived(Some(Claim::Unseen)),
        );
        let mut fates = vec![(&killed, None); 19];
        fates.push((&same, Some(Claim::Equivalent)));
        fates.push((&unseen, Some(Claim::Unseen)));
        let score = score(&fates);
        assert_eq!(
            (score.all.mutants, score.all.killed, score.all.equivalent),
            (21, 19, 1)
        );
        assert!((score.all.score - 0.95).abs() < 1e-12);
        assert!(score.is_met());
        assert_eq!(score.by_means[&Means::Books], 19);
    }

    #[test]
    fn the_list_must_be_what_is_so() {
        let (dead, alive) = (killed(), survived(None));
        assert!(!score(&[]).is_met());
        assert!(score(&[(&dead, None)]).is_met());
        assert_eq!(score(&[(&dead, Some(Claim::Equivalent))]).refuted, ["m"]);
        let many = [vec![(&dead, None); 99], vec![(&alive, None)]].concat();
        assert!(!score(&many).is_met());
        assert_eq!(score(&many).unlisted, ["m"]);
    }
}
