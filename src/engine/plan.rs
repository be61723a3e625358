//! Computes the commits of a series in the object database; no reference, index or file is touched.
use super::change::{Attempt, Fit, Standing, attempt, standing};
use super::checkout::Checkout;
use super::files::{Entry, Files, Layer};
use super::preimages::PreImages;
use super::record::{FileVersions, Version};
use super::{EngineError, fault};
use crate::series::diff::{Direction, Mode};
use crate::series::mail::{EMAIL, Message, NAME};
use crate::series::{Patch, PatchId, Series, TreePath};
use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Oid, Signature, Time};
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of one patch.
#[derive(Debug)]
pub(super) enum Fate<'s> {
    /// It is made, as this commit.
    Applied {
        patch: &'s Patch,
        fit: Fit,
        commit: Oid,
    },
    /// The tree has it already.
    Landed { patch: &'s Patch },
}

/// The result of applying patches to a commit.
#[derive(Debug)]
pub(super) struct Plan<'s> {
    pub(super) head: Oid,
    pub(super) tree: Oid,
    pub(super) fates: Vec<Fate<'s>>,
    /// The files that differ from the commit that the plan starts from.
    pub(super) files: Vec<FileVersions>,
}

/// Plans patches on top of a commit.
pub(super) fn plan<'s>(
    checkout: &Checkout,
    start: Oid,
    series: &Series,
    patches: &[&'s Patch],
    pre_images: &mut PreImages,
) -> Result<Plan<'s>, EngineError> {
    let start_tree = checkout.tree_of(start)?;
    let below = checkout.objects(start_tree);
    let mut changes: BTreeMap<TreePath, Option<Entry>> = BTreeMap::new();
    let (mut head, mut tree) = (start, start_tree);
    let mut fates = Vec::new();
    let landed = held(patches, &below)?.patches;
    for &patch in patches {
        if landed.contains_key(&patch.id) {
            fates.push(Fate::Landed { patch });
            continue;
        }
        let layer = Layer {
            below: &below,
            changes: std::mem::take(&mut changes),
        };
        let made = match standing(patch, &layer, Some(pre_images))? {
            Standing::Clean(made) => made,
            Standing::Present(_) => {
                fates.push(Fate::Landed { patch });
                changes = layer.changes;
                continue;
            }
            Standing::Neither(mut conflict) => {
                conflict.missing = missing(series, patch, patches);
                return Err(EngineError::Conflict(Box::new(conflict)));
            }
        };
        changes = layer.changes;
        tree = write_tree(checkout, tree, &made.changes)?;
        head = write_commit(checkout, head, tree, &patch.message)?;
        changes.extend(made.changes);
        fates.push(Fate::Applied {
            patch,
            fit: made.fit,
            commit: head,
        });
    }
    let files = differences(checkout, start_tree, tree, changes.into_keys().collect())?;
    Ok(Plan {
        head,
        tree,
        fates,
        files,
    })
}

/// The patches that the files hold already, and the changes that undo them.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) patches: BTreeMap<PatchId, Fit>,
    pub(super) undone: BTreeMap<TreePath, Option<Entry>>,
}

/// Finds the patches that the files hold: undone from the last to the first, since each is found in the state that the
/// ones before it led to.
pub(super) fn held(patches: &[&Patch], files: &dyn Files) -> Result<Held, EngineError> {
    let mut layer = Layer::over(files);
    let mut held = BTreeMap::new();
    for patch in patches.iter().rev() {
        if let Ok(reverse) = attempt(patch, &layer, Direction::Reverse, None)? {
            let forward: Attempt = attempt(patch, &layer, Direction::Forward, None)?;
            if forward.is_ok_and(|forward| forward.fit <= reverse.fit) {
                continue;
            }
            layer.changes.extend(reverse.changes);
            held.insert(patch.id.clone(), reverse.fit);
        }
    }
    Ok(Held {
        patches: held,
        undone: layer.changes,
    })
}

/// The patches before one in its series that are not among those to apply.
fn missing(series: &Series, patch: &Patch, patches: &[&Patch]) -> Vec<PatchId> {
    let before = series
        .patches
        .iter()
        .take_while(|other| other.id != patch.id);
    before
        .filter(|other| !patches.iter().any(|chosen| chosen.id == other.id))
        .map(|other| other.id.clone())
        .collect()
}

/// A tree with changes.
pub(super) fn write_tree(
    checkout: &Checkout,
    tree: Oid,
    changes: &BTreeMap<TreePath, Option<Entry>>,
) -> Result<Oid, EngineError> {
    let writing = || EngineError::git("write a tree to the object database");
    let mut builder = TreeUpdateBuilder::new();
    for (path, change) in changes {
        match change {
            Some(entry) => {
                let blob = checkout.write_blob(&entry.bytes)?;
                builder.upsert(path.as_str(), blob, file_mode(entry.mode));
            }
            None => {
                builder.remove(path.as_str());
            }
        }
    }
    fault::step().map_err(EngineError::storage("write to", checkout.repository.path()))?;
    let baseline = checkout.repository.find_tree(tree).map_err(writing())?;
    builder
        .create_updated(&checkout.repository, &baseline)
        .map_err(writing())
}

const fn file_mode(mode: Mode) -> FileMode {
    match mode {
        Mode::Regular => FileMode::Blob,
        Mode::Executable => FileMode::BlobExecutable,
        Mode::Symlink => FileMode::Link,
    }
}

/// A commit whose every byte comes from the patch and its parent: the same everywhere.
pub(super) fn write_commit(
    checkout: &Checkout,
    parent: Oid,
    tree: Oid,
    message: &Message,
) -> Result<Oid, EngineError> {
    let writing = || EngineError::git("write a commit to the object database");
    let time = Time::new(message.seconds, message.offset_minutes);
    let author = Signature::new(&message.name, &message.email, &time)
        .or_else(|_| Signature::new(NAME, EMAIL, &time))
        .map_err(writing())?;
    fault::step().map_err(EngineError::storage("write to", checkout.repository.path()))?;
    let tree = checkout.repository.find_tree(tree).map_err(writing())?;
    let parent = checkout.repository.find_commit(parent).map_err(writing())?;
    checkout
        .repository
        .commit(None, &author, &author, &message.text(), &tree, &[&parent])
        .map_err(writing())
}

/// The files that differ between two trees, among those that may.
pub(super) fn differences(
    checkout: &Checkout,
    before: Oid,
    after: Oid,
    candidates: BTreeSet<TreePath>,
) -> Result<Vec<FileVersions>, EngineError> {
    let mut files = Vec::new();
    for path in candidates {
        let versions = FileVersions {
            before: version(checkout, before, &path)?,
            after: version(checkout, after, &path)?,
            path,
        };
        if versions.before != versions.after {
            files.push(versions);
        }
    }
    Ok(files)
}

/// The version of a file in a tree.
pub(super) fn version(
    checkout: &Checkout,
    tree: Oid,
    path: &TreePath,
) -> Result<Option<Version>, EngineError> {
    let reading = || EngineError::git(format!("read {path} from the object database"));
    let tree = checkout.repository.find_tree(tree).map_err(reading())?;
    let entry = match tree.get_path(path.as_path()) {
        Ok(entry) => entry,
        Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(reading()(error)),
    };
    let mode = u32::try_from(entry.filemode())
        .ok()
        .and_then(Mode::from_number);
    Ok(mode.map(|mode| Version {
        mode,
        blob: entry.id().to_string(),
    }))
}
