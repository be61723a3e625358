//! Makes the change of one patch in memory: all of it, or nothing and a list of the places that do not fit.
use super::EngineError;
use super::conflict::{Conflict, ConflictPlace};
use super::files::{Entry, Files, Found, Layer};
use super::matching::{self, Mismatch};
use super::merge::three_way;
use super::preimages::PreImages;
use crate::series::diff::{Direction, FileChange, Kind, Mode};
use crate::series::{Patch, TreePath};
use serde::Serialize;
use std::collections::BTreeMap;

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
    }))
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
            if let Some(pre_images) = pre_images {
                pre_images.remember(change, &start.bytes, &matched.bytes);
            }
            (fit, matched.bytes)
        }
        Err(mismatch) => match merged(change, &start.bytes, direction, pre_images) {
            Some(bytes) => (Fit::ThreeWay, bytes),
            None => return Ok(Err(mismatch_place(patch, index, &mismatch))),
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
    changes.push((
        after.clone(),
        Some(Entry {
            mode,
            bytes: bytes.into(),
        }),
    ));
    Ok(Ok((fit, changes)))
}

fn merged(
    change: &FileChange,
    ours: &[u8],
    direction: Direction,
    pre_images: Option<&mut PreImages>,
) -> Option<Vec<u8>> {
    if direction == Direction::Reverse {
        return None;
    }
    let pre_images = pre_images?;
    let base = pre_images.of(change)?;
    let merged = three_way(change, &base, ours)?;
    pre_images.remember(change, ours, &merged);
    Some(merged)
}

fn mismatch_place(patch: &Patch, index: usize, mismatch: &Mismatch) -> Box<ConflictPlace> {
    Box::new(ConflictPlace::of_mismatch(patch, index, mismatch))
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
