//! The scenarios of the page: findings, figures, counters, faults and plots.
use super::super::curves::ScenarioCurves;
use super::super::document::{ArmFigures, Arms, Fault, Finding, FindingState, Report, Scenario};
use super::super::{ReportError, figures, harmless, plot, summary};
use super::pairs;
use minijinja::value::Value;
use serde::Serialize;

/// Faults shown of one arm of a scenario.
const FAULTS: usize = 20;

#[derive(Serialize)]
pub(super) struct State {
    id: &'static str,
    sign: &'static str,
    word: &'static str,
    text: String,
}

pub(super) fn state(finding: &Finding) -> State {
    State {
        id: summary::finding_id(finding.state),
        sign: summary::finding_sign(finding.state),
        word: summary::finding_word(finding.state),
        text: harmless::line(&finding.text, harmless::SENTENCE),
    }
}

#[derive(Serialize)]
pub(super) struct ScenarioView {
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

pub(super) fn scenarios(
    report: &Report,
    curves: &[ScenarioCurves],
) -> Result<Vec<ScenarioView>, ReportError> {
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
