//! Runs tests whose outcome differs again, in fresh processes, the arms taking turns, until the exact test decides.
use super::decide::{Decision, Design};
use super::error::TestsError;
use super::event::Pass;
use super::fleet::{End, Feed, Fleet, Share, Task};
use super::ledger::{Id, Ledger};
use super::question::{self, Answer, By, Question, Sign};
use super::suite::Suite;
use crate::report::document::Arms;
use crate::run::job::Arm;
use sha2::{Digest, Sha256};
use std::time::Instant;

/// Differing tests that share a process when there are too many for one each.
const BATCH: usize = 25;

/// What can be run: the baseline is absent when it is a recording.
pub(super) type Suites<'a> = Arms<Option<&'a Suite>>;

/// Asks all questions; the answers are in the same order.
///
/// # Errors
/// When the user interrupts, or a program or the journal fails.
pub(super) fn ask(
    fleet: &mut Fleet<'_>,
    suites: &Suites<'_>,
    questions: &[Question],
    deadline: Option<Instant>,
) -> Result<Vec<Answer>, TestsError> {
    let settings = fleet.settings.reruns;
    let own = Instant::now() + settings.budget;
    let deadline = Some(deadline.map_or(own, |given| given.min(own)));
    let design = Design::new(fleet.ledger.level(), questions.len());
    fresh(fleet, suites, questions, &design, deadline)?;
    let unseen: Vec<Question> = questions
        .iter()
        .filter(|question| matches!(question.sign, Sign::Bad | Sign::Hard))
        .filter(|question| {
            matches!(
                verdict(fleet.ledger, question, By::Fresh, &design),
                Decision::NotSeen | Decision::Same
            )
        })
        .copied()
        .collect();
    if !unseen.is_empty() && unseen.len() <= settings.alone {
        replay(fleet, suites, &unseen, &design, deadline)?;
    }
    Ok(questions
        .iter()
        .map(|question| answer(fleet.ledger, question, &design))
        .collect())
}

/// The answers that the ledger holds already, without running anything. Each part of a shared run has asked its own
/// questions, at its share of the level.
pub(super) fn known(ledger: &Ledger, questions: &[Question]) -> Vec<Answer> {
    let part = |question: &Question| ledger.part_of(question.id);
    questions
        .iter()
        .map(|question| {
            let together = questions
                .iter()
                .filter(|other| part(other) == part(question))
                .count();
            answer(ledger, question, &Design::new(ledger.level(), together))
        })
        .collect()
}

fn verdict(ledger: &Ledger, question: &Question, by: By, design: &Design) -> Decision {
    let tallies = ledger.tallies(question.id);
    let tallies = match by {
        By::Fresh => &tallies.fresh,
        By::Replay => &tallies.replay,
    };
    let [suspect, runs, other, other_runs] = question::figures(question, tallies);
    design.decide(suspect, runs, other, other_runs)
}

fn answer(ledger: &Ledger, question: &Question, design: &Design) -> Answer {
    let tallies = ledger.tallies(question.id);
    let fresh = verdict(ledger, question, By::Fresh, design);
    let replayed = tallies.replay.iter().any(|tally| tally.runs() > 0);
    let replay = verdict(ledger, question, By::Replay, design);
    let by = if fresh != Decision::Differs && replayed && replay != Decision::NotSeen {
        By::Replay
    } else {
        By::Fresh
    };
    let figures = match by {
        By::Fresh => question::figures(question, &tallies.fresh),
        By::Replay => question::figures(question, &tallies.replay),
    };
    let mut text = question::in_words(question, figures);
    if by == By::Replay {
        text.push_str(" after the tests that ran before it, and not alone");
    } else if replayed && fresh != Decision::Differs {
        text.push_str(", nor after the tests that ran before it");
    }
    Answer {
        question: *question,
        decision: match by {
            By::Fresh => fresh,
            By::Replay => replay,
        },
        by,
        text,
        other_shows: figures[2] > 0,
    }
}

/// The arms in the order of a round: they take turns in going first.
fn order(round: u32) -> [Arm; 2] {
    match round % 2 {
        0 => [Arm::Baseline, Arm::Patched],
        _ => [Arm::Patched, Arm::Baseline],
    }
}

fn suite<'a>(suites: &Suites<'a>, arm: Arm) -> Option<&'a Suite> {
    match arm {
        Arm::Baseline => suites.baseline,
        Arm::Patched => suites.patched,
    }
}

fn fresh(
    fleet: &mut Fleet<'_>,
    suites: &Suites<'_>,
    questions: &[Question],
    design: &Design,
    deadline: Option<Instant>,
) -> Result<(), TestsError> {
    for round in 0.. {
        let open: Vec<Id> = questions
            .iter()
            .filter(|question| verdict(fleet.ledger, question, By::Fresh, design) == Decision::More)
            .map(|question| question.id)
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        fleet
            .progress
            .stage(&format!("rerun {} tests, round {}", open.len(), round + 1));
        let pass = Pass::Fresh(round);
        for arm in order(round) {
            let Some(suite) = suite(suites, arm) else {
                continue;
            };
            let names: Vec<String> = shuffled(&open, round)
                .into_iter()
                .filter(|id| !fleet.ledger.has_rerun(*id, arm, pass))
                .map(|id| fleet.ledger.name(id).to_owned())
                .collect();
            if names.is_empty() {
                continue;
            }
            let together = if open.len() <= fleet.settings.reruns.alone {
                1
            } else {
                BATCH
            };
            let chunks: Vec<Vec<String>> = names.chunks(together).map(<[String]>::to_vec).collect();
            let lanes = fleet.settings.workers.min(chunks.len());
            let task = Task {
                arm,
                pass,
                suite,
                feed: Feed::Shared(chunks.into()),
                lanes,
                share: Share::One,
                subject: None,
                deadline,
            };
            if fleet.run(task, &mut |_| Ok(Feed::Listed))? != End::Complete {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn replay(
    fleet: &mut Fleet<'_>,
    suites: &Suites<'_>,
    questions: &[Question],
    design: &Design,
    deadline: Option<Instant>,
) -> Result<(), TestsError> {
    for question in questions {
        let chunk = before(fleet.ledger, question, fleet.settings.reruns.replayed);
        if chunk.len() < 2 {
            continue;
        }
        for round in 0.. {
            if verdict(fleet.ledger, question, By::Replay, design) != Decision::More {
                break;
            }
            fleet.progress.stage(&format!(
                "replay {} after {} others, round {}",
                fleet.ledger.name(question.id),
                chunk.len() - 1,
                round + 1
            ));
            let pass = Pass::Replay(round);
            for arm in order(round) {
                let Some(suite) = suite(suites, arm) else {
                    continue;
                };
                if fleet.ledger.has_rerun(question.id, arm, pass) {
                    continue;
                }
                let task = Task {
                    arm,
                    pass,
                    suite,
                    feed: Feed::Shared(vec![chunk.clone()].into()),
                    lanes: 1,
                    share: Share::One,
                    subject: Some(fleet.ledger.name(question.id).to_owned()),
                    deadline,
                };
                if fleet.run(task, &mut |_| Ok(Feed::Listed))? != End::Complete {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// The tests that ran before this one in its process, in the arm under suspicion, and itself.
fn before(ledger: &Ledger, question: &Question, most: usize) -> Vec<String> {
    let rows = &ledger.arm(question.suspect).rows;
    let Some(own) = rows.get(&question.id) else {
        return Vec::new();
    };
    let mut earlier: Vec<(u32, Id)> = rows
        .iter()
        .filter(|(_, row)| row.worker == own.worker && row.order < own.order)
        .map(|(id, row)| (row.order, *id))
        .collect();
    earlier.sort_unstable();
    let skip = earlier.len().saturating_sub(most);
    earlier
        .into_iter()
        .skip(skip)
        .map(|(_, id)| id)
        .chain([question.id])
        .map(|id| ledger.name(id).to_owned())
        .collect()
}

/// In an order of the round's own, the same in both arms: which test meets which in a process is left to chance.
fn shuffled(ids: &[Id], round: u32) -> Vec<Id> {
    let mut keyed: Vec<([u8; 32], Id)> = ids
        .iter()
        .map(|id| (Sha256::digest(format!("{round} {id:?}")).into(), *id))
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, id)| id).collect()
}
