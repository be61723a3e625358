//! Each patch as a pull request: the mail, a commit on the patches before it, and a commit on those alone that it needs.
//! The commits are computed in the object database; branches are written on demand, none of anybody else's.
use super::carry::base_of;
use super::change::Fit;
use super::checkout::Checkout;
use super::load::{self, Source};
use super::locate;
use super::plan::{Fate, plan};
use super::preimages::PreImages;
use super::refresh::emit;
use super::switch::recover;
use super::{EngineError, fault};
use crate::series::{Patch, PatchId, Series, TreePath};
use git2::Oid;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A series on the base of a tree, a pull request for each patch.
#[derive(Debug)]
pub struct Proposal {
    /// The tree's folder.
    pub path: PathBuf,
    /// The PyTorch version that the tree states.
    pub version: Option<String>,
    /// The series, with what its manifest says of each patch.
    pub series: Series,
    /// The commit that the patches are for.
    pub base: String,
    /// The tree of that commit.
    pub base_tree: String,
    /// The patches that the tree does not have, in order.
    pub requests: Vec<PullRequest>,
    /// The patches that the tree has already.
    pub landed: Vec<PatchId>,
}

/// One patch, as a pull request.
#[derive(Debug)]
pub struct PullRequest {
    /// The patch.
    pub id: PatchId,
    /// The mail that `git am` takes on the commits before it.
    pub mail: Vec<u8>,
    /// The commit on all patches before it.
    pub commit: String,
    /// The tree of that commit.
    pub tree: String,
    /// The commit on the patches alone that it depends on, directly or not.
    pub tip: String,
    /// The tree of [`PullRequest::tip`].
    pub tip_tree: String,
    /// Every patch that it depends on, in order.
    pub needs: Vec<PatchId>,
    /// The files that it changes, as they are after it; none where it deletes one.
    pub files: BTreeMap<TreePath, Option<Vec<u8>>>,
}

/// Makes the commits and mails of a series for the base of a tree. No branch, index or file is touched.
///
/// # Errors
/// When the tree is no git repository or the series is not for it, or a patch does not apply, in order or on what it needs.
pub fn propose(root: &Path, source: &Source) -> Result<Proposal, EngineError> {
    let checkout = Checkout::open(root)?;
    let base = base_of(&checkout)?;
    let base_tree = checkout.tree_of(base)?;
    let files = checkout.objects(base_tree);
    let recognition = locate::recognise(&files);
    let version = locate::version(&files);
    let series = load::series(source, &recognition)?;
    let mut pre_images = PreImages::new(Some(checkout.repository.path()));
    let all: Vec<&Patch> = series.patches.iter().collect();
    let stack = plan(&checkout, base, &series, &all, &mut pre_images)?;
    let mut requests = Vec::new();
    let mut landed = Vec::new();
    for fate in &stack.fates {
        match fate {
            Fate::Landed { patch } => landed.push(patch.id.clone()),
            Fate::Applied { patch, fit, commit } => {
                let needs = needs(patch, &series);
                let chosen: Vec<&Patch> = all
                    .iter()
                    .copied()
                    .filter(|other| needs.contains(&other.id) || other.id == patch.id)
                    .collect();
                let alone = plan(&checkout, base, &series, &chosen, &mut pre_images)?;
                requests.push(PullRequest {
                    id: patch.id.clone(),
                    mail: mail(&checkout, patch, *fit, *commit)?,
                    commit: commit.to_string(),
                    tree: checkout.tree_of(*commit)?.to_string(),
                    tip: alone.head.to_string(),
                    tip_tree: alone.tree.to_string(),
                    needs: needs
                        .into_iter()
                        .filter(|id| !landed.contains(id))
                        .collect(),
                    files: after(&checkout, patch, *commit)?,
                });
            }
        }
    }
    Ok(Proposal {
        path: checkout.root.clone(),
        version,
        base: base.to_string(),
        base_tree: base_tree.to_string(),
        requests,
        landed,
        series,
    })
}

/// All that a patch depends on, in the order of the series.
fn needs(patch: &Patch, series: &Series) -> Vec<PatchId> {
    let mut wanted: BTreeSet<PatchId> = patch.depends_on.iter().cloned().collect();
    // what a patch depends on comes before it: one walk backwards finds all
    for earlier in series.patches.iter().rev() {
        if wanted.contains(&earlier.id) {
            wanted.extend(earlier.depends_on.iter().cloned());
        }
    }
    series
        .patches
        .iter()
        .map(|patch| patch.id.clone())
        .filter(|id| wanted.contains(id))
        .collect()
}

/// The patch file itself where it fits on the very files that it was made for, else the commit as a mail.
fn mail(checkout: &Checkout, patch: &Patch, fit: Fit, commit: Oid) -> Result<Vec<u8>, EngineError> {
    let commit = checkout
        .repository
        .find_commit(commit)
        .map_err(EngineError::git("read a commit"))?;
    let emitted = emit(checkout, &commit)?;
    let is_mail = patch.content.preamble.starts_with(b"From ");
    let made_for = |bytes: &[u8]| {
        crate::series::parse::parse(bytes).is_ok_and(|new| {
            let ids = |file: &crate::series::diff::PatchFile| -> Vec<_> {
                let files = file.files.iter();
                files
                    .map(|file| (file.old_blob.clone(), file.new_blob.clone()))
                    .collect()
            };
            ids(&new) == ids(&patch.content)
        })
    };
    if fit == Fit::Exact && is_mail && made_for(&emitted) {
        return Ok(patch.content.emit());
    }
    Ok(emitted)
}

/// The files of a patch after it.
fn after(
    checkout: &Checkout,
    patch: &Patch,
    commit: Oid,
) -> Result<BTreeMap<TreePath, Option<Vec<u8>>>, EngineError> {
    use super::files::Files;
    let objects = checkout.objects(checkout.tree_of(commit)?);
    patch
        .content
        .paths()
        .into_iter()
        .map(|path| {
            let bytes = objects.find(&path)?.file().map(|file| file.bytes.to_vec());
            Ok((path, bytes))
        })
        .collect()
}

/// A file of the commit that a proposal is for: settings of the tree's own linters.
///
/// # Errors
/// When the object database cannot be read.
pub fn base_file(proposal: &Proposal, path: &TreePath) -> Result<Option<Vec<u8>>, EngineError> {
    use super::files::Files;
    let checkout = Checkout::open(&proposal.path)?;
    let tree = Oid::from_str(&proposal.base_tree).map_err(EngineError::git("read a tree"))?;
    let found = checkout.objects(tree).find(path)?;
    Ok(found.file().map(|file| file.bytes.to_vec()))
}

/// A branch to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Its short name.
    pub name: String,
    /// The commit that it points to.
    pub commit: String,
}

/// The file under the git directory that remembers the commits that each of our branches was ever put at.
const BRANCHES: &str = "pull-requests.json";

/// Makes or moves branches, all or none of them that can be told beforehand: a branch that somebody else made or moved, or
/// that is checked out, is refused before the first is written.
///
/// # Errors
/// When one is refused, or a reference cannot be written. The same call writes what is missing.
pub fn write_branches(root: &Path, branches: &[Branch]) -> Result<(), EngineError> {
    let checkout = Checkout::open(root)?;
    let _lock = checkout.lock()?;
    recover(&checkout)?;
    let mut ours: BTreeMap<String, BTreeSet<String>> =
        checkout.state.read(BRANCHES)?.unwrap_or_default();
    let mut wanted = Vec::new();
    for branch in branches {
        let full = format!("refs/heads/{}", branch.name);
        if !git2::Reference::is_valid_name(&full) {
            return Err(EngineError::BranchName(branch.name.clone()));
        }
        let target = Oid::from_str(&branch.commit).map_err(EngineError::git("read a commit"))?;
        let tip = checkout.reference(&full)?;
        if tip == Some(target) {
            continue;
        }
        if let Some(tip) = tip {
            let known = ours.get(&branch.name);
            if known.is_none_or(|tips| !tips.contains(&tip.to_string())) {
                return Err(EngineError::BranchExists(branch.name.clone()));
            }
            if super::apply::is_checked_out_anywhere(&checkout, &full)? {
                return Err(EngineError::BranchElsewhere(branch.name.clone()));
            }
        }
        wanted.push((full, target));
    }
    // remembered first: after a kill in the middle, what was written is still known as ours
    for branch in branches {
        ours.entry(branch.name.clone())
            .or_default()
            .insert(branch.commit.clone());
    }
    checkout.state.write(BRANCHES, &ours)?;
    let writing = |name: &str| EngineError::git(format!("write {name}"));
    for (full, target) in &wanted {
        fault::step().map_err(EngineError::storage("write", checkout.repository.path()))?;
        checkout
            .repository
            .reference(full, *target, true, "umpatch: bundle")
            .map_err(writing(full))?;
    }
    Ok(())
}
