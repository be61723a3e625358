//! The sources of an ablation: the tree with some of the patches, and with other patch sets.
use crate::engine::{self, Arms as Sides, EngineError, Selection, SourceSet};
use crate::error::Failure;
use crate::report::document::Subset;
use crate::series::PatchId;
use crate::series::subsets::subsets;
use crate::verify::ablate::Ablate;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::Path;

/// The subsets with their sources, and what a reader must know of them.
#[derive(Default)]
pub(super) struct Subsets {
    /// Each with the tree that it makes.
    pub(super) all: Vec<(Subset, SourceSet)>,
    /// Which of them do not apply by themselves.
    pub(super) notes: Vec<String>,
}

impl Subsets {
    /// The subsets by themselves.
    pub(super) fn names(&self) -> Vec<Subset> {
        self.all.iter().map(|(subset, _)| subset.clone()).collect()
    }

    /// The tree that a subset makes.
    pub(super) fn sources(&self, wanted: &Subset) -> Option<&SourceSet> {
        let mut all = self.all.iter();
        all.find(|(subset, _)| subset == wanted)
            .map(|(_, sources)| sources)
    }

    /// What they are, as a fingerprint holds it.
    pub(super) fn identity(&self) -> String {
        let mut hasher = Sha256::new();
        for (subset, sources) in &self.all {
            hasher.update(&subset.name);
            hasher.update([0]);
            // a tree that cannot be read is told by its build
            hasher.update(sources.identity().unwrap_or_default());
            hasher.update([0]);
        }
        hex::encode(&hasher.finalize()[..10])
    }
}

/// Finds the parts of the series that apply by themselves, and the other patch sets.
pub(super) fn of(
    sides: &Sides,
    patches_from: Option<&Path>,
    ablate: &Ablate,
) -> Result<Subsets, Failure> {
    let root = &sides.tree.path;
    let mut found = Subsets::default();
    for subset in subsets(&sides.patches, &sides.needs) {
        // what the tree has already counts as chosen
        let present = sides.needs.values().flatten();
        let chosen: BTreeSet<&PatchId> = subset
            .patches
            .iter()
            .chain(present.filter(|need| !sides.patches.contains(need)))
            .collect();
        let only = Selection::Only(chosen.into_iter().cloned().collect());
        match engine::arms(root, patches_from, &only) {
            Ok(arms) => found.all.push((
                Subset {
                    name: subset.name,
                    patches: subset.patches.iter().map(ToString::to_string).collect(),
                    series: String::new(),
                },
                arms.patched,
            )),
            Err(EngineError::Conflict(conflict)) => found.notes.push(format!(
                "{} does not apply by itself, so it is not in the ablation: {}",
                subset.name, conflict.patch
            )),
            Err(error) => return Err(error.into()),
        }
    }
    for folder in &ablate.against {
        let arms = engine::arms(root, Some(folder), &Selection::All)?;
        let name = arms.series.to_string();
        if found.all.iter().any(|(known, _)| known.name == name) {
            return Err(Failure::usage(format!(
                "two patch sets to compare with are called {name}"
            )));
        }
        found.all.push((
            Subset {
                series: name.clone(),
                name,
                patches: arms.patches.iter().map(ToString::to_string).collect(),
            },
            arms.patched,
        ));
    }
    Ok(found)
}
