//! The list of mutants that nothing finds: those that are no faults, with the reason, and those that are, with what is missing.
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The first line of a list.
pub const SCHEMA: &str = "umpatch.argued/1";

/// Why a mutant may survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// It does the same as the series for everything that a user can see: it does not count.
    Equivalent,
    /// It is a fault that nothing sees yet: it counts as one that survived.
    Unseen,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The mutant, or several with one reason.
    pub names: Vec<String>,
    /// What is claimed.
    pub claim: Claim,
    /// Why.
    pub reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    #[serde(default)]
    argued: Vec<Entry>,
}

/// The list by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argued {
    entries: BTreeMap<String, (Claim, String)>,
}

/// A list that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArguedError {
    /// No TOML, or not of this form.
    #[error("the list of argued mutants cannot be read: {0}")]
    Form(String),
    /// Another schema.
    #[error("the list of argued mutants has the schema {0}, not {SCHEMA}")]
    Schema(String),
    /// A name without a reason.
    #[error("{0} has no reason")]
    NoReason(String),
    /// A name twice.
    #[error("{0} is argued twice")]
    Twice(String),
    /// Names of mutants that do not exist (any more).
    #[error("argued, but no mutant of this series: {}", .0.join(", "))]
    Unknown(Vec<String>),
}

impl Argued {
    /// Reads a list.
    ///
    /// # Errors
    /// When it has another form, a name twice, or a name without a reason.
    pub fn parse(text: &str) -> Result<Self, ArguedError> {
        let file: File =
            toml::from_str(text).map_err(|error| ArguedError::Form(error.to_string()))?;
        if file.schema != SCHEMA {
            return Err(ArguedError::Schema(file.schema));
        }
        let mut entries = BTreeMap::new();
        for entry in file.argued {
            for name in entry.names {
                if entry.reason.trim().is_empty() {
                    return Err(ArguedError::NoReason(name));
                }
                let value = (entry.claim, entry.reason.trim().to_owned());
                if entries.insert(name.clone(), value).is_some() {
                    return Err(ArguedError::Twice(name));
                }
            }
        }
        Ok(Self { entries })
    }

    /// What is claimed of a mutant.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<(Claim, &str)> {
        self.entries
            .get(name)
            .map(|(claim, reason)| (*claim, reason.as_str()))
    }

    /// A reason for what does not exist is no reason.
    ///
    /// # Errors
    /// When a name is none of these.
    pub fn check<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<(), ArguedError> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let unknown: Vec<String> = self
            .entries
            .keys()
            .filter(|name| !names.contains(name.as_str()))
            .cloned()
            .collect();
        if unknown.is_empty() {
            Ok(())
        } else {
            Err(ArguedError::Unknown(unknown))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIST: &str = "schema = \"umpatch.argued/1\"\n[[argued]]\nnames = [\"a\", \"b\"]\nclaim = \"equivalent\"\nreason = \"same\"\n\
                        [[argued]]\nnames = [\"c\"]\nclaim = \"unseen\"\nreason = \"nothing looks\"\n";

    #[test]
    fn a_list_is_read_and_checked() {
        let list = Argued::parse(LIST).unwrap();
        assert_eq!(list.of("b"), Some((Claim::Equivalent, "same")));
        assert_eq!(list.of("c"), Some((Claim::Unseen, "nothing looks")));
        assert_eq!(list.of("d"), None);
        assert_eq!(list.check(["a", "b", "c", "d"]), Ok(()));
        assert_eq!(
            list.check(["a", "b"]),
            Err(ArguedError::Unknown(vec!["c".to_owned()]))
        );
    }

    #[test]
    fn lists_without_reasons_are_refused() {
        let with = |names: &str, reason: &str| {
            Argued::parse(&format!(
                "schema = \"{SCHEMA}\"\n[[argued]]\nnames = {names}\nclaim = \"equivalent\"\nreason = \"{reason}\"\n"
            ))
        };
        assert_eq!(
            with("[\"a\"]", " "),
            Err(ArguedError::NoReason("a".to_owned()))
        );
        assert_eq!(
            with("[\"a\", \"a\"]", "x"),
            Err(ArguedError::Twice("a".to_owned()))
        );
        assert!(matches!(with("3", "x"), Err(ArguedError::Form(_))));
        assert!(matches!(
            Argued::parse("schema = \"other/1\""),
            Err(ArguedError::Schema(_))
        ));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,120}") {
            let _ = Argued::parse(&text);
        }
    }
}
