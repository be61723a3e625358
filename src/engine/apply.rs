//! Applies a series: plan, refuse what must not be touched, switch.
use super::change::Fit;
use super::checkout::Checkout;
use super::files::{Files, Found};
use super::load::{self, Source};
use super::plan::{Fate, Plan, differences, plan};
use super::preimages::PreImages;
use super::record::{AppliedPatch, FileVersions, Form, HeadAt, RECORD, Record, SCHEMA, Version};
use super::stop::Ahead;
use super::survey::{Against, ends, survey};
use super::switch::{FileMove, IndexPolicy, Recovered, Step, Switch, recover, take_back};
use super::{EngineError, history, locate, status, stop};
use crate::series::{Patch, PatchId, Selection, Series, TreePath};
use git2::Oid;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What to apply, and how.
#[derive(Debug, Clone)]
pub struct ApplyOptions {
    /// Where the patches come from.
    pub source: Source,
    /// Which of them.
    pub selection: Selection,
    /// As commits, or in the work tree.
    pub form: Form,
    /// The branch that gets the commits; by default `umpatch/` and the series' name.
    pub branch: Option<String>,
    /// What becomes of a patch that does not fit.
    pub conflicts: Conflicts,
}

/// What becomes of a patch that does not fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conflicts {
    /// Nothing is changed at all.
    #[default]
    Refuse,
    /// The patches before it are applied, and it is left in the work tree with conflict markers.
    Mark,
}

/// What `apply` or `unapply` led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The tree's folder.
    pub path: PathBuf,
    /// The series.
    pub series: Option<String>,
    /// As commits, or in the work tree.
    pub form: Form,
    /// The commit that the patches are on.
    pub base: String,
    /// The commit that is checked out now.
    pub head: String,
    /// The branch that is checked out now, by its short name; none where HEAD is detached.
    pub branch: Option<String>,
    /// The patches, in order.
    pub patches: Vec<PatchOutcome>,
    /// The files that this command changed.
    pub changed_files: Vec<TreePath>,
    /// Whether there was anything to do.
    pub outcome: Outcome,
    /// Whether an interrupted command was finished or cleared away first.
    #[serde(skip)]
    pub recovered: Recovered,
}

/// Whether there was anything to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The tree was changed.
    Changed,
    /// It was as asked already.
    Unchanged,
}

/// What became of one patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatchOutcome {
    /// The patch.
    pub id: PatchId,
    /// Its commit; none in the work tree's form, and for a patch that the tree had already.
    pub commit: Option<String>,
    /// How it stands.
    pub state: PatchFate,
    /// How it fitted, where this command applied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
}

/// How a patch stands after the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatchFate {
    /// Applied by umpatch.
    Applied,
    /// In the tree already.
    Landed,
    /// Taken out.
    Removed,
}

/// Applies patches to a tree, all or nothing.
///
/// # Errors
/// When the tree is in no state to be patched, or a patch does not apply; then nothing was changed.
pub fn apply(root: &std::path::Path, options: &ApplyOptions) -> Result<Applied, EngineError> {
    let checkout = Checkout::open(root)?;
    let _lock = checkout.lock()?;
    let recovered = recover(&checkout)?;
    checkout.refuse_operations()?;
    let (_, head) = checkout.head()?;
    let recognition = locate::recognise(&checkout.objects(checkout.tree_of(head)?));
    let series = load::series(&options.source, &recognition)?;
    let selected = series.select(&options.selection)?;
    let applied = apply_or_stop(&checkout, options, &series, &selected)?;
    Ok(Applied {
        recovered,
        ..applied
    })
}

/// The record that tells of what is checked out now.
pub(super) fn current_record(
    checkout: &Checkout,
    home: &HeadAt,
    head: Oid,
) -> Result<Option<Record>, EngineError> {
    let Some(record) = checkout.state.record()? else {
        return Ok(None);
    };
    let current = is_current(&record, checkout, home, head) && !was_put_back(checkout, &record)?;
    Ok(current.then_some(record))
}

/// Whether every file of a work-tree application is as the commit has it again: somebody has checked them out anew, or
/// stashed the patches away.
pub(super) fn was_put_back(checkout: &Checkout, record: &Record) -> Result<bool, EngineError> {
    if record.form != Form::Worktree || record.stopped.is_some() || record.files.is_empty() {
        return Ok(false);
    }
    for file in &record.files {
        if !holds(checkout, &file.path, file.before.as_ref())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Applies what is missing of the selected patches; at a conflict does what the options say.
pub(super) fn apply_or_stop(
    checkout: &Checkout,
    options: &ApplyOptions,
    series: &Series,
    selected: &[&Patch],
) -> Result<Applied, EngineError> {
    let mut conflict = match apply_patches(checkout, options, series, selected, None) {
        Err(EngineError::Conflict(conflict)) => conflict,
        other => return other,
    };
    let (_, head) = checkout.head()?;
    history::blame(&mut conflict, &checkout.repository, head);
    if options.conflicts == Conflicts::Mark {
        stop::stop(checkout, options, series, selected, &mut conflict)?;
    }
    Err(EngineError::Conflict(conflict))
}

/// Applies what is missing of the selected patches, and notes what the command does next.
pub(super) fn apply_patches(
    checkout: &Checkout,
    options: &ApplyOptions,
    series: &Series,
    selected: &[&Patch],
    ahead: Option<Ahead>,
) -> Result<Applied, EngineError> {
    let (home, head) = checkout.head()?;
    match current_record(checkout, &home, head)? {
        Some(Record {
            stopped: Some(stopped),
            ..
        }) => Err(EngineError::Stopped(stopped.patch)),
        Some(record) => extend(checkout, &record, head, series, selected, ahead),
        None => fresh(checkout, home, head, series, selected, options, ahead),
    }
}

/// What to do with a command that was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// Carry it to its end, or clear it away where it had changed nothing yet.
    Continue,
    /// Take back what it did.
    Abort,
}

/// What came of `--continue` or `--abort`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed {
    /// A command that was cut off was dealt with, if there was one.
    Recovered(Recovered),
    /// A conflict was resolved, and the patches after it are applied.
    Applied(Box<Applied>),
    /// A conflict was given up, and the patches are taken out.
    Abandoned(Box<Applied>),
}

/// Deals with a command that was cut off, or goes on where a conflict stopped one.
///
/// # Errors
/// When the tree cannot be written, a file was edited since, or a conflict is not resolved.
pub fn resume(root: &std::path::Path, how: Resume) -> Result<Resumed, EngineError> {
    let checkout = Checkout::open(root)?;
    let _lock = checkout.lock()?;
    let recovered = match how {
        Resume::Continue => recover(&checkout)?,
        Resume::Abort => take_back(&checkout)?,
    };
    let Some(record) = checkout.state.record()? else {
        return Ok(Resumed::Recovered(recovered));
    };
    let applied = |applied| Ok(Resumed::Applied(Box::new(applied)));
    match (how, &record.stopped, &record.ahead) {
        (_, None, None) => Ok(Resumed::Recovered(recovered)),
        (Resume::Continue, Some(stopped), _) => applied(stop::finish(&checkout, &record, stopped)?),
        (Resume::Continue, None, Some(ahead)) => applied(stop::go_on(&checkout, &record, ahead)?),
        (Resume::Abort, stopped, _) => {
            if let Some(stopped) = stopped {
                stop::abandon(&checkout, &record, stopped)?;
            }
            let undone = super::unapply::take_out(&checkout, recovered)?;
            Ok(Resumed::Abandoned(Box::new(undone)))
        }
    }
}

/// Whether a record tells of the state that is checked out: HEAD is on its branch, or at its base with the changes in the
/// work tree.
fn is_current(record: &Record, checkout: &Checkout, home: &HeadAt, head: Oid) -> bool {
    let is_applied_head = head.to_string() == record.head;
    match (record.form, &record.branch) {
        (Form::Worktree, _) => is_applied_head,
        (Form::Branch, Some(branch)) => {
            let on_branch = *home == HeadAt::Branch(branch.clone());
            let below = Oid::from_str(&record.head)
                .and_then(|applied| checkout.repository.graph_descendant_of(head, applied))
                .unwrap_or(false);
            is_applied_head || (on_branch && below)
        }
        (Form::Branch, None) => false,
    }
}

/// Applies to a tree on which nothing is applied yet.
fn fresh(
    checkout: &Checkout,
    home: HeadAt,
    head: Oid,
    series: &Series,
    selected: &[&Patch],
    options: &ApplyOptions,
    ahead: Option<Ahead>,
) -> Result<Applied, EngineError> {
    let mut pre_images = PreImages::new(Some(checkout.repository.path()));
    let plan = plan(checkout, head, series, selected, &mut pre_images)?;
    let result = |branch: Option<String>, now: Oid, outcome| Applied {
        path: checkout.root.clone(),
        series: Some(series.name.to_string()),
        form: options.form,
        base: head.to_string(),
        head: now.to_string(),
        branch,
        patches: outcomes(&plan, options.form),
        changed_files: plan.files.iter().map(|file| file.path.clone()).collect(),
        outcome,
        recovered: Recovered::Nothing,
    };
    if plan.head == head {
        // every patch is in the tree already: nothing to do, and nothing to remember
        return Ok(result(short(&home), head, Outcome::Unchanged));
    }
    let files = survey(checkout, &plan.files, Against::IndexAndFiles)?;
    let record = |branch: Option<String>, now: Oid| Record {
        schema: SCHEMA.to_owned(),
        series: series.name.clone(),
        form: options.form,
        base: head.to_string(),
        home: home.clone(),
        branch,
        head: now.to_string(),
        tree: plan.tree.to_string(),
        patches: applied_patches(&plan, options.form),
        files: plan.files.clone(),
        stopped: None,
        ahead: ahead.clone(),
    };
    let why = format!("umpatch: apply {}", series.name);
    let before = checkout.state.record()?;
    match options.form {
        Form::Worktree => {
            refuse_left_out(&files)?;
            let step = Step {
                before,
                after: Some(record(None, head)),
            };
            let index = Step {
                before: IndexPolicy::Update,
                after: IndexPolicy::Keep,
            };
            Switch::new(&why, files, index, step).run(checkout)?;
            Ok(result(short(&home), head, Outcome::Changed))
        }
        Form::Branch => {
            let branch = branch_name(series, options)?;
            let tip = checkout.reference(&branch)?;
            refuse_foreign_branch(checkout, &branch, tip, &home, plan.head, before.as_ref())?;
            let step = Step {
                before,
                after: Some(record(Some(branch.clone()), plan.head)),
            };
            let index = Step {
                before: IndexPolicy::Update,
                after: IndexPolicy::Update,
            };
            let mut switch = Switch::new(&why, files, index, step);
            let target = HeadAt::Branch(branch.clone());
            switch.branch = Some((
                branch,
                Step {
                    before: tip.map(|id| id.to_string()),
                    after: Some(plan.head.to_string()),
                },
            ));
            switch.head = Some(Step {
                before: home.clone(),
                after: target.clone(),
            });
            switch.run(checkout)?;
            Ok(result(short(&target), plan.head, Outcome::Changed))
        }
    }
}

/// Makes the series' branch with none of its patches, and remembers it.
pub(super) fn begin(
    checkout: &Checkout,
    home: HeadAt,
    head: Oid,
    series: &Series,
    options: &ApplyOptions,
    ahead: Ahead,
) -> Result<Record, EngineError> {
    let branch = branch_name(series, options)?;
    let tip = checkout.reference(&branch)?;
    let before = checkout.state.record()?;
    refuse_foreign_branch(checkout, &branch, tip, &home, head, before.as_ref())?;
    let record = Record {
        schema: SCHEMA.to_owned(),
        series: series.name.clone(),
        form: Form::Branch,
        base: head.to_string(),
        home: home.clone(),
        branch: Some(branch.clone()),
        head: head.to_string(),
        tree: checkout.tree_of(head)?.to_string(),
        patches: Vec::new(),
        files: Vec::new(),
        stopped: None,
        ahead: Some(ahead),
    };
    let keep = Step {
        before: IndexPolicy::Keep,
        after: IndexPolicy::Keep,
    };
    let step = Step {
        before,
        after: Some(record.clone()),
    };
    let why = format!("umpatch: begin {}", series.name);
    let mut switch = Switch::new(&why, Vec::new(), keep, step);
    switch.head = Some(Step {
        before: home,
        after: HeadAt::Branch(branch.clone()),
    });
    let step = Step {
        before: tip.map(|id| id.to_string()),
        after: Some(head.to_string()),
    };
    switch.branch = Some((branch, step));
    switch.run(checkout)?;
    Ok(record)
}

/// Applies what is missing on top of what is applied.
fn extend(
    checkout: &Checkout,
    record: &Record,
    head: Oid,
    series: &Series,
    selected: &[&Patch],
    ahead: Option<Ahead>,
) -> Result<Applied, EngineError> {
    let parse = |id: &str| Oid::from_str(id).map_err(EngineError::git("read the record"));
    for applied in &record.patches {
        match series.patches.iter().find(|patch| patch.id == applied.id) {
            None => {
                return Err(EngineError::OtherSeries {
                    applied: record.series.to_string(),
                });
            }
            Some(patch) if patch.digest != applied.digest => {
                return Err(EngineError::PatchChanged(applied.id.clone()));
            }
            Some(_) => {}
        }
    }
    let is_applied = |patch: &&Patch| record.patches.iter().any(|applied| applied.id == patch.id);
    let missing: Vec<&Patch> = selected
        .iter()
        .copied()
        .filter(|patch| !is_applied(patch))
        .collect();
    let earlier = record.patches.iter().map(|applied| PatchOutcome {
        id: applied.id.clone(),
        commit: applied.commit.clone(),
        state: match (record.form, &applied.commit) {
            (Form::Branch, None) => PatchFate::Landed,
            _ => PatchFate::Applied,
        },
        fit: None,
    });
    let mut applied = Applied {
        path: checkout.root.clone(),
        series: Some(record.series.to_string()),
        form: record.form,
        base: record.base.clone(),
        head: head.to_string(),
        branch: record.branch.as_deref().map(short_name),
        patches: earlier.collect(),
        changed_files: Vec::new(),
        outcome: Outcome::Unchanged,
        recovered: Recovered::Nothing,
    };
    if record.form == Form::Worktree {
        applied.branch = short(&record.home);
    }
    if missing.is_empty() {
        refuse_absent(checkout, record, series)?;
        if ahead.is_none() && record.ahead.is_some() {
            // what was cut off is no longer asked for
            let mut done = record.clone();
            done.ahead = None;
            checkout.state.write(RECORD, &done)?;
        }
        return Ok(applied);
    }
    if head.to_string() != record.head {
        return Err(EngineError::CommitsOnTop {
            head: head.to_string(),
            applied: record.head.clone(),
        });
    }
    let base_tree = checkout.tree_of(parse(&record.base)?)?;
    let mut pre_images = PreImages::new(Some(checkout.repository.path()));
    let start = match record.form {
        Form::Branch => head,
        // a commit that nothing refers to stands for the work tree
        Form::Worktree => {
            let earlier: Vec<&Patch> = series
                .patches
                .iter()
                .filter(|patch| is_applied(patch))
                .collect();
            let again = plan(checkout, head, series, &earlier, &mut pre_images)?;
            again.head
        }
    };
    let plan = plan(checkout, start, series, &missing, &mut pre_images)?;
    let files = match record.form {
        Form::Branch => survey(checkout, &plan.files, Against::IndexAndFiles)?,
        Form::Worktree => {
            refuse_edited(checkout, record)?;
            let files = survey(checkout, &plan.files, Against::Files)?;
            refuse_left_out(&files)?;
            files
        }
    };
    let mut after = record.clone();
    after.ahead = ahead;
    after.patches.extend(applied_patches(&plan, record.form));
    after.tree = plan.tree.to_string();
    let touched: BTreeSet<TreePath> = record
        .files
        .iter()
        .chain(&plan.files)
        .map(|file| file.path.clone())
        .collect();
    after.files = differences(checkout, base_tree, plan.tree, touched)?;
    let policy = match record.form {
        Form::Branch => {
            after.head = plan.head.to_string();
            IndexPolicy::Update
        }
        Form::Worktree => IndexPolicy::Keep,
    };
    let mut switch = Switch::new(
        &format!("umpatch: apply {}", series.name),
        files,
        Step {
            before: policy,
            after: policy,
        },
        Step {
            before: Some(record.clone()),
            after: Some(after),
        },
    );
    if let (Form::Branch, Some(branch)) = (record.form, &record.branch) {
        switch.branch = Some((
            branch.clone(),
            Step {
                before: Some(record.head.clone()),
                after: Some(plan.head.to_string()),
            },
        ));
        applied.head = plan.head.to_string();
    }
    switch.run(checkout)?;
    applied.patches.extend(outcomes(&plan, record.form));
    applied.changed_files = paths(&plan.files);
    applied.outcome = Outcome::Changed;
    Ok(applied)
}

/// Refuses when a file of a work-tree application was edited since.
pub(super) fn refuse_edited(checkout: &Checkout, record: &Record) -> Result<(), EngineError> {
    let mut edited = Vec::new();
    for file in &record.files {
        if !holds(checkout, &file.path, file.after.as_ref())? {
            edited.push(file.path.clone());
        }
    }
    match edited.is_empty() {
        true => Ok(()),
        false => Err(EngineError::Dirty(edited)),
    }
}

/// Refuses changes of the work tree alone in files that are not in it.
pub(super) fn refuse_left_out(files: &[FileMove]) -> Result<(), EngineError> {
    let left_out: Vec<TreePath> = files
        .iter()
        .filter(|file| file.left_out)
        .map(|file| file.versions.path.clone())
        .collect();
    match left_out.is_empty() {
        true => Ok(()),
        false => Err(EngineError::LeftOut(left_out)),
    }
}

/// Whether the work tree has a version of a file; none is that nothing is there.
fn holds(
    checkout: &Checkout,
    path: &TreePath,
    version: Option<&Version>,
) -> Result<bool, EngineError> {
    Ok(match version {
        None => checkout.folder().find(path)? == Found::Nothing,
        Some(version) => ends(checkout, path, version)?.is_some(),
    })
}

/// Refuses where the record says that a patch is applied and the files do not have it any more: a revert, a checkout of
/// single files, or an edit of its lines.
fn refuse_absent(checkout: &Checkout, record: &Record, series: &Series) -> Result<(), EngineError> {
    let absent = status::absent(&checkout.root, series, &record.patches)?;
    match absent.is_empty() {
        true => Ok(()),
        false => Err(EngineError::Absent {
            patches: absent,
            form: record.form,
        }),
    }
}

/// A file's name is no longer than 255 bytes, and git puts `.lock` after it.
const LONGEST_NAME: usize = 200;

/// The branch that gets the commits, by its full name.
fn branch_name(series: &Series, options: &ApplyOptions) -> Result<String, EngineError> {
    let short = options
        .branch
        .clone()
        .unwrap_or_else(|| format!("umpatch/{}", series.name));
    let full = format!("refs/heads/{short}");
    // git knows more names that no branch may have than those that no reference may have
    match git2::Branch::name_is_valid(&short) {
        Ok(true) if short != "@" && short.len() <= LONGEST_NAME => Ok(full),
        _ => Err(EngineError::BranchName(short)),
    }
}

/// Refuses to move a branch that holds anything but what umpatch makes anew.
fn refuse_foreign_branch(
    checkout: &Checkout,
    branch: &str,
    tip: Option<Oid>,
    home: &HeadAt,
    planned: Oid,
    record: Option<&Record>,
) -> Result<(), EngineError> {
    let short = short_name(branch);
    let Some(tip) = tip else {
        return refuse_in_the_way(checkout, branch);
    };
    let is_ours = tip == planned
        || record.is_some_and(|record| {
            let known = [&record.head, &record.base];
            record.branch.as_deref() == Some(branch) && known.contains(&&tip.to_string())
        });
    if !is_ours || *home == HeadAt::Branch(branch.to_owned()) {
        return Err(EngineError::BranchExists(short));
    }
    let elsewhere = checkout
        .repository
        .find_branch(&short, git2::BranchType::Local)
        .is_ok_and(|found| found.is_head() || is_checked_out(checkout, branch));
    match elsewhere {
        true => Err(EngineError::BranchElsewhere(short)),
        false => Ok(()),
    }
}

/// Refuses a new branch below a branch or above one: to git they are a file and a folder of one name.
fn refuse_in_the_way(checkout: &Checkout, branch: &str) -> Result<(), EngineError> {
    let looking = || EngineError::git("list the branches");
    let branches = checkout.repository.references_glob("refs/heads/*");
    for name in branches.map_err(looking())?.names() {
        let other = name.map_err(looking())?;
        let below = |one: &str, other: &str| {
            let rest = one.strip_prefix(other);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        if below(branch, other) || below(other, branch) {
            return Err(EngineError::BranchInTheWay {
                branch: short_name(branch),
                other: short_name(other),
            });
        }
    }
    Ok(())
}

/// Whether this work tree or another of the repository has the branch checked out.
pub(super) fn is_checked_out_anywhere(
    checkout: &Checkout,
    branch: &str,
) -> Result<bool, EngineError> {
    let (home, _) = checkout.head()?;
    Ok(home == HeadAt::Branch(branch.to_owned()) || is_checked_out(checkout, branch))
}

/// Whether another work tree of the repository has the branch checked out.
fn is_checked_out(checkout: &Checkout, branch: &str) -> bool {
    let common = checkout.repository.commondir();
    let names = checkout.repository.worktrees();
    let linked = names
        .iter()
        .flat_map(|names| names.iter().flatten())
        .map(|name| common.join("worktrees").join(name));
    let here = checkout.repository.path().canonicalize().ok();
    std::iter::once(common.to_owned())
        .chain(linked)
        .filter(|folder| folder.canonicalize().ok() != here)
        .any(|folder| {
            std::fs::read_to_string(folder.join("HEAD"))
                .is_ok_and(|head| head.trim().strip_prefix("ref: ") == Some(branch))
        })
}

pub(super) fn paths(files: &[FileVersions]) -> Vec<TreePath> {
    files.iter().map(|file| file.path.clone()).collect()
}

fn outcomes(plan: &Plan<'_>, form: Form) -> Vec<PatchOutcome> {
    plan.fates
        .iter()
        .map(|fate| match fate {
            Fate::Applied { patch, fit, commit } => PatchOutcome {
                id: patch.id.clone(),
                commit: (form == Form::Branch).then(|| commit.to_string()),
                state: PatchFate::Applied,
                fit: Some(*fit),
            },
            Fate::Landed { patch } => PatchOutcome {
                id: patch.id.clone(),
                commit: None,
                state: PatchFate::Landed,
                fit: None,
            },
        })
        .collect()
}

fn applied_patches(plan: &Plan<'_>, form: Form) -> Vec<AppliedPatch> {
    plan.fates
        .iter()
        .map(|fate| match fate {
            Fate::Applied { patch, commit, .. } => AppliedPatch {
                id: patch.id.clone(),
                digest: patch.digest.clone(),
                commit: (form == Form::Branch).then(|| commit.to_string()),
            },
            Fate::Landed { patch } => AppliedPatch {
                id: patch.id.clone(),
                digest: patch.digest.clone(),
                commit: None,
            },
        })
        .collect()
}

/// A branch as people name it.
pub(super) fn short_name(branch: &str) -> String {
    branch
        .strip_prefix("refs/heads/")
        .unwrap_or(branch)
        .to_owned()
}

/// The branch that HEAD is on, as people name it.
pub(super) fn short(head: &HeadAt) -> Option<String> {
    match head {
        HeadAt::Branch(name) => Some(short_name(name)),
        HeadAt::Detached(_) => None,
    }
}
