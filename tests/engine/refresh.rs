//! Commits back to patch files.
use crate::lab::{ALLOCATOR, HEADER, Lab, git_in};
use predicates::prelude::*;
use std::collections::BTreeMap;

fn files(lab: &Lab) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(lab.series())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read(path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn what_was_not_edited_keeps_every_byte() {
    let lab = Lab::new();
    lab.apply();
    let before = files(&lab);
    lab.with_series(&["refresh", "--check"]).assert().success();
    lab.with_series(&["refresh"]).assert().success();
    assert_eq!(files(&lab), before);
}

#[test]
fn an_edited_commit_is_written_anew_and_the_others_are_not() {
    let lab = Lab::new();
    lab.apply();
    let before = files(&lab);
    // the second commit is edited, the third put back on top of it
    lab.git(&["reset", "-q", "--hard", "HEAD~1"]);
    lab.edit(HEADER, "// tail three\n", "// tail three, better\n");
    lab.git(&[
        "commit",
        "-q",
        "-a",
        "--amend",
        "-m",
        "[MPS] Second, with Größe\n\nWhy it is so.",
    ]);
    lab.git(&["cherry-pick", "ORIG_HEAD"]);
    let (head, tree) = (
        lab.git(&["rev-parse", "HEAD"]),
        lab.git(&["rev-parse", "HEAD^{tree}"]),
    );
    lab.with_series(&["refresh", "--check"])
        .assert()
        .code(4)
        .stdout(predicate::str::contains("differs from its commit"));
    assert_eq!(files(&lab), before, "--check writes nothing");
    let document = lab.json(lab.with_series(&["refresh"]));
    assert_eq!(document["schema"], "umpatch.refresh/1");
    let states: Vec<_> = document["patches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["unchanged", "edited", "unchanged"]);
    let after = files(&lab);
    assert_eq!(after["0001-first.patch"], before["0001-first.patch"]);
    assert_eq!(after["0003-third.patch"], before["0003-third.patch"]);
    assert_ne!(after["0002-second.patch"], before["0002-second.patch"]);
    lab.with_series(&["refresh", "--check"]).assert().success();
    // the edited series is what is applied: it comes out, and in again, to the same tree
    assert_eq!(lab.apply()["head"], head.as_str());
    lab.unapply();
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    lab.apply();
    assert_eq!(lab.git(&["rev-parse", "HEAD^{tree}"]), tree);
    assert_eq!(
        lab.git(&["show", "-s", "--format=%s", "HEAD~1"]),
        "[MPS] Second, with Größe"
    );
}

#[test]
fn git_am_reads_what_is_written() {
    let lab = Lab::new();
    lab.apply();
    lab.edit(ALLOCATOR, "// allocator 3\n", "// allocator three\n");
    lab.git(&[
        "commit",
        "-q",
        "-a",
        "--amend",
        "-m",
        "[MPS] Third: größer\n\nä, ö und ü.",
    ]);
    let tree = lab.git(&["rev-parse", "HEAD^{tree}"]);
    let message = lab.git(&["show", "-s", "--format=%B|%an|%ae|%at", "HEAD"]);
    lab.with_series(&["refresh"]).assert().success();
    lab.unapply();
    for name in ["0001-first", "0002-second", "0003-third"] {
        git_in(
            &lab.tree(),
            &[
                "am",
                "-q",
                "--keep-non-patch",
                &format!("../series/{name}.patch"),
            ],
        );
    }
    assert_eq!(lab.git(&["rev-parse", "HEAD^{tree}"]), tree);
    assert_eq!(
        lab.git(&["show", "-s", "--format=%B|%an|%ae|%at", "HEAD"]),
        message
    );
}

#[test]
fn commits_that_cannot_be_told_apart_are_refused() {
    let lab = Lab::new();
    lab.with_series(&["refresh"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("no series is applied"));
    lab.apply();
    let before = files(&lab);
    lab.write("README.md", "one more\n");
    lab.commit("one more");
    lab.with_series(&["refresh"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains(
            "3 patches are applied, but there are 4 commits",
        ));
    assert_eq!(files(&lab), before);
}
