//! `umpatch check`: whether the series still fits a tree as it is; a gate for CI.
use super::patches::patches;
use super::rebase::{Document, text};
use super::{Console, Global, Outcome};
use crate::engine::{self, Source};
use crate::exit::Exit;
use std::path::PathBuf;

/// Check that the patch set fits a tree as it is, and write the mend if it does not
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 0 when every patch fits on the very files that it was made for, else with 4.

Examples:
  umpatch -C ~/pytorch check
  umpatch -C ~/pytorch check --mend /tmp/mend     the carried series, as far as it goes")]
pub(super) struct Arguments {
    /// Write the carried series into this new folder when something has drifted
    #[arg(long, value_name = "DIR")]
    mend: Option<PathBuf>,
    /// Take the patches of this folder, or another series of ours by its name, instead of the default ones
    #[arg(long, visible_alias = "series", value_name = "DIR|SERIES", value_parser = patches)]
    patches_from: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(global: &Global, own: Arguments, console: &Console) -> Outcome {
    let root = engine::root(global.tree.as_deref())?;
    let carried = engine::carry(&root, &Source::from(own.patches_from))?;
    let drifted = !carried.is_unchanged();
    if let (true, Some(folder)) = (drifted, &own.mend) {
        carried.write(folder)?;
        console.note(&format!("the mend is in {}", folder.display()));
    }
    let document = Document {
        schema: "umpatch.check/1",
        carried: &carried,
    };
    console.result(&document, &text(&carried));
    Ok(if drifted {
        Exit::PatchOrBuildFailed
    } else {
        Exit::Verified
    })
}
