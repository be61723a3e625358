//! `verify --mutants`: faults planted in the patched lines one at a time, and whether the scenarios find each, by the same rules
//! by which they judge a patch set.
mod bench;
mod document;
mod error;
mod judge;
mod seeds;
mod subject;

pub use document::{Document, Row, text};
pub use error::MutantsError;

use super::Request;
use super::programs::Programs;
use super::programs::from_tree::FromTree;
use crate::device::{self, Device, Host};
use crate::error::Failure;
use crate::mutate::argued::Argued;
use crate::mutate::sample::Sample;
use crate::mutate::score::{Fate, Judged, Score};
use crate::progress::Progress;
use crate::share;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use subject::Subject;

/// Which mutants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// These alone; all when empty.
    pub names: Vec<String>,
    /// Those of this patch alone.
    pub patch: Option<String>,
    /// Some of them.
    pub sample: Sample,
    /// What looks for them.
    pub finders: Finders,
    /// Seeds of the explorer for each.
    pub seeds: u64,
}

/// What looks for mutants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Finders {
    /// The scenarios, and the explorer where they find nothing
    #[default]
    All,
    /// The scenarios alone
    Scenarios,
    /// The explorer alone
    Explorer,
}

/// Plants the wanted mutants and judges each.
///
/// # Errors
/// When the tree cannot be built, the list of argued mutants does not fit, or the user interrupts; what was judged is kept, and
/// the same command goes on from there.
pub fn run(
    request: &Request,
    wanted: &Wanted,
    progress: &dyn Progress,
) -> Result<Document, Failure> {
    let started = Instant::now();
    let host = Host::current()?;
    let chosen = device::choose(request.device, host)?;
    if chosen != Device::Simulated {
        return Err(Failure::usage("mutants run on the simulated device only")
            .hint("add --device simulated"));
    }
    let from = FromTree::prepare(request, host.trust(chosen), progress)?;
    let argued = argued()?;
    let subject = Subject::make(request, &from, progress)?;
    let names: Vec<&str> = subject
        .mutants
        .iter()
        .map(|one| one.mutant.name.as_str())
        .collect();
    argued
        .check(names.iter().copied())
        .map_err(MutantsError::Argued)?;
    let chosen = choose(&names, &subject, wanted)?;
    let fates = judge::all(request, &from, &subject, wanted, &chosen, progress)?;
    let rows: Vec<Row> = chosen
        .iter()
        .zip(fates)
        .map(|(index, fate)| {
            let mutant = &subject.mutants[*index].mutant;
            Row {
                mutant: mutant.clone(),
                fate: with_claim(fate, argued.of(&mutant.name)),
            }
        })
        .collect();
    let judged: Vec<Judged<'_>> = rows
        .iter()
        .map(|row| Judged {
            name: &row.mutant.name,
            patch: &row.mutant.patch,
            operator: row.mutant.operator,
            claim: argued.of(&row.mutant.name).map(|(claim, _)| claim),
            fate: &row.fate,
        })
        .collect();
    let score = Score::of(&judged);
    Ok(Document {
        schema: document::SCHEMA.to_owned(),
        command: request.command.clone(),
        compared: from.compared(),
        generated: subject.generated,
        rejected: subject.rejected.clone(),
        compiling: subject.mutants.len(),
        compiling_by_patch: by_patch(&subject),
        met: score.is_met(),
        score,
        mutants: rows,
        seconds: started.elapsed().as_secs_f64(),
    })
}

fn by_patch(subject: &Subject) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for one in &subject.mutants {
        *counts.entry(one.mutant.patch.clone()).or_default() += 1;
    }
    counts
}

/// The list that lies beside the mutants that are kept.
fn argued() -> Result<Argued, Failure> {
    let path = share::root()?
        .join("fixtures")
        .join("mutants")
        .join("argued.toml");
    let text = std::fs::read_to_string(&path).map_err(|source| MutantsError::List {
        path: path.clone(),
        source,
    })?;
    Ok(Argued::parse(&text).map_err(MutantsError::Argued)?)
}

fn with_claim(fate: Fate, claim: Option<(crate::mutate::argued::Claim, &str)>) -> Fate {
    match fate {
        Fate::Survived { reached, .. } => Fate::Survived {
            claim: claim.map(|(claim, _)| claim),
            reason: claim
                .map(|(_, reason)| reason.to_owned())
                .unwrap_or_default(),
            reached,
        },
        killed @ Fate::Killed { .. } => killed,
    }
}

/// The numbers of the wanted mutants in the subject's list.
fn choose(names: &[&str], subject: &Subject, wanted: &Wanted) -> Result<Vec<usize>, Failure> {
    let known: BTreeSet<&str> = names.iter().copied().collect();
    if let Some(unknown) = wanted
        .names
        .iter()
        .find(|name| !known.contains(name.as_str()))
    {
        return Err(MutantsError::Unknown {
            name: unknown.clone(),
        }
        .into());
    }
    let candidates: Vec<usize> = subject
        .mutants
        .iter()
        .enumerate()
        .filter(|(_, one)| {
            let name = wanted.names.is_empty() || wanted.names.contains(&one.mutant.name);
            name && wanted
                .patch
                .as_ref()
                .is_none_or(|patch| *patch == one.mutant.patch)
        })
        .map(|(index, _)| index)
        .collect();
    if candidates.is_empty() {
        return Err(MutantsError::None.into());
    }
    let candidate_names: Vec<&str> = candidates.iter().map(|index| names[*index]).collect();
    Ok(wanted
        .sample
        .choose(&candidate_names)
        .into_iter()
        .map(|index| candidates[index])
        .collect())
}
