//! The ablation in words, as every format shows it: a cell, a row's stock, the verdict on each subset.
use super::document::{Ablation, AblationRow, CellFigures, Finding, FindingState, Measure};
use super::{figures, summary};

/// What the figures of a row are.
pub(super) const fn measure_word(measure: Measure) -> &'static str {
    match measure {
        Measure::Faults => "faults",
        Measure::Instructions => "instructions",
        Measure::Waits => "waits",
        Measure::Peak => "peak",
    }
}

fn counter(arm: &CellFigures, name: &str) -> Option<f64> {
    arm.counters.get(name).copied()
}

fn value(measure: Measure, arm: &CellFigures) -> Option<f64> {
    match measure {
        Measure::Faults => Some(arm.faults as f64),
        Measure::Instructions => counter(arm, "alloc_free_instructions"),
        Measure::Waits => counter(arm, "blocking_waits"),
        Measure::Peak => arm.peak_bytes,
    }
}

/// The figure of stock by itself: `1,064 MiB`, `301 waits`.
pub(super) fn stock(row: &AblationRow) -> String {
    let Some(value) = value(row.measure, &row.stock) else {
        return figures::NONE.to_owned();
    };
    match row.measure {
        Measure::Peak => figures::bytes(value),
        measure => format!(
            "{} {}",
            figures::count(value.round()),
            measure_word(measure)
        ),
    }
}

/// The figure of a subset: counts as they are, memory and instructions by how many times stock's they are.
pub(super) fn cell(row: &AblationRow, arm: &CellFigures) -> String {
    let Some(own) = value(row.measure, arm) else {
        return figures::NONE.to_owned();
    };
    match (row.measure, value(row.measure, &row.stock)) {
        (Measure::Peak | Measure::Instructions, Some(stock)) if stock > 0.0 => {
            figures::ratio(own / stock)
        }
        (Measure::Peak, _) => figures::bytes(own),
        _ => figures::count(own.round()),
    }
}

/// The finding and the figure of one subset in a row.
pub(super) fn at(row: &AblationRow, index: usize) -> Option<(&Finding, String)> {
    let finding = row.findings.get(index)?.as_ref()?;
    let figure = row
        .figures
        .get(index)
        .and_then(Option::as_ref)
        .map(|arm| cell(row, arm))
        .unwrap_or_default();
    Some((finding, figure))
}

/// The rows that are worth a reader's time, those that tell the parts of the series apart first: under the default settings
/// all in which not all subsets are as stock is; under another setting those that read otherwise than the same scenario under
/// the default ones.
pub(super) fn telling(ablation: &Ablation) -> Vec<&AblationRow> {
    let states = |row: &AblationRow| -> Vec<Option<FindingState>> {
        (0..ablation.subsets.len())
            .map(|index| Some(row.findings.get(index)?.as_ref()?.state))
            .collect()
    };
    let usual = |row: &AblationRow| {
        let id = row.scenario.split('@').next();
        ablation
            .rows
            .iter()
            .find(|other| Some(other.scenario.as_str()) == id)
    };
    let mut telling: Vec<&AblationRow> = ablation
        .rows
        .iter()
        .filter(|row| {
            let own = states(row);
            match usual(row).filter(|_| row.scenario.contains('@')) {
                Some(usual) => own
                    .iter()
                    .zip(states(usual))
                    .any(|(own, usual)| own.is_some() && *own != usual),
                None => {
                    own.iter().flatten().any(|state| *state != FindingState::Ok)
                        || differs(row, ablation.subsets.len())
                }
            }
        })
        .collect();
    let own = ablation
        .subsets
        .iter()
        .filter(|subset| subset.series.is_empty())
        .count();
    telling.sort_by_key(|row| {
        let states = states(row);
        let mut found = states.iter().take(own).flatten();
        let all_as_stock = found.all(|state| *state == FindingState::Ok);
        (all_as_stock, !differs(row, own))
    });
    telling
}

/// Whether the figure of any of the first subsets is not stock's.
fn differs(row: &AblationRow, count: usize) -> bool {
    let stock = value(row.measure, &row.stock);
    let figures = row.figures.iter().take(count).flatten();
    figures
        .map(|arm| value(row.measure, arm))
        .any(|own| own != stock)
}

/// One setting with the verdict on each subset that ran under it.
pub(super) struct SettingRow {
    /// `key=value`, or that they are the default ones.
    pub(super) setting: String,
    /// The sign and word of each verdict; nothing where the subset did not run.
    pub(super) verdicts: Vec<Option<(&'static str, &'static str, String)>>,
}

/// The verdicts, a row for each setting.
pub(super) fn verdicts(ablation: &Ablation) -> Vec<SettingRow> {
    let mut settings: Vec<&str> = Vec::new();
    for verdict in ablation.verdicts.iter().flatten() {
        if !settings.contains(&verdict.setting.as_str()) {
            settings.push(&verdict.setting);
        }
    }
    settings
        .into_iter()
        .map(|setting| SettingRow {
            setting: if setting.is_empty() {
                "default settings".to_owned()
            } else {
                setting.to_owned()
            },
            verdicts: (0..ablation.subsets.len())
                .map(|index| {
                    let own = ablation.verdicts.get(index)?.iter();
                    let found = own.clone().find(|own| own.setting == setting)?;
                    Some((
                        summary::verdict_sign(found.verdict),
                        summary::verdict_word(found.verdict),
                        found.reason.clone(),
                    ))
                })
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::{SettingVerdict, Subset, Verdict};
    use std::collections::BTreeMap;

    fn row(
        scenario: &str,
        measure: Measure,
        stock: f64,
        own: f64,
        state: FindingState,
    ) -> AblationRow {
        let arm = |value: f64| CellFigures {
            peak_bytes: Some(value),
            faults: value as u64,
            counters: BTreeMap::from([
                ("blocking_waits".to_owned(), value),
                ("alloc_free_instructions".to_owned(), value),
            ]),
            ..CellFigures::default()
        };
        AblationRow {
            scenario: scenario.to_owned(),
            findings: vec![Some(Finding {
                state,
                text: String::new(),
            })],
            measure,
            stock: arm(stock),
            figures: vec![Some(arm(own))],
        }
    }

    #[test]
    fn a_cell_shows_its_measure() {
        let shown = |measure, stock_value, own| {
            let row = row("steady", measure, stock_value, own, FindingState::Ok);
            (stock(&row), at(&row, 0).unwrap().1)
        };
        let mib = 1_048_576.0;
        assert_eq!(
            shown(Measure::Peak, 64.0 * mib, 32.0 * mib),
            ("64.0 MiB".to_owned(), figures::ratio(0.5))
        );
        assert_eq!(
            shown(Measure::Waits, 301.0, 1.0),
            ("301 waits".to_owned(), "1".to_owned())
        );
        assert_eq!(
            shown(Measure::Instructions, 1000.0, 950.0).1,
            figures::ratio(0.95)
        );
        assert_eq!(shown(Measure::Faults, 0.0, 7.0).1, "7");
    }

    #[test]
    fn what_is_as_everywhere_else_is_left_out() {
        use FindingState::{Ok, Regression};
        let ablation = Ablation {
            subsets: vec![Subset::default()],
            rows: vec![
                row("same", Measure::Peak, 1.0, 1.0, Ok),
                row("worse", Measure::Peak, 1.0, 2.0, Regression),
                row("worse@mode=x", Measure::Peak, 1.0, 2.0, Regression),
                row("same@mode=x", Measure::Peak, 1.0, 2.0, Regression),
            ],
            verdicts: vec![vec![SettingVerdict {
                setting: String::new(),
                verdict: Verdict::Regression,
                scenarios: 2,
                reason: "worse".to_owned(),
            }]],
        };
        let shown: Vec<&str> = telling(&ablation)
            .into_iter()
            .map(|row| &*row.scenario)
            .collect();
        assert_eq!(shown, ["worse", "same@mode=x"]);
        assert_eq!(verdicts(&ablation)[0].setting, "default settings");
    }
}
