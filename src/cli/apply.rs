//! `umpatch apply`: the patch set into a tree, as commits on a branch or in the work tree.
use super::patches::patches;
use super::{Console, Global, Outcome};
use crate::engine::{
    self, Applied, ApplyOptions, Conflicts, EngineError, Form, PatchFate, Recovered, Resume,
    Resumed, Selection, Source,
};
use crate::error::Failure;
use crate::exit::Exit;
use crate::series::PatchId;
use serde::Serialize;
use std::path::PathBuf;

/// Apply the patch set to a PyTorch tree, all or nothing
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The patches become commits on a branch of their own, umpatch/SERIES, which is then checked out; your own branch stays
where it is, and `umpatch unapply` goes back to it. The ids of these commits are the same on every machine. Only files
whose content changes are written, so a build that follows compiles no more than it must. Uncommitted changes of other
files stay as they are; of touched files they are refused.

Examples:
  umpatch apply                               the set for the tree's generation
  umpatch -C ~/pytorch apply --until empty-cache
  umpatch apply --worktree                    no commits: changes of the work tree only
  umpatch apply --patches-from ./my-patches   another series: series.toml, a quilt series, or *.patch
  umpatch apply --conflict-markers            at a conflict: edit the files, then umpatch apply --continue (or --abort)")]
pub(super) struct Arguments {
    /// Only these patches (may be repeated, or separated by commas)
    #[arg(
        long,
        value_name = "ID",
        value_delimiter = ',',
        conflicts_with = "until"
    )]
    only: Vec<PatchId>,
    /// The patches up to and including this one
    #[arg(long, value_name = "ID")]
    until: Option<PatchId>,
    /// Change the work tree only: no commits, no branch
    #[arg(long)]
    worktree: bool,
    /// The branch that gets the commits [default: umpatch/SERIES]
    #[arg(long, value_name = "NAME", conflicts_with = "worktree")]
    branch: Option<String>,
    /// At a conflict apply the patches before it, leave its change in the work tree with conflict markers, and stop
    #[arg(long, conflicts_with = "worktree")]
    conflict_markers: bool,
    /// Go on after a conflict was resolved, or carry a command that was cut off to its end (or clear it away, if it had
    /// changed nothing yet)
    #[arg(long = "continue", exclusive = true)]
    resume: bool,
    /// Give up a conflict and take the patches out, or take back what a command that was cut off did
    #[arg(long, exclusive = true)]
    abort: bool,
    /// Take the patches of this folder, or another series of ours by its name, instead of the default ones
    #[arg(long, visible_alias = "series", value_name = "DIR|SERIES", value_parser = patches)]
    patches_from: Option<PathBuf>,
}

/// What `apply` and `unapply` print with `--json`.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    pub(super) schema: &'static str,
    #[serde(flatten)]
    pub(super) applied: &'a Applied,
}

/// Runs the command.
pub(super) fn run(global: &Global, own: Arguments, console: &Console) -> Outcome {
    let root = engine::root(global.tree.as_deref())?;
    if own.resume || own.abort {
        return resume(&root, own.abort, console);
    }
    let options = ApplyOptions {
        source: Source::from(own.patches_from),
        selection: match own.until {
            Some(id) => Selection::Until(id),
            None if own.only.is_empty() => Selection::All,
            None => Selection::Only(own.only),
        },
        form: if own.worktree {
            Form::Worktree
        } else {
            Form::Branch
        },
        branch: own.branch,
        conflicts: match own.conflict_markers {
            true => Conflicts::Mark,
            false => Conflicts::Refuse,
        },
    };
    let applied = engine::apply(&root, &options).map_err(|error| failure(error, console))?;
    note_recovery(applied.recovered, console);
    let document = Document {
        schema: "umpatch.apply/1",
        applied: &applied,
    };
    console.result(&document, &text(&applied));
    Ok(Exit::Verified)
}

/// `--continue` and `--abort`.
fn resume(root: &std::path::Path, abort: bool, console: &Console) -> Outcome {
    let how = if abort {
        Resume::Abort
    } else {
        Resume::Continue
    };
    let resumed = engine::resume(root, how).map_err(|error| failure(error, console))?;
    let recovered = match resumed {
        Resumed::Recovered(recovered) => recovered,
        Resumed::Applied(applied) => {
            let document = Document {
                schema: "umpatch.apply/1",
                applied: &applied,
            };
            console.result(&document, &text(&applied));
            return Ok(Exit::Verified);
        }
        Resumed::Abandoned(undone) => {
            let document = Document {
                schema: "umpatch.unapply/1",
                applied: &undone,
            };
            console.note("what you had made of the conflict is kept in umpatch/set-aside in the git directory");
            console.result(&document, &super::unapply::text(&undone));
            return Ok(Exit::Verified);
        }
    };
    let (word, text) = match recovered {
        Recovered::Nothing => ("nothing", "no command was cut off: nothing to do"),
        Recovered::TakenBack => ("taken-back", "the command that was cut off was taken back"),
        Recovered::Finished => (
            "finished",
            "the command that was cut off was carried to its end",
        ),
    };
    let document = serde_json::json!({
        "schema": "umpatch.apply/1", "path": root, "recovered": word,
    });
    console.result(&document, text);
    Ok(Exit::Verified)
}

/// A conflict is shown whole on stderr; everything else is rendered as any error.
fn failure(error: EngineError, console: &Console) -> Failure {
    if let EngineError::Conflict(conflict) = &error
        && !conflict.is_stopped
    {
        console.note("nothing was changed");
    }
    Failure::from(error)
}

/// Says what became of an earlier command that was cut off.
pub(super) fn note_recovery(recovered: Recovered, console: &Console) {
    match recovered {
        Recovered::Nothing => {}
        Recovered::TakenBack => {
            console.note("an earlier umpatch was cut off before it changed anything; cleared away")
        }
        Recovered::Finished => {
            console.note("an earlier umpatch was cut off; its work was finished first")
        }
    }
}

fn text(applied: &Applied) -> String {
    let mut lines = Vec::new();
    let title = match applied.outcome {
        engine::Outcome::Changed => "applied",
        engine::Outcome::Unchanged => "already applied",
    };
    let series = applied.series.as_deref().unwrap_or_default();
    lines.push(format!("{title}: {series} in {}", applied.path.display()));
    for patch in &applied.patches {
        let commit = patch
            .commit
            .as_deref()
            .map_or("", |commit| &commit[..12.min(commit.len())]);
        let how = match (patch.state, patch.fit) {
            (PatchFate::Landed, _) => "in the tree already",
            (_, Some(engine::Fit::Exact)) => "exact",
            (_, Some(engine::Fit::ThreeWay)) => "by 3-way merge",
            (_, Some(engine::Fit::Offset(_))) => "at an offset",
            (_, None) => "",
        };
        lines.push(
            format!("  {:<20} {commit:<12} {how}", patch.id)
                .trim_end()
                .to_owned(),
        );
    }
    let head = &applied.head[..12.min(applied.head.len())];
    match (applied.form, &applied.branch) {
        (Form::Worktree, _) => lines.push(format!("uncommitted, on {head}")),
        (Form::Branch, Some(branch)) => lines.push(format!("on branch {branch} at {head}")),
        (Form::Branch, None) => lines.push(format!("HEAD is detached at {head}")),
    }
    lines.push(format!("{} files changed", applied.changed_files.len()));
    lines.join("\n")
}
