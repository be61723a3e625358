//! What one patch changes by itself: the columns of an ablation with the patches before it, and with it too.
use super::evidence::Evidence;
use super::tables;
use crate::engine::{Proposal, PullRequest};
use crate::report::document::{Ablation, AblationRow, CellFigures};
use crate::report::figures::{self, NONE};
use crate::report::markup::code;

/// The two columns of the ablation between which a patch stands.
pub struct OwnShare<'e> {
    ablation: &'e Ablation,
    /// Nothing where it is stock.
    before: Option<usize>,
    after: usize,
    /// Scenarios in which threads race.
    racing: Vec<&'e str>,
    /// How many patches come before it.
    pub below: usize,
}

/// What a patch changes by itself, where the run has an ablation that tells.
#[must_use]
pub fn of<'e>(
    evidence: &'e Evidence,
    proposal: &Proposal,
    request: &PullRequest,
) -> Option<OwnShare<'e>> {
    let ablation = evidence.report.ablation.as_ref()?;
    let ids: Vec<&str> = proposal
        .requests
        .iter()
        .map(|request| request.id.as_str())
        .collect();
    let position = ids.iter().position(|id| *id == request.id.as_str())?;
    let column = |patches: &[&str]| {
        ablation.subsets.iter().position(|subset| {
            subset.series.is_empty() && subset.patches.iter().eq(patches.iter().copied())
        })
    };
    let before = match position {
        0 => None,
        _ => Some(column(&ids[..position])?),
    };
    Some(OwnShare {
        ablation,
        before,
        after: column(&ids[..=position])?,
        racing: evidence
            .report
            .scenarios
            .iter()
            .filter(|scenario| scenario.class == "stress")
            .map(|scenario| scenario.id.as_str())
            .collect(),
        below: position,
    })
}

/// A column that compares nothing where threads race.
const WAITS: &str = "blocking waits";

/// One figure of a cell.
type Column = fn(&CellFigures) -> String;

fn counted(arm: &CellFigures, name: &str) -> String {
    let value = arm.counters.get(name);
    value.map_or_else(|| NONE.to_owned(), |value| figures::count(value.round()))
}

fn memcpy(arm: &CellFigures) -> String {
    let of = |name: &str| arm.counters.get(name).copied();
    match (of("memcpy_copies"), of("eligible_copies")) {
        (Some(done), Some(eligible)) if eligible > 0.0 => figures::share(done / eligible),
        _ => NONE.to_owned(),
    }
}

impl OwnShare<'_> {
    fn before<'r>(&self, row: &'r AblationRow) -> Option<&'r CellFigures> {
        match self.before {
            None => Some(&row.stock),
            Some(column) => row.figures.get(column)?.as_ref(),
        }
    }

    fn after<'r>(&self, row: &'r AblationRow) -> Option<&'r CellFigures> {
        row.figures.get(self.after)?.as_ref()
    }

    fn rows(&self, scenarios: &[String]) -> Vec<(&AblationRow, &CellFigures, &CellFigures)> {
        scenarios
            .iter()
            .filter_map(|name| {
                let mut rows = self.ablation.rows.iter();
                let row = rows.find(|row| row.scenario == *name)?;
                Some((row, self.before(row)?, self.after(row)?))
            })
            .collect()
    }

    /// A row for each scenario that ran with and without the patch; nothing where none did.
    #[must_use]
    pub fn table(&self, scenarios: &[String]) -> Option<String> {
        let columns: [(&str, Column); 4] = [
            ("faults", |arm| figures::count(arm.faults as f64)),
            ("peak driver memory", |arm| {
                arm.peak_bytes
                    .map_or_else(|| NONE.to_owned(), figures::bytes)
            }),
            (WAITS, |arm| counted(arm, "blocking_waits")),
            ("copies by memcpy", memcpy),
        ];
        let rows = self.rows(scenarios);
        let cells: Vec<tables::Row<'_>> = rows
            .iter()
            .map(|(row, before, after)| {
                let cells = columns
                    .iter()
                    .map(|(name, show)| {
                        // threads race on the wall clock there, and a process that crashed did less
                        if *name == WAITS && self.racing.contains(&row.scenario.as_str()) {
                            (*name, NONE.to_owned(), NONE.to_owned())
                        } else {
                            (*name, show(before), show(after))
                        }
                    })
                    .collect();
                (code(&row.scenario), cells)
            })
            .collect();
        (!cells.is_empty()).then(|| tables::before_and_after(&cells))
    }

    /// Instructions of an allocation and its free in each scenario that counted them: before, after. They are counted, not
    /// timed: the same seed gives the same number each time.
    #[must_use]
    pub fn instructions(&self) -> Vec<(String, f64, f64)> {
        let name = "alloc_free_instructions";
        let rows = self.ablation.rows.iter();
        rows.filter_map(|row| {
            let before = self.before(row)?.counters.get(name)?;
            let after = self.after(row)?.counters.get(name)?;
            Some((row.scenario.clone(), *before, *after))
        })
        .collect()
    }
}
