//! Each word of `status`, with its evidence.
use crate::lab::{ALLOCATOR, HEADER, Lab, git_in};
use predicates::prelude::*;

fn states(lab: &Lab) -> Vec<(String, String)> {
    let document = lab.json(lab.with_series(&["status"]));
    assert_eq!(document["schema"], "umpatch.status/1");
    let patches = document["patches"].as_array().unwrap();
    for patch in patches {
        assert!(
            !patch["evidence"].as_array().unwrap().is_empty(),
            "{patch} has no evidence"
        );
        assert!(!patch["files"].as_array().unwrap().is_empty());
    }
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    patches
        .iter()
        .map(|patch| (text(&patch["id"]), text(&patch["state"])))
        .collect()
}

fn words(lab: &Lab) -> Vec<String> {
    states(lab).into_iter().map(|(_, state)| state).collect()
}

#[test]
fn clean_then_applied_then_clean() {
    let lab = Lab::new();
    let before = lab.snapshot();
    assert_eq!(words(&lab), ["clean", "clean", "clean"]);
    assert_eq!(lab.snapshot(), before, "status changes nothing");
    let document = lab.json(lab.with_series(&["status"]));
    assert_eq!(document["tree"]["version"], "2.6.0");
    assert_eq!(document["tree"]["generation"], "classic");
    assert_eq!(
        document["tree"]["commit"],
        lab.git(&["rev-parse", "HEAD"]).as_str()
    );
    lab.json(lab.with_series(&["apply", "--until", "second"]));
    assert_eq!(words(&lab), ["applied", "applied", "clean"]);
    lab.unapply();
    lab.json(lab.with_series(&["apply", "--worktree"]));
    assert_eq!(words(&lab), ["applied", "applied", "applied"]);
    lab.unapply();
    assert_eq!(words(&lab), ["clean", "clean", "clean"]);
}

#[test]
fn what_upstream_took_has_landed() {
    let lab = Lab::new();
    lab.edit(
        ALLOCATOR,
        "// allocator 50\n",
        "// allocator fifty\n// and more\n",
    );
    lab.edit(ALLOCATOR, "// allocator 150\n", "");
    lab.edit(
        ALLOCATOR,
        "// allocator 1\n",
        "// one\n// more\n// allocator 1\n",
    );
    lab.commit("upstream takes the first, and more");
    assert_eq!(words(&lab), ["landed", "clean", "clean"]);
}

#[test]
fn what_upstream_took_by_half_has_partly_landed() {
    let lab = Lab::new();
    lab.edit(
        ALLOCATOR,
        "// allocator 50\n",
        "// allocator fifty\n// and more\n",
    );
    lab.edit(ALLOCATOR, "// allocator 150\n", "// another way\n");
    lab.commit("upstream takes half");
    assert_eq!(words(&lab)[0], "partly-landed");
    lab.with_series(&["status"])
        .assert()
        .stdout(predicate::str::contains(
            "1 of its 2 hunks are there already",
        ));
}

#[test]
fn a_changed_context_is_clean_by_three_way() {
    let lab = Lab::new();
    lab.edit(ALLOCATOR, "// allocator 48\n", "// forty-eight\n");
    lab.commit("context");
    assert_eq!(words(&lab), ["clean-by-3-way", "clean", "clean"]);
}

#[test]
fn a_changed_line_is_a_conflict_with_its_place() {
    let lab = Lab::new();
    lab.edit(ALLOCATOR, "// allocator 50\n", "// another\n");
    lab.edit(ALLOCATOR, "// allocator 150\n", "// another\n");
    lab.commit("both lines");
    let document = lab.json(lab.with_series(&["status"]));
    let first = &document["patches"][0];
    assert_eq!(first["state"], "conflict");
    assert_eq!(first["conflict"]["places"][0]["path"], ALLOCATOR);
    assert_eq!(first["conflict"]["places"][0]["line"], 50);
    assert_eq!(
        first["conflict"]["places"][0]["found"],
        serde_json::Value::Null
    );
    assert_eq!(first["conflict"]["places"][0]["actual"][0], "// another");
}

#[test]
fn a_folder_of_the_touched_files_is_enough() {
    let lab = Lab::new();
    let folder = lab.root().join("only");
    for path in [
        ALLOCATOR,
        HEADER,
        "aten/src/ATen/mps/MPSAllocatorInterface.h",
    ] {
        let to = folder.join(path);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(lab.path(path), to).unwrap();
    }
    std::fs::remove_file(lab.series().join("0003-third.patch")).unwrap();
    let run = || {
        let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
        command
            .env("UMPATCH_CACHE", lab.root().join("cache"))
            .args(["--json", "status", "--patches-from"])
            .arg(lab.series())
            .arg("-C")
            .arg(&folder);
        let output = command.assert().success().get_output().stdout.clone();
        let document: serde_json::Value = serde_json::from_slice(&output).unwrap();
        assert!(document["tree"]["commit"].is_null());
        let patches = document["patches"].as_array().unwrap();
        patches
            .iter()
            .map(|patch| patch["state"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(run(), ["clean", "clean"]);
    lab.apply();
    std::fs::copy(lab.path(ALLOCATOR), folder.join(ALLOCATOR)).unwrap();
    std::fs::copy(lab.path(HEADER), folder.join(HEADER)).unwrap();
    assert_eq!(run(), ["landed", "landed"]);
}

#[test]
fn a_clone_of_an_applied_tree_knows_its_commits() {
    let lab = Lab::new();
    lab.apply();
    git_in(lab.root(), &["clone", "-q", "tree", "clone"]);
    std::fs::remove_dir_all(lab.tree()).unwrap();
    std::fs::rename(lab.root().join("clone"), lab.tree()).unwrap();
    assert_eq!(words(&lab), ["applied", "applied", "applied"]);
}

#[test]
fn a_commit_with_the_same_patch_id_has_landed() {
    let lab = Lab::new();
    lab.apply();
    lab.git(&["checkout", "-q", "main"]);
    lab.git(&["cherry-pick", "-x", "umpatch/series~2"]);
    lab.git(&["branch", "-q", "-D", "umpatch/series"]);
    // so that its hunks are no longer there as they were
    lab.edit(ALLOCATOR, "// allocator fifty\n", "// allocator 50 again\n");
    lab.edit(ALLOCATOR, "// allocator 149\n", "// upstream 149\n");
    lab.commit("upstream goes on");
    let document = lab.json(lab.with_series(&["status"]));
    assert_eq!(document["patches"][0]["state"], "landed");
    assert!(
        document["patches"][0]["evidence"][0]
            .as_str()
            .unwrap()
            .contains("same patch-id")
    );
}

#[test]
fn probes_and_metadata_speak_where_hunks_do_not() {
    let lab = Lab::new();
    std::fs::write(
        lab.series().join("series.toml"),
        format!(
            "schema = \"umpatch.series/1\"\nname = \"probed\"\ngeneration = \"classic\"\n\
             [[patch]]\nid = \"first\"\nfile = \"0001-first.patch\"\n\
             [[patch.probe]]\nfile = \"{ALLOCATOR}\"\ncontains = \"// another\"\nstate = \"superseded\"\n\
             [[patch]]\nid = \"second\"\nfile = \"0002-second.patch\"\nupstream_status = \"superseded-by elsewhere#1\"\n"
        ),
    )
    .unwrap();
    assert_eq!(words(&lab), ["clean", "clean"]);
    lab.edit(ALLOCATOR, "// allocator 50\n", "// another\n");
    lab.edit(HEADER, "// tail 3\n", "// tail other\n");
    lab.commit("upstream goes another way");
    assert_eq!(words(&lab), ["superseded", "superseded"]);
}

#[test]
fn another_generation_is_unsupported_with_the_reason() {
    let lab = Lab::new();
    std::fs::write(
        lab.series().join("series.toml"),
        "schema = \"umpatch.series/1\"\nname = \"classic\"\ngeneration = \"classic\"\n[[patch]]\nid = \"first\"\nfile = \"0001-first.patch\"\n",
    )
    .unwrap();
    lab.write(HEADER, "struct BufferBlock {};\n");
    lab.commit("an old tree");
    let document = lab.json(lab.with_series(&["status"]));
    assert_eq!(document["patches"][0]["state"], "unsupported");
    assert_eq!(document["tree"]["generation"], "unsupported");
    lab.with_series(&["apply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("does not support this tree"));
}

#[test]
fn commits_of_git_am_are_known_as_the_series_own() {
    let lab = Lab::new();
    for name in ["0001-first", "0002-second", "0003-third"] {
        let patch = lab.series().join(format!("{name}.patch"));
        lab.git(&["am", "-q", "--keep-non-patch", patch.to_str().unwrap()]);
    }
    let document = lab.json(lab.with_series(&["status"]));
    for patch in document["patches"].as_array().unwrap() {
        assert_eq!(patch["state"], "applied");
        assert!(
            patch["evidence"][1]
                .as_str()
                .unwrap()
                .starts_with("commit "),
            "{patch}"
        );
    }
}

#[test]
fn line_ends_that_were_converted_for_the_work_tree_change_no_word() {
    let lab = Lab::new();
    let states = || -> Vec<serde_json::Value> {
        let status = lab.json(lab.with_series(&["status"]));
        let patches = status["patches"].as_array().unwrap().iter();
        patches.map(|patch| patch["state"].clone()).collect()
    };
    let convert = || {
        lab.git(&["rm", "-q", "-r", "--cached", "."]);
        lab.git(&["reset", "-q", "--hard"]);
        assert!(lab.read(ALLOCATOR).contains("\r\n"));
    };
    lab.git(&["config", "core.autocrlf", "true"]);
    convert();
    assert_eq!(states(), ["clean"; 3]);
    lab.apply();
    assert_eq!(states(), ["applied"; 3]);
    convert();
    assert_eq!(states(), ["applied"; 3]);
    // and lines of one's own among them
    lab.edit(ALLOCATOR, "// allocator 3\r\n", "// mine\n");
    assert_eq!(states(), ["applied"; 3]);
    // a folder that came from a machine where that is so
    std::fs::remove_dir_all(lab.path(".git")).unwrap();
    lab.edit(ALLOCATOR, "// mine\n", "// allocator 3\r\n");
    assert_eq!(states(), ["landed"; 3]);
}
