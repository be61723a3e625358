//! Puts the parts of a shared run together: one journal out of several, from which the report is made as from any other.
mod error;
mod parts;
mod tests;

pub use error::MergeError;
pub use parts::{Part, Parts};

use crate::error::Failure;
use crate::paths;
use crate::progress::Progress;
use crate::report::document::Report;
use crate::run::folder::{Choice, FolderError, RunFolder, State};
use crate::run::journal::{Event, Header, Journal};
use crate::verify;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What came of it.
#[derive(Debug)]
pub struct Merged {
    /// The report of the whole run.
    pub report: Report,
    /// How many parts there are.
    pub count: u32,
    /// The parts that were put together: number and folder.
    pub present: Vec<(u32, PathBuf)>,
    /// The numbers of those that are not there.
    pub missing: Vec<u32>,
}

/// Puts the runs in these folders together, in a new run folder: `into`, else one in the cache.
///
/// Parts that are missing leave the run unfinished, so that it cannot pass.
///
/// # Errors
/// When a folder holds no part, two hold the same one, they do not belong together, or the new folder cannot be written.
pub fn merge(
    runs: &[PathBuf],
    into: Option<&Path>,
    progress: &dyn Progress,
) -> Result<Merged, Failure> {
    progress.stage("read the parts");
    let parts = Parts::read(runs)?;
    let fingerprint = verify::fingerprint::of_whole(&parts.header().fingerprint);
    let choice = into.map_or(Choice::Fresh, |folder| Choice::At(folder.to_owned()));
    let folder = RunFolder::choose(&paths::cache().join("runs"), &choice, &fingerprint)?;
    if folder.state() != State::New {
        return Err(MergeError::Occupied {
            path: folder.path().to_owned(),
        }
        .into());
    }
    let journal = folder.journal().map_err(FolderError::from)?;
    let header = header(&parts, fingerprint);
    journal.append(Event::RunStart(Box::new(header)))?;
    progress.stage("put the parts together");
    tell_whole(&parts, &journal)?;
    for (done, part) in parts.iter().enumerate() {
        part.copy_files(folder.path())?;
        for (job, result) in &part.recorded.results {
            journal.append_unsynced(Event::JobEnd {
                job: job.clone(),
                result: Box::new(result.clone()),
            })?;
        }
        progress.advance(done as u64 + 1, parts.len() as u64);
    }
    tests::merge(&parts, &folder, &journal)?;
    let report = verify::finish(&folder, &journal)?;
    Ok(Merged {
        report,
        count: parts.count(),
        present: parts
            .iter()
            .map(|part| (part.share.shard.index(), part.folder.clone()))
            .collect(),
        missing: parts.missing(),
    })
}

/// The first line of the whole run: that of its parts, without what made them parts.
fn header(parts: &Parts, fingerprint: crate::report::document::Fingerprint) -> Header {
    let first = parts.header();
    let command = first
        .command
        .split(" --shard ")
        .next()
        .unwrap_or_default()
        .to_owned();
    Header {
        fingerprint,
        command,
        ..first.clone()
    }
}

/// Tells what is not of one part alone: notes, the time that went by, and the plan of the whole.
fn tell_whole(parts: &Parts, journal: &Journal) -> Result<(), Failure> {
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for part in parts.iter() {
        for text in &part.recorded.notes {
            if told.insert(text) {
                journal.append_unsynced(Event::Note { text: text.clone() })?;
            }
        }
        if let Some(text) = part.recorded.skipped.note() {
            let text = format!("part {}: {text}", part.share.shard);
            journal.append_unsynced(Event::Note { text })?;
        }
        for phase in &part.recorded.phases {
            journal.append_unsynced(Event::PhaseEnd {
                phase: phase.name.clone(),
                seconds: phase.seconds,
            })?;
        }
    }
    let missing = parts.missing();
    if !missing.is_empty() {
        let text = format!("not there: {}", parts.named(&missing));
        journal.append_unsynced(Event::Note { text })?;
    }
    if let Some(first) = parts.iter().next() {
        journal.append_unsynced(Event::Design(Box::new(first.recorded.design.clone())))?;
    }
    let (scenarios, jobs) = parts.plan();
    journal.append(Event::Plan { scenarios, jobs })?;
    Ok(())
}
