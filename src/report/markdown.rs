//! The report as Markdown for a CI job summary or a pull-request comment: verdict first, details folded, and within the
//! 65,536 characters that a comment may have.
use super::document::{Bearing, Fault, FindingState, Report, Scenario, TestChange};
use super::markup::{code, fenced, html_escaped, prose};
use super::{ablation, figures, harmless, summary};
use std::fmt::Write;

/// Characters that a pull-request comment may have; a job summary may have more.
const LIMIT: usize = 65_536;
/// What is kept free for the lines that say what was left out.
const RESERVE: usize = 2_048;
/// Rows of a table; the page has them all.
const ROWS: usize = 100;
/// Characters of a faulty program's output that are shown.
const EXCERPT: usize = 1_200;

/// Renders the report.
pub(super) fn render(report: &Report) -> String {
    let mut page = Page::default();
    head(report, &mut page);
    scenario_table(report, &mut page);
    tests(report, &mut page);
    goals(report, &mut page);
    settings(report, &mut page);
    which_patch(report, &mut page);
    repeat(report, &mut page);
    details(report, &mut page);
    environment(report, &mut page);
    page.finish()
}

/// Text that grows by whole sections and stops taking them when it is full.
#[derive(Default)]
struct Page {
    text: String,
    characters: usize,
    left_out: usize,
}

impl Page {
    /// Adds a section if there is room for it.
    fn add(&mut self, section: &str) -> bool {
        let characters = section.chars().count();
        if self.characters + characters > LIMIT - RESERVE {
            self.left_out += 1;
            return false;
        }
        self.text.push_str(section);
        self.characters += characters;
        true
    }

    /// Adds rows between a head and a foot: as many as there is room for, the rest counted.
    fn add_rows(&mut self, head: &str, rows: impl Iterator<Item = String>, foot: &str) {
        let around = head.chars().count() + foot.chars().count() + 80;
        let room = (LIMIT - RESERVE).saturating_sub(self.characters + around);
        let (mut section, mut used) = (head.to_owned(), 0);
        let (mut taken, mut more) = (0_usize, 0_usize);
        for row in rows {
            let characters = row.chars().count();
            if more == 0 && taken < ROWS && used + characters <= room {
                taken += 1;
                section.push_str(&row);
                used += characters;
            } else {
                more += 1;
            }
        }
        section.push_str(foot);
        if more > 0 {
            let _ = writeln!(
                section,
                "\n*{} more in report.html*",
                figures::count(more as f64)
            );
        }
        self.add(&section);
    }

    fn finish(mut self) -> String {
        if self.left_out > 0 {
            let _ = writeln!(
                self.text,
                "\n*{} sections left out to keep within the length of a comment: they are in report.html.*",
                self.left_out
            );
        }
        self.text
    }
}

fn head(report: &Report, page: &mut Page) {
    let mut text = format!(
        "## {} umpatch verify: {}\n\n",
        summary::verdict_sign(report.verdict),
        summary::verdict_word(report.verdict)
    );
    match summary::deciding(report) {
        Some(reason) => {
            let _ = writeln!(text, "**{}**\n", prose(&summary::reason_line(reason)));
        }
        None => {
            let _ = writeln!(text, "**{}**\n", summary::verdict_meaning(report.verdict));
        }
    }
    if let Some(warning) = summary::partial_warning(report) {
        let _ = writeln!(text, "> [!WARNING]\n> {warning}\n");
    }
    let names = summary::arm_names(report);
    let trust = summary::trust(report.trust);
    let _ = writeln!(
        text,
        "Compared {} against {}.\n",
        prose(&names.patched),
        prose(&names.baseline)
    );
    let _ = writeln!(
        text,
        "> [!NOTE]\n> **Trust: {}**{}. {} {}\n",
        trust.word,
        match summary::machine(report) {
            machine if machine.is_empty() => machine,
            machine => format!(" ({})", prose(&machine)),
        },
        trust.proves,
        trust.does_not_prove
    );
    page.add(&text);
    if report.reasons.len() > 1 {
        let rows = report
            .reasons
            .iter()
            .map(|reason| format!("- {}\n", prose(&summary::reason_line(reason))));
        let head = format!(
            "<details><summary>All {} lines of evidence</summary>\n\n",
            report.reasons.len()
        );
        page.add_rows(&head, rows, "\n</details>\n\n");
    }
}

fn scenario_table(report: &Report, page: &mut Page) {
    if report.scenarios.is_empty() {
        return;
    }
    page.add(&format!(
        "### Scenarios: {}\n\n",
        summary::scenario_counts(report)
    ));
    let sound =
        |index: &usize| summary::leading(&report.scenarios[*index]).state == FindingState::Ok;
    let (ok, to_tell): (Vec<usize>, Vec<usize>) =
        summary::gravest_first(report).into_iter().partition(sound);
    let columns = "| scenario | finding | slope per step, stock → patched | peak | reuse | blocking waits | hazards |\n\
                   |-|-|-|-|-|-|-|\n";
    let row = |index: &usize| scenario_row(&report.scenarios[*index]);
    if !to_tell.is_empty() {
        page.add_rows(columns, to_tell.iter().map(row), "\n");
    }
    if !ok.is_empty() {
        let head = format!(
            "<details><summary>{} that are ok</summary>\n\n{columns}",
            ok.len()
        );
        page.add_rows(&head, ok.iter().map(row), "\n</details>\n\n");
    }
}

fn scenario_row(scenario: &Scenario) -> String {
    let state = summary::leading(scenario).state;
    let measures = summary::measures(scenario);
    format!(
        "| {} | {} {} | {} | {} | {} | {} | {} |\n",
        code(&harmless::line(&scenario.id, harmless::NAME)),
        summary::finding_sign(state),
        summary::finding_word(state),
        measures.slope.pair(),
        measures.peak.pair(),
        measures.reuse.pair(),
        measures.waits.pair(),
        measures.hazards.pair(),
    )
}

fn tests(report: &Report, page: &mut Page) {
    let Some(tests) = &report.tests else { return };
    let mut text = String::from("### Tests\n\n| | pass rate | outcomes |\n|-|-|-|\n");
    for (name, counts, rate) in [
        ("stock", &tests.baseline, &tests.pass_rate.baseline),
        ("patched", &tests.patched, &tests.pass_rate.patched),
    ] {
        let _ = writeln!(
            text,
            "| {name} | {} | {} |",
            figures::share(rate.rate),
            summary::test_counts(counts)
        );
    }
    text.push('\n');
    page.add(&text);
    let remarks: Vec<String> = summary::test_remarks(tests)
        .iter()
        .map(|remark| format!("- {}\n", prose(remark)))
        .collect();
    page.add_rows("", remarks.into_iter(), "\n");
    let mut changes: Vec<&TestChange> = tests.changes.iter().collect();
    changes.sort_by_key(|change| summary::change_gravity(change));
    for bearing in [
        Bearing::Against,
        Bearing::Undecided,
        Bearing::InFavour,
        Bearing::Neutral,
    ] {
        let rows: Vec<String> = changes
            .iter()
            .filter(|change| change.weight() == bearing)
            .map(|change| change_row(change))
            .collect();
        change_table(bearing, rows, page);
    }
}

/// A table of tests that say the same about the patches; folded unless they count against them.
fn change_table(bearing: Bearing, rows: Vec<String>, page: &mut Page) {
    let columns = "| test | class | stock | patched | evidence |\n|-|-|-|-|-|\n";
    let (words, sign, _) = summary::bearing(bearing);
    let number = figures::count(rows.len() as f64);
    let plural = if rows.len() == 1 { "test" } else { "tests" };
    if rows.is_empty() {
        return;
    }
    let title = format!("{sign} {number} {plural}: {words}");
    if bearing == Bearing::Against {
        let head = format!("**{title}**\n\n{columns}");
        page.add_rows(&head, rows.into_iter(), "\n");
    } else {
        let head = format!("<details><summary>{title}</summary>\n\n{columns}");
        page.add_rows(&head, rows.into_iter(), "\n</details>\n\n");
    }
}

fn change_row(change: &TestChange) -> String {
    let known = if change.reason.is_empty() {
        String::new()
    } else {
        format!(" (known: {})", change.reason)
    };
    let evidence = harmless::line(&format!("{}{known}", change.evidence), harmless::NAME);
    format!(
        "| {} | {} | {} | {} | {} |\n",
        code(&harmless::line(&change.id, harmless::NAME)),
        prose(&harmless::line(&change.class, 40)),
        prose(&harmless::line(&change.baseline, 40)),
        prose(&harmless::line(&change.patched, 40)),
        prose(&evidence),
    )
}

fn goals(report: &Report, page: &mut Page) {
    let rows = report.goals.iter().map(|goal| {
        let met = match goal.met {
            Some(true) => "✔ met",
            Some(false) => "✘ missed",
            None => "? no evidence",
        };
        format!(
            "| {met} | {} | {} |\n",
            prose(&harmless::line(&goal.text, harmless::SENTENCE)),
            prose(&harmless::line(&goal.evidence, harmless::SENTENCE))
        )
    });
    if !report.goals.is_empty() {
        page.add_rows("### Goals\n\n| | goal | evidence |\n|-|-|-|\n", rows, "\n");
    }
}

/// What becomes of the verdict under each assumption, folded where all agree.
fn settings(report: &Report, page: &mut Page) {
    let Some((first, others)) = report.by_setting.split_first() else {
        return;
    };
    let agree = others.iter().all(|other| other.verdict == first.verdict);
    let (open, close) = if agree {
        (
            format!(
                "<details><summary>The same verdict under each of {} assumptions about Metal</summary>\n\n",
                others.len()
            ),
            "\n</details>\n",
        )
    } else {
        (
            "### The verdict hangs on an assumption about Metal\n\n".to_owned(),
            "\n",
        )
    };
    let rows = report.by_setting.iter().map(|own| {
        let setting = if own.setting.is_empty() {
            "default settings".to_owned()
        } else {
            code(&harmless::line(&own.setting, harmless::NAME))
        };
        format!(
            "| {setting} | {} {} | {} | {} |\n",
            summary::verdict_sign(own.verdict),
            summary::verdict_word(own.verdict),
            own.scenarios,
            prose(&harmless::line(&own.reason, harmless::SENTENCE))
        )
    });
    let head = format!("{open}| setting | verdict | scenarios | what decided |\n|-|-|-|-|\n");
    page.add_rows(&head, rows, close);
}

/// Which patch does what, folded.
fn which_patch(report: &Report, page: &mut Page) {
    let Some(whole) = &report.ablation else {
        return;
    };
    let name = |text: &str| prose(&harmless::line(text, harmless::NAME));
    let columns = |first: &str| {
        let mut head = format!("| {first} |");
        for subset in &whole.subsets {
            let _ = write!(head, " {} |", name(&subset.name));
        }
        let rule = "-|".repeat(whole.subsets.len() + first.matches('|').count() + 1);
        format!("{head}\n|{rule}\n")
    };
    let mut head = "<details><summary>Which patch does what</summary>\n\n".to_owned();
    let verdicts = ablation::verdicts(whole);
    if !verdicts.is_empty() {
        head.push_str(&columns("verdict by setting"));
        for row in verdicts {
            let _ = write!(head, "| {} |", name(&row.setting));
            for cell in row.verdicts {
                match cell {
                    Some((sign, word, _)) => {
                        let _ = write!(head, " {sign} {word} |");
                    }
                    None => head.push_str("  |"),
                }
            }
            head.push('\n');
        }
        head.push('\n');
    }
    head.push_str(&columns("scenario | stock"));
    let rows = ablation::telling(whole).into_iter().map(|row| {
        let mut text = format!(
            "| {} | {} |",
            code(&harmless::line(&row.scenario, harmless::NAME)),
            ablation::stock(row)
        );
        for index in 0..whole.subsets.len() {
            match ablation::at(row, index) {
                Some((finding, figure)) => {
                    let state = finding.state;
                    let (sign, word) = (summary::finding_sign(state), summary::finding_word(state));
                    let _ = write!(text, " {sign} {word} {figure} |");
                }
                None => text.push_str("  |"),
            }
        }
        text.push('\n');
        text
    });
    page.add_rows(&head, rows, "\n</details>\n");
}

fn repeat(report: &Report, page: &mut Page) {
    page.add(&format!(
        "See it yourself:\n\n{}\n",
        fenced("sh", &summary::run_command(report))
    ));
}

fn details(report: &Report, page: &mut Page) {
    for index in summary::gravest_first(report) {
        let scenario = &report.scenarios[index];
        let finding = summary::leading(scenario);
        let faults = scenario.baseline.faults.len() + scenario.patched.faults.len();
        if faults > 0 || !matches!(finding.state, FindingState::Ok | FindingState::Improved) {
            page.add(&scenario_details(scenario));
        }
    }
}

fn scenario_details(scenario: &Scenario) -> String {
    let state = summary::leading(scenario).state;
    let mut text = format!(
        "<details><summary>{} {}: {}</summary>\n\n",
        summary::finding_sign(state),
        html_escaped(&harmless::line(&scenario.id, harmless::NAME)),
        summary::finding_word(state)
    );
    let _ = writeln!(
        text,
        "Reproduces: {}\n",
        prose(&summary::reproduces_text(scenario))
    );
    for (name, finding) in summary::judgements(scenario) {
        let _ = writeln!(
            text,
            "- {name}: {}: {}",
            summary::finding_word(finding.state),
            prose(&harmless::line(&finding.text, harmless::SENTENCE))
        );
    }
    text.push('\n');
    for (name, faults) in [
        ("Stock", &scenario.baseline.faults),
        ("Patched", &scenario.patched.faults),
    ] {
        for fault in faults.iter().take(5) {
            fault_details(&mut text, name, fault);
        }
        if faults.len() > 5 {
            let _ = writeln!(text, "{name}: and {} more kinds.\n", faults.len() - 5);
        }
    }
    text.push_str(&fenced("sh", &summary::scenario_command(scenario)));
    text.push_str("\n</details>\n\n");
    text
}

fn fault_details(text: &mut String, arm: &str, fault: &Fault) {
    let _ = writeln!(
        text,
        "{arm}: {} × {}{}\n",
        figures::count(fault.count as f64),
        prose(&harmless::line(&fault.kind, harmless::NAME)),
        match fault.bytes {
            0 => String::new(),
            bytes => format!(", {}", figures::bytes(bytes as f64)),
        }
    );
    text.push_str(&fenced("text", &harmless::block(&fault.detail, EXCERPT)));
    text.push('\n');
}

fn environment(report: &Report, page: &mut Page) {
    let parts = report.fingerprint.parts.iter().map(|(name, value)| {
        format!(
            "| {} | {} |\n",
            prose(&harmless::line(name, harmless::NAME)),
            code(&harmless::line(value, harmless::NAME))
        )
    });
    let head = format!(
        "<details><summary>Environment</summary>\n\nFingerprint {}\n\n| | |\n|-|-|\n",
        code(&harmless::line(&report.fingerprint.key, harmless::NAME))
    );
    page.add_rows(&head, parts, "\n</details>\n\n");
    if !report.notes.is_empty() {
        let notes = report
            .notes
            .iter()
            .map(|note| format!("- {}\n", prose(&harmless::line(note, harmless::SENTENCE))));
        page.add_rows(
            "<details><summary>Notes</summary>\n\n",
            notes,
            "\n</details>\n",
        );
    }
}
