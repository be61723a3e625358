//! `umpatch refresh`: edited commits back to patch files, or a check that there is nothing to write.
use super::{Console, Global, Outcome};
use crate::engine::{self, RefreshMode, RefreshState, Refreshed};
use crate::exit::Exit;
use serde::Serialize;
use std::path::PathBuf;

/// Write the commits of an applied series back to its patch files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Apply the series of a folder, edit its commits (git commit --amend, git rebase -i), then refresh. A patch whose commit still
makes the same change with the same message keeps its file byte for byte; series.toml is never touched.

Examples:
  umpatch apply --patches-from patches/classic
  git rebase -i main
  umpatch refresh --patches-from patches/classic
  umpatch refresh --patches-from patches/classic --check     for CI: exits with 4 when a file would change")]
pub(super) struct Arguments {
    /// The folder of the series that is applied
    #[arg(long, value_name = "DIR")]
    patches_from: PathBuf,
    /// Write nothing; exit with 4 when a file would change
    #[arg(long)]
    check: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    refreshed: &'a Refreshed,
}

/// Runs the command.
pub(super) fn run(global: &Global, own: Arguments, console: &Console) -> Outcome {
    let root = engine::root(global.tree.as_deref())?;
    let mode = if own.check {
        RefreshMode::Check
    } else {
        RefreshMode::Write
    };
    let refreshed = engine::refresh(&root, &own.patches_from, mode)?;
    let document = Document {
        schema: "umpatch.refresh/1",
        refreshed: &refreshed,
    };
    console.result(&document, &text(&refreshed, mode));
    Ok(match mode {
        RefreshMode::Check if refreshed.has_drifted() => Exit::PatchOrBuildFailed,
        _ => Exit::Verified,
    })
}

fn text(refreshed: &Refreshed, mode: RefreshMode) -> String {
    let mut lines = Vec::new();
    for patch in &refreshed.patches {
        let word = match (patch.state, mode) {
            (RefreshState::Unchanged, _) => "unchanged",
            (RefreshState::Edited, RefreshMode::Write) => "written anew",
            (RefreshState::Edited, RefreshMode::Check) => "differs from its commit",
        };
        lines.push(format!("  {:<20} {word}", patch.id));
    }
    lines.join("\n")
}
