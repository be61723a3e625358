//! A series on a tree that has moved on.
use crate::lab::{ALLOCATOR, HEADER, Lab};
use predicates::prelude::*;
use std::path::Path;

fn states(document: &serde_json::Value) -> Vec<&str> {
    document["patches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|patch| patch["state"].as_str().unwrap())
        .collect()
}

fn with_manifest(lab: &Lab) {
    std::fs::write(
        lab.series().join("series.toml"),
        "schema = \"umpatch.series/1\"\nname = \"series\"\ngeneration = \"classic\"\nevidence = \"tested\"\n\n\
         [[patch]]\nid = \"first\"\nfile = \"0001-first.patch\"\nwhy = \"\"\"because\"\"\"\n\n\
         [[patch]]\nid = \"second\"\nfile = \"0002-second.patch\"\ndepends_on = [\"first\"]\n\n\
         [[patch]]\nid = \"third\"\nfile = \"0003-third.patch\"\n",
    )
    .unwrap();
}

/// The series of that folder fits the lab's tree as it is.
fn fits(lab: &Lab, series: &Path) {
    lab.umpatch(&["check", "--patches-from"])
        .arg(series)
        .assert()
        .success();
    let document = lab.json({
        let mut command = lab.umpatch(&["apply", "--patches-from"]);
        command.arg(series);
        command
    });
    for patch in document["patches"].as_array().unwrap() {
        assert_eq!(patch["fit"], "exact");
    }
    lab.unapply();
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_tree_that_has_not_moved_passes_applied_or_not() {
    let lab = Lab::new();
    let before = lab.snapshot();
    lab.with_series(&["check"]).assert().success();
    assert_eq!(lab.snapshot(), before);
    lab.apply();
    lab.with_series(&["check"]).assert().success();
}

#[test]
fn what_moved_or_changed_around_is_mended_in_a_new_folder() {
    let lab = Lab::new();
    with_manifest(&lab);
    lab.edit(
        ALLOCATOR,
        "// allocator 1\n",
        "// one\n// more\n// allocator 1\n",
    );
    lab.edit(ALLOCATOR, "// allocator 148\n", "// upstream's 148\n");
    lab.commit("upstream moves on");
    let before = lab.snapshot();
    let mend = lab.root().join("mend");
    let old = read(&lab.series().join("0001-first.patch"));
    let mut command = lab.with_series(&["--json", "check"]);
    let output = command
        .arg("--mend")
        .arg(&mend)
        .assert()
        .code(4)
        .get_output()
        .stdout
        .clone();
    let document: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(states(&document), ["merged", "moved", "unchanged"]);
    let difference = document["patches"][0]["difference"].as_str().unwrap();
    assert!(difference.contains("+ // upstream's 148"), "{difference}");
    assert_eq!(document["patches"][1]["difference"], "");
    assert_eq!(lab.snapshot(), before, "the tree is not touched");
    assert_eq!(
        read(&lab.series().join("0001-first.patch")),
        old,
        "the old series is not touched"
    );
    assert_eq!(
        read(&mend.join("0003-third.patch")),
        read(&lab.series().join("0003-third.patch"))
    );
    assert!(read(&mend.join("series.toml")).contains("why = \"\"\"because\"\"\""));
    fits(&lab, &mend);
    lab.with_series(&["check"])
        .arg("--mend")
        .arg(&mend)
        .assert()
        .code(2)
        .stderr(predicate::str::contains("is not empty"));
}

#[test]
fn what_has_landed_is_left_out() {
    let lab = Lab::new();
    with_manifest(&lab);
    lab.edit(
        ALLOCATOR,
        "// allocator 50\n",
        "// allocator fifty\n// and more\n",
    );
    lab.edit(ALLOCATOR, "// allocator 150\n", "");
    lab.commit("upstream takes the first");
    let to = lab.root().join("carried");
    let output = lab
        .umpatch(&["--json", "rebase", "--onto"])
        .arg(lab.tree())
        .arg("--to")
        .arg(&to)
        .arg("--patches-from")
        .arg(lab.series())
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    let document: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(states(&document), ["landed", "unchanged", "unchanged"]);
    let manifest = read(&to.join("series.toml"));
    assert!(!manifest.contains("first"), "{manifest}");
    assert!(!to.join("0001-first.patch").exists());
    fits(&lab, &to);
}

#[test]
fn a_conflict_stops_there_and_shows_the_place() {
    let lab = Lab::new();
    lab.edit(HEADER, "// tail 3\n", "// another tail\n");
    lab.commit("upstream changes the line");
    let to = lab.root().join("carried");
    lab.umpatch(&["rebase", "--onto"])
        .arg(lab.tree())
        .arg("--to")
        .arg(&to)
        .arg("--patches-from")
        .arg(lab.series())
        .assert()
        .code(4)
        .stdout(predicate::str::contains("second               conflict"))
        .stdout(predicate::str::contains("tree  | // another tail"))
        .stdout(predicate::str::contains("third                not tried"));
    assert!(to.join("0001-first.patch").exists());
    assert!(!to.join("0002-second.patch").exists());
    assert_eq!(read(&to.join("series")), "0001-first.patch\n");
}
