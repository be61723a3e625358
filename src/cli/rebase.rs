//! `umpatch rebase`: the series carried to another tree, into a new folder.
use super::patches::patches;
use super::{Console, Global, Outcome};
use crate::engine::{self, Carried, CarriedState, Source};
use crate::exit::Exit;
use serde::Serialize;
use std::path::PathBuf;

/// Carry the patch set to another tree, into a new folder
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Patches that fit are written for the new tree, those that it has already are left out, and the first conflict is shown with
its place. Neither the tree nor the old series is changed. What differs from the old patches is printed, line numbers aside.

Examples:
  umpatch rebase --onto ~/pytorch-2.12 --to patches/unified
  umpatch rebase --onto ~/pytorch --to /tmp/carried --patches-from ./my-patches")]
pub(super) struct Arguments {
    /// The tree to carry to, with the wanted commit checked out
    #[arg(long, value_name = "TREE")]
    onto: PathBuf,
    /// The new folder
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Take the patches of this folder, or another series of ours by its name, instead of the default ones
    #[arg(long, visible_alias = "series", value_name = "DIR|SERIES", value_parser = patches)]
    patches_from: Option<PathBuf>,
}

/// What `rebase` and `check` print with `--json`.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    pub(super) schema: &'static str,
    #[serde(flatten)]
    pub(super) carried: &'a Carried,
}

/// Runs the command.
pub(super) fn run(_global: &Global, own: Arguments, console: &Console) -> Outcome {
    let root = engine::root(Some(&own.onto))?;
    let carried = engine::carry(&root, &Source::from(own.patches_from))?;
    carried.write(&own.to)?;
    let document = Document {
        schema: "umpatch.rebase/1",
        carried: &carried,
    };
    console.result(&document, &text(&carried));
    console.note(&format!("written to {}", own.to.display()));
    Ok(match carried.is_complete() {
        true => Exit::Verified,
        false => Exit::PatchOrBuildFailed,
    })
}

/// The patches with their states and differences.
pub(super) fn text(carried: &Carried) -> String {
    let commit = &carried.onto[..12.min(carried.onto.len())];
    let mut lines = vec![format!(
        "{} onto {} ({}, commit {commit})",
        carried.series,
        carried.path.display(),
        carried.generation
    )];
    for patch in &carried.patches {
        let word = match patch.state {
            CarriedState::Unchanged => "unchanged",
            CarriedState::Moved => "fits at other lines, or on files that differ elsewhere",
            CarriedState::Merged => "fits by 3-way merge",
            CarriedState::Landed => "landed: left out",
            CarriedState::Conflict => "conflict",
        };
        lines.push(format!("  {:<20} {word}", patch.id));
        lines.extend(patch.difference.lines().map(|line| format!("      {line}")));
        let places = patch.conflict.iter().flat_map(engine::Conflict::hints);
        lines.extend(places.map(|line| format!("      {line}")));
    }
    lines.extend(
        carried
            .untried
            .iter()
            .map(|id| format!("  {id:<20} not tried")),
    );
    lines.join("\n")
}
