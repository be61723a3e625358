//! The parts of a shared run: read, and checked that they belong together.
use super::MergeError;
use crate::run::folder;
use crate::run::job::{Definition, Job};
use crate::run::journal::{FILE, Header, Share};
use crate::run::recorded::Recorded;
use crate::verify::fingerprint;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// One part: what its journal tells.
#[derive(Debug)]
pub struct Part {
    /// Its run folder.
    pub folder: PathBuf,
    /// Its first line.
    pub header: Header,
    /// Which part it is, and of what.
    pub share: Share,
    /// All but the events of tests.
    pub recorded: Recorded,
}

impl Part {
    fn read(folder: &Path) -> Result<Self, MergeError> {
        let no_run = || MergeError::NoRun {
            path: folder.to_owned(),
        };
        if !folder.join(FILE).is_file() {
            return Err(no_run());
        }
        let mut recorded = Recorded::read(folder)?;
        let header = recorded.header.take().ok_or_else(no_run)?;
        let share = recorded.share.take().ok_or_else(|| MergeError::NoPart {
            path: folder.to_owned(),
        })?;
        Ok(Self {
            folder: folder.to_owned(),
            header,
            share,
            recorded,
        })
    }

    /// Copies its curves and logs.
    pub(super) fn copy_files(&self, into: &Path) -> Result<(), MergeError> {
        for kind in ["curves", "logs"] {
            let from = self.folder.join(kind);
            let Ok(entries) = std::fs::read_dir(&from) else {
                continue;
            };
            for entry in entries.flatten() {
                let path = entry.path();
                if path.is_file() {
                    std::fs::copy(&path, into.join(kind).join(entry.file_name()))
                        .map_err(|source| MergeError::Copy { path, source })?;
                }
            }
        }
        Ok(())
    }
}

/// Parts of one run, at least one, by their number.
#[derive(Debug)]
pub struct Parts {
    by_number: BTreeMap<u32, Part>,
    /// The first line of the part that was read first: all have in common what is used of it.
    header: Header,
    /// The whole that all are parts of, as that part tells it.
    whole: Share,
}

impl Parts {
    /// Reads the run folders.
    ///
    /// # Errors
    /// When one holds no part, two hold the same one, or they are of different runs.
    pub fn read(runs: &[PathBuf]) -> Result<Self, MergeError> {
        let mut by_number: BTreeMap<u32, Part> = BTreeMap::new();
        let mut first: Option<(Header, Share)> = None;
        for folder in runs {
            let part = Part::read(folder)?;
            if let Some(known) = by_number.values().next() {
                belong_together(known, &part)?;
            }
            if let Some(known) = by_number.get(&part.share.shard.index()) {
                return Err(MergeError::Duplicate {
                    part: part.share.shard.to_string(),
                    first: known.folder.clone(),
                    second: part.folder,
                });
            }
            first.get_or_insert_with(|| (part.header.clone(), part.share.clone()));
            by_number.insert(part.share.shard.index(), part);
        }
        let (header, whole) = first.ok_or(MergeError::Nothing)?;
        Ok(Self {
            by_number,
            header,
            whole,
        })
    }

    /// What the parts' first lines have in common.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// All, by their number.
    pub fn iter(&self) -> impl Iterator<Item = &Part> {
        self.by_number.values()
    }

    /// How many are there.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Never: there is at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// How many there should be.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.whole.shard.count()
    }

    /// The numbers of those that are not there.
    #[must_use]
    pub fn missing(&self) -> Vec<u32> {
        (1..=self.count())
            .filter(|number| !self.by_number.contains_key(number))
            .collect()
    }

    /// Parts by their numbers, in words.
    #[must_use]
    pub fn named(&self, numbers: &[u32]) -> String {
        let names: Vec<String> = numbers
            .iter()
            .map(|number| format!("{number}/{}", self.count()))
            .collect();
        let word = if names.len() == 1 { "part" } else { "parts" };
        format!("{word} {}", names.join(", "))
    }

    /// The plan of the whole run: as it was made, without what parts found that they cannot run.
    #[must_use]
    pub fn plan(&self) -> (Vec<Definition>, Vec<Job>) {
        let dropped: BTreeSet<&str> = self
            .iter()
            .filter(|part| part.recorded.planned)
            .flat_map(|part| {
                let planned: BTreeSet<&str> = part
                    .recorded
                    .scenarios
                    .iter()
                    .map(|row| row.id.as_str())
                    .collect();
                part.share
                    .own
                    .iter()
                    .map(String::as_str)
                    .filter(move |id| !planned.contains(id))
            })
            .collect();
        let whole = &self.whole;
        (
            whole
                .scenarios
                .iter()
                .filter(|row| !dropped.contains(row.id.as_str()))
                .cloned()
                .collect(),
            whole
                .jobs
                .iter()
                .filter(|job| !dropped.contains(job.scenario.as_str()))
                .cloned()
                .collect(),
        )
    }
}

/// Whether two parts are of one run, and if not, what differs.
fn belong_together(known: &Part, other: &Part) -> Result<(), MergeError> {
    let mixed = |difference: String| {
        Err(MergeError::Mixed {
            first: known.folder.clone(),
            second: other.folder.clone(),
            difference,
        })
    };
    let there = fingerprint::of_any_part(&known.header.fingerprint);
    let here = fingerprint::of_any_part(&other.header.fingerprint);
    if there.key != here.key {
        return mixed(folder::difference(&there, &here));
    }
    let counts = [known, other].map(|part| part.share.shard.count());
    if counts[0] != counts[1] {
        return mixed(format!(
            "the number of parts is {} there, {} here",
            counts[0], counts[1]
        ));
    }
    if known.header.trust != other.header.trust {
        return mixed(format!(
            "the device is {:?} there, {:?} here",
            known.header.trust, other.header.trust
        ));
    }
    if known.share.scenarios != other.share.scenarios || known.share.jobs != other.share.jobs {
        return mixed("the programs list different scenarios".to_owned());
    }
    Ok(())
}
