//! `umpatch status`: how each patch stands against a tree, with the evidence.
use super::patches::patches;
use super::{Console, Global, Outcome};
use crate::engine::{self, Source, Status};
use crate::exit::Exit;
use serde::Serialize;
use std::path::PathBuf;

/// Say how each patch stands against a PyTorch tree, with the evidence
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The words:
  applied          umpatch applied it, or it is in the work tree uncommitted
  clean            it applies
  clean-by-3-way   it applies by a merge with the version that it was made for
  conflict         it does not apply; the evidence says where
  landed           the tree has it
  partly-landed    the tree has a part of it
  superseded       the tree has something else in its place
  unsupported      it is not for such a tree; the evidence says why

The tree may be a checkout, or a folder or archive (.tar, .tar.gz, .tar.xz, .zip) that holds at least the files that the
patches touch; no history is needed.

Examples:
  umpatch status
  umpatch -C ~/pytorch status --json
  umpatch -C touched-files.tar.gz status
  umpatch status --patches-from ./my-patches")]
pub(super) struct Arguments {
    /// Take the patches of this folder, or another series of ours by its name, instead of the default ones
    #[arg(long, visible_alias = "series", value_name = "DIR|SERIES", value_parser = patches)]
    patches_from: Option<PathBuf>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    status: &'a Status,
}

/// Runs the command.
pub(super) fn run(global: &Global, own: Arguments, console: &Console) -> Outcome {
    let source = Source::from(own.patches_from);
    let status = match global.tree.as_deref().filter(|path| path.is_file()) {
        Some(archive) => engine::status_of_archive(archive, &source, console.progress().as_ref())?,
        None => engine::status(&engine::root(global.tree.as_deref())?, &source)?,
    };
    let document = Document {
        schema: "umpatch.status/1",
        status: &status,
    };
    console.result(&document, &text(&status));
    Ok(Exit::Verified)
}

fn text(status: &Status) -> String {
    let tree = &status.tree;
    let mut lines = vec![format!(
        "PyTorch {} ({}) in {}",
        tree.version.as_deref().unwrap_or("of unknown version"),
        tree.generation.as_deref().unwrap_or("unknown generation"),
        tree.path.display(),
    )];
    if let Some(commit) = &tree.commit {
        lines.push(format!("commit {commit}"));
    }
    for reason in &status.generation_evidence {
        lines.push(format!("  {reason}"));
    }
    if let Some(target) = &status.target {
        lines.push(format!(
            "evidence for {}: {} ({})",
            target.versions.join(", "),
            target.evidence.word(),
            target.basis
        ));
    }
    for note in &status.notes {
        lines.push(format!("note: {note}"));
    }
    if let Some(series) = &status.series {
        let evidence = status
            .series_evidence
            .as_deref()
            .map_or(String::new(), |text| format!(" ({text})"));
        lines.push(format!("series {series}{evidence}"));
    }
    for patch in &status.patches {
        lines.push(format!("  {:<20} {}", patch.id, patch.state.word()));
        lines.extend(patch.evidence.iter().map(|line| format!("      {line}")));
    }
    lines.join("\n")
}
