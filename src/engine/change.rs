//! Makes the change of one patch in memory: all of it, or nothing and a list of the places that do not fit.
use super::EngineError;
use super::checkout::blob_id;
use super::conflict::{Conflict, ConflictPlace};
use super::files::{Entry, Files, Found, Layer};
use super::matching;
use super::merge::three_way;
use super::preimages::PreImages;
use crate::series::diff::{Direction, FileChange, Kind, Mode};
use crate::series::{Patch, TreePath};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a patch went in; the worst over its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Every hunk where it says.
    Exact,
    /// At most so many lines away.
    Offset(usize),
    /// By a merge with the version that the patch was made for.
    ThreeWay,
}

/// A change that was made in memory.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) fit: Fit,
    pub(super) changes: BTreeMap<TreePath, Option<Entry>>,
}

/// Either the change, or where it does not fit.
pub(super) type Attempt = Result<Made, Conflict>;

/// Tries a patch on files; the files stay as they are.
pub(super) fn attempt(
    patch: &Patch,
    files: &dyn Files,
    direction: Direction,
    mut pre_images: Option<&mut PreImages>,
) -> Result<Attempt, EngineError> {
    let mut layer = Layer::over(files);
    let mut fit = Fit::Exact;
    let mut places = Vec::new();
    let indices: Vec<usize> = match direction {
        Direction::Forward => (0..patch.content.files.len()).collect(),
        Direction::Reverse => (0..patch.content.files.len()).rev().collect(),
    };
    for index in indices {
        let change = &patch.content.files[index];
        let made = one_file(
            patch,
            index,
            change,
            &layer,
            direction,
            pre_images.as_deref_mut(),
        )?;
        match made {
            Ok((this, changes)) => {
                fit = fit.max(this);
                layer.changes.extend(changes);
            }
            Err(place) => places.push(*place),
        }
    }
    if places.is_empty() {
        return Ok(Ok(Made {
            fit,
            changes: layer.changes,
        }));
    }
    Ok(Err(Conflict {
        patch: patch.id.clone(),
        places,
        missing: Vec::new(),
        is_stopped: false,
        marked: Vec::new(),
    }))
}

/// A change as far as it fits, and markers where it does not.
pub(super) struct Marked {
    pub(super) changes: BTreeMap<TreePath, Option<Entry>>,
    /// The files with markers.
    pub(super) marked: Vec<TreePath>,
}

/// Makes a patch as far as it fits; a file that it cannot change at all stays as it is.
pub(super) fn with_markers(
    patch: &Patch,
    files: &dyn Files,
    pre_images: &mut PreImages,
) -> Result<Marked, EngineError> {
    let mut layer = Layer::over(files);
    let mut marked = Vec::new();
    for (index, change) in patch.content.files.iter().enumerate() {
        let made = one_file(
            patch,
            index,
            change,
            &layer,
            Direction::Forward,
            Some(pre_images),
        )?;
        match made {
            Ok((_, changes)) => layer.changes.extend(changes),
            Err(_) => {
                if let Found::File(entry) = files.find(&change.old)?
                    && change.kind == Kind::Modify
                    && entry.mode != Mode::Symlink
                {
                    let bytes = matching::marked(change, &entry.bytes, patch.id.as_str());
                    marked.push(change.old.clone());
                    let entry = Entry {
                        mode: change.new_mode.unwrap_or(entry.mode),
                        bytes: bytes.into(),
                    };
                    layer.changes.insert(change.old.clone(), Some(entry));
                }
            }
        }
    }
    Ok(Marked {
        changes: layer.changes,
        marked,
    })
}

type FileResult = Result<(Fit, Vec<(TreePath, Option<Entry>)>), Box<ConflictPlace>>;

fn one_file(
    patch: &Patch,
    index: usize,
    change: &FileChange,
    files: &Layer<'_>,
    direction: Direction,
    pre_images: Option<&mut PreImages>,
) -> Result<FileResult, EngineError> {
    let (before, after) = (change.path_before(direction), change.path_after(direction));
    let kind = change.kind_towards(direction);
    let refuse = |path: &TreePath, reason: &str| {
        Ok(Err(Box::new(ConflictPlace::of_file(
            patch, index, path, reason,
        ))))
    };
    // what the change starts from
    let start = match (kind, files.find(before)?) {
        (Kind::Create, Found::Nothing) => Entry {
            mode: Mode::Regular,
            bytes: Vec::new().into(),
        },
        (Kind::Create, Found::File(entry)) if entry.bytes.is_empty() => entry,
        (Kind::Create, _) => {
            return refuse(before, "the patch makes this file, and it is there already");
        }
        (_, Found::File(entry)) => entry,
        (_, Found::Nothing) => return refuse(before, "there is no such file"),
        (_, Found::Other) => return refuse(before, "this is no file"),
    };
    let moves = before != after;
    if moves && files.find(after)? != Found::Nothing {
        return refuse(
            after,
            "the patch moves a file here, and something is here already",
        );
    }
    if kind == Kind::Create || moves {
        for folder in after.folders() {
            let folder = TreePath::new(folder).ok();
            if let Some(folder) = folder
                && matches!(files.find(&folder)?, Found::File(_))
            {
                return refuse(after, "a folder on its path is a file");
            }
        }
    }
    let (fit, bytes) = match matching::apply(change, &start.bytes, direction) {
        Ok(matched) => {
            let fit = match matched.offset {
                0 => Fit::Exact,
                lines => Fit::Offset(lines),
            };
            let bytes: Arc<[u8]> = matched.bytes.into();
            if matched.offset == 0 && is_damaged(change, direction, &start.bytes, &bytes) {
                return refuse(
                    before,
                    "the patch is cut off or was edited by hand: on the very content that it was made for it leads to \
                     another than its index line says",
                );
            }
            if let Some(pre_images) = pre_images {
                pre_images.remember(change, &start.bytes, &bytes);
            }
            (fit, bytes)
        }
        Err(mismatch) => match merged(change, &start.bytes, direction, pre_images) {
            Some(bytes) => (Fit::ThreeWay, bytes),
            None => {
                return Ok(Err(Box::new(ConflictPlace::of_mismatch(
                    patch,
                    index,
                    &mismatch,
                    &start.bytes,
                    direction,
                ))));
            }
        },
    };
    let mut changes = Vec::new();
    if kind == Kind::Delete {
        if !bytes.is_empty() {
            return refuse(
                before,
                "the patch deletes this file, and it holds more than the patch says",
            );
        }
        changes.push((before.clone(), None));
        return Ok(Ok((fit, changes)));
    }
    if moves && kind == Kind::Rename {
        changes.push((before.clone(), None));
    }
    let mode = change.mode_after(direction).unwrap_or(start.mode);
    changes.push((after.clone(), Some(Entry { mode, bytes })));
    Ok(Ok((fit, changes)))
}

/// Whether a change gives another result than its index line says, on the content that the line names.
fn is_damaged(change: &FileChange, direction: Direction, before: &[u8], after: &[u8]) -> bool {
    let (from, to) = match direction {
        Direction::Forward => (&change.old_blob, &change.new_blob),
        Direction::Reverse => (&change.new_blob, &change.old_blob),
    };
    let is = |id: &str, bytes: &[u8]| {
        // of a file that is not there the line has zeros
        let absent = id.bytes().all(|byte| byte == b'0');
        (absent && bytes.is_empty()) || blob_id(bytes).to_string().starts_with(id)
    };
    match (from, to) {
        (Some(from), Some(to)) => is(from, before) && !is(to, after),
        _ => false,
    }
}

fn merged(
    change: &FileChange,
    ours: &Arc<[u8]>,
    direction: Direction,
    pre_images: Option<&mut PreImages>,
) -> Option<Arc<[u8]>> {
    if direction == Direction::Reverse {
        return None;
    }
    let pre_images = pre_images?;
    let base = pre_images.of(change)?;
    let merged: Arc<[u8]> = three_way(change, &base, ours)?.into();
    pre_images.remember(change, ours, &merged);
    Some(merged)
}

/// Whether a patch is in the files already or can be made in them.
pub(super) enum Standing {
    /// It can be made.
    Clean(Made),
    /// It is there: undoing it gives these changes.
    Present(Made),
    /// Neither.
    Neither(Conflict),
}

/// How a patch stands: where it fits both ways, the smaller distance decides.
pub(super) fn standing(
    patch: &Patch,
    files: &dyn Files,
    pre_images: Option<&mut PreImages>,
) -> Result<Standing, EngineError> {
    let forward = attempt(patch, files, Direction::Forward, pre_images)?;
    let forward = match forward {
        // nothing is nearer
        Ok(made) if made.fit == Fit::Exact => return Ok(Standing::Clean(made)),
        other => other,
    };
    let reverse = attempt(patch, files, Direction::Reverse, None)?;
    Ok(match (forward, reverse) {
        (Ok(forward), Ok(reverse)) if reverse.fit < forward.fit => Standing::Present(reverse),
        (Ok(forward), _) => Standing::Clean(forward),
        (Err(_), Ok(reverse)) => Standing::Present(reverse),
        (Err(conflict), Err(_)) => Standing::Neither(conflict),
    })
}
