//! The first screen's answers: is it safe, how sure, on which machine.
use super::super::document::{Report, Trust};
use super::super::{figures, harmless, summary};

/// How many patches make the difference.
pub(super) fn patches(report: &Report) -> String {
    match report.compared.patched.patches.len() {
        0 => "a change".to_owned(),
        1 => "1 patch".to_owned(),
        number => format!("{number} patches"),
    }
}

/// What was found of how much, after the verdict has said what it means.
pub(super) fn safe(report: &Report) -> Vec<String> {
    let mut parts = Vec::new();
    let counts = summary::scenario_counts(report);
    if !counts.is_empty() {
        parts.push(format!("Scenarios: {counts}."));
    }
    if let Some(tests) = &report.tests {
        parts.push(format!(
            "Tests: {} pass with the patches, {} without.",
            figures::share(tests.pass_rate.patched.rate),
            figures::share(tests.pass_rate.baseline.rate)
        ));
    }
    if !report.goals.is_empty() {
        let with = |met: Option<bool>| report.goals.iter().filter(|goal| goal.met == met).count();
        let mut text = format!("Goals: {} of {} met", with(Some(true)), report.goals.len());
        for (number, words) in [
            (with(Some(false)), "missed"),
            (with(None), "without evidence"),
        ] {
            if number > 0 {
                text.push_str(&format!(", {number} {words}"));
            }
        }
        text.push('.');
        parts.push(text);
    }
    parts
}

/// How many processes, and how small a leak they would have shown.
pub(super) fn power(report: &Report) -> String {
    let processes = match summary::replicates(report) {
        0 => return "No process ran in both trees.".to_owned(),
        1 => "One process per tree and scenario".to_owned(),
        number => format!("Up to {number} processes per tree and scenario, in interleaved pairs"),
    };
    let mut least: Vec<(f64, &str)> = report
        .scenarios
        .iter()
        .filter_map(|scenario| {
            Some((
                scenario.difference.minimal_detectable?,
                scenario.id.as_str(),
            ))
        })
        .filter(|(value, _)| value.is_finite())
        .collect();
    least.sort_by(|one, other| one.0.total_cmp(&other.0));
    let shown = |value: f64| {
        let text = figures::slope(Some(value));
        text.trim_start_matches('+').to_owned()
    };
    match (least.get(least.len() / 2), least.last()) {
        (Some((_, _)), Some((most, _))) if *most <= 0.0 => {
            format!("{processes}; a leak of any size would have shown in every scenario.")
        }
        (Some((middle, _)), Some((most, _))) if middle == most => format!(
            "{processes}; a leak of {} or more would have shown in every scenario.",
            shown(*most)
        ),
        (Some((middle, _)), Some((most, id))) => {
            let half = match *middle > 0.0 {
                true => format!("of {} or more", shown(*middle)),
                false => "of any size".to_owned(),
            };
            format!(
                "{processes}; a leak {half} would have shown in half of the scenarios, one of {} in all, {} included.",
                shown(*most),
                harmless::line(id, harmless::NAME)
            )
        }
        _ => format!("{processes}."),
    }
}

/// The machine in words, the kind of device first.
pub(super) fn machine(report: &Report) -> String {
    let part = |name: &str| {
        let value = report.fingerprint.parts.get(name);
        value
            .filter(|value| !value.is_empty())
            .map(|value| harmless::line(value, harmless::NAME))
    };
    let host = [part("chip"), part("os")];
    let host: Vec<String> = host.into_iter().flatten().collect();
    let host = host.join(", ");
    let kind = match report.trust {
        Trust::Hardware => "The GPU of a Mac",
        Trust::Paravirtual => "A virtual machine's paravirtual GPU",
        Trust::Simulated => "No Mac: a model of Metal, on a CPU",
        Trust::Rehearsed => "None: recorded output was played back",
    };
    if host.is_empty() {
        format!("{kind}.")
    } else {
        format!("{kind} ({host}).")
    }
}
