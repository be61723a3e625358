//! Takes an applied series out again: HEAD, index and files as they were, the branch of the patches deleted.
use super::EngineError;
use super::apply::{
    Applied, Outcome, PatchFate, PatchOutcome, paths, refuse_edited, short, was_put_back,
};
use super::checkout::Checkout;
use super::record::{FileVersions, Form, HeadAt, Record};
use super::survey::{Against, survey};
use super::switch::{IndexPolicy, Recovered, Step, Switch, recover};
use git2::Oid;

/// Takes the patches out of a tree, all or nothing.
///
/// # Errors
/// When there are commits on top of them, or a file of theirs was edited; then nothing was changed.
pub fn unapply(root: &std::path::Path) -> Result<Applied, EngineError> {
    let checkout = Checkout::open(root)?;
    let _lock = checkout.lock()?;
    let recovered = recover(&checkout)?;
    take_out(&checkout, recovered)
}

/// Takes out what the record tells of. Needs the lock.
pub(super) fn take_out(checkout: &Checkout, recovered: Recovered) -> Result<Applied, EngineError> {
    checkout.refuse_operations()?;
    let (home, head) = checkout.head()?;
    let Some(record) = checkout.state.record()? else {
        return Ok(Applied {
            path: checkout.root.clone(),
            series: None,
            form: Form::Branch,
            base: head.to_string(),
            head: head.to_string(),
            branch: short(&home),
            patches: Vec::new(),
            changed_files: Vec::new(),
            outcome: Outcome::Unchanged,
            recovered,
        });
    };
    if let Some(stopped) = &record.stopped {
        return Err(EngineError::Stopped(stopped.patch.clone()));
    }
    let (files, now) = match record.form {
        Form::Branch => leave_branch(checkout, &record, &home, head)?,
        Form::Worktree => restore_files(checkout, &record, &home, head)?,
    };
    Ok(Applied {
        path: checkout.root.clone(),
        series: Some(record.series.to_string()),
        form: record.form,
        base: record.base.clone(),
        head: match now {
            HeadAt::Branch(_) => record.base.clone(),
            HeadAt::Detached(ref id) => id.clone(),
        },
        branch: short(&now),
        patches: record
            .patches
            .iter()
            .map(|patch| PatchOutcome {
                id: patch.id.clone(),
                commit: patch.commit.clone(),
                state: PatchFate::Removed,
                fit: None,
            })
            .collect(),
        changed_files: paths(&files),
        outcome: Outcome::Changed,
        recovered,
    })
}

/// Back to where HEAD was, if nothing came on top and that place has not moved.
fn leave_branch(
    checkout: &Checkout,
    record: &Record,
    at: &HeadAt,
    head: Oid,
) -> Result<(Vec<FileVersions>, HeadAt), EngineError> {
    let branch = record.branch.clone().unwrap_or_default();
    let is_applied_head = head.to_string() == record.head;
    // a detached HEAD on the last patch is as good as its branch
    let is_detached_there = matches!(at, HeadAt::Detached(_)) && is_applied_head;
    let on_branch = *at == HeadAt::Branch(branch.clone()) || is_detached_there;
    // somebody has reset the branch to what it began with: the patches are gone already
    let is_reset = on_branch && head.to_string() == record.base;
    if on_branch && !is_reset && head.to_string() != record.head {
        return Err(EngineError::CommitsOnTop {
            head: head.to_string(),
            applied: record.head.clone(),
        });
    }
    if !on_branch {
        refuse_held(checkout, record, at, head)?;
    }
    if let HeadAt::Branch(home) = &record.home {
        let now = checkout.reference(home)?.map(|id| id.to_string());
        if on_branch && now.as_deref() != Some(record.base.as_str()) {
            return Err(EngineError::BaseMoved {
                branch: home.clone(),
                base: record.base.clone(),
                now: now.unwrap_or_else(|| "gone".to_owned()),
            });
        }
    }
    let tip = checkout.reference(&branch)?.map(|id| id.to_string());
    let owned = [&record.head, &record.base].map(|id| Some(id.as_str()));
    let owned = owned.contains(&tip.as_deref());
    if tip.is_some() && !owned {
        return Err(EngineError::BranchExists(super::apply::short_name(&branch)));
    }
    // somebody else has switched away already: only the branch and the record are left to remove
    let files = if on_branch && !is_reset {
        inverse(&record.files)
    } else {
        Vec::new()
    };
    let policy = if on_branch && !is_reset {
        IndexPolicy::Update
    } else {
        IndexPolicy::Keep
    };
    let mut switch = Switch::new(
        &format!("umpatch: unapply {}", record.series),
        survey(checkout, &files, Against::IndexAndFiles)?,
        Step {
            before: policy,
            after: policy,
        },
        Step {
            before: Some(record.clone()),
            after: None,
        },
    );
    if tip.is_some() {
        switch.branch = Some((
            branch,
            Step {
                before: tip,
                after: None,
            },
        ));
    }
    let mut now = at.clone();
    if on_branch {
        now = record.home.clone();
        switch.head = Some(Step {
            before: at.clone(),
            after: now.clone(),
        });
    }
    switch.run(checkout)?;
    Ok((files, now))
}

/// Refuses where another branch holds the patches' commits: what is checked out would keep them.
fn refuse_held(
    checkout: &Checkout,
    record: &Record,
    at: &HeadAt,
    head: Oid,
) -> Result<(), EngineError> {
    if record.head == record.base {
        return Ok(());
    }
    let applied = Oid::from_str(&record.head).map_err(EngineError::git("read the record"))?;
    let below = checkout.repository.graph_descendant_of(head, applied);
    // commits that are not there any more are below nothing
    match head == applied || below.unwrap_or(false) {
        true => Err(EngineError::HeldBy {
            at: short(at).map_or_else(|| "HEAD".to_owned(), |name| format!("the branch {name}")),
            applied: record.head.clone(),
        }),
        false => Ok(()),
    }
}

/// The files of a work-tree application back to what is committed.
fn restore_files(
    checkout: &Checkout,
    record: &Record,
    at: &HeadAt,
    head: Oid,
) -> Result<(Vec<FileVersions>, HeadAt), EngineError> {
    if head.to_string() != record.base {
        return Err(EngineError::CommitsOnTop {
            head: head.to_string(),
            applied: record.base.clone(),
        });
    }
    let files = match was_put_back(checkout, record)? {
        // there is only the record left to remove
        true => Vec::new(),
        false => {
            refuse_edited(checkout, record)?;
            inverse(&record.files)
        }
    };
    Switch::new(
        &format!("umpatch: unapply {}", record.series),
        survey(checkout, &files, Against::Files)?,
        Step {
            before: IndexPolicy::Keep,
            after: IndexPolicy::Update,
        },
        Step {
            before: Some(record.clone()),
            after: None,
        },
    )
    .run(checkout)?;
    Ok((files, at.clone()))
}

fn inverse(files: &[FileVersions]) -> Vec<FileVersions> {
    files
        .iter()
        .map(|file| FileVersions {
            path: file.path.clone(),
            before: file.after.clone(),
            after: file.before.clone(),
        })
        .collect()
}
