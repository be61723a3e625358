//! All scenarios that the harness has, from lists that lie beside them: known without building anything.
use super::job::Definition;
use std::path::Path;

/// The scenarios by what runs them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    /// Those of the native driver.
    pub native: Vec<Definition>,
    /// Those that train a model on the simulated mps device.
    pub training: Vec<Definition>,
    /// Those of the schedule explorer.
    pub explorer: Vec<Definition>,
    /// The other values of what is assumed about Metal, as `key=value`; known only from a program.
    pub assumptions: Vec<String>,
}

impl Catalogue {
    /// Reads the lists in a harness folder: `scenarios.ndjson` in `metal`, `leaks` and `explore`. What is not there is empty.
    #[must_use]
    pub fn read(harness: &Path) -> Self {
        Self {
            native: listed(&harness.join("metal").join("scenarios.ndjson")),
            training: listed(&harness.join("leaks").join("scenarios.ndjson")),
            explorer: listed(&harness.join("explore").join("scenarios.ndjson")),
            assumptions: Vec::new(),
        }
    }
}

fn listed(path: &Path) -> Vec<Definition> {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harness() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("harness")
    }

    #[test]
    fn every_line_of_the_lists_is_a_scenario() {
        let catalogue = Catalogue::read(&harness());
        for (folder, listed) in [("metal", &catalogue.native), ("leaks", &catalogue.training)] {
            let path = harness().join(folder).join("scenarios.ndjson");
            let lines = std::fs::read_to_string(path).unwrap().lines().count();
            assert_eq!(listed.len(), lines, "{folder}");
            assert!(
                listed.iter().any(|definition| definition.positive_control),
                "{folder}"
            );
            assert!(
                listed
                    .iter()
                    .all(|definition| !definition.reproduces.is_empty()),
                "{folder}"
            );
        }
    }

    #[test]
    fn the_list_of_the_training_scripts_is_theirs() {
        let listed = crate::run::process::Program::new("python3")
            .arg("-B")
            .arg(harness().join("leaks").join("run.py"))
            .arg("--list")
            .run()
            .unwrap();
        let kept =
            std::fs::read_to_string(harness().join("leaks").join("scenarios.ndjson")).unwrap();
        assert_eq!(
            listed.text(),
            kept,
            "write harness/leaks/scenarios.ndjson again with run.py --list"
        );
    }
}
