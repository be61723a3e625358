//! The main job on the real 2.6.0 tree: our series passes, every control and every mutant of it is refused by the scenario
//! that its description names.
//!
//! Needs what the test command provides: `UMPATCH_TEST_TREE`, the compiler and the torch wheel in the cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#[path = "support/real.rs"]
mod real;

use real::{alone, tree, umpatch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `verify --json` on the tree: the exit code and the document.
fn verify(arguments: &[&str]) -> (i32, Value) {
    let runs = tempfile::tempdir().unwrap();
    let folder = runs.path().join("run");
    let mut words = vec!["--run-folder", folder.to_str().unwrap()];
    words.extend(arguments);
    umpatch("verify", &words)
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The patch sets of a folder with the scenario that has to find each.
fn patch_sets(kind: &str) -> Vec<(PathBuf, String)> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(fixtures().join(kind))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("series.toml").is_file())
        .collect();
    folders.sort();
    folders
        .into_iter()
        .map(|folder| {
            let text = std::fs::read_to_string(folder.join("series.toml")).unwrap();
            let series: toml::Table = text.parse().unwrap();
            let expected = &series["expected"];
            assert_eq!(
                expected["verdict"].as_str(),
                Some("regression"),
                "{folder:?}"
            );
            let scenario = expected["scenario"].as_str().unwrap().to_owned();
            (folder, scenario)
        })
        .collect()
}

/// What went otherwise than expected; empty when the set was refused for the right reason.
fn complaint(folder: &Path, scenario: &str) -> Option<String> {
    let (code, report) = verify(&[
        "--no-tests",
        "--patches-from",
        folder.to_str().unwrap(),
        "--scenario",
        scenario,
        "--sanitize",
        "never",
    ]);
    let first = &report["reasons"][0];
    let found = code == 1 && report["verdict"] == "regression" && first["subject"] == scenario;
    (!found).then(|| format!("{}: exit {code}, {first}", folder.display()))
}

/// Those of a folder's patch sets that were not refused for the right reason, in words.
fn complaints(kind: &str, fewest: usize) -> String {
    let sets = patch_sets(kind);
    assert!(sets.len() >= fewest);
    let all: Vec<String> = sets
        .iter()
        .filter_map(|(folder, scenario)| complaint(folder, scenario))
        .collect();
    all.join("\n")
}

#[test]
fn our_series_are_what_the_tree_makes_of_them_to_the_byte() {
    for series in ["classic", "classic-ordered"] {
        let output = Command::new(env!("CARGO_BIN_EXE_umpatch"))
            .arg("-C")
            .arg(tree())
            .args(["check", "--quiet", "--series", series])
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert_eq!(output.status.code(), Some(0), "{series}: {said}");
        assert!(said.contains("release-race"), "{series}: {said}");
    }
}

#[test]
fn our_series_passes_and_meets_its_goals() {
    let _alone = alone();
    let (code, report) = verify(&["--no-tests", "--sanitize", "never"]);
    assert_eq!(code, 0, "{}", report["reasons"]);
    assert_eq!(report["verdict"], "pass");
    assert!(report["scenarios"].as_array().unwrap().len() > 40);
    for goal in report["goals"].as_array().unwrap() {
        assert_ne!(goal["met"], false, "{goal}");
    }
}

#[test]
fn the_ordered_series_passes_and_meets_its_goals() {
    let _alone = alone();
    let (code, report) = verify(&[
        "--no-tests",
        "--sanitize",
        "never",
        "--series",
        "classic-ordered",
        "--pairs",
        "1",
    ]);
    assert_eq!(code, 0, "{}", report["reasons"]);
    assert_eq!(report["verdict"], "pass");
    assert_eq!(report["fingerprint"]["parts"]["series"], "classic-ordered");
    for goal in report["goals"].as_array().unwrap() {
        assert_eq!(goal["met"], true, "{goal}");
    }
}

#[test]
fn every_control_is_refused() {
    let _alone = alone();
    assert_eq!(complaints("controls", 2), "");
}

#[test]
fn every_mutant_is_found_by_its_scenario() {
    let _alone = alone();
    assert_eq!(complaints("mutants", 8), "");
}

#[test]
fn the_release_race_shows_in_stock_and_not_in_our_series() {
    let _alone = alone();
    let (code, report) = verify(&[
        "--no-tests",
        "--scenario",
        "release-race+address",
        "--pairs",
        "8",
    ]);
    assert_eq!(code, 0, "{}", report["reasons"]);
    let row = &report["scenarios"][0];
    assert_eq!(row["relative"]["state"], "improved", "{row}");
    assert!(
        row["patched"]["faults"].as_array().unwrap().is_empty(),
        "{row}"
    );
}
