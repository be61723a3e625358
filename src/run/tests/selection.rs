//! Which tests the user asked for by id.
use super::error::TestsError;
use super::ledger::Ledger;
use crate::run::job::Arm;
use std::path::Path;

/// Names and look-alikes that an error shows.
const SHOWN: usize = 5;

/// Reads ids, one a line; empty lines and those that start with `#` are left out.
///
/// # Errors
/// When the file cannot be read or holds no id.
pub fn read_ids(path: &Path) -> Result<Vec<String>, TestsError> {
    let text = std::fs::read_to_string(path).map_err(TestsError::file("read", path))?;
    let mut ids: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim) {
        if !line.is_empty() && !line.starts_with('#') && !ids.iter().any(|id| id == line) {
            ids.push(line.to_owned());
        }
    }
    if ids.is_empty() {
        return Err(TestsError::Input {
            what: "list of tests",
            path: path.to_owned(),
            detail: "it names no test".to_owned(),
        });
    }
    Ok(ids)
}

/// Whether each of these is in an arm's file.
pub(super) fn all_known(ledger: &Ledger, names: &[String]) -> Result<(), TestsError> {
    let collected = |arm: Arm| ledger.arm(arm).collected.iter();
    let known: std::collections::HashSet<&str> = collected(Arm::Baseline)
        .chain(collected(Arm::Patched))
        .map(|id| ledger.name(*id))
        .collect();
    let unknown: Vec<&String> = names
        .iter()
        .filter(|name| !known.contains(name.as_str()))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let last = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
    let mut alike: Vec<String> = known
        .iter()
        .filter(|id| unknown.iter().any(|name| last(name) == last(id)))
        .map(|id| (*id).to_owned())
        .collect();
    alike.sort();
    alike.truncate(SHOWN);
    Err(TestsError::Unknown {
        names: unknown.into_iter().take(SHOWN).cloned().collect(),
        alike,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::event::TestEvent;

    #[test]
    fn a_list_has_comments() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        std::fs::write(&path, "# why\n\na.py::b\n  a.py::c \na.py::b\n").unwrap();
        assert_eq!(read_ids(&path).unwrap(), ["a.py::b", "a.py::c"]);
        std::fs::write(&path, "# nothing\n").unwrap();
        assert!(read_ids(&path).is_err());
    }

    #[test]
    fn an_unknown_name_brings_its_look_alikes() {
        let mut ledger = Ledger::default();
        ledger.apply(&TestEvent::Collected {
            arm: Arm::Patched,
            ids: vec!["a.py::C::test_b".to_owned()],
            last: true,
        });
        assert!(all_known(&ledger, &["a.py::C::test_b".to_owned()]).is_ok());
        let error = all_known(&ledger, &["a.py::test_b".to_owned()]).unwrap_err();
        assert!(matches!(error, TestsError::Unknown { alike, .. } if alike == ["a.py::C::test_b"]));
    }
}
