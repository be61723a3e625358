//! The subsets of a series that tell which patch does what. Pure.
use super::PatchId;
use std::collections::BTreeMap;

/// Some of a series' patches, with all that they need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subset {
    /// For people: `empty-cache alone`, `until pending-free`, `without memcpy-copy`.
    pub name: String,
    /// The patches, in the order of the series.
    pub patches: Vec<PatchId>,
}

/// Each patch that needs no other, and each prefix of the series: each set of patches once, without the empty one and the
/// whole.
#[must_use]
pub fn subsets(patches: &[PatchId], needs: &BTreeMap<PatchId, Vec<PatchId>>) -> Vec<Subset> {
    // what the tree has already is no patch of these
    let stands_alone = |patch: &&PatchId| {
        let mut needed = needs.get(*patch).into_iter().flatten();
        !needed.any(|need| patches.contains(need))
    };
    let alone = patches.iter().filter(stands_alone).map(|patch| Subset {
        name: format!("{patch} alone"),
        patches: vec![patch.clone()],
    });
    let prefixes = (2..patches.len()).map(|end| Subset {
        name: format!("until {}", patches[end - 1]),
        patches: patches[..end].to_vec(),
    });
    alone
        .chain(prefixes)
        .filter(|subset| subset.patches.len() < patches.len())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn id(name: &str) -> PatchId {
        PatchId::try_from(name.to_owned()).unwrap()
    }

    #[test]
    fn ours_has_its_prefixes_and_what_stands_alone() {
        let patches = ["race", "cache", "routing", "shared", "copy"].map(id);
        let needs = BTreeMap::from([
            (id("routing"), vec![id("race"), id("cache")]),
            (id("shared"), vec![id("routing")]),
            (id("copy"), vec![id("routing"), id("shared")]),
        ]);
        let found = subsets(&patches, &needs);
        let names: Vec<&str> = found.iter().map(|subset| &*subset.name).collect();
        assert_eq!(
            names,
            [
                "race alone",
                "cache alone",
                "until cache",
                "until routing",
                "until shared"
            ]
        );
        assert_eq!(found[2].patches, [id("race"), id("cache")]);
        assert_eq!(subsets(&patches[..1], &needs), []);
    }

    proptest! {
        #[test]
        fn a_subset_is_closed_and_no_two_are_the_same(
            edges in proptest::collection::vec((0usize..7, 0usize..7), 0..12),
            count in 1usize..7,
        ) {
            let patches: Vec<PatchId> = (0..count).map(|number| id(&format!("p{number}"))).collect();
            let mut needs: BTreeMap<PatchId, Vec<PatchId>> = BTreeMap::new();
            for (later, earlier) in edges {
                if earlier < later && later < count {
                    needs.entry(patches[later].clone()).or_default().push(patches[earlier].clone());
                }
            }
            let found = subsets(&patches, &needs);
            prop_assert!(found.len() < 2 * count);
            for subset in &found {
                for patch in &subset.patches {
                    for need in needs.get(patch).into_iter().flatten() {
                        prop_assert!(subset.patches.contains(need));
                    }
                }
                prop_assert!(!subset.patches.is_empty() && subset.patches.len() < count);
            }
            let sets: BTreeSet<&Vec<PatchId>> = found.iter().map(|subset| &subset.patches).collect();
            prop_assert_eq!(sets.len(), found.len());
        }
    }
}
