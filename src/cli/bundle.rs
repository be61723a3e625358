//! `umpatch bundle`.
use super::patches::patches;
use super::{Console, Global, Outcome};
use crate::bundle::check::{self, Checked, State};
use crate::bundle::{self, Bundle, Evidence};
use crate::engine::{self, Source};
use crate::exit::Exit;
use crate::{paths, verify};
use std::path::{Path, PathBuf};

/// Make pull-request drafts of the patches, with the evidence of a run; or check such a bundle
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A bundle is a folder and an archive of it (SERIES-VERSION and SERIES-VERSION.tar.zst): for each patch a mail for `git am`, a
title and a body; a cover letter with the order; the run's report; checksums. It needs a run of `umpatch verify` that passed
with exactly these patches on exactly this tree and ran what proves each. The checkout gets a branch for each pull request
and one with all of them on top of each other; HEAD and the work tree stay as they are. Nothing is sent anywhere.

With --check: the mails through `git am` on a clean base, upstream's linters on the added lines with the tree's own settings
(clang-format, ruff, flake8: those versions that the tree names), titles, sections, links, lengths, and what a person still
has to fill. Exits with 0 when only that is left, with 3 when something could not be checked, with 4 when something is wrong.

Examples:
  umpatch verify && umpatch bundle                  of the newest run that fits
  umpatch bundle --run RUN --output /tmp            of a run by its folder
  umpatch bundle --check classic-2.6.0              a folder or .tar.zst")]
pub(super) struct Arguments {
    /// The run folder with the evidence [default: the newest that passed with these patches on this tree]
    #[arg(long, value_name = "RUN")]
    run: Option<PathBuf>,
    /// The folder that gets the bundle's folder and archive
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Make no branches in the checkout
    #[arg(long)]
    no_branches: bool,
    /// Take the patches of this folder, or another series of ours by its name, instead of the default ones
    #[arg(long, visible_alias = "series", value_name = "DIR|SERIES", value_parser = patches)]
    patches_from: Option<PathBuf>,
    /// Check a bundle, a folder or archive, and make none
    #[arg(
        long,
        value_name = "BUNDLE",
        conflicts_with_all = ["run", "output", "no_branches", "patches_from"]
    )]
    check: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(global: &Global, own: Arguments, console: &Console) -> Outcome {
    let root = engine::root(global.tree.as_deref())?;
    match &own.check {
        Some(bundle) => check_bundle(bundle, &root, console),
        None => make(&root, own, console),
    }
}

fn make(root: &Path, own: Arguments, console: &Console) -> Outcome {
    let progress = console.progress();
    progress.stage("the patches as commits");
    let proposal = engine::propose(root, &Source::from(own.patches_from))?;
    progress.stage("the evidence");
    let harness = verify::harness_digest()?;
    let (folder, evidence) = match own.run {
        Some(folder) => {
            let evidence = Evidence::read(&folder)?;
            evidence.accept(&proposal, &harness)?;
            (folder, evidence)
        }
        None => Evidence::newest(&paths::cache().join("runs"), &proposal, &harness)?,
    };
    progress.stage("the bundle");
    let made = bundle::make(&proposal, &evidence, &folder)?;
    if !own.no_branches {
        engine::write_branches(root, &made.branches)?;
    }
    let (place, archive) = bundle::write(&made, &own.output)?;
    if let Some(warning) = bundle::warning(made.manifest.run.trust) {
        console.note(&format!("warning: {warning}"));
    }
    let document = serde_json::json!({
        "schema": "umpatch.bundle/1",
        "mode": "make",
        "folder": place,
        "archive": archive,
        "run": folder,
        "complete": made.is_clean(),
        "branches": if own.no_branches { &[] } else { &made.branches[..] },
        "bundle": made.manifest,
        "lint": made.lints.iter().map(|(patch, lints)| serde_json::json!({"patch": patch, "lints": lints})).collect::<Vec<_>>(),
    });
    let branches = if own.no_branches {
        0
    } else {
        made.branches.len()
    };
    console.result(&document, &summary(&made, &place, &archive, branches));
    Ok(if made.is_clean() {
        Exit::Verified
    } else if made
        .lints
        .iter()
        .flat_map(|(_, lints)| lints)
        .any(|lint| !lint.is_clean() && !lint.is_open())
    {
        Exit::PatchOrBuildFailed
    } else {
        Exit::Inconclusive
    })
}

fn summary(made: &Bundle, place: &Path, archive: &Path, branches: usize) -> String {
    let mut lines = vec![format!(
        "{} pull requests for {} in {}",
        made.manifest.patches.len(),
        made.manifest.version.as_deref().unwrap_or("the tree"),
        place.display()
    )];
    for entry in &made.manifest.patches {
        lines.push(format!("  {}", entry.title));
    }
    lines.push(format!("archive: {}", archive.display()));
    lines.push(format!(
        "evidence: run {} ({}), {branches} branches in the checkout",
        made.manifest.run.name,
        &made.manifest.run.fingerprint.get(..12).unwrap_or_default()
    ));
    for (patch, lints) in &made.lints {
        for lint in lints.iter().filter(|lint| !lint.is_clean()) {
            lines.push(format!("  {patch}: {}", lint.line()));
        }
    }
    lines.push(match made.is_clean() {
        true => "what is left is for a person: see README.md in it".to_owned(),
        false => "not complete: see above".to_owned(),
    });
    lines.join("\n")
}

fn check_bundle(bundle: &Path, root: &Path, console: &Console) -> Outcome {
    console
        .progress()
        .stage("the mails, the linters, the texts");
    let checked = check::check(bundle, root)?;
    let worst = checked.worst();
    let (word, exit) = match worst {
        State::Ok | State::ForAPerson => ("complete", Exit::Verified),
        State::Open => ("not complete", Exit::Inconclusive),
        State::Failed => ("wrong", Exit::PatchOrBuildFailed),
    };
    let document = serde_json::json!({
        "schema": "umpatch.bundle/1",
        "mode": "check",
        "path": bundle,
        "verdict": word,
        "exit_code": exit.code(),
        "result": checked,
    });
    console.result(&document, &text(&checked, word));
    Ok(exit)
}

fn text(checked: &Checked, word: &str) -> String {
    let mut lines = vec![format!("{}: {word}", checked.bundle.name())];
    for check in &checked.checks {
        let sign = match check.state {
            State::Ok => "✔",
            State::ForAPerson => "·",
            State::Open => "?",
            State::Failed => "✘",
        };
        let patch = match check.patch.is_empty() {
            true => String::new(),
            false => format!("{}: ", check.patch),
        };
        let text = check.text.strip_prefix(&format!("{}: ", check.name));
        lines.push(format!(
            "  {sign} {patch}{}: {}",
            check.name,
            text.unwrap_or(&check.text)
        ));
    }
    lines.join("\n")
}
