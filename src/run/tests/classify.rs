//! Gives each difference its class, and says what it means for the patches. Pure.
use super::decide::Decision;
use super::expected::Expected;
use super::ledger::{Death, Id, Ledger, Row};
use super::outcome::{Outcome, Quality, Stage};
use super::question::{Answer, By, Sign};
use crate::report::document::{Bearing, TestChange};
use crate::run::job::Arm;
use std::collections::{HashMap, HashSet};

/// Characters of text that a row carries.
const EXCERPT: usize = 4000;
/// Stands for the tests as a whole, where a row needs an id.
const ALL: &str = "(all tests)";

/// The classes of DESIGN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Regression,
    NewCrash,
    NewTimeout,
    Fixed,
    SameFailure,
    ChangedFailure,
    FlakyBoth,
    Flakier,
    OrderDependent,
    NewSkip,
    Missing,
    Added,
    ExitCrash,
    Infrastructure,
}

impl Class {
    const fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::NewCrash => "new-crash",
            Self::NewTimeout => "new-timeout",
            Self::Fixed => "fixed",
            Self::SameFailure => "same-failure",
            Self::ChangedFailure => "changed-failure",
            Self::FlakyBoth => "flaky-both",
            Self::Flakier => "flakier",
            Self::OrderDependent => "order-dependent",
            Self::NewSkip => "new-skip",
            Self::Missing => "missing",
            Self::Added => "added",
            Self::ExitCrash => "exit-crash",
            Self::Infrastructure => "infrastructure",
        }
    }
}

/// What is compared.
pub(super) struct Evidence<'a> {
    pub ledger: &'a Ledger,
    pub answers: &'a [Answer],
    pub expected: &'a Expected,
    /// The tests that were asked for; all when absent.
    pub chosen: Option<&'a HashSet<Id>>,
}

impl Evidence<'_> {
    /// Every row, in the order of the patched arm's file, those of the baseline alone and those of no test last.
    pub(super) fn changes(&self) -> Vec<TestChange> {
        let answers: HashMap<Id, &Answer> = self
            .answers
            .iter()
            .map(|answer| (answer.question.id, answer))
            .collect();
        let baseline = self.ledger.arm(Arm::Baseline);
        let patched = self.ledger.arm(Arm::Patched);
        let wanted = |id: &&Id| self.chosen.is_none_or(|chosen| chosen.contains(id));
        let known: HashSet<Id> = baseline.collected.iter().copied().collect();
        let mut changes: Vec<TestChange> = patched
            .collected
            .iter()
            .filter(wanted)
            .filter_map(|id| {
                if known.contains(id) {
                    self.compared(*id, answers.get(id).copied())
                } else {
                    Some(self.added(*id))
                }
            })
            .collect();
        if patched.listed {
            let here: HashSet<Id> = patched.collected.iter().copied().collect();
            changes.extend(
                baseline
                    .collected
                    .iter()
                    .filter(wanted)
                    .filter(|id| !here.contains(id))
                    .map(|id| self.missing(*id)),
            );
        }
        changes.extend(self.exits());
        changes.extend(self.circuits());
        changes
    }

    fn row(
        &self,
        id: Id,
        class: Class,
        bearing: Bearing,
        pair: (Option<&Row>, Option<&Row>),
    ) -> TestChange {
        let outcome =
            |row: Option<&Row>| row.map_or(Outcome::NotRun, |row| row.outcome).to_string();
        let failing = [pair.1, pair.0]
            .into_iter()
            .flatten()
            .find(|row| row.outcome.quality() == Quality::Bad);
        let reason = failing.and_then(|row| {
            self.expected
                .reason(self.ledger.name(id), row.outcome, &row.message)
        });
        // what is known and the same in both arms needs no text
        let excerpt = match (failing, class, reason) {
            (Some(_), Class::SameFailure, Some(_)) | (None, _, _) => String::new(),
            (Some(row), Class::SameFailure, None) => row.message.to_string(),
            (Some(row), _, _) => excerpt(row),
        };
        TestChange {
            id: self.ledger.name(id).to_owned(),
            class: class.name().to_owned(),
            baseline: outcome(pair.0),
            patched: outcome(pair.1),
            excerpt,
            reason: reason.map(|reason| reason.name.clone()).unwrap_or_default(),
            evidence: String::new(),
            bearing: Some(bearing),
        }
    }

    /// A test that both arms have; nothing when they agree and it does not fail.
    fn compared(&self, id: Id, answer: Option<&Answer>) -> Option<TestChange> {
        let before = self.ledger.arm(Arm::Baseline).rows.get(&id);
        let after = self.ledger.arm(Arm::Patched).rows.get(&id);
        let pair = (before, after);
        let ran = |row: Option<&Row>| row.is_some_and(|row| row.outcome != Outcome::NotRun);
        if !ran(before) || !ran(after) {
            let mut change = self.row(id, Class::Infrastructure, Bearing::Undecided, pair);
            "it did not run in both arms".clone_into(&mut change.evidence);
            return Some(change);
        }
        let (before, after) = (before?, after?);
        if let Some(answer) = answer {
            let (class, bearing) = judge(answer, before.outcome, after.outcome);
            let mut change = self.row(id, class, bearing, pair);
            change.evidence.clone_from(&answer.text);
            return Some(change);
        }
        let bad = |row: &Row| row.outcome.quality() == Quality::Bad;
        if bad(before) && bad(after) {
            let same = before.outcome == after.outcome
                && (signature(&before.message) == signature(&after.message)
                    // a recording of another tool words its messages otherwise
                    || before.worker == u64::MAX);
            let class = if same {
                Class::SameFailure
            } else {
                Class::ChangedFailure
            };
            let mut change = self.row(id, class, Bearing::Neutral, pair);
            if !same {
                change.evidence = format!("{} → {}", before.message, after.message);
            }
            return Some(change);
        }
        let killed = [Arm::Baseline, Arm::Patched]
            .into_iter()
            .find(|arm| self.ledger.arm(*arm).killed.contains(&id));
        killed.map(|arm| {
            let mut change = self.row(id, Class::Infrastructure, Bearing::Neutral, pair);
            change.evidence =
                format!("its process was killed from outside in the {arm} arm; it was run again");
            change
        })
    }

    fn missing(&self, id: Id) -> TestChange {
        let before = self.ledger.arm(Arm::Baseline).rows.get(&id);
        let mut change = self.row(id, Class::Missing, Bearing::Against, (before, None));
        "missing".clone_into(&mut change.patched);
        "the patched arm's file does not have it".clone_into(&mut change.evidence);
        change
    }

    /// A test that the patches bring: it should pass with them, and fail without.
    fn added(&self, id: Id) -> TestChange {
        let before = self.ledger.arm(Arm::Baseline).added.get(&id);
        let after = self.ledger.arm(Arm::Patched).rows.get(&id);
        let quality = |row: Option<&Row>| row.map(|row| row.outcome.quality());
        let (bearing, evidence) = match (quality(before), quality(after)) {
            (_, Some(Quality::Bad)) => (Bearing::Against, "it fails with the patches"),
            (Some(Quality::Bad), Some(Quality::Good)) => (
                Bearing::InFavour,
                "it fails on the baseline's build and passes on the patched one",
            ),
            (Some(Quality::Good), Some(Quality::Good)) => (
                Bearing::Neutral,
                "it passes on both builds, so it proves nothing about the patches",
            ),
            (_, Some(Quality::Silent) | None) => {
                (Bearing::Neutral, "it did not run on the patched build")
            }
            _ => (Bearing::Neutral, "it did not run on the baseline's build"),
        };
        let mut change = self.row(id, Class::Added, bearing, (before, after));
        evidence.clone_into(&mut change.evidence);
        change
    }

    /// Processes that died without a test at hand.
    fn exits(&self) -> Option<TestChange> {
        let count = |arm: Arm| self.ledger.arm(arm).deaths.len();
        let (before, after) = (count(Arm::Baseline), count(Arm::Patched));
        if before + after == 0 {
            return None;
        }
        let arm = if after > 0 {
            Arm::Patched
        } else {
            Arm::Baseline
        };
        let death = self.ledger.arm(arm).deaths.first()?;
        let words = |arm: Arm| {
            format!(
                "{} of {} processes",
                count(arm),
                self.ledger.arm(arm).processes
            )
        };
        let (class, bearing) = match (before, after) {
            (_, 0) => (Class::Fixed, Bearing::InFavour),
            (0, 1) => (Class::ExitCrash, Bearing::Undecided),
            (0, _) => (Class::ExitCrash, Bearing::Against),
            _ => (Class::SameFailure, Bearing::Neutral),
        };
        Some(TestChange {
            id: place(self.ledger, death),
            class: class.name().to_owned(),
            baseline: words(Arm::Baseline),
            patched: words(Arm::Patched),
            excerpt: clip(&death.output),
            reason: String::new(),
            evidence: format!("{} ({})", death.cause.words(), death.ending),
            bearing: Some(bearing),
        })
    }

    /// Arms that were given up.
    fn circuits(&self) -> Vec<TestChange> {
        let open = |arm: Arm| self.ledger.arm(arm).circuit.clone();
        let (before, after) = (open(Arm::Baseline), open(Arm::Patched));
        let (class, bearing, evidence) = match (&before, &after) {
            (None, None) => return Vec::new(),
            // the same device is sound with the other build: it is the build
            (None, Some(reason)) => (Class::NewCrash, Bearing::Against, reason.clone()),
            (Some(reason), _) => (Class::Infrastructure, Bearing::Undecided, reason.clone()),
        };
        let word = |reason: &Option<String>| {
            if reason.is_some() {
                "given up"
            } else {
                "sound"
            }
            .to_owned()
        };
        vec![TestChange {
            id: ALL.to_owned(),
            class: class.name().to_owned(),
            baseline: word(&before),
            patched: word(&after),
            excerpt: String::new(),
            reason: String::new(),
            evidence,
            bearing: Some(bearing),
        }]
    }
}

fn judge(answer: &Answer, before: Outcome, after: Outcome) -> (Class, Bearing) {
    let against_patched = answer.question.suspect == Arm::Patched;
    let at_first_sight = match (answer.question.sign, after) {
        (Sign::Skipped, _) => Class::NewSkip,
        (_, Outcome::Crashed) => Class::NewCrash,
        (_, Outcome::TimedOut) => Class::NewTimeout,
        _ => Class::Regression,
    };
    match (answer.decision, answer.by) {
        (Decision::Differs, By::Replay) => (
            Class::OrderDependent,
            if against_patched {
                Bearing::Against
            } else {
                Bearing::InFavour
            },
        ),
        (Decision::Differs, By::Fresh) if against_patched => {
            if answer.other_shows {
                (Class::Flakier, Bearing::Against)
            } else {
                (at_first_sight, Bearing::Against)
            }
        }
        (Decision::Differs, By::Fresh) if before == Outcome::Skipped => {
            (Class::Added, Bearing::Neutral)
        }
        (Decision::Differs, By::Fresh) => (Class::Fixed, Bearing::InFavour),
        (Decision::Same | Decision::NotSeen, _) => (Class::FlakyBoth, Bearing::Neutral),
        (Decision::Open | Decision::More, _) if against_patched => {
            (at_first_sight, Bearing::Undecided)
        }
        (Decision::Open | Decision::More, _) => (Class::Fixed, Bearing::Neutral),
    }
}

fn place(ledger: &Ledger, death: &Death) -> String {
    match (death.stage, death.id) {
        (Stage::Between, Some(id)) => format!("(after {})", ledger.name(id)),
        (Stage::Start, _) => "(start of a worker)".to_owned(),
        _ => "(exit of a worker)".to_owned(),
    }
}

fn excerpt(row: &Row) -> String {
    match &row.text {
        Some(text) => clip(&format!("{}\n{text}", row.message)),
        None => row.message.to_string(),
    }
}

fn clip(text: &str) -> String {
    if text.len() <= EXCERPT {
        return text.to_owned();
    }
    let end = (0..=EXCERPT)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}\n[…]", &text[..end])
}

/// A message without what differs between two runs of the same failure: numbers, addresses, temporary names.
pub(super) fn signature(message: &str) -> String {
    let word = |word: &str| -> String {
        if word.contains("0x") || word.contains("/tmp") {
            "*".to_owned()
        } else {
            word.chars()
                .filter(|character| !character.is_ascii_digit())
                .collect()
        }
    };
    let words: Vec<String> = message.split_whitespace().map(word).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::question::Question;

    fn answer(suspect: Arm, sign: Sign, decision: Decision, by: By, other_shows: bool) -> Answer {
        let mut ledger = Ledger::default();
        ledger.apply(&crate::run::tests::event::TestEvent::Collected {
            arm: Arm::Patched,
            ids: vec!["a".to_owned()],
            last: true,
        });
        Answer {
            question: Question {
                id: ledger.find("a").unwrap(),
                suspect,
                sign,
            },
            decision,
            by,
            text: String::new(),
            other_shows,
        }
    }

    #[test]
    fn answers_become_classes() {
        use Decision::{Differs, NotSeen, Open, Same};
        use Outcome::{Crashed, Failed, Passed, Skipped, TimedOut};
        let patched = Arm::Patched;
        let cases = [
            (
                answer(patched, Sign::Bad, Differs, By::Fresh, false),
                Passed,
                Failed,
                "regression",
                Bearing::Against,
            ),
            (
                answer(patched, Sign::Bad, Differs, By::Fresh, false),
                Passed,
                Crashed,
                "new-crash",
                Bearing::Against,
            ),
            (
                answer(patched, Sign::Bad, Differs, By::Fresh, false),
                Passed,
                TimedOut,
                "new-timeout",
                Bearing::Against,
            ),
            (
                answer(patched, Sign::Bad, Differs, By::Fresh, true),
                Passed,
                Failed,
                "flakier",
                Bearing::Against,
            ),
            (
                answer(patched, Sign::Bad, Differs, By::Replay, false),
                Passed,
                Failed,
                "order-dependent",
                Bearing::Against,
            ),
            (
                answer(patched, Sign::Bad, NotSeen, By::Fresh, false),
                Passed,
                Failed,
                "flaky-both",
                Bearing::Neutral,
            ),
            (
                answer(patched, Sign::Bad, Same, By::Fresh, true),
                Passed,
                Failed,
                "flaky-both",
                Bearing::Neutral,
            ),
            (
                answer(patched, Sign::Bad, Open, By::Fresh, false),
                Passed,
                Failed,
                "regression",
                Bearing::Undecided,
            ),
            (
                answer(patched, Sign::Skipped, Differs, By::Fresh, false),
                Passed,
                Skipped,
                "new-skip",
                Bearing::Against,
            ),
            (
                answer(Arm::Baseline, Sign::Bad, Differs, By::Fresh, false),
                Failed,
                Passed,
                "fixed",
                Bearing::InFavour,
            ),
        ];
        for (answer, before, after, class, bearing) in cases {
            let (found, weight) = judge(&answer, before, after);
            assert_eq!((found.name(), weight), (class, bearing));
        }
    }

    #[test]
    fn numbers_do_not_make_a_failure_another_one() {
        assert_eq!(
            signature("AssertionError: Tensor-likes are not close! 3 of 7 (42.9%) at 0x7f3a"),
            signature("AssertionError: Tensor-likes are not close! 5 of 9 (55.0%) at 0x1111")
        );
        assert_ne!(
            signature("RuntimeError: out of memory"),
            signature("RuntimeError: wrong")
        );
    }
}
