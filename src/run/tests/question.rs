//! What is asked about a test whose outcome differs between the arms, and what the answer is. Pure.
use super::decide::Decision;
use super::ledger::{Id, Ledger, Tally, side};
use super::outcome::{Outcome, Quality};
use crate::run::job::Arm;

/// Does this arm show this more often than the other?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Question {
    pub id: Id,
    /// The arm under suspicion.
    pub suspect: Arm,
    pub sign: Sign,
}

/// What it does more often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Fails in any way.
    Bad,
    /// Ends its process or hangs, where the other arm merely fails.
    Hard,
    /// Is skipped.
    Skipped,
    /// Fails as its author expects, where the other arm passes.
    Xfailed,
}

impl Sign {
    pub(super) fn shows(self, outcome: Outcome) -> bool {
        match self {
            Self::Bad => outcome.quality() == Quality::Bad,
            Self::Hard => matches!(outcome, Outcome::Crashed | Outcome::TimedOut),
            Self::Skipped => outcome == Outcome::Skipped,
            Self::Xfailed => outcome == Outcome::Xfailed,
        }
    }
}

/// The question that a pair of outcomes raises, if it raises one that reruns can answer.
pub(super) fn raised(baseline: Outcome, patched: Outcome) -> Option<(Arm, Sign)> {
    use Outcome::{NotRun, Skipped, Xfailed};
    if baseline == patched || baseline == NotRun || patched == NotRun {
        return None;
    }
    let sides = |of: &dyn Fn(Outcome) -> bool| (of(baseline), of(patched));
    let differs = |sign: Sign| match sides(&|outcome| sign.shows(outcome)) {
        (false, true) => Some((Arm::Patched, sign)),
        (true, false) => Some((Arm::Baseline, sign)),
        _ => None,
    };
    // a failure that became a skip is a vanished failure, not a mended one
    if patched == Skipped {
        return differs(Sign::Skipped);
    }
    differs(Sign::Bad)
        .or_else(|| differs(Sign::Hard))
        .or_else(|| differs(Sign::Skipped))
        .or_else(|| {
            (baseline == Xfailed || patched == Xfailed)
                .then(|| differs(Sign::Xfailed))
                .flatten()
        })
}

/// All questions, in the order of the patched arm's file.
pub(super) fn all(ledger: &Ledger) -> Vec<Question> {
    let patched = ledger.arm(Arm::Patched);
    let chosen = ledger.chosen();
    patched
        .collected
        .iter()
        .filter(|id| chosen.as_ref().is_none_or(|chosen| chosen.contains(id)))
        .filter_map(|id| {
            let before = ledger.arm(Arm::Baseline).rows.get(id)?;
            let after = patched.rows.get(id)?;
            let (suspect, sign) = raised(before.outcome, after.outcome)?;
            Some(Question {
                id: *id,
                suspect,
                sign,
            })
        })
        .collect()
}

/// How a question was answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub question: Question,
    pub decision: Decision,
    pub by: By,
    /// The figures.
    pub text: String,
    /// Whether the arm that is not under suspicion showed it in reruns too.
    pub other_shows: bool,
}

/// Which reruns answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Fresh processes.
    Fresh,
    /// Fresh processes after the tests that ran before.
    Replay,
}

/// How often each arm showed the sign: suspect, its runs, other, its runs.
pub(super) fn figures(question: &Question, tallies: &[Tally; 2]) -> [u32; 4] {
    let suspect = &tallies[side(question.suspect)];
    let other = &tallies[1 - side(question.suspect)];
    let shows = |outcome| question.sign.shows(outcome);
    [
        suspect.count(shows),
        suspect.runs(),
        other.count(shows),
        other.runs(),
    ]
}

/// The figures in words.
pub(super) fn in_words(
    question: &Question,
    [suspect, runs, other, other_runs]: [u32; 4],
) -> String {
    let (baseline, patched) = match question.suspect {
        Arm::Patched => ((other, other_runs), (suspect, runs)),
        Arm::Baseline => ((suspect, runs), (other, other_runs)),
    };
    let what = match question.sign {
        Sign::Bad => "failed",
        Sign::Hard => "crashed or hung",
        Sign::Skipped => "was skipped",
        Sign::Xfailed => "failed as expected",
    };
    format!(
        "{what} in {} of {} reruns of the baseline and {} of {} of the patched arm",
        baseline.0, baseline.1, patched.0, patched.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_outcomes_raises_its_question() {
        use Outcome::*;
        let cases = [
            (Passed, Passed, None),
            (Passed, Failed, Some((Arm::Patched, Sign::Bad))),
            (Passed, Crashed, Some((Arm::Patched, Sign::Bad))),
            (Failed, Passed, Some((Arm::Baseline, Sign::Bad))),
            (Failed, Crashed, Some((Arm::Patched, Sign::Hard))),
            (TimedOut, Failed, Some((Arm::Baseline, Sign::Hard))),
            (Failed, Error, None),
            (Crashed, TimedOut, None),
            (Passed, Skipped, Some((Arm::Patched, Sign::Skipped))),
            (Failed, Skipped, Some((Arm::Patched, Sign::Skipped))),
            (Skipped, Passed, Some((Arm::Baseline, Sign::Skipped))),
            (Skipped, Failed, Some((Arm::Patched, Sign::Bad))),
            (Xfailed, Failed, Some((Arm::Patched, Sign::Bad))),
            (Xfailed, Passed, Some((Arm::Baseline, Sign::Xfailed))),
            (Passed, Xfailed, Some((Arm::Patched, Sign::Xfailed))),
            (Passed, Xpassed, None),
            (Passed, NotRun, None),
        ];
        for (baseline, patched, question) in cases {
            assert_eq!(raised(baseline, patched), question, "{baseline} {patched}");
        }
    }
}
