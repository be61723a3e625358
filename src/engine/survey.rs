//! Looks at the files that are going to change: refuses what must not be lost, and notes in which form each one is there.
use super::EngineError;
use super::checkout::{Checkout, LineEnds, blob_id};
use super::files::{Files, beyond_symlink, is_absent};
use super::index::{Index, IndexEntry, Stamp};
use super::record::{FileVersions, Version};
use super::switch::{FileMove, load};
use crate::series::TreePath;
use git2::Oid;
use std::fs::Metadata;

/// What the versions before a change are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Against {
    /// The index and the work tree: nothing may be uncommitted.
    IndexAndFiles,
    /// The work tree alone.
    Files,
}

/// The moves of files, each in the form that it has in the work tree.
///
/// Refused where a file is not its version before, or an untracked file is in the place of a new one. Files that are left
/// out of a sparse checkout are taken to be their version before.
pub(super) fn survey(
    checkout: &Checkout,
    files: &[FileVersions],
    against: Against,
) -> Result<Vec<FileMove>, EngineError> {
    checkout.with_index(|index| {
        if against == Against::IndexAndFiles && index.has_conflicts() {
            return Err(EngineError::Unmerged);
        }
        if ignores_case(checkout) {
            refuse_same_but_for_case(index, files)?;
        }
        let (mut dirty, mut in_the_way) = (Vec::new(), Vec::new());
        let mut moves = Vec::new();
        for versions in files {
            match look(checkout, index, versions, against)? {
                Seen::As(form) => moves.push(form),
                Seen::Dirty => dirty.push(versions.path.clone()),
                Seen::InTheWay => in_the_way.push(versions.path.clone()),
            }
        }
        if !dirty.is_empty() {
            return Err(EngineError::Dirty(dirty));
        }
        if !in_the_way.is_empty() {
            return Err(EngineError::InTheWay(in_the_way));
        }
        Ok(moves)
    })
}

/// Whether git was told, when the repository was made, that the file system takes names in any case for one.
fn ignores_case(checkout: &Checkout) -> bool {
    let config = checkout.repository.config();
    config.is_ok_and(|config| config.get_bool("core.ignorecase").unwrap_or(false))
}

/// Refuses new files whose names differ in their case alone from one that stays: there they would be one file.
fn refuse_same_but_for_case(index: &Index, files: &[FileVersions]) -> Result<(), EngineError> {
    let new: Vec<&TreePath> = files
        .iter()
        .filter(|file| file.before.is_none() && file.after.is_some())
        .map(|file| &file.path)
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    let goes = |name: &str| {
        let gone = |file: &&FileVersions| file.path.as_str() == name && file.after.is_none();
        files.iter().any(|file| gone(&file))
    };
    let clash = |path: &TreePath, name: &str| {
        name != path.as_str() && name.to_lowercase() == path.as_str().to_lowercase()
    };
    for path in &new {
        let among = new.iter().map(|other| other.as_str().to_owned());
        let found = index
            .names()
            .chain(among)
            .find(|name| clash(path, name) && !goes(name));
        if let Some(other) = found {
            return Err(EngineError::SameButForCase {
                new: (*path).clone(),
                other,
            });
        }
    }
    Ok(())
}

enum Seen {
    As(FileMove),
    Dirty,
    InTheWay,
}

fn look(
    checkout: &Checkout,
    index: &Index,
    versions: &FileVersions,
    against: Against,
) -> Result<Seen, EngineError> {
    let path = &versions.path;
    index.refuse_folder_entry(path)?;
    let entry = index.find(path);
    let is_staged = match (&versions.before, entry) {
        (None, None) => true,
        (Some(before), Some(entry)) => is_entry_of(entry, before),
        _ => false,
    };
    if against == Against::IndexAndFiles && !is_staged {
        return Ok(Seen::Dirty);
    }
    let seen = |ends, stamp, left_out| {
        Ok(Seen::As(FileMove {
            versions: versions.clone(),
            ends,
            left_out,
            stamp,
        }))
    };
    if entry.is_some_and(IndexEntry::is_left_out) {
        return seen(LineEnds::AsStored, None, true);
    }
    if beyond_symlink(&checkout.root, path) {
        return Err(EngineError::BeyondSymlink(path.clone()));
    }
    let full = path.under(&checkout.root);
    let metadata = match full.symlink_metadata() {
        Ok(metadata) => Some(metadata),
        Err(error) if is_absent(&error) => None,
        Err(error) => return Err(EngineError::storage("read", full)(error)),
    };
    let (before, metadata) = match (&versions.before, metadata) {
        (None, None) => return seen(LineEnds::AsStored, None, false),
        (None, Some(_)) => return Ok(Seen::InTheWay),
        (Some(_), None) => return Ok(Seen::Dirty),
        (Some(before), Some(metadata)) => (before, metadata),
    };
    let stamp = Some(Stamp::of(&metadata));
    let vouched = entry.is_some_and(|entry| is_staged && index.is_unchanged(entry, &metadata));
    if vouched && has_its_size(checkout, before, &metadata) {
        return seen(LineEnds::AsStored, stamp, false);
    }
    match ends(checkout, path, before)? {
        Some(ends) => seen(ends, stamp, false),
        None => Ok(Seen::Dirty),
    }
}

fn is_entry_of(entry: &IndexEntry, version: &Version) -> bool {
    entry.mode() == version.mode.number().cast_unsigned() && hex::encode(entry.id()) == version.blob
}

/// Whether a file has as many bytes as its blob: then no line ends were converted.
fn has_its_size(checkout: &Checkout, version: &Version, metadata: &Metadata) -> bool {
    let size = || {
        let id = Oid::from_str(&version.blob).ok()?;
        let odb = checkout.repository.odb().ok()?;
        Some(odb.read_header(id).ok()?.0 as u64)
    };
    size() == Some(metadata.len())
}

/// In which form a file of the work tree holds a version, if in any.
pub(super) fn ends(
    checkout: &Checkout,
    path: &TreePath,
    version: &Version,
) -> Result<Option<LineEnds>, EngineError> {
    let Some(present) = checkout.folder().find(path)?.file() else {
        return Ok(None);
    };
    if present.mode != version.mode {
        return Ok(None);
    }
    if blob_id(&present.bytes).to_string() == version.blob {
        return Ok(Some(LineEnds::AsStored));
    }
    // only carriage returns can be the difference then
    if !present.bytes.contains(&b'\r') {
        return Ok(None);
    }
    let stored = load(checkout, version)?;
    Ok(LineEnds::relate(&stored.bytes, &present.bytes))
}
