//! What a report says of the two sides of a comparison.
use crate::engine::Arms as Sides;
use crate::report::document::{Arms, Compared};
use std::collections::BTreeMap;

/// Both arms by name; the commits are those that were built.
pub(super) fn compared(sides: &Sides, baseline: &str, patched: &str) -> Arms<Compared> {
    let version = sides.tree.version.as_deref();
    let name = format!("PyTorch {}", version.unwrap_or("of an unknown version"));
    Arms {
        baseline: Compared {
            name: format!("{name}, stock"),
            commit: baseline.to_owned(),
            patches: Vec::new(),
            titles: Vec::new(),
        },
        patched: Compared {
            name: format!("{name} + {}", sides.series),
            commit: patched.to_owned(),
            patches: sides.patches.iter().map(ToString::to_string).collect(),
            titles: sides.titles.clone(),
        },
    }
}

/// Scenarios and tests by the patches that claim to mend what they show.
pub(super) fn promises(sides: &Sides) -> BTreeMap<String, Vec<String>> {
    let promises = sides.promises.iter();
    promises
        .map(|(name, patches)| {
            let patches = patches.iter().map(ToString::to_string).collect();
            (name.clone(), patches)
        })
        .collect()
}
