//! Commits back to patch files: those that were edited are written anew, all others keep their bytes.
use super::apply::paths;
use super::checkout::Checkout;
use super::patch_text::{
    Changed, count, diffstat, header_of, options, path_of, summary_of, text_of,
};
use super::plan::{differences, write_tree};
use super::record::{AppliedPatch, Form, RECORD, Record};
use super::switch::recover;
use super::{EngineError, change, load};
use crate::series::diff::Direction;
use crate::series::mail::Message;
use crate::series::parse::parse;
use crate::series::{Patch, PatchId, TreePath};
use git2::{Commit, DiffFindOptions, Oid, Sort};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Whether files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshMode {
    /// They are.
    Write,
    /// Only told.
    Check,
}

/// What `refresh` found and wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refreshed {
    /// The tree's folder.
    pub path: PathBuf,
    /// The folder of the series.
    pub folder: PathBuf,
    /// The patches, in order.
    pub patches: Vec<RefreshedPatch>,
}

impl Refreshed {
    /// Whether any patch file differs from its commit.
    #[must_use]
    pub fn has_drifted(&self) -> bool {
        self.patches
            .iter()
            .any(|patch| patch.state != RefreshState::Unchanged)
    }
}

/// What became of one patch file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefreshedPatch {
    /// The patch.
    pub id: PatchId,
    /// Its commit.
    pub commit: Option<String>,
    /// Its file.
    pub file: PathBuf,
    /// What became of it.
    pub state: RefreshState,
}

/// What became of a patch file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefreshState {
    /// The commit makes the same change with the same message: the file keeps its bytes.
    Unchanged,
    /// The commit was edited: the file is written anew.
    Edited,
}

/// Writes the commits of an applied series back to its patch files.
///
/// # Errors
/// When no series is applied as commits, or the commits cannot be told apart as the patches of the series; then nothing was
/// written.
pub fn refresh(root: &Path, folder: &Path, mode: RefreshMode) -> Result<Refreshed, EngineError> {
    let checkout = Checkout::open(root)?;
    let _lock = checkout.lock()?;
    recover(&checkout)?;
    checkout.refuse_operations()?;
    let head = checkout.head()?.1;
    let record = checkout
        .state
        .record()?
        .filter(|record| record.form == Form::Branch);
    let record = record.ok_or(EngineError::NotApplied)?;
    if let Some(stopped) = &record.stopped {
        return Err(EngineError::Stopped(stopped.patch.clone()));
    }
    let series = load::folder_series(folder)?;
    let base = Oid::from_str(&record.base).map_err(EngineError::git("read the record"))?;
    let applied: Vec<&Patch> = record
        .patches
        .iter()
        .filter(|applied| applied.commit.is_some())
        .map(|applied| {
            let patch = series.patches.iter().find(|patch| patch.id == applied.id);
            patch.ok_or_else(|| EngineError::OtherSeries {
                applied: record.series.to_string(),
            })
        })
        .collect::<Result<_, _>>()?;
    let commits = since(&checkout, base, head)?;
    let pairs = pair(&applied, &commits)?;
    let mut patches = Vec::new();
    let mut writes = Vec::new();
    let mut digests = Vec::new();
    for (patch, commit) in pairs {
        let unchanged = makes_the_same(&checkout, patch, commit)?;
        let mut digest = patch.digest.clone();
        if !unchanged {
            let bytes = emit(&checkout, commit)?;
            digest = hex::encode(Sha256::digest(&bytes));
            writes.push((patch.location.clone(), bytes));
        }
        digests.push(AppliedPatch {
            id: patch.id.clone(),
            digest,
            commit: Some(commit.id().to_string()),
        });
        patches.push(RefreshedPatch {
            id: patch.id.clone(),
            commit: Some(commit.id().to_string()),
            file: patch.location.clone(),
            state: if unchanged {
                RefreshState::Unchanged
            } else {
                RefreshState::Edited
            },
        });
    }
    if mode == RefreshMode::Write && (!writes.is_empty() || head.to_string() != record.head) {
        for (path, bytes) in &writes {
            write(path, bytes)?;
        }
        remember(&checkout, &record, head, digests)?;
    }
    Ok(Refreshed {
        path: checkout.root.clone(),
        folder: folder.to_owned(),
        patches,
    })
}

/// The commits after the base, oldest first.
fn since(checkout: &Checkout, base: Oid, head: Oid) -> Result<Vec<Commit<'_>>, EngineError> {
    let reading = || EngineError::git("read the history");
    let mut walk = checkout.repository.revwalk().map_err(reading())?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)
        .map_err(reading())?;
    walk.push(head).map_err(reading())?;
    walk.hide(base).map_err(reading())?;
    let mut commits = Vec::new();
    for id in walk {
        let commit = checkout
            .repository
            .find_commit(id.map_err(reading())?)
            .map_err(reading())?;
        if commit.parent_count() != 1 {
            return Err(EngineError::NotLinear(commit.id().to_string()));
        }
        commits.push(commit);
    }
    Ok(commits)
}

/// Each patch with its commit: by the subject, else by the place where as many of both are left over.
fn pair<'c, 'r, 's>(
    patches: &[&'s Patch],
    commits: &'c [Commit<'r>],
) -> Result<Vec<(&'s Patch, &'c Commit<'r>)>, EngineError> {
    if patches.len() != commits.len() {
        return Err(EngineError::CommitCount {
            patches: patches.len(),
            commits: commits.len(),
        });
    }
    let subject = |commit: &Commit<'_>| {
        String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned()
    };
    let mut left: Vec<&Commit<'r>> = commits.iter().collect();
    let mut found: Vec<Option<&Commit<'r>>> = Vec::new();
    for patch in patches {
        let at = left
            .iter()
            .position(|commit| subject(commit) == patch.message.subject);
        found.push(at.map(|at| left.remove(at)));
    }
    let mut rest = left.into_iter();
    patches
        .iter()
        .zip(found)
        .map(|(patch, commit)| {
            let commit = commit.or_else(|| rest.next());
            commit
                .map(|commit| (*patch, commit))
                .ok_or(EngineError::CommitCount {
                    patches: patches.len(),
                    commits: commits.len(),
                })
        })
        .collect()
}

/// Whether a commit is what its patch makes of its parent, with the patch's author and message.
fn makes_the_same(
    checkout: &Checkout,
    patch: &Patch,
    commit: &Commit<'_>,
) -> Result<bool, EngineError> {
    let message = message_of(commit);
    if message != patch.message {
        return Ok(false);
    }
    let parent = commit
        .parent(0)
        .map_err(EngineError::git("read the history"))?;
    let made = change::attempt(
        patch,
        &checkout.objects(parent.tree_id()),
        Direction::Forward,
        None,
    )?;
    match made {
        Ok(made) if made.fit == change::Fit::Exact => {
            Ok(write_tree(checkout, parent.tree_id(), &made.changes)? == commit.tree_id())
        }
        _ => Ok(false),
    }
}

fn message_of(commit: &Commit<'_>) -> Message {
    let author = commit.author();
    let text = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let (subject, body) = text.split_once('\n').unwrap_or((&text, ""));
    Message {
        name: String::from_utf8_lossy(author.name_bytes()).into_owned(),
        email: String::from_utf8_lossy(author.email_bytes()).into_owned(),
        seconds: author.when().seconds(),
        offset_minutes: author.when().offset_minutes(),
        subject: subject.trim().to_owned(),
        body: body.trim_matches('\n').trim_end().to_owned(),
    }
}

/// A commit as a patch file, independent of any configuration and of the installed git.
pub(super) fn emit(checkout: &Checkout, commit: &Commit<'_>) -> Result<Vec<u8>, EngineError> {
    let reading = || EngineError::git("make a diff");
    let parent = commit
        .parent(0)
        .and_then(|parent| parent.tree())
        .map_err(reading())?;
    let tree = commit.tree().map_err(reading())?;
    let mut diff = checkout
        .repository
        .diff_tree_to_tree(Some(&parent), Some(&tree), Some(&mut options()))
        .map_err(reading())?;
    // given, so that the user's configuration is not asked
    let mut similar = DiffFindOptions::new();
    similar
        .renames(true)
        .copies(false)
        .rename_threshold(50)
        .rename_limit(1_000);
    diff.find_similar(Some(&mut similar)).map_err(reading())?;
    let mut body = Vec::new();
    let mut changed = Vec::new();
    let mut summary = String::new();
    for delta in diff.deltas() {
        let text = text_of(checkout, &delta)?;
        let (added, removed) = (count(&text, b'+'), count(&text, b'-'));
        let (old, new) = (path_of(&delta.old_file())?, path_of(&delta.new_file())?);
        let name = if old == new {
            new
        } else {
            format!("{old} => {new}")
        };
        summary.push_str(&summary_of(&delta, &name));
        changed.push(Changed {
            name,
            added,
            removed,
        });
        body.extend(header_of(&delta)?.into_bytes());
        body.extend(text);
    }
    let mut bytes = message_of(commit).emit().into_bytes();
    bytes.extend(diffstat(&changed).into_bytes());
    bytes.extend(summary.into_bytes());
    bytes.push(b'\n');
    bytes.extend(body);
    // what is written must be readable, and mean the commit
    parse(&bytes).map_err(|source| {
        EngineError::Series(crate::series::SeriesError::Parse {
            file: commit.id().to_string(),
            source,
        })
    })?;
    Ok(bytes)
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let folder = path.parent().unwrap_or(path);
    let writing = || EngineError::storage("write", path);
    let mut staged = tempfile::NamedTempFile::new_in(folder).map_err(writing())?;
    std::io::Write::write_all(&mut staged, bytes).map_err(writing())?;
    if let Ok(present) = path.metadata() {
        std::fs::set_permissions(staged.path(), present.permissions()).map_err(writing())?;
    }
    staged
        .persist(path)
        .map_err(|error| writing()(error.error))?;
    Ok(())
}

/// The edited commits are the applied series from now on.
fn remember(
    checkout: &Checkout,
    record: &Record,
    head: Oid,
    patches: Vec<AppliedPatch>,
) -> Result<(), EngineError> {
    let base = Oid::from_str(&record.base).map_err(EngineError::git("read the record"))?;
    let (before, after) = (checkout.tree_of(base)?, checkout.tree_of(head)?);
    let mut record = record.clone();
    record.head = head.to_string();
    record.tree = after.to_string();
    let landed = record
        .patches
        .iter()
        .filter(|patch| patch.commit.is_none())
        .cloned();
    record.patches = landed.chain(patches).collect();
    let diff = checkout
        .repository
        .find_tree(before)
        .and_then(|before| {
            let after = checkout.repository.find_tree(after)?;
            checkout
                .repository
                .diff_tree_to_tree(Some(&before), Some(&after), None)
        })
        .map_err(EngineError::git("compare two trees"))?;
    let mut touched: BTreeSet<TreePath> = paths(&record.files).into_iter().collect();
    for delta in diff.deltas() {
        for file in [delta.old_file(), delta.new_file()] {
            let path = file.path().and_then(Path::to_str);
            touched.extend(path.and_then(|path| TreePath::new(path).ok()));
        }
    }
    record.files = differences(checkout, before, after, touched)?;
    checkout.state.write(RECORD, &record)
}
