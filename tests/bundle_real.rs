//! The bundle of our series on the real 2.6.0 tree: made from a run of the proofs, and complete.
//!
//! Needs what the test command provides: `UMPATCH_TEST_TREE`, the compiler and the torch wheel in the cache, and the linters
//! that upstream runs on the path.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A clone of the tree (branches are made in it), and a run of every proof on it.
struct Lab {
    folder: TempDir,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tree: PathBuf = std::env::var_os("UMPATCH_TEST_TREE")
            .expect("UMPATCH_TEST_TREE names a 2.6.0 tree: `umpatch fetch 2.6.0` brings one, ci/test sets it")
            .into();
        let lab = Self { folder };
        let cloned = Command::new("git")
            .args(["clone", "--quiet", "--shared"])
            .arg(tree)
            .arg(lab.tree())
            .status()
            .unwrap();
        assert!(cloned.success());
        lab
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn umpatch(&self, arguments: &[&str]) -> (i32, Value) {
        let output = Command::new(env!("CARGO_BIN_EXE_umpatch"))
            .arg("-C")
            .arg(self.tree())
            .args(["--json", "--quiet"])
            .args(arguments)
            .output()
            .unwrap();
        (output.status.code().unwrap(), document(&output))
    }
}

fn document(output: &Output) -> Value {
    let words = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {words}"))
}

/// The scenarios and tests that the manifest of the series names.
fn proofs() -> (Vec<String>, Vec<String>) {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("patches/classic/series.toml"),
    )
    .unwrap();
    let series: toml::Table = text.parse().unwrap();
    let mut names = BTreeSet::new();
    for patch in series["patch"].as_array().unwrap() {
        let lists = [
            &patch["proven_by"],
            &patch["pull_request"]["shown_by"],
            &patch["pull_request"]["measured_by"],
        ];
        for name in lists.iter().flat_map(|list| list.as_array().unwrap()) {
            names.insert(name.as_str().unwrap().to_owned());
        }
    }
    names
        .into_iter()
        .partition(|name| !name.starts_with("test_"))
}

fn text(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_bundle_of_our_series_is_complete() {
    let lab = Lab::new();
    let (scenarios, tests) = proofs();
    let run = lab.path("run");
    let expression = tests.join(" or ");
    let mut arguments = vec!["verify", "--run-folder", run.to_str().unwrap()];
    arguments.extend(["--sanitize", "never", "--tests", &expression]);
    for scenario in &scenarios {
        arguments.extend(["--scenario", scenario]);
    }
    let (code, report) = lab.umpatch(&arguments);
    assert_eq!(code, 0, "{}", report["reasons"]);

    let place = lab.path("one");
    let (run, place) = (run.to_str().unwrap(), place.to_str().unwrap());
    let (code, made) = lab.umpatch(&["bundle", "--run", run, "--output", place]);
    assert_eq!(code, 0, "{made:#}");
    assert_eq!(made["complete"], true);
    assert_eq!(made["bundle"]["run"]["trust"], "simulated");
    let patches = made["bundle"]["patches"].as_array().unwrap();
    assert_eq!(patches.len(), 8);

    // each branch is there and is what the bundle says
    for patch in patches {
        let branch = patch["branch"].as_str().unwrap();
        let tip = Command::new("git")
            .arg("-C")
            .arg(lab.tree())
            .args(["rev-parse", branch])
            .output()
            .unwrap();
        let tip = String::from_utf8(tip.stdout).unwrap();
        assert_eq!(tip.trim(), patch["tip"].as_str().unwrap(), "{branch}");
    }

    // what a reviewer asks for is in each body
    for patch in patches {
        let body = text(
            lab.path("one/classic-2.6.0")
                .join(patch["body"].as_str().unwrap()),
        );
        for wanted in [
            "no figure here was measured on a Mac",
            "before: ",
            "| scenario, before → after |",
            "difference |",
            "clang-format 17.0.6",
            "AI disclosure",
        ] {
            assert!(body.contains(wanted), "{wanted:?} is not in {body}");
        }
        assert!(
            !body.contains(lab.folder.path().to_str().unwrap()),
            "{body}"
        );
    }

    // and its own check says so, of the archive too
    let archive = lab.path("one/classic-2.6.0.tar.zst");
    let (code, checked) = lab.umpatch(&["bundle", "--check", archive.to_str().unwrap()]);
    assert_eq!(code, 0, "{checked:#}");
    assert_eq!(checked["verdict"], "complete");
    let states: BTreeSet<&str> = checked["result"]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, BTreeSet::from(["for-a-person", "ok"]));
}
