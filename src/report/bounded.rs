//! Keeps a report's size in bounds, whatever programs wrote into it: each text is shortened, and all output together has
//! a budget that the gravest changes draw from first.
use super::document::{Finding, Report};
use super::{harmless, summary};

/// Bytes of one test's or fault's output.
const OUTPUT: usize = 4_000;
/// Bytes of all output together.
const TOTAL: usize = 1_000_000;
/// Bytes of a test's id and of the names of its outcomes.
const NAME: usize = 1_000;
/// Bytes of a sentence.
const SENTENCE: usize = 4_000;

/// The report with its long texts shortened; each says how much was cut.
#[must_use]
pub fn bounded(report: &Report) -> Report {
    let mut report = report.clone();
    for reason in &mut report.reasons {
        shorten(&mut reason.text, SENTENCE);
        shorten(&mut reason.subject, NAME);
    }
    for note in &mut report.notes {
        shorten(note, SENTENCE);
    }
    let mut room = TOTAL;
    for scenario in &mut report.scenarios {
        for Finding { text, .. } in [&mut scenario.absolute, &mut scenario.relative] {
            shorten(text, SENTENCE);
        }
        for arm in [&mut scenario.baseline, &mut scenario.patched] {
            for fault in &mut arm.faults {
                spend(&mut fault.detail, &mut room);
            }
            for outcome in &mut arm.outcomes {
                shorten(outcome, NAME);
            }
        }
    }
    if let Some(tests) = &mut report.tests {
        let mut gravest: Vec<_> = tests.changes.iter_mut().collect();
        gravest.sort_by_key(|change| summary::change_gravity(change));
        for change in gravest {
            shorten(&mut change.id, NAME);
            shorten(&mut change.baseline, NAME);
            shorten(&mut change.patched, NAME);
            shorten(&mut change.evidence, NAME);
            spend(&mut change.excerpt, &mut room);
        }
    }
    report
}

fn shorten(text: &mut String, limit: usize) {
    if text.len() > limit {
        *text = harmless::shorten(text, limit);
    }
}

/// Keeps what the budget has room for; at its end a word says that there was more.
fn spend(text: &mut String, room: &mut usize) {
    let limit = OUTPUT.min(*room);
    if text.len() > limit {
        *text = harmless::shorten(text, limit);
    }
    *room = room.saturating_sub(text.len());
}
