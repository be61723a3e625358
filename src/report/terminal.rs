//! The report for a terminal: the verdict with the line that decided it, what was compared, one line per scenario.
//! Plain text of at most 100 columns; colour is for whoever prints it.
use super::document::{Bearing, FindingState, Report, Scenario};
use super::{ablation, figures, harmless, summary};
use std::fmt::Write;

const COLUMNS: usize = 100;
/// Lines of each list that are shown before the rest is only counted.
const REASONS: usize = 8;
const CHANGES: usize = 12;
/// Rows of scenarios; sound ones beyond it are only counted, the others always shown.
const ROWS: usize = 20;
/// Characters of a scenario's id that are kept however wide the figures are.
const SHORTEST_ID: usize = 16;
/// Bytes of a sentence; the page has more of it.
const SENTENCE: usize = 400;

/// Renders the report as text.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    head(report, &mut text);
    scenarios(report, &mut text);
    tests(report, &mut text);
    goals(report, &mut text);
    settings(report, &mut text);
    which_patch(report, &mut text);
    notes(report, &mut text);
    text
}

fn head(report: &Report, text: &mut String) {
    let decided = summary::deciding(report).map_or_else(
        || summary::verdict_meaning(report.verdict).to_owned(),
        |reason| harmless::line(&summary::reason_line(reason), SENTENCE),
    );
    let verdict = format!(
        "{} {}: ",
        summary::verdict_sign(report.verdict),
        summary::verdict_word(report.verdict)
    );
    paragraph(text, &verdict, "  ", &decided);
    for reason in others(report).take(REASONS) {
        paragraph(
            text,
            "  - ",
            "    ",
            &harmless::line(&summary::reason_line(reason), SENTENCE),
        );
    }
    let more = others(report).count().saturating_sub(REASONS);
    if more > 0 {
        let _ = writeln!(text, "  - and {more} more (report.html)");
    }
    if let Some(warning) = summary::partial_warning(report) {
        paragraph(text, "  ! ", "    ", warning);
    }
    text.push('\n');
    let names = summary::arm_names(report);
    let compared = format!("{} against {}", names.patched, names.baseline);
    paragraph(text, "compared  ", "          ", &compared);
    let trust = summary::trust(report.trust);
    let device = match summary::machine(report) {
        machine if machine.is_empty() => trust.word.to_owned(),
        machine => format!("{} ({machine})", trust.word),
    };
    let device = format!("{device}. {}", trust.does_not_prove);
    paragraph(text, "device    ", "          ", &device);
    if let Some(least) = summary::sensitivity(report) {
        let power = format!(
            "{} process(es) per arm; a leak of {} or more would have been found in every scenario",
            summary::replicates(report),
            figures::slope(Some(least)).trim_start_matches('+')
        );
        paragraph(text, "power     ", "          ", &power);
    }
    paragraph(
        text,
        "repeat    ",
        "          ",
        &summary::run_command(report),
    );
    let run = harmless::line(&report.run, harmless::NAME);
    paragraph(
        text,
        "report    ",
        "          ",
        &format!("{run}/report.html"),
    );
}

fn others(report: &Report) -> impl Iterator<Item = &super::document::Reason> {
    let decided = summary::deciding(report);
    report
        .reasons
        .iter()
        .filter(move |reason| !decided.is_some_and(|decided| std::ptr::eq(decided, *reason)))
}

fn scenarios(report: &Report, text: &mut String) {
    if report.scenarios.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nscenarios: {} (stock → patched)",
        summary::scenario_counts(report)
    );
    let header = [
        "scenario",
        "finding",
        "slope/step",
        "peak",
        "hazards",
        "waits",
        "reuse",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    let order = summary::gravest_first(report);
    let sound =
        |index: &usize| summary::leading(&report.scenarios[*index]).state == FindingState::Ok;
    let to_tell = order.iter().filter(|index| !sound(index)).count();
    let shown = order.len().min(to_tell.max(ROWS));
    for index in &order[..shown] {
        rows.push(cells(&report.scenarios[*index]));
    }
    table(text, &rows);
    if shown < order.len() {
        let _ = writeln!(
            text,
            "  and {} more that are ok (report.html)",
            order.len() - shown
        );
    }
    for index in order {
        let scenario = &report.scenarios[index];
        let finding = summary::leading(scenario);
        if !matches!(finding.state, FindingState::Ok | FindingState::Improved) {
            let first = format!("  {}: ", harmless::line(&scenario.id, 60));
            let words = harmless::line(&finding.text, SENTENCE);
            paragraph(text, &first, "    ", &words);
        }
    }
}

fn cells(scenario: &Scenario) -> [String; 7] {
    let measures = summary::measures(scenario);
    let state = summary::leading(scenario).state;
    let pair = |measure: &summary::Measure| {
        let mut short = measure.pair();
        let shorter = [
            (" → ", "→"),
            (" GiB", "G"),
            (" MiB", "M"),
            (" KiB", "K"),
            (" B", ""),
        ];
        for (unit, letter) in shorter {
            short = short.replace(unit, letter);
        }
        short
    };
    [
        harmless::line(&scenario.id, harmless::NAME),
        format!(
            "{} {}",
            summary::finding_sign(state),
            summary::finding_word(state)
        ),
        pair(&measures.slope),
        pair(&measures.peak),
        pair(&measures.hazards),
        pair(&measures.waits),
        pair(&measures.reuse),
    ]
}

/// Columns as wide as their widest cell; the first, of ids, has what the others leave of the terminal's width.
fn table(text: &mut String, rows: &[impl AsRef<[String]>]) {
    let mut widths = vec![0; rows.first().map_or(1, |row| row.as_ref().len())];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.as_ref()) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let others: usize = widths[1..].iter().map(|width| width + 1).sum();
    widths[0] = widths[0]
        .min(COLUMNS.saturating_sub(others + 2))
        .max(SHORTEST_ID);
    for row in rows {
        let mut line = String::from(" ");
        for (width, cell) in widths.iter().zip(row.as_ref()) {
            let cell = clip(cell, *width);
            let padding = width - cell.chars().count();
            let _ = write!(line, " {cell}{:padding$}", "");
        }
        let _ = writeln!(text, "{}", clip(line.trim_end(), COLUMNS));
    }
}

fn tests(report: &Report, text: &mut String) {
    let Some(tests) = &report.tests else { return };
    text.push_str("\ntests\n");
    for (name, counts, rate) in [
        ("stock  ", &tests.baseline, &tests.pass_rate.baseline),
        ("patched", &tests.patched, &tests.pass_rate.patched),
    ] {
        let words = format!(
            "{} ({} of those that ran)",
            summary::test_counts(counts),
            figures::share(rate.rate)
        );
        paragraph(text, &format!("  {name} "), "          ", &words);
    }
    for remark in summary::test_remarks(tests) {
        paragraph(text, "  ", "  ", &remark);
    }
    // what says nothing about the patches is for the page
    let mut changes: Vec<_> = tests
        .changes
        .iter()
        .filter(|change| change.weight() != Bearing::Neutral)
        .collect();
    changes.sort_by_key(|change| summary::change_gravity(change));
    for change in changes.iter().take(CHANGES) {
        let mut words = format!(
            "{}: {} → {}: {}",
            harmless::line(&change.class, 40),
            harmless::line(&change.baseline, 40),
            harmless::line(&change.patched, 40),
            harmless::line(&change.id, harmless::NAME)
        );
        if !change.evidence.is_empty() {
            let _ = write!(
                words,
                " ({})",
                harmless::line(&change.evidence, harmless::NAME)
            );
        }
        let (_, sign, _) = summary::bearing(change.weight());
        paragraph(text, &format!("  {sign} "), "    ", &words);
    }
    if changes.len() > CHANGES {
        let more = figures::count((changes.len() - CHANGES) as f64);
        let _ = writeln!(text, "  - and {more} more (report.html)");
    }
    let neutral = tests.changes.len() - changes.len();
    if neutral > 0 {
        let number = figures::count(neutral as f64);
        let _ = writeln!(
            text,
            "  = {number} that say nothing about the patches (report.html)"
        );
    }
}

fn goals(report: &Report, text: &mut String) {
    if report.goals.is_empty() {
        return;
    }
    text.push_str("\ngoals\n");
    for goal in &report.goals {
        let words = format!(
            "{}: {}",
            harmless::line(&goal.text, SENTENCE),
            harmless::line(&goal.evidence, SENTENCE)
        );
        paragraph(text, &format!("  {} ", goal_sign(goal.met)), "    ", &words);
    }
}

/// What becomes of the verdict under each assumption: one line where it stays the same.
fn settings(report: &Report, text: &mut String) {
    let Some((first, others)) = report.by_setting.split_first() else {
        return;
    };
    text.push_str("\nassumptions about Metal\n");
    let others: Vec<_> = others
        .iter()
        .filter(|other| other.verdict != first.verdict)
        .collect();
    if others.is_empty() {
        let names: Vec<&str> = report.by_setting[1..]
            .iter()
            .map(|own| own.setting.as_str())
            .collect();
        let words = format!(
            "{} as well under {}",
            summary::verdict_word(first.verdict),
            harmless::line(&names.join(", "), SENTENCE)
        );
        paragraph(text, "  ✔ ", "    ", &words);
    }
    for other in others {
        let words = format!(
            "{} decides: {}, {}",
            harmless::line(&other.setting, harmless::NAME),
            summary::verdict_word(other.verdict),
            harmless::line(&other.reason, SENTENCE)
        );
        let first = format!("  {} ", summary::verdict_sign(other.verdict));
        paragraph(text, &first, "    ", &words);
    }
}

/// Which patch does what: columns by number, as the names of subsets are long.
fn which_patch(report: &Report, text: &mut String) {
    let Some(whole) = &report.ablation else {
        return;
    };
    text.push_str("\nwhich patch does what (each against stock)\n");
    for (index, subset) in whole.subsets.iter().enumerate() {
        let verdicts = whole.verdicts.get(index).map_or(&[][..], Vec::as_slice);
        let words: Vec<String> = verdicts
            .iter()
            .map(|own| {
                let word = summary::verdict_word(own.verdict);
                if own.setting.is_empty() {
                    word.to_owned()
                } else {
                    format!("{word} under {}", harmless::line(&own.setting, 60))
                }
            })
            .collect();
        // what the default settings say already is not said again
        let mut words = words;
        let usual = verdicts.first().map(|own| own.verdict);
        let mut kept = verdicts
            .iter()
            .map(|own| own.setting.is_empty() || Some(own.verdict) != usual);
        words.retain(|_| kept.next().unwrap_or(true));
        let words = format!(
            "{}: {}",
            harmless::line(&subset.name, harmless::NAME),
            words.join(", ")
        );
        paragraph(text, &format!("  [{}] ", index + 1), "      ", &words);
    }
    let telling = ablation::telling(whole);
    if telling.is_empty() {
        text.push_str("  no scenario tells them apart\n");
        return;
    }
    text.push_str("  counts, or how many times stock's bytes and instructions\n");
    let mut rows = vec![["scenario".to_owned(), "stock".to_owned()].to_vec()];
    rows[0].extend((1..=whole.subsets.len()).map(|number| format!("[{number}]")));
    for row in telling.iter().take(ROWS) {
        let mut cells = vec![
            harmless::line(&row.scenario, harmless::NAME),
            ablation::stock(row),
        ];
        cells.extend(
            (0..whole.subsets.len()).map(|index| match ablation::at(row, index) {
                Some((finding, figure)) => {
                    format!(
                        "{}{}",
                        summary::finding_sign(finding.state),
                        figure.replace([' ', '×'], "")
                    )
                }
                None => figures::NONE.to_owned(),
            }),
        );
        rows.push(cells);
    }
    table(text, &rows);
    if telling.len() > ROWS {
        let _ = writeln!(text, "  and {} more (report.html)", telling.len() - ROWS);
    }
}

const fn goal_sign(met: Option<bool>) -> &'static str {
    match met {
        Some(true) => "✔",
        Some(false) => "✘",
        None => "?",
    }
}

fn notes(report: &Report, text: &mut String) {
    if report.notes.is_empty() {
        return;
    }
    text.push_str("\nnotes\n");
    for note in &report.notes {
        paragraph(text, "  - ", "    ", &harmless::line(note, SENTENCE));
    }
}

/// Writes words after `first`, broken to the terminal's width, further lines after `indent`.
fn paragraph(text: &mut String, first: &str, indent: &str, words: &str) {
    let mut line = first.to_owned();
    let mut length = first.chars().count();
    let mut empty = true;
    for word in words.split_whitespace() {
        let mut word = word;
        loop {
            let size = word.chars().count();
            let space = usize::from(!empty);
            if length + space + size <= COLUMNS {
                if !empty {
                    line.push(' ');
                }
                line.push_str(word);
                length += space + size;
                empty = false;
                break;
            }
            if empty {
                // longer than a line: broken where the line ends
                let room = COLUMNS - length;
                let at = word
                    .char_indices()
                    .nth(room)
                    .map_or(word.len(), |(at, _)| at);
                line.push_str(&word[..at]);
                word = &word[at..];
            }
            let _ = writeln!(text, "{}", line.trim_end());
            line = indent.to_owned();
            length = indent.chars().count();
            empty = true;
        }
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

fn clip(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        text.to_owned()
    } else {
        let mut short: String = text.chars().take(limit - 1).collect();
        short.push('…');
        short
    }
}
