//! Stops at a conflict, when asked to: the patches before it are applied, its own change is in the work tree with conflict
//! markers, and waits for a person. Then goes on from what the person made of it, or takes all of it back.
use super::apply::{self, Applied, ApplyOptions};
use super::change::{Marked, with_markers};
use super::checkout::{Checkout, LineEnds};
use super::conflict::Conflict;
use super::files::{Entry, Files, Found};
use super::load::{self, Source};
use super::plan::{differences, version, write_commit, write_tree};
use super::preimages::PreImages;
use super::record::{AppliedPatch, FileVersions, HeadAt, Record};
use super::survey::{Against, survey};
use super::switch::{FileMove, IndexPolicy, Step, Switch};
use super::{EngineError, fault, locate};
use crate::series::{Patch, PatchId, Series, TreePath};
use git2::Oid;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A patch whose conflict waits to be resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stopped {
    pub(super) patch: PatchId,
    /// The patches after it.
    remaining: Vec<PatchId>,
    source: Source,
    /// The files of the patch that were written, and how their lines end in the work tree.
    files: Vec<(TreePath, LineEnds)>,
    /// Those of them with markers.
    pub(super) marked: Vec<TreePath>,
}

/// What a command has still to do after a step that may be its last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ahead {
    /// The patches that are not applied yet.
    pub(super) patches: Vec<PatchId>,
    source: Source,
}

/// Applies the patches before the one that conflicts, and leaves its change with markers in the work tree.
pub(super) fn stop(
    checkout: &Checkout,
    options: &ApplyOptions,
    series: &Series,
    selected: &[&Patch],
    conflict: &mut Conflict,
) -> Result<(), EngineError> {
    let at = selected
        .iter()
        .position(|patch| patch.id == conflict.patch)
        .unwrap_or(0);
    let (before, rest) = selected.split_at(at);
    let Some((patch, remaining)) = rest.split_first() else {
        return Ok(());
    };
    let ahead = Ahead {
        patches: rest.iter().map(|patch| patch.id.clone()).collect(),
        source: options.source.clone(),
    };
    apply::apply_patches(checkout, options, series, before, Some(ahead.clone()))?;
    let (home, head) = checkout.head()?;
    let record = match apply::current_record(checkout, &home, head)? {
        Some(record) => record,
        None => apply::begin(checkout, home, head, series, options, ahead)?,
    };
    let head = checkout.head()?.1;
    let tree = checkout.tree_of(head)?;
    let mut pre_images = PreImages::new(Some(checkout.repository.path()));
    let Marked { changes, marked } = with_markers(patch, &checkout.objects(tree), &mut pre_images)?;
    let mut versions = Vec::new();
    for (path, change) in changes {
        let after = match change {
            Some(entry) => Some(super::record::Version {
                mode: entry.mode,
                blob: checkout.write_blob(&entry.bytes)?.to_string(),
            }),
            None => None,
        };
        let before = version(checkout, tree, &path)?;
        if before != after {
            versions.push(FileVersions {
                path,
                before,
                after,
            });
        }
    }
    let files = survey(checkout, &versions, Against::IndexAndFiles)?;
    apply::refuse_left_out(&files)?;
    let mut after = record.clone();
    after.ahead = None;
    after.stopped = Some(Stopped {
        patch: patch.id.clone(),
        remaining: remaining.iter().map(|patch| patch.id.clone()).collect(),
        source: options.source.clone(),
        files: files
            .iter()
            .map(|file| (file.versions.path.clone(), file.ends))
            .collect(),
        marked: marked.clone(),
    });
    let keep = || Step {
        before: IndexPolicy::Keep,
        after: IndexPolicy::Keep,
    };
    let step = Step {
        before: Some(record),
        after: Some(after),
    };
    Switch::new("umpatch: stop at a conflict", files, keep(), step).run(checkout)?;
    conflict.marked = marked;
    conflict.is_stopped = true;
    Ok(())
}

/// Takes what a person made of the conflict as the patch's commit, and applies the patches after it.
pub(super) fn finish(
    checkout: &Checkout,
    record: &Record,
    stopped: &Stopped,
) -> Result<Applied, EngineError> {
    let (home, head) = checkout.head()?;
    refuse_moved(record, &home, head)?;
    let tree = checkout.tree_of(head)?;
    let recognition = locate::recognise(&checkout.objects(tree));
    let series = load::series(&stopped.source, &recognition)?;
    let patch = series.patch(&stopped.patch)?;
    let ends: BTreeMap<&TreePath, LineEnds> = stopped
        .files
        .iter()
        .map(|(path, ends)| (path, *ends))
        .collect();
    let mut touched: BTreeSet<TreePath> = patch.content.paths().into_iter().collect();
    touched.extend(stopped.files.iter().map(|(path, _)| path.clone()));
    let (mut changes, mut unresolved) = (BTreeMap::new(), Vec::new());
    for path in &touched {
        let change = match checkout.folder().find(path)? {
            Found::Nothing => None,
            Found::File(entry) => {
                if stopped.marked.contains(path) && has_markers(&entry.bytes) {
                    unresolved.push(path.clone());
                }
                Some(as_stored(entry, ends.get(path).copied()))
            }
            Found::Other => return Err(EngineError::Dirty(vec![path.clone()])),
        };
        if change.is_some() || version(checkout, tree, path)?.is_some() {
            changes.insert(path.clone(), change);
        }
    }
    if !unresolved.is_empty() {
        return Err(EngineError::Unresolved(unresolved));
    }
    let resolved = write_tree(checkout, tree, &changes)?;
    let commit = match resolved == tree {
        true => None,
        false => Some(write_commit(checkout, head, resolved, &patch.message)?),
    };
    let files = differences(checkout, tree, resolved, touched)?;
    let mut after = record.clone();
    after.stopped = None;
    after.ahead = (!stopped.remaining.is_empty()).then(|| Ahead {
        patches: stopped.remaining.clone(),
        source: stopped.source.clone(),
    });
    after.head = commit.unwrap_or(head).to_string();
    after.tree = resolved.to_string();
    after.patches.push(AppliedPatch {
        id: patch.id.clone(),
        digest: patch.digest.clone(),
        commit: commit.map(|commit| commit.to_string()),
    });
    let base = Oid::from_str(&record.base).map_err(EngineError::git("read the record"))?;
    let all = record.files.iter().chain(&files);
    let candidates = all.map(|file| file.path.clone()).collect();
    after.files = differences(checkout, checkout.tree_of(base)?, resolved, candidates)?;
    let moves = files
        .into_iter()
        .map(|versions| FileMove {
            ends: ends
                .get(&versions.path)
                .copied()
                .unwrap_or(LineEnds::AsStored),
            versions,
            left_out: false,
            stamp: None,
        })
        .collect();
    let both = Step {
        before: IndexPolicy::Update,
        after: IndexPolicy::Update,
    };
    let new_head = after.head.clone();
    let mut switch = Switch::new(
        &format!("umpatch: apply {}, resolved", patch.id),
        moves,
        both,
        Step {
            before: Some(record.clone()),
            after: Some(after),
        },
    );
    if let Some(branch) = &record.branch {
        let step = Step {
            before: Some(record.head.clone()),
            after: Some(new_head),
        };
        switch.branch = Some((branch.clone(), step));
    }
    switch.run(checkout)?;
    let applied = checkout.state.record()?.unwrap_or_else(|| record.clone());
    rest(
        checkout,
        &applied,
        &series,
        &stopped.source,
        &stopped.remaining,
    )
}

/// Does what a command that was cut off between two steps had still to do.
pub(super) fn go_on(
    checkout: &Checkout,
    record: &Record,
    ahead: &Ahead,
) -> Result<Applied, EngineError> {
    let head = checkout.head()?.1;
    let recognition = locate::recognise(&checkout.objects(checkout.tree_of(head)?));
    let series = load::series(&ahead.source, &recognition)?;
    rest(checkout, record, &series, &ahead.source, &ahead.patches)
}

/// Applies the patches that are left on top of those of a record.
fn rest(
    checkout: &Checkout,
    record: &Record,
    series: &Series,
    source: &Source,
    left: &[PatchId],
) -> Result<Applied, EngineError> {
    let options = ApplyOptions {
        source: source.clone(),
        selection: super::Selection::All,
        form: record.form,
        branch: record.branch.as_deref().map(apply::short_name),
        conflicts: apply::Conflicts::Mark,
    };
    let wanted = |patch: &&Patch| {
        left.contains(&patch.id) || record.patches.iter().any(|applied| applied.id == patch.id)
    };
    let selected: Vec<&Patch> = series.patches.iter().filter(wanted).collect();
    apply::apply_or_stop(checkout, &options, series, &selected)
}

/// Brings the files of the conflict back to what is committed. What a person made of them is kept beside the record.
pub(super) fn abandon(
    checkout: &Checkout,
    record: &Record,
    stopped: &Stopped,
) -> Result<(), EngineError> {
    let (home, head) = checkout.head()?;
    refuse_moved(record, &home, head)?;
    let tree = checkout.tree_of(head)?;
    let mut moves = Vec::new();
    for (path, ends) in &stopped.files {
        let now = match checkout.folder().find(path)? {
            Found::Nothing => None,
            Found::File(entry) => Some(entry),
            Found::Other => return Err(EngineError::Dirty(vec![path.clone()])),
        };
        let before = match &now {
            Some(entry) => {
                set_aside(checkout, path, entry)?;
                Some(super::record::Version {
                    mode: entry.mode,
                    blob: checkout.write_blob(&entry.bytes)?.to_string(),
                })
            }
            None => None,
        };
        moves.push(FileMove {
            versions: FileVersions {
                path: path.clone(),
                before,
                after: version(checkout, tree, path)?,
            },
            ends: *ends,
            left_out: false,
            stamp: None,
        });
    }
    let mut after = record.clone();
    after.stopped = None;
    // the patches go next; cut off before that, the conflict is there to be come back to
    after.ahead = Some(Ahead {
        patches: std::iter::once(&stopped.patch)
            .chain(&stopped.remaining)
            .cloned()
            .collect(),
        source: stopped.source.clone(),
    });
    let both = Step {
        before: IndexPolicy::Update,
        after: IndexPolicy::Update,
    };
    let step = Step {
        before: Some(record.clone()),
        after: Some(after),
    };
    Switch::new("umpatch: give up a conflict", moves, both, step).run(checkout)
}

fn refuse_moved(record: &Record, home: &HeadAt, head: Oid) -> Result<(), EngineError> {
    let on_branch = match (&record.branch, home) {
        (Some(branch), HeadAt::Branch(home)) => branch == home,
        _ => false,
    };
    match on_branch && head.to_string() == record.head {
        true => Ok(()),
        false => Err(EngineError::CommitsOnTop {
            head: head.to_string(),
            applied: record.head.clone(),
        }),
    }
}

/// Whether a line is one of the markers that [`with_markers`] writes.
fn has_markers(bytes: &[u8]) -> bool {
    let is_marker = |line: &[u8]| {
        [b"<<<<<<< ", b"||||||| ", b">>>>>>> "]
            .iter()
            .any(|marker| line.starts_with(*marker))
    };
    bytes.split(|&byte| byte == b'\n').any(is_marker)
}

/// A file as git would store it, where its line ends were converted for the work tree.
fn as_stored(entry: Entry, ends: Option<LineEnds>) -> Entry {
    if ends != Some(LineEnds::CarriageReturn) {
        return entry;
    }
    let mut bytes = Vec::with_capacity(entry.bytes.len());
    for (at, &byte) in entry.bytes.iter().enumerate() {
        if byte != b'\r' || entry.bytes.get(at + 1) != Some(&b'\n') {
            bytes.push(byte);
        }
    }
    Entry {
        bytes: bytes.into(),
        ..entry
    }
}

/// The folder, below umpatch's own, that keeps what was given up.
const SET_ASIDE: &str = "set-aside";

fn set_aside(checkout: &Checkout, path: &TreePath, entry: &Entry) -> Result<(), EngineError> {
    let kept = path.under(&checkout.state.file(SET_ASIDE));
    let write = || -> std::io::Result<()> {
        fault::step()?;
        std::fs::create_dir_all(kept.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(&kept, &entry.bytes)
    };
    write().map_err(EngineError::storage("write", &kept))
}

/// The paths that wait for a person.
pub(super) fn waiting(stopped: &Stopped) -> Vec<TreePath> {
    match stopped.marked.is_empty() {
        true => stopped.files.iter().map(|(path, _)| path.clone()).collect(),
        false => stopped.marked.clone(),
    }
}
