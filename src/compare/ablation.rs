//! The ablation of a run: each scenario under each subset of the patches, judged against the stock of the same run.
use super::{evidence_of, settings};
use crate::report::document::{
    Ablation, AblationRow, CellFigures, Measure, SettingVerdict, Subset, Trust,
};
use crate::run::job::{Arm, Definition, Job, JobResult, Outcome};
use crate::run::journal::AblationPlan;
use crate::run::recorded::Recorded;
use crate::stats::robust::median;
use crate::verdict::{self, Pair, Process, ScenarioEvidence};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Counters that a cell keeps.
const COUNTERS: [&str; 8] = [
    "blocking_waits",
    "blocking_copy_waits",
    "alloc_free_instructions",
    "allocations",
    "new_buffers",
    "eligible_copies",
    "memcpy_copies",
    "commits",
];

/// The ablation that a run holds; `whole` is the evidence on the whole series.
pub(super) fn of(
    folder: &Path,
    recorded: &Recorded,
    trust: Trust,
    whole: &[ScenarioEvidence],
) -> Option<Ablation> {
    let plan = recorded.ablation.as_ref()?;
    let header = recorded.header.as_ref()?;
    let mut columns: Vec<(Subset, Vec<Option<ScenarioEvidence>>)> = plan
        .subsets
        .iter()
        .map(|subset| {
            let cells = whole
                .iter()
                .map(|scenario| cell(folder, recorded, plan, subset, &scenario.definition, trust))
                .collect();
            (subset.clone(), cells)
        })
        .collect();
    let all = Subset {
        name: "whole series".to_owned(),
        patches: header.compared.patched.patches.clone(),
        series: String::new(),
    };
    // parts of the series, the series, then what it is compared with
    let at = columns
        .iter()
        .position(|(subset, _)| !subset.series.is_empty())
        .unwrap_or(columns.len());
    let cells = whole
        .iter()
        .map(|scenario| (!scenario.definition.positive_control).then(|| scenario.clone()))
        .collect();
    columns.insert(at, (all, cells));
    let rows = whole
        .iter()
        .enumerate()
        .filter(|(_, scenario)| !scenario.definition.positive_control)
        .map(|(index, scenario)| {
            let cells: Vec<Option<&ScenarioEvidence>> = columns
                .iter()
                .map(|(_, cells)| cells.get(index)?.as_ref())
                .collect();
            let own = columns
                .iter()
                .filter(|(subset, _)| subset.series.is_empty());
            row(
                scenario,
                &cells,
                own.count(),
                &seeds(plan, &scenario.definition.id),
            )
        })
        .collect();
    let verdicts = columns
        .iter()
        .map(|(_, cells)| {
            let ran: Vec<ScenarioEvidence> = cells.iter().flatten().cloned().collect();
            settings::of_each(&ran, trust)
        })
        .collect::<Vec<Vec<SettingVerdict>>>();
    Some(Ablation {
        subsets: columns.into_iter().map(|(subset, _)| subset).collect(),
        rows,
        verdicts,
    })
}

/// The seeds with which the subsets ran a scenario: the only ones whose figures can stand beside theirs.
fn seeds(plan: &AblationPlan, scenario: &str) -> BTreeSet<u64> {
    let jobs = plan.jobs.iter().filter(|job| job.scenario == scenario);
    jobs.map(|job| job.seed).collect()
}

/// The evidence on one subset in one scenario; nothing where it was not to run.
fn cell(
    folder: &Path,
    recorded: &Recorded,
    plan: &AblationPlan,
    subset: &Subset,
    definition: &Definition,
    trust: Trust,
) -> Option<ScenarioEvidence> {
    let own: Vec<&Job> = plan
        .jobs
        .iter()
        .filter(|job| job.scenario == definition.id && job.subset.as_ref() == Some(&subset.name))
        .collect();
    let stock = |own: &Job| {
        recorded.jobs.iter().find(|job| {
            job.scenario == own.scenario && job.arm == Arm::Baseline && job.pair == own.pair
        })
    };
    let mut jobs: Vec<(&Job, Option<&JobResult>)> = Vec::new();
    for job in own {
        if let Some(result) = recorded.ablation_results.get(job) {
            let stock = stock(job)?;
            jobs.push((stock, recorded.results.get(stock)));
            jobs.push((job, Some(result)));
        }
    }
    if jobs.is_empty() {
        return None;
    }
    let definition = Definition {
        // a subset is held to what its own patches claim to mend
        promised_by: definition
            .promised_by
            .iter()
            .filter(|patch| subset.series.is_empty() && subset.patches.contains(patch))
            .cloned()
            .collect(),
        ..definition.clone()
    };
    Some(evidence_of(folder, &definition, &jobs, recorded, trust))
}

/// A row; the first `own` cells are those of the series that the run is about.
fn row(
    scenario: &ScenarioEvidence,
    cells: &[Option<&ScenarioEvidence>],
    own: usize,
    seeds: &BTreeSet<u64>,
) -> AblationRow {
    let of = |evidence: &ScenarioEvidence, arm: fn(&Pair) -> Option<&Process>| {
        let pairs = evidence.pairs.iter();
        let processes: Vec<&Process> = pairs
            .filter(|pair| seeds.is_empty() || seeds.contains(&pair.seed))
            .filter_map(arm)
            .collect();
        figures(&processes)
    };
    let stock = of(scenario, |pair| pair.baseline.as_ref());
    let figures: Vec<Option<CellFigures>> = cells
        .iter()
        .map(|cell| Some(of((*cell)?, |pair| pair.patched.as_ref())))
        .collect();
    // what a rival does is not what tells the parts of the series apart, unless nothing else does
    let measure = match measure(&stock, figures.iter().take(own).flatten()) {
        Measure::Peak => measure(&stock, figures.iter().flatten()),
        told => told,
    };
    AblationRow {
        scenario: scenario.definition.id.clone(),
        findings: cells
            .iter()
            .map(|cell| Some(verdict::judge_scenario((*cell)?).relative))
            .collect(),
        measure,
        stock,
        figures,
    }
}

/// The figure that tells the arms apart: faults where any has some, instructions where they were counted, waits where
/// they differ, else memory.
fn measure<'f>(stock: &'f CellFigures, others: impl Iterator<Item = &'f CellFigures>) -> Measure {
    let all: Vec<&CellFigures> = std::iter::once(stock).chain(others).collect();
    let differ = |name: &str| {
        let known = all.iter().filter_map(|arm| arm.counters.get(name));
        let mut known = known.map(|value| value.to_bits());
        let first = known.next();
        known.any(|value| Some(value) != first)
    };
    if all.iter().any(|arm| arm.faults > 0) {
        Measure::Faults
    } else if stock.counters.contains_key("alloc_free_instructions") {
        Measure::Instructions
    } else if differ("blocking_waits") {
        Measure::Waits
    } else {
        Measure::Peak
    }
}

fn figures(processes: &[&Process]) -> CellFigures {
    let mut counters = BTreeMap::new();
    for name in COUNTERS {
        let values: Vec<f64> = processes
            .iter()
            .filter_map(|process| process.result.counters.get(name).copied())
            .collect();
        if let Some(value) = median(&values) {
            counters.insert(name.to_owned(), value);
        }
    }
    let middle = |figure: fn(&Process) -> Option<f64>| {
        let values: Vec<f64> = processes
            .iter()
            .filter_map(|process| figure(process))
            .collect();
        median(&values)
    };
    CellFigures {
        peak_bytes: middle(|process| Some(process.result.peak_driver_bytes? as f64)),
        slope_bytes_per_step: middle(|process| {
            process.curve.as_ref()?.slope.map(|slope| slope.estimate)
        }),
        faults: processes.iter().map(|process| faults(process)).sum(),
        counters,
    }
}

fn faults(process: &Process) -> u64 {
    let found: u64 = process.result.faults.iter().map(|fault| fault.count).sum();
    let told = process.result.faults.iter().any(|fault| {
        matches!(
            &*fault.kind,
            "crash" | "timed-out" | "out-of-memory" | "unexpected-error"
        )
    });
    match process.result.outcome {
        Outcome::Ok | Outcome::Faulted | Outcome::Unsupported { .. } => found,
        // its runner may have noted its end among the faults
        _ => found.saturating_add(u64::from(!told)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(faults: u64, waits: f64) -> CellFigures {
        CellFigures {
            faults,
            counters: BTreeMap::from([("blocking_waits".to_owned(), waits)]),
            ..CellFigures::default()
        }
    }

    #[test]
    fn a_row_shows_what_tells_its_arms_apart() {
        let stock = arm(0, 300.0);
        assert_eq!(measure(&stock, [arm(0, 300.0)].iter()), Measure::Peak);
        assert_eq!(measure(&stock, [arm(0, 0.0)].iter()), Measure::Waits);
        assert_eq!(
            measure(&stock, [arm(0, 0.0), arm(2, 0.0)].iter()),
            Measure::Faults
        );
        let mut counted = arm(0, 1.0);
        counted
            .counters
            .insert("alloc_free_instructions".to_owned(), 1190.0);
        assert_eq!(
            measure(&counted, [arm(0, 0.0)].iter()),
            Measure::Instructions
        );
    }
}
