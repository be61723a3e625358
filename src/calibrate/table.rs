//! The calibration as a table in Markdown.
use super::Calibration;
use super::experiment::{Rate, Row};
use std::fmt::Write;

/// Renders the tables.
#[must_use]
pub fn markdown(calibration: &Calibration) -> String {
    let mut text = format!(
        "# Calibration\n\n`{}`\n\n{} trials a row with equal arms (false alarms: verdict \"grows\" at any size), as many with a \
         leak of twice the stated minimal detectable size in the patched arm. Bounds: at most 1% and at least 95%.\n\n",
        calibration.command, calibration.trials
    );
    text.push_str(
        "| curves | pairs | detectable, bytes/step | false alarms | found at twice | cleared all the same | holds |\n\
         |-|-:|-:|-:|-:|-:|-|\n",
    );
    for row in &calibration.rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            row.curves,
            row.pairs,
            row.detectable
                .map_or_else(|| "none stated".to_owned(), |bytes| format!("{bytes:.0}")),
            percent(&row.false_alarms),
            percent(&row.detected),
            percent(&row.cleared),
            if row.holds() { "yes" } else { "**no**" }
        );
    }
    rivals(calibration, &mut text);
    injected(calibration, &mut text);
    text
}

fn rivals(calibration: &Calibration, text: &mut String) {
    let Some(first) = calibration.rows.first() else {
        return;
    };
    text.push_str(
        "\n## Beside others\n\nFalse alarms / leaks found, each rule on the first pair's curves of the same trials, ours on all \
         pairs of the design. Rules of one process see the patched arm alone.\n\n| curves | pairs | umpatch |",
    );
    for rival in &first.rivals {
        let _ = write!(text, " {} |", rival.name);
    }
    text.push_str("\n|-|-:|-:|");
    text.push_str(&"-:|".repeat(first.rivals.len()));
    text.push('\n');
    for row in one_design(calibration) {
        let _ = write!(
            text,
            "| {} | {} | {} / {} |",
            row.curves,
            row.pairs,
            percent(&row.false_alarms),
            percent(&row.detected)
        );
        for rival in &row.rivals {
            let _ = write!(
                text,
                " {} / {} |",
                percent(&rival.false_alarms),
                percent(&rival.detected)
            );
        }
        text.push('\n');
    }
}

/// The rows of the design that exact verdicts begin with, else all.
fn one_design(calibration: &Calibration) -> Vec<&Row> {
    let first_look = crate::stats::sequential::fewest_pairs();
    let chosen: Vec<&Row> = calibration
        .rows
        .iter()
        .filter(|row| row.pairs == first_look)
        .collect();
    if chosen.is_empty() {
        calibration.rows.iter().collect()
    } else {
        chosen
    }
}

fn injected(calibration: &Calibration, text: &mut String) {
    if calibration.injected.is_empty() {
        return;
    }
    text.push_str(
        "\n## Real leaks of known sizes, recorded\n\nProcesses that keep so many bytes each step, against processes of the same \
         seed that do not. The sizes are the program's own; the driver takes whole segments of 2 MiB and more.\n\n\
         | scenario | figure | leak, bytes/step | pairs | measured, bytes/step | verdict | decided by |\n|-|-|-:|-:|-:|-|-|\n",
    );
    for row in &calibration.injected {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.0} | {} | {} |",
            row.scenario,
            row.figure,
            row.leak_bytes_per_step,
            row.pairs,
            row.measured,
            row.verdict,
            row.basis
        );
    }
}

fn percent(rate: &Rate) -> String {
    if rate.trials == 0 {
        return "–".to_owned();
    }
    format!("{:.1}%", 100.0 * rate.rate)
}
