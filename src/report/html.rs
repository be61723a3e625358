//! The report as one self-contained page: no network, no need for scripts, dark and light, verdict first.
//!
//! The template escapes every value; only the style sheet, the script and the plots, which we write ourselves, are marked
//! safe.
mod ablation;
mod glance;
mod scenarios;
mod tests;

use super::curves::ScenarioCurves;
use super::document::{Compared, Report};
use super::{ReportError, figures, harmless, summary};
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

const TEMPLATE: &str = include_str!("templates/report.html");
const STYLE: &str = include_str!("templates/report.css");
const SCRIPT: &str = include_str!("templates/report.js");

/// Renders the page.
pub(super) fn render(report: &Report, curves: &[ScenarioCurves]) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment
        .add_template("report", TEMPLATE)
        .map_err(ReportError::Page)?;
    let template = environment
        .get_template("report")
        .map_err(ReportError::Page)?;
    let scenarios = scenarios::scenarios(report, curves)?;
    let trust = summary::trust(report.trust);
    let decided = summary::deciding(report).map(summary::reason_line);
    template
        .render(context! {
            style => Value::from_safe_string(STYLE.to_owned()),
            script => Value::from_safe_string(SCRIPT.to_owned()),
            version => env!("CARGO_PKG_VERSION"),
            verdict => context! {
                id => summary::verdict_id(report.verdict),
                word => summary::verdict_word(report.verdict),
                sign => summary::verdict_sign(report.verdict),
                meaning => summary::verdict_meaning(report.verdict),
                decided => decided,
            },
            exit_code => report.exit_code,
            partial => summary::partial_warning(report),
            reasons => reasons(report),
            names => summary::arm_names(report),
            compared => compared(report),
            patches => glance::patches(report),
            trust => context! {
                word => trust.word, in_short => trust.in_short, proves => trust.proves,
                does_not_prove => trust.does_not_prove,
            },
            machine => glance::machine(report),
            safe => glance::safe(report),
            power => glance::power(report),
            ablation => report.ablation.as_ref().map(ablation::view),
            settings => ablation::settings(report),
            counts => summary::scenario_counts(report),
            command => summary::run_command(report),
            run => harmless::line(&report.run, harmless::NAME),
            started => harmless::line(&report.started, harmless::NAME),
            goals => goals(report),
            scenarios => scenarios,
            tests => report.tests.as_ref().map(tests::tests),
            key => harmless::line(&report.fingerprint.key, harmless::NAME),
            parts => pairs(&report.fingerprint.parts),
            phases => phases(report),
            notes => report.notes.iter().map(|note| harmless::line(note, harmless::SENTENCE))
                .collect::<Vec<_>>(),
        })
        .map_err(ReportError::Page)
}

#[derive(Serialize)]
struct ReasonRow {
    verdict: &'static str,
    word: String,
    sign: &'static str,
    text: String,
}

fn reasons(report: &Report) -> Vec<ReasonRow> {
    report
        .reasons
        .iter()
        .map(|reason| ReasonRow {
            verdict: summary::verdict_id(reason.verdict),
            word: summary::verdict_word(reason.verdict).to_lowercase(),
            sign: summary::verdict_sign(reason.verdict),
            text: summary::reason_line(reason),
        })
        .collect()
}

#[derive(Serialize)]
struct ComparedRow {
    arm: &'static str,
    name: String,
    commit: String,
    patches: Vec<[String; 2]>,
}

fn compared(report: &Report) -> Vec<ComparedRow> {
    let names = summary::arm_names(report);
    let row = |arm, name, compared: &Compared| ComparedRow {
        arm,
        name,
        commit: harmless::line(&compared.commit, harmless::NAME),
        patches: compared
            .patches
            .iter()
            .enumerate()
            .map(|(index, patch)| {
                let title = compared.titles.get(index).map_or("", |title| title);
                [patch, title].map(|text| harmless::line(text, harmless::NAME))
            })
            .collect(),
    };
    vec![
        row("stock", names.baseline, &report.compared.baseline),
        row("patched", names.patched, &report.compared.patched),
    ]
}

#[derive(Serialize)]
struct GoalRow {
    state: &'static str,
    sign: &'static str,
    word: &'static str,
    text: String,
    evidence: String,
}

fn goals(report: &Report) -> Vec<GoalRow> {
    report
        .goals
        .iter()
        .map(|goal| {
            let (state, sign, word) = match goal.met {
                Some(true) => ("ok", "✔", "met"),
                Some(false) => ("regression", "✘", "missed"),
                None => ("inconclusive", "?", "no evidence"),
            };
            GoalRow {
                state,
                sign,
                word,
                text: harmless::line(&goal.text, harmless::SENTENCE),
                evidence: harmless::line(&goal.evidence, harmless::SENTENCE),
            }
        })
        .collect()
}

fn phases(report: &Report) -> Vec<[String; 2]> {
    report
        .phases
        .iter()
        .map(|phase| {
            [
                harmless::line(&phase.name, harmless::NAME),
                figures::seconds(phase.seconds),
            ]
        })
        .collect()
}

fn pairs(map: &std::collections::BTreeMap<String, String>) -> Vec<[String; 2]> {
    map.iter()
        .map(|(name, value)| {
            [
                harmless::line(name, harmless::NAME),
                harmless::line(value, harmless::SENTENCE),
            ]
        })
        .collect()
}
