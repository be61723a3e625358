//! The cover letter: what the bundle holds, in which order it goes, what it rests on, and what a person still has to do.
use super::body::{capital, provenance_of};
use super::manifest::Manifest;
use super::{Evidence, warning};
use crate::engine::Proposal;
use crate::report::markup::{code, fenced, prose};
use crate::report::{harmless, summary};
use std::fmt::Write;

/// The letter.
pub(super) fn render(manifest: &Manifest, proposal: &Proposal, evidence: &Evidence) -> String {
    let mut text = format!(
        "# {} pull requests for PyTorch {}: the series {}\n\nA draft. Nothing in it was sent anywhere, and umpatch sends nothing: \
         a person reads it, fills what is marked, and opens the pull requests.\n",
        manifest.patches.len(),
        manifest
            .version
            .as_deref()
            .unwrap_or("of an unknown version"),
        code(&manifest.series)
    );
    if let Some(warning) = warning(evidence.report.trust) {
        let _ = writeln!(text, "\n**{}.**", capital(warning));
    }
    order(manifest, proposal, &mut text);
    let _ = writeln!(
        text,
        "\n## Evidence\n\n{}\n\n{}\n\n`evidence/report.html` shows all of it; every figure in the bodies comes from that run. It \
         compares stock with the whole series, so a pull request's figures are those of its scenarios under all {} patches.\n\n\
         To run it again: {}",
        provenance_of(proposal, evidence),
        summary::verdict_meaning(evidence.report.verdict),
        manifest.patches.len(),
        code(&evidence.command(proposal))
    );
    steps(manifest, &mut text);
    text
}

fn order(manifest: &Manifest, proposal: &Proposal, text: &mut String) {
    text.push_str("\n## Order\n\n| | pull request | needs | closes | branch |\n|-|-|-|-|-|\n");
    let number = |id: &str| {
        let index = manifest.patches.iter().position(|entry| entry.id == id);
        index.map_or_else(|| id.to_owned(), |index| (index + 1).to_string())
    };
    for (index, entry) in manifest.patches.iter().enumerate() {
        let needs: Vec<String> = entry.needs.iter().map(|id| number(id)).collect();
        let text_of = proposal
            .series
            .patches
            .iter()
            .find(|patch| patch.id.as_str() == entry.id)
            .and_then(|patch| patch.pull_request.as_ref());
        let closes: Vec<String> = text_of
            .into_iter()
            .flat_map(|text| &text.fixes)
            .map(|issue| prose_issue(issue))
            .collect();
        let or = |list: Vec<String>, none: &str| match list.is_empty() {
            true => none.to_owned(),
            false => list.join(", "),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            index + 1,
            prose(&entry.title),
            or(needs, "nothing"),
            or(closes, "to be filled"),
            code(&entry.branch)
        );
    }
    text.push_str(
        "\nSend those that need nothing first; each of the others when what it needs is in, or all at once as a stack. Every \
         prefix of the order compiles and is sound by itself.\n",
    );
    if !manifest.landed.is_empty() {
        let landed: Vec<String> = manifest.landed.iter().map(|id| code(id)).collect();
        let _ = writeln!(text, "\nIn the tree already: {}.", landed.join(", "));
    }
}

fn prose_issue(issue: &str) -> String {
    harmless::line(issue.strip_prefix("pytorch/pytorch").unwrap_or(issue), 80)
}

fn steps(manifest: &Manifest, text: &mut String) {
    let first = manifest.patches.first();
    let branch = first.map_or("", |entry| &entry.branch);
    let folder = first
        .and_then(|entry| entry.body.split('/').next())
        .unwrap_or_default();
    let _ = writeln!(
        text,
        "\n## What a person does\n\n0. Carries them to upstream's main where they are to be opened there: these are for {}, and main has \
         moved on. `umpatch -C MAIN status` tells what has landed or was superseded since, `umpatch rebase --onto MAIN` carries \
         the rest, and a run and a bundle on that tree replace these.\n1. Reads every mail and body, and replaces each line that says \"{}\": the issue to close where \
         none is known, figures from a Mac, AI disclosure, sign-off.\n2. Checks: `umpatch bundle --check .` (mails on a clean \
         base, lint, links, lengths, what is still empty); `sha256sum --check SHA256SUMS`.\n3. Sends, one of:\n\n{}\n   The \
         subjects begin with `[MPS]`, which plain `git am` takes for a tag and drops; `--keep-non-patch` keeps it.",
        manifest.version.as_deref().unwrap_or("this tree"),
        super::EMPTY,
        fenced(
            "sh",
            &format!(
                "# one pull request per branch (the branches are in the checkout, or made from the mails)\n\
                 git push FORK {branch}\n\
                 gh pr create --head {branch} --title \"$(cat {folder}/title.txt)\" --body-file {folder}/body.md\n\
                 # or the stack\n\
                 git switch {} && ghstack\n\
                 # or from the mails\n\
                 git am --keep-non-patch */*.patch",
                manifest.stack
            )
        )
    );
}
