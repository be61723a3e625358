//! The events of the test runners of all parts, as those of one run.
use super::{MergeError, Part, Parts};
use crate::error::Failure;
use crate::run::folder::RunFolder;
use crate::run::journal::{self, Event, Journal, JournalError};
use crate::run::tests::Story;
use crate::run::tests::event::{Asked, TestEvent};
use std::path::Path;

/// Tells the tests of all parts to the journal; nothing when no tests were part of the run.
pub(super) fn merge(parts: &Parts, folder: &RunFolder, journal: &Journal) -> Result<(), Failure> {
    let mut asked: Option<Asked> = None;
    let mut done = true;
    let mut next_worker = 0;
    for part in parts.iter() {
        let survey = Survey::of(&part.folder)?;
        let Some(own) = survey.asked else { continue };
        done &= survey.done;
        let first = asked.is_none();
        if first {
            let whole = Asked { shard: None, ..own };
            tell(journal, &TestEvent::Plan(whole.clone()))?;
            asked = Some(whole);
        }
        let shard = part.share.shard;
        tell(journal, &TestEvent::Part { shard })?;
        next_worker = copy(part, journal, survey.last_resume, first, next_worker)?;
    }
    if asked.is_none() {
        return Ok(());
    }
    if done && parts.missing().is_empty() {
        tell(journal, &TestEvent::Done)?;
    }
    let story = Story::read(folder.path())?;
    story.write_junit(&folder.path().join("tests"))?;
    Ok(())
}

/// What has to be known of a part before its events are copied.
#[derive(Debug, Default)]
struct Survey {
    asked: Option<Asked>,
    done: bool,
    /// The number of the last event that says that the run goes on.
    last_resume: usize,
}

impl Survey {
    fn of(folder: &Path) -> Result<Self, JournalError> {
        let mut survey = Self::default();
        let mut number = 0;
        each(folder, &mut |event| {
            match event {
                TestEvent::Plan(asked) => survey.asked = Some(asked),
                TestEvent::Resume => {
                    survey.last_resume = number;
                    survey.done = false;
                }
                TestEvent::Done => survey.done = true,
                _ => {}
            }
            number += 1;
            Ok(())
        })?;
        Ok(survey)
    }
}

/// Copies the events of a part; worker processes are numbered on from `next_worker`, whose next value comes back.
fn copy(
    part: &Part,
    journal: &Journal,
    last_resume: usize,
    first: bool,
    next_worker: u64,
) -> Result<u64, Failure> {
    let mut number = 0;
    let mut next = next_worker;
    each(&part.folder, &mut |mut event| {
        let stale = number < last_resume;
        number += 1;
        match &mut event {
            // told once, for the whole
            TestEvent::Plan(_)
            | TestEvent::Resume
            | TestEvent::Done
            | TestEvent::Durations { .. }
            | TestEvent::Part { .. } => return Ok(()),
            // every part has collected all tests
            TestEvent::Collected { .. } | TestEvent::Recorded { .. } if !first => return Ok(()),
            // what stopped a part that then went on is no longer true
            TestEvent::CircuitOpen { .. } | TestEvent::BudgetSpent { .. } if stale => return Ok(()),
            TestEvent::WorkerStart { worker, .. }
            | TestEvent::Start { worker, .. }
            | TestEvent::Finish { worker, .. }
            | TestEvent::WorkerEnd { worker, .. } => {
                *worker += next_worker;
                next = next.max(*worker + 1);
            }
            _ => {}
        }
        append(journal, &event)
    })?;
    Ok(next)
}

fn each(
    folder: &Path,
    take: &mut dyn FnMut(TestEvent) -> Result<(), JournalError>,
) -> Result<(), JournalError> {
    let mut failed = None;
    journal::replay(folder, |record| {
        if let Event::Test(value) = record.event
            && let Ok(event) = serde_json::from_value(value)
            && failed.is_none()
            && let Err(error) = take(event)
        {
            failed = Some(error);
        }
    })?;
    failed.map_or(Ok(()), Err)
}

fn append(journal: &Journal, event: &TestEvent) -> Result<(), JournalError> {
    let value = serde_json::to_value(event)
        .map_err(|error| JournalError::new("write", Path::new(journal::FILE), error.into()))?;
    journal.append_unsynced(Event::Test(value))
}

fn tell(journal: &Journal, event: &TestEvent) -> Result<(), MergeError> {
    append(journal, event).map_err(MergeError::from)
}
