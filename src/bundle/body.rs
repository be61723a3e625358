//! The body of a pull request: what a reviewer asks for, in the order of upstream's template, short. Every figure comes from
//! the run.
use super::evidence::{Evidence, Proof};
use super::lint::Lint;
use super::own_share::{self, OwnShare};
use super::slots::slot;
use super::tables;
use crate::engine::{Proposal, PullRequest};
use crate::report::document::{ArmFigures, Arms, Bearing, Scenario, TestCounts, Trust};
use crate::report::markup::{code, fenced, prose};
use crate::report::{figures, harmless, summary};
use crate::run::tests::outcome::{Outcome, Quality};
use crate::series::Patch;
use crate::series::manifest::PullRequestText;
use std::fmt::Write;

/// The sections of a body; a check looks for each.
pub const SECTIONS: [&str; 8] = [
    "## Why",
    "## Reproducer",
    "## Test plan",
    "## Before and after",
    "## Microbenchmark",
    "## Backward compatibility",
    "## Lint",
    "## AI disclosure and sign-off",
];

/// What a body is made from.
pub struct Parts<'p> {
    /// All pull requests.
    pub proposal: &'p Proposal,
    /// The one at hand.
    pub request: &'p PullRequest,
    /// Its patch.
    pub patch: &'p Patch,
    /// What its manifest says.
    pub text: &'p PullRequestText,
    /// The run.
    pub evidence: &'p Evidence,
    /// What linters say of its files.
    pub lints: &'p [Lint],
}

/// The title of a patch's pull request.
#[must_use]
pub fn title(patch: &Patch) -> String {
    let subject = harmless::line(&patch.message.subject, harmless::NAME);
    if subject.starts_with("[MPS]") {
        subject
    } else {
        format!("[MPS] {subject}")
    }
}

/// The body.
#[must_use]
pub fn render(parts: &Parts<'_>) -> String {
    let mut body = String::new();
    links(parts, &mut body);
    why(parts, &mut body);
    reproducer(parts, &mut body);
    test_plan(parts, &mut body);
    before_and_after(parts, &mut body);
    microbenchmark(parts, &mut body);
    let _ = writeln!(
        body,
        "\n{}\n\n{}",
        SECTIONS[5],
        paragraph(&parts.text.backward_compatibility)
    );
    lint(parts, &mut body);
    people(&mut body);
    body
}

/// A paragraph of the manifest, its lines joined: it is ours, so its Markdown stays.
fn paragraph(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `pytorch/pytorch#1` within that repository is `#1`.
fn reference(issue: &str) -> &str {
    issue.strip_prefix("pytorch/pytorch").unwrap_or(issue)
}

fn links(parts: &Parts<'_>, body: &mut String) {
    for issue in &parts.text.fixes {
        let _ = writeln!(body, "Fixes {}", reference(issue));
    }
    if parts.text.fixes.is_empty() {
        body.push_str(&slot(
            "`Fixes #` and the issue. No public report is known that this alone closes; open one with the reproducer first.",
        ));
    }
    if !parts.text.related.is_empty() {
        let related: Vec<&str> = parts
            .text
            .related
            .iter()
            .map(|issue| reference(issue))
            .collect();
        let _ = writeln!(body, "\nRelated: {}", related.join(", "));
    }
    let number = parts.proposal.position(parts.request);
    let all = parts.proposal.requests.len();
    let needs: Vec<String> = parts
        .patch
        .depends_on
        .iter()
        .filter(|id| parts.request.needs.contains(id))
        .filter_map(|id| parts.proposal.patch(id))
        .map(|patch| format!("\"{}\"", prose(&title(patch))))
        .collect();
    let needs = if needs.is_empty() {
        "it needs none of the others".to_owned()
    } else {
        format!("it builds on {}", needs.join(" and "))
    };
    let _ = writeln!(body, "\nThis is {number} of {all} pull requests; {needs}.");
}

fn why(parts: &Parts<'_>, body: &mut String) {
    let why = parts.text.why.as_deref().unwrap_or(&parts.patch.why);
    let _ = writeln!(body, "\n{}\n\n{}", SECTIONS[0], paragraph(why));
}

fn reproducer(parts: &Parts<'_>, body: &mut String) {
    let _ = writeln!(
        body,
        "\n{}\n\n{}\nRecorded before and after (stock, and with all {} patches):\n",
        SECTIONS[1],
        fenced(
            parts.text.language.as_deref().unwrap_or("python"),
            parts.text.reproducer.trim()
        ),
        parts.proposal.requests.len()
    );
    for name in &parts.text.shown_by {
        for proof in parts.evidence.proofs(name) {
            let (subject, before, after) = match &proof {
                Proof::Scenario(scenario) => (
                    format!("scenario {}", code(&scenario.id)),
                    scenario_output(&scenario.baseline),
                    scenario_output(&scenario.patched),
                ),
                Proof::Test {
                    id,
                    outcomes,
                    change,
                } => (
                    code(short(id)),
                    test_output(
                        outcomes.baseline,
                        change.map_or("", |change| &change.excerpt),
                    ),
                    test_output(outcomes.patched, ""),
                ),
            };
            let text = format!("before: {before}\nafter:  {after}");
            let _ = writeln!(body, "{subject}\n{}", fenced("text", &text));
        }
    }
    body.truncate(body.trim_end().len());
    body.push('\n');
}

/// `test_mps.py::TestMPS::test_x` as one names it on the command line: `TestMPS.test_x`.
fn short(id: &str) -> &str {
    id.split_once("::").map_or(id, |(_, rest)| rest)
}

/// How the processes of an arm ended, and the first fault.
fn scenario_output(arm: &ArmFigures) -> String {
    let mut text = summary::outcomes(arm);
    for fault in arm.faults.iter().take(2) {
        let detail = without_folders(&harmless::line(&fault.detail, harmless::SENTENCE));
        let kind = harmless::line(&fault.kind, harmless::NAME);
        let _ = write!(
            text,
            "\n        {} × {kind}: {}",
            figures::count(fault.count as f64),
            beginning(&detail)
        );
    }
    text
}

/// Lines of a failing test's output that are shown.
const LINES: usize = 4;

fn test_output(outcome: Option<Outcome>, excerpt: &str) -> String {
    let word = word(outcome);
    if outcome.is_none_or(|outcome| outcome.quality() != Quality::Bad) {
        return word;
    }
    let excerpt = harmless::block(excerpt, harmless::OUTPUT);
    let lines: Vec<String> = excerpt
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !is_stack(line))
        .take(LINES)
        .map(|line| format!("        {}", beginning(&without_folders(line))))
        .collect();
    let mut text = word;
    for line in lines {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// As much of a line as says what went wrong.
fn beginning(line: &str) -> String {
    const SHOWN: usize = 160;
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Lines that say where, not what.
fn is_stack(line: &str) -> bool {
    const WHERE: [&str; 7] = [
        "Thread 0x",
        "Current thread",
        "File \"",
        "[",
        "../",
        "E  ",
        "self.",
    ];
    WHERE.iter().any(|start| line.starts_with(start))
}

fn word(outcome: Option<Outcome>) -> String {
    outcome.map_or_else(|| "not run".to_owned(), |outcome| outcome.to_string())
}

/// Paths of the machine that the run was made on are of no use to a reader: their last parts stay.
fn without_folders(line: &str) -> String {
    line.split(' ')
        .map(|word| match word.find('/') {
            Some(start) if word.matches('/').count() > 2 && !word.contains("://") => {
                let (before, path) = word.split_at(start);
                let parts: Vec<&str> = path.split('/').collect();
                format!("{before}…/{}", parts[parts.len() - 2..].join("/"))
            }
            _ => word.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn test_plan(parts: &Parts<'_>, body: &mut String) {
    let mut rows = String::new();
    let mut names = Vec::new();
    for name in &parts.patch.proven_by {
        for proof in parts.evidence.proofs(name) {
            if let Proof::Test { id, outcomes, .. } = proof {
                names.push(name.clone());
                let _ = writeln!(
                    rows,
                    "| {} | {} | {} |",
                    code(short(&id)),
                    word(outcomes.baseline),
                    word(outcomes.patched)
                );
            }
        }
    }
    let _ = writeln!(body, "\n{}\n", SECTIONS[2]);
    if !names.is_empty() {
        let command = format!("python test/test_mps.py -k {}", names.join(" -k "));
        let _ = writeln!(
            body,
            "{}\n| test added here | before | after |\n|-|-|-|\n{rows}",
            fenced("sh", &command)
        );
    }
    let scenarios: Vec<String> = parts
        .patch
        .proven_by
        .iter()
        .filter(|name| !name.starts_with("test_"))
        .map(|name| code(name))
        .collect();
    if let Some(tests) = &parts.evidence.report.tests {
        // a run that selected nothing but the tests which the patches add has none before
        let counts = if tests.baseline == TestCounts::default() {
            format!(
                "all of them new with the patches: {}",
                summary::test_counts(&tests.patched)
            )
        } else {
            format!(
                "{} before, {} after",
                summary::test_counts(&tests.baseline),
                summary::test_counts(&tests.patched)
            )
        };
        let _ = writeln!(
            body,
            "Tests of test_mps.py that the run selected: {counts}; {} changes count against the patches.",
            tests
                .changes
                .iter()
                .filter(|change| change.weight() == Bearing::Against)
                .count()
        );
    }
    if !scenarios.is_empty() {
        let _ = writeln!(
            body,
            "\nAlso, as `umpatch verify --scenario ID`, each sound after: {}.",
            scenarios.join(", ")
        );
    }
}

fn before_and_after(parts: &Parts<'_>, body: &mut String) {
    let report = &parts.evidence.report;
    let (what, table) = match own_table(parts) {
        Some((share, table)) => (
            match share.below {
                0 => "Before is stock, after is stock with this change alone.".to_owned(),
                below => format!(
                    "Before is stock with what comes before this change in the order ({below} of them), after is with this one too."
                ),
            },
            table,
        ),
        None => (
            format!(
                "Before is stock, after is with all {} changes: the run did not measure this one by itself.",
                parts.proposal.requests.len()
            ),
            tables::figures(&measured(parts)),
        ),
    };
    let _ = writeln!(
        body,
        "\n{}\n\n{}\n\n{what}\n\n{table}",
        SECTIONS[3],
        provenance_of(parts.proposal, parts.evidence),
    );
    if report.trust != Trust::Hardware {
        body.push('\n');
        body.push_str(&slot(
            "the same table from a Mac (`umpatch verify --require-hardware`), with median and interquartile range of the step \
             time of at least three models, or a sentence why it cannot change.",
        ));
    }
}

/// What this patch changes by itself, where the run tells.
fn own_share<'p>(parts: &Parts<'p>) -> Option<OwnShare<'p>> {
    own_share::of(parts.evidence, parts.proposal, parts.request)
}

fn own_table<'p>(parts: &Parts<'p>) -> Option<(OwnShare<'p>, String)> {
    let share = own_share(parts)?;
    let table = share.table(&parts.text.measured_by)?;
    Some((share, table))
}

/// The scenarios whose figures the pull request shows.
fn measured<'p>(parts: &Parts<'p>) -> Vec<&'p Scenario> {
    let names = parts.text.measured_by.iter();
    names
        .flat_map(|name| parts.evidence.proofs(name))
        .filter_map(|proof| match proof {
            Proof::Scenario(scenario) => Some(scenario),
            Proof::Test { .. } => None,
        })
        .collect()
}

/// Which run, on what, how far it can be trusted.
pub(super) fn provenance_of(proposal: &Proposal, evidence: &Evidence) -> String {
    let report = &evidence.report;
    let part = |name: &str| {
        let value = report.fingerprint.parts.get(name);
        harmless::line(value.map_or("unknown", |value| value), harmless::NAME)
    };
    let short = |id: &str| id.chars().take(12).collect::<String>();
    let statement = summary::trust(report.trust);
    // said once, and first
    let does_not_prove = statement
        .does_not_prove
        .trim_end_matches("No figure here was measured on a Mac.")
        .trim_end();
    let warning = match report.trust {
        Trust::Hardware => String::new(),
        Trust::Simulated | Trust::Paravirtual | Trust::Rehearsed => {
            format!(
                "**{}: no figure here was measured on a Mac.** ",
                capital(statement.word)
            )
        }
    };
    format!(
        "{warning}{} {}\n\n| run | device | chip | OS | PyTorch | commit | trust | verdict |\n|-|-|-|-|-|-|-|-|\n| {} ({}) \
         | {} | {} | {} | {} | {} (tree {}) | {} | {} |",
        statement.proves,
        does_not_prove,
        code(&evidence.name),
        short(&report.fingerprint.key),
        prose(&part("device")),
        prose(&part("chip")),
        prose(&part("os")),
        prose(&part("upstream-version")),
        short(&proposal.base),
        short(&proposal.base_tree),
        statement.word,
        summary::verdict_id(report.verdict)
    )
}

pub(super) fn capital(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

fn microbenchmark(parts: &Parts<'_>, body: &mut String) {
    let _ = writeln!(body, "\n{}\n", SECTIONS[4]);
    let report = &parts.evidence.report;
    let (counted, of_what) = match own_share(parts) {
        Some(share) => (share.instructions(), "this change by itself"),
        None => (tables::instructions(report), "all changes together"),
    };
    let counted = tables::counted_instructions(&counted);
    if let Some(table) = &counted {
        let _ = writeln!(
            body,
            "Instructions of one allocation and its free, counted, not timed ({of_what}):\n\n{table}"
        );
    }
    // a few times beside other work say nothing that counted instructions do not say better
    let timed = tables::microbenchmark(parts.evidence, &measured(parts))
        .filter(|table| counted.is_none() || !table.contains(tables::TOO_FEW));
    match timed {
        Some(table) => {
            let _ = writeln!(
                body,
                "Time of one allocation and its free (all changes):\n\n{table}"
            );
            if report.trust != Trust::Hardware {
                let decide = if counted.is_some() {
                    " The instructions above decide."
                } else {
                    ""
                };
                let _ = writeln!(
                    body,
                    "Wall time of the CPU's part on the machine above, beside other work: an order of magnitude, not a Mac's time.{decide}"
                );
            }
        }
        None if counted.is_some() => {}
        None => body.push_str(&slot(
            "an alloc/free microbenchmark: the run measured none of these scenarios' allocations.",
        )),
    }
}

fn lint(parts: &Parts<'_>, body: &mut String) {
    let _ = writeln!(body, "\n{}\n", SECTIONS[6]);
    let clean: Vec<&str> = parts
        .lints
        .iter()
        .filter(|lint| lint.is_clean())
        .map(|lint| lint.name.as_str())
        .collect();
    if !clean.is_empty() {
        let _ = writeln!(
            body,
            "Clean on the added lines, with the tree's own settings: {}.",
            clean.join(", ")
        );
    }
    for lint in parts.lints.iter().filter(|lint| !lint.is_clean()) {
        let _ = writeln!(body, "- {}", lint.line());
    }
}

fn people(body: &mut String) {
    let _ = writeln!(body, "\n{}\n", SECTIONS[7]);
    body.push_str(&slot(
        "AI disclosure, as AI_POLICY.md asks: which tools had which part in the change, its tests and this text.",
    ));
    body.push('\n');
    body.push_str(&slot(
        "sign-off of the person who sends this: name, that they have read and understand every line, and where they ran it.",
    ));
}

/// Both arms of a figure: `before → after`, or the one value.
pub(super) fn pair(values: &Arms<String>) -> String {
    if values.baseline == values.patched {
        values.baseline.clone()
    } else {
        format!("{} → {}", values.baseline, values.patched)
    }
}
