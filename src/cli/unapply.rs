//! `umpatch unapply`: the tree as it was before `apply`.
use super::apply::{Document, note_recovery};
use super::{Console, Global, Outcome};
use crate::engine::{self, Applied};
use crate::exit::Exit;

/// Take the patch set back out of a PyTorch tree
#[derive(Debug, clap::Args)]
#[command(after_help = "\
HEAD goes back to where it was before `apply`, the files that the patches changed get their content back, and the branch
of the patches is deleted: `umpatch apply` makes the same commits again. Refused while commits of yours are on top of the
patches, or a file that they touch has uncommitted changes.

Examples:
  umpatch unapply
  umpatch -C ~/pytorch unapply --json")]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(global: &Global, _own: Arguments, console: &Console) -> Outcome {
    let root = engine::root(global.tree.as_deref())?;
    let applied = engine::unapply(&root)?;
    note_recovery(applied.recovered, console);
    let document = Document {
        schema: "umpatch.unapply/1",
        applied: &applied,
    };
    console.result(&document, &text(&applied));
    Ok(Exit::Verified)
}

pub(super) fn text(applied: &Applied) -> String {
    if applied.outcome == engine::Outcome::Unchanged {
        return format!(
            "nothing is applied by umpatch in {}",
            applied.path.display()
        );
    }
    let place = applied.branch.as_deref().unwrap_or("a detached HEAD");
    format!(
        "taken out: {} patches of {} from {}\non {place} at {}\n{} files changed",
        applied.patches.len(),
        applied.series.as_deref().unwrap_or_default(),
        applied.path.display(),
        &applied.head[..12.min(applied.head.len())],
        applied.changed_files.len(),
    )
}
