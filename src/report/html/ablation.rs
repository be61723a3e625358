//! The section of the page that tells which patch does what, and the one on assumptions about Metal.
use super::scenarios::{State, state};
use crate::report::document::{Ablation, Report};
use crate::report::{ablation, harmless, summary};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct View {
    subsets: Vec<[String; 2]>,
    rows: Vec<RowView>,
    verdicts: Vec<VerdictsView>,
    /// Rows that read as everywhere else.
    more: usize,
}

#[derive(Serialize)]
struct RowView {
    scenario: String,
    measure: &'static str,
    stock: String,
    cells: Vec<Option<CellView>>,
}

#[derive(Serialize)]
struct CellView {
    state: State,
    figure: String,
}

#[derive(Serialize)]
struct VerdictsView {
    setting: String,
    cells: Vec<Option<[String; 3]>>,
}

pub(super) fn view(whole: &Ablation) -> View {
    let name = |text: &str| harmless::line(text, harmless::NAME);
    let telling = ablation::telling(whole);
    View {
        subsets: whole
            .subsets
            .iter()
            .map(|subset| [name(&subset.name), name(&subset.patches.join(", "))])
            .collect(),
        more: whole.rows.len() - telling.len(),
        rows: telling
            .into_iter()
            .map(|row| RowView {
                scenario: name(&row.scenario),
                measure: ablation::measure_word(row.measure),
                stock: ablation::stock(row),
                // a row that is too short or too long still fits the columns
                cells: (0..whole.subsets.len())
                    .map(|index| {
                        let (finding, figure) = ablation::at(row, index)?;
                        Some(CellView {
                            state: state(finding),
                            figure,
                        })
                    })
                    .collect(),
            })
            .collect(),
        verdicts: ablation::verdicts(whole)
            .into_iter()
            .map(|row| VerdictsView {
                setting: name(&row.setting),
                cells: row
                    .verdicts
                    .into_iter()
                    .map(|cell| {
                        let (sign, word, reason) = cell?;
                        let reason = harmless::line(&reason, harmless::SENTENCE);
                        Some([sign.to_owned(), word.to_owned(), reason])
                    })
                    .collect(),
            })
            .collect(),
    }
}

/// A setting, the sign and word of the verdict, how many scenarios it rests on, and what decided.
pub(super) fn settings(report: &Report) -> Vec<[String; 5]> {
    report
        .by_setting
        .iter()
        .map(|own| {
            let setting = if own.setting.is_empty() {
                "default settings"
            } else {
                &own.setting
            };
            [
                harmless::line(setting, harmless::NAME),
                summary::verdict_sign(own.verdict).to_owned(),
                summary::verdict_word(own.verdict).to_owned(),
                own.scenarios.to_string(),
                harmless::line(&own.reason, harmless::SENTENCE),
            ]
        })
        .collect()
}
