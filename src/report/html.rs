//! The report as one self-contained page: no network, no need for scripts, dark and light, verdict first.
//!
//! The template escapes every value; only the style sheet, the script and the plots, which we write ourselves, are marked
//! safe.
use super::curves::ScenarioCurves;
use super::document::{
    ArmFigures, Arms, Bearing, FailureGroup, Fault, Finding, FindingState, Report, Scenario,
    TestChange, Tests,
};
use super::{ReportError, figures, harmless, plot, summary};
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

const TEMPLATE: &str = include_str!("templates/report.html");
const STYLE: &str = include_str!("templates/report.css");
const SCRIPT: &str = include_str!("templates/report.js");

/// Rows of changed tests that the page shows; the data has all of them.
const CHANGES: usize = 10_000;
/// Names listed in one place.
const NAMES: usize = 50;
/// Faults shown of one arm of a scenario.
const FAULTS: usize = 20;

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
    let scenarios = scenarios(report, curves)?;
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
            trust => context! {
                word => trust.word, proves => trust.proves, does_not_prove => trust.does_not_prove,
            },
            machine => summary::machine(report),
            power => power(report),
            counts => summary::scenario_counts(report),
            command => summary::run_command(report),
            run => harmless::line(&report.run, harmless::NAME),
            started => harmless::line(&report.started, harmless::NAME),
            goals => goals(report),
            scenarios => scenarios,
            tests => report.tests.as_ref().map(tests),
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
    patches: Vec<String>,
}

fn compared(report: &Report) -> Vec<ComparedRow> {
    let names = summary::arm_names(report);
    let row = |arm, name, compared: &super::document::Compared| ComparedRow {
        arm,
        name,
        commit: harmless::line(&compared.commit, harmless::NAME),
        patches: compared
            .patches
            .iter()
            .map(|patch| harmless::line(patch, harmless::NAME))
            .collect(),
    };
    vec![
        row("stock", names.baseline, &report.compared.baseline),
        row("patched", names.patched, &report.compared.patched),
    ]
}

fn power(report: &Report) -> String {
    let processes = match summary::replicates(report) {
        0 => return "No process ran in both trees.".to_owned(),
        1 => "One process per tree and scenario".to_owned(),
        number => format!("Up to {number} processes per tree and scenario, in interleaved pairs"),
    };
    match summary::sensitivity(report) {
        Some(least) => format!(
            "{processes}; a leak of {} or more would have been found in every scenario.",
            figures::slope(Some(least)).trim_start_matches('+')
        ),
        None => format!("{processes}."),
    }
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

#[derive(Serialize)]
struct State {
    id: &'static str,
    sign: &'static str,
    word: &'static str,
    text: String,
}

fn state(finding: &Finding) -> State {
    State {
        id: summary::finding_id(finding.state),
        sign: summary::finding_sign(finding.state),
        word: summary::finding_word(finding.state),
        text: harmless::line(&finding.text, harmless::SENTENCE),
    }
}

#[derive(Serialize)]
struct ScenarioView {
    anchor: String,
    id: String,
    title: String,
    reproduces: Vec<summary::Mention>,
    class: String,
    patches: Vec<String>,
    settings: Vec<[String; 2]>,
    leading: State,
    judgements: Vec<(&'static str, State)>,
    /// Whether the patched arm's faults show at once.
    faults_open: bool,
    /// Slope, peak, reuse, waits, hazards, for the overview.
    overview: [String; 5],
    rows: Vec<MeasureRow>,
    counters: Vec<[String; 3]>,
    faults: Vec<ArmFaults>,
    plot: Option<PlotView>,
    missing: Vec<String>,
    command: String,
}

#[derive(Serialize)]
struct MeasureRow {
    name: &'static str,
    baseline: String,
    patched: String,
    difference: String,
}

#[derive(Serialize)]
struct ArmFaults {
    arm: &'static str,
    faults: Vec<FaultView>,
    more: usize,
}

#[derive(Serialize)]
struct FaultView {
    kind: String,
    count: String,
    bytes: String,
    detail: String,
}

#[derive(Serialize)]
struct PlotView {
    number: usize,
    svg: Value,
    words: String,
}

fn scenarios(report: &Report, curves: &[ScenarioCurves]) -> Result<Vec<ScenarioView>, ReportError> {
    let none = ScenarioCurves::default();
    summary::gravest_first(report)
        .into_iter()
        .enumerate()
        .map(|(number, index)| {
            let curves = curves.get(index).unwrap_or(&none);
            scenario(&report.scenarios[index], number + 1, curves)
        })
        .collect()
}

fn scenario(
    scenario: &Scenario,
    number: usize,
    curves: &ScenarioCurves,
) -> Result<ScenarioView, ReportError> {
    let measures = summary::measures(scenario);
    let overview = [
        &measures.slope,
        &measures.peak,
        &measures.reuse,
        &measures.waits,
        &measures.hazards,
    ]
    .map(summary::Measure::pair);
    let plot = plot::draw(scenario, number, curves)?.map(|plot| PlotView {
        number,
        svg: Value::from_safe_string(plot.svg),
        words: plot.words,
    });
    Ok(ScenarioView {
        anchor: format!("scenario-{number}"),
        id: harmless::line(&scenario.id, harmless::NAME),
        title: harmless::line(&scenario.title, harmless::SENTENCE),
        reproduces: summary::reproduces(scenario),
        class: harmless::line(&scenario.class, harmless::NAME),
        patches: scenario
            .patches
            .iter()
            .map(|patch| harmless::line(patch, harmless::NAME))
            .collect(),
        settings: pairs(&scenario.settings),
        leading: state(summary::leading(scenario)),
        judgements: summary::judgements(scenario)
            .into_iter()
            .map(|(about, finding)| (about, state(finding)))
            .collect(),
        faults_open: summary::leading(scenario).state == FindingState::Regression,
        overview,
        rows: measure_rows(scenario, measures),
        counters: counters(scenario),
        faults: faults(scenario),
        plot,
        missing: curves
            .missing
            .iter()
            .map(|missing| harmless::line(missing, harmless::NAME))
            .collect(),
        command: summary::scenario_command(scenario),
    })
}

fn measure_rows(scenario: &Scenario, measures: summary::Measures) -> Vec<MeasureRow> {
    let row = |measure: summary::Measure| MeasureRow {
        name: measure.name,
        baseline: measure.values.baseline,
        patched: measure.values.patched,
        difference: measure.difference,
    };
    let both = |name, of: &dyn Fn(&ArmFigures) -> String, difference: String| MeasureRow {
        name,
        baseline: of(&scenario.baseline),
        patched: of(&scenario.patched),
        difference,
    };
    let least = scenario
        .difference
        .minimal_detectable
        .map_or_else(String::new, |least| figures::slope(Some(least)));
    let mut rows = vec![
        row(measures.slope),
        both(
            "95% interval of the slope",
            &|arm| figures::slope_interval(arm.slope_ci),
            figures::slope_interval(scenario.difference.ci),
        ),
        both("Leak that would have shown", &|_| String::new(), least),
        row(measures.peak),
        both(
            "Left after empty_cache",
            &|arm| figures::bytes_option(arm.residual_bytes),
            String::new(),
        ),
        row(measures.reuse),
        both(
            "Eligible copies by memcpy",
            &|arm| {
                summary::memcpy_share(arm).map_or_else(|| figures::NONE.to_owned(), figures::share)
            },
            String::new(),
        ),
        row(measures.waits),
        row(measures.hazards),
        both(
            "Cost of one alloc and free",
            &summary::allocation_cost,
            String::new(),
        ),
        both("Processes", &summary::outcomes, String::new()),
    ];
    // a row that says nothing of either arm is left out
    rows.retain(|row| {
        let empty = |text: &str| text.is_empty() || text == figures::NONE;
        !(empty(&row.baseline) && empty(&row.patched) && empty(&row.difference))
    });
    rows
}

fn counters(scenario: &Scenario) -> Vec<[String; 3]> {
    let Arms { baseline, patched } = Arms {
        baseline: &scenario.baseline.counters,
        patched: &scenario.patched.counters,
    };
    let mut names: Vec<&String> = baseline.keys().chain(patched.keys()).collect();
    names.sort();
    names.dedup();
    let value = |of: Option<&f64>| {
        of.map_or_else(|| figures::NONE.to_owned(), |value| figures::count(*value))
    };
    names
        .into_iter()
        .map(|name| {
            [
                harmless::line(name, harmless::NAME),
                value(baseline.get(name)),
                value(patched.get(name)),
            ]
        })
        .collect()
}

fn faults(scenario: &Scenario) -> Vec<ArmFaults> {
    let view = |fault: &Fault| FaultView {
        kind: harmless::line(&fault.kind, harmless::NAME),
        count: figures::count(fault.count as f64),
        bytes: if fault.bytes > 0 {
            figures::bytes(fault.bytes as f64)
        } else {
            String::new()
        },
        detail: harmless::block(&fault.detail, harmless::OUTPUT),
    };
    [
        ("stock", &scenario.baseline),
        ("patched", &scenario.patched),
    ]
    .into_iter()
    .filter(|(_, arm)| !arm.faults.is_empty())
    .map(|(name, arm)| ArmFaults {
        arm: name,
        faults: arm.faults.iter().take(FAULTS).map(view).collect(),
        more: arm.faults.len().saturating_sub(FAULTS),
    })
    .collect()
}

#[derive(Serialize)]
struct TestsView {
    arms: Vec<TestArm>,
    outcomes: Vec<&'static str>,
    remarks: Vec<String>,
    /// Changes that say something about the patches, and those that say nothing.
    telling: Vec<ChangeRow>,
    neutral: Vec<ChangeRow>,
    classes: Vec<ClassCount>,
    failures: Vec<FailureRow>,
    leaks: Vec<(&'static str, Vec<String>)>,
    more: usize,
}

#[derive(Serialize)]
struct FailureRow {
    reason: String,
    why: String,
    baseline: String,
    patched: String,
    examples: Vec<String>,
}

#[derive(Serialize)]
struct TestArm {
    name: &'static str,
    rate: String,
    interval: String,
    counts: Vec<String>,
}

#[derive(Serialize)]
struct ChangeRow {
    id: String,
    class: String,
    sign: &'static str,
    style: &'static str,
    baseline: String,
    patched: String,
    evidence: String,
    reason: String,
    excerpt: String,
}

#[derive(Serialize)]
struct ClassCount {
    class: String,
    number: usize,
    style: &'static str,
}

fn change_row(change: &TestChange) -> ChangeRow {
    let (_, sign, style) = summary::bearing(change.weight());
    ChangeRow {
        id: harmless::line(&change.id, harmless::NAME),
        class: harmless::line(&change.class, harmless::NAME),
        sign,
        style,
        baseline: harmless::line(&change.baseline, harmless::NAME),
        patched: harmless::line(&change.patched, harmless::NAME),
        evidence: harmless::line(&change.evidence, harmless::NAME),
        reason: harmless::line(&change.reason, harmless::NAME),
        excerpt: harmless::block(&change.excerpt, harmless::OUTPUT),
    }
}

fn class_counts(changes: &[&TestChange]) -> Vec<ClassCount> {
    let mut classes: Vec<ClassCount> = Vec::new();
    for change in changes {
        let class = harmless::line(&change.class, harmless::NAME);
        let (_, _, style) = summary::bearing(change.weight());
        let same = |known: &&mut ClassCount| known.class == class && known.style == style;
        match classes.iter_mut().find(same) {
            Some(known) => known.number += 1,
            None => classes.push(ClassCount {
                class,
                number: 1,
                style,
            }),
        }
    }
    classes
}

fn failure_rows(tests: &Tests) -> Vec<FailureRow> {
    let row = |group: &FailureGroup| FailureRow {
        reason: harmless::line(&group.reason, harmless::NAME),
        why: harmless::line(&group.why, harmless::SENTENCE),
        baseline: figures::count(group.count.baseline as f64),
        patched: figures::count(group.count.patched as f64),
        examples: names(&group.examples),
    };
    tests.failures.iter().map(row).collect()
}

fn names(names: &[String]) -> Vec<String> {
    names
        .iter()
        .take(NAMES)
        .map(|name| harmless::line(name, harmless::NAME))
        .collect()
}

fn tests(tests: &Tests) -> TestsView {
    let arm = |name, counts, rate: &super::document::PassRate| TestArm {
        name,
        rate: figures::share(rate.rate),
        interval: format!(
            "{} … {}",
            figures::share(rate.interval[0]),
            figures::share(rate.interval[1])
        ),
        counts: summary::test_outcomes(counts)
            .into_iter()
            .map(|(_, number)| figures::count(number as f64))
            .collect(),
    };
    let mut sorted: Vec<&TestChange> = tests.changes.iter().collect();
    sorted.sort_by_key(|change| summary::change_gravity(change));
    let (neutral, telling): (Vec<&TestChange>, Vec<&TestChange>) = sorted
        .iter()
        .take(CHANGES)
        .copied()
        .partition(|change| change.weight() == Bearing::Neutral);
    let rows = |changes: &[&TestChange]| changes.iter().map(|change| change_row(change)).collect();
    let leaks = tests.leaks.as_ref().map_or_else(Vec::new, |leaks| {
        vec![
            ("stock", names(&leaks.baseline)),
            ("patched", names(&leaks.patched)),
        ]
    });
    TestsView {
        arms: vec![
            arm("stock", &tests.baseline, &tests.pass_rate.baseline),
            arm("patched", &tests.patched, &tests.pass_rate.patched),
        ],
        outcomes: summary::test_outcomes(&tests.baseline)
            .map(|(name, _)| name)
            .to_vec(),
        remarks: summary::test_remarks(tests),
        telling: rows(&telling),
        neutral: rows(&neutral),
        classes: class_counts(&sorted),
        failures: failure_rows(tests),
        leaks,
        more: sorted.len().saturating_sub(CHANGES),
    }
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
