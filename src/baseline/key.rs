//! What has to be equal before two recorded runs may be compared.
use crate::report::document::Fingerprint;
use crate::verify::fingerprint;
use serde::Serialize;
use std::collections::BTreeMap;

/// Parts of a run's fingerprint that may differ: what is compared, how much of it, and what the verdict asked for.
const FREE: [&str; 12] = [
    "patched",
    "patches",
    "series",
    "pairs",
    "sanitize",
    "scenarios",
    "scenarios-run",
    "tests",
    "require-hardware",
    "budget",
    "detect",
    "arms",
];

/// A part of the key that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its name.
    pub part: String,
    /// What the first run has; empty when it has no such part.
    pub left: String,
    /// What the second has.
    pub right: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let or_none = |text: &str| {
            if text.is_empty() {
                "none".to_owned()
            } else {
                text.to_owned()
            }
        };
        write!(
            formatter,
            "{} ({} and {})",
            self.part,
            or_none(&self.left),
            or_none(&self.right)
        )
    }
}

/// Divides a run's fingerprint into its key for comparisons and the rest.
#[must_use]
pub fn split(whole: &Fingerprint) -> (Fingerprint, BTreeMap<String, String>) {
    let (about, parts): (BTreeMap<_, _>, BTreeMap<_, _>) = whole
        .parts
        .clone()
        .into_iter()
        .partition(|(name, _)| FREE.contains(&name.as_str()));
    (
        Fingerprint {
            key: fingerprint::key(&parts),
            parts,
        },
        about,
    )
}

/// Which parts of two keys differ.
#[must_use]
pub fn differences(left: &Fingerprint, right: &Fingerprint) -> Vec<Difference> {
    let mut names: Vec<&String> = left.parts.keys().chain(right.parts.keys()).collect();
    names.sort();
    names.dedup();
    let part = |of: &Fingerprint, name: &String| of.parts.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .map(|name| Difference {
            part: name.clone(),
            left: part(left, name),
            right: part(right, name),
        })
        .filter(|found| found.left != found.right)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(pairs: &[(&str, &str)]) -> Fingerprint {
        Fingerprint {
            key: String::new(),
            parts: pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn patches_may_differ_and_the_chip_may_not() {
        let one = split(&whole(&[("chip", "m1"), ("patches", "a b"), ("os", "15")]));
        let other = split(&whole(&[("chip", "m1"), ("patches", "c"), ("os", "15")]));
        assert_eq!(one.0, other.0);
        assert_eq!(one.1["patches"], "a b");
        let third = split(&whole(&[("chip", "m2"), ("torch", "2.6")]));
        let found = differences(&one.0, &third.0);
        let parts: Vec<&str> = found.iter().map(|found| found.part.as_str()).collect();
        assert_eq!(parts, ["chip", "os", "torch"]);
        assert_eq!(found[0].to_string(), "chip (m1 and m2)");
        assert_eq!(found[1].to_string(), "os (15 and none)");
        assert_ne!(one.0.key, third.0.key);
    }
}
