//! Applying and taking out.
use crate::lab::{ALLOCATOR, HEADER, Lab, git_in};
use predicates::prelude::*;

#[test]
fn patches_become_commits_on_a_branch_of_their_own() {
    let lab = Lab::new();
    let base = lab.git(&["rev-parse", "HEAD"]);
    let document = lab.apply();
    assert_eq!(document["schema"], "umpatch.apply/1");
    assert_eq!(document["base"], base.as_str());
    assert_eq!(document["branch"], "umpatch/series");
    assert_eq!(document["head"], lab.git(&["rev-parse", "HEAD"]).as_str());
    let ids: Vec<_> = document["patches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["first", "second", "third"]);
    assert_eq!(document["patches"][2]["commit"], document["head"]);
    assert_eq!(
        lab.git(&["symbolic-ref", "HEAD"]),
        "refs/heads/umpatch/series"
    );
    assert_eq!(lab.git(&["rev-parse", "main"]), base);
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    assert_eq!(
        lab.git(&["log", "-1", "--format=%s|%an|%ae|%aI|%cn"]),
        "[MPS] Third|Tester|tester@example.org|2024-01-02T03:04:05Z|Tester"
    );
    assert!(lab.read(ALLOCATOR).contains("fifty"));
    assert!(!lab.path("aten/src/ATen/mps/Old.h").exists());
    assert!(lab.path("torch/csrc/Kept.cpp").exists());
    let changed: Vec<_> = document["changed_files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p.as_str().unwrap())
        .collect();
    assert_eq!(
        changed,
        [
            HEADER,
            ALLOCATOR,
            "aten/src/ATen/mps/Old.h",
            "aten/src/ATen/mps/fresh/New.h",
            "tools/run.sh",
            "torch/csrc/Kept.cpp",
            "torch/csrc/Storage.cpp"
        ]
    );
    git_in(&lab.tree(), &["fsck", "--strict"]);
    assert_eq!(
        lab.git(&["diff-files"]),
        "",
        "the index knows the files' times"
    );
}

#[test]
fn git_am_makes_the_same_trees() {
    let lab = Lab::new();
    let other = lab.copy();
    lab.apply();
    let patches: Vec<_> = ["0001-first", "0002-second", "0003-third"]
        .iter()
        .map(|name| {
            other
                .series()
                .join(format!("{name}.patch"))
                .display()
                .to_string()
        })
        .collect();
    let mut arguments = vec![
        "am",
        "-q",
        "--keep-non-patch",
        "--committer-date-is-author-date",
    ];
    arguments.extend(patches.iter().map(String::as_str));
    other.git(&arguments);
    // author, committer, dates, messages and trees: the very same commits
    assert_eq!(
        lab.git(&["rev-parse", "HEAD"]),
        other.git(&["rev-parse", "HEAD"])
    );
}

#[test]
fn a_second_apply_changes_nothing() {
    let lab = Lab::new();
    let first = lab.apply();
    let before = lab.snapshot();
    let second = lab.apply();
    assert_eq!(second["outcome"], "unchanged");
    assert_eq!(second["head"], first["head"]);
    assert_eq!(second["base"], first["base"]);
    assert_eq!(lab.snapshot(), before);
    lab.with_series(&["apply"])
        .assert()
        .success()
        .stdout(predicate::str::contains("already applied"));
}

#[test]
fn unapply_gives_everything_back() {
    let lab = Lab::new();
    let before = lab.snapshot();
    lab.apply();
    let document = lab.unapply();
    assert_eq!(document["schema"], "umpatch.unapply/1");
    assert_eq!(document["head"], document["base"]);
    assert_eq!(document["branch"], "main");
    let after = lab.snapshot();
    assert_eq!(after.contents(), before.contents());
    let touched: Vec<_> = document["changed_files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p.as_str().unwrap().to_owned())
        .collect();
    for path in before.rewritten(&after) {
        assert!(touched.contains(&path), "{path} was rewritten without need");
    }
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    assert_eq!(lab.git(&["diff-files"]), "");
    assert!(
        !lab.path("aten/src/ATen/mps/fresh").exists(),
        "no empty folder stays behind"
    );
    assert_eq!(lab.unapply()["outcome"], "unchanged");
}

#[test]
fn only_files_that_change_are_written() {
    let lab = Lab::new();
    let before = lab.snapshot();
    let document = lab.apply();
    let after = lab.snapshot();
    for path in before.rewritten(&after) {
        let listed = document["changed_files"]
            .as_array()
            .unwrap()
            .iter()
            .any(|p| p == path.as_str());
        assert!(listed, "{path} was rewritten without need");
    }
}

#[test]
fn commits_are_the_same_whatever_the_configuration() {
    let (lab, other) = (Lab::new(), Lab::new());
    for setting in [
        ["commit.gpgsign", "true"],
        ["gpg.program", "/bin/false"],
        ["core.autocrlf", "true"],
        ["diff.external", "/bin/false"],
        ["diff.noprefix", "true"],
        ["core.hooksPath", "hooks"],
        ["user.name", "Somebody Else"],
        ["i18n.commitEncoding", "ISO-8859-1"],
        ["filter.x.clean", "/bin/false"],
        ["filter.x.required", "true"],
        ["core.fsmonitor", "/bin/false"],
    ] {
        other.git(&["config", setting[0], setting[1]]);
    }
    for hook in [
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        other.write(
            &format!("hooks/{hook}"),
            "#!/bin/sh\ntouch ../hook-ran\nexit 1\n",
        );
        std::process::Command::new("chmod")
            .arg("+x")
            .arg(other.path(&format!("hooks/{hook}")))
            .status()
            .unwrap();
    }
    std::fs::create_dir_all(other.path(".git/info")).unwrap();
    std::fs::write(other.path(".git/info/attributes"), "*.mm filter=x\n").unwrap();
    let (one, two) = (lab.apply(), other.apply());
    assert_eq!(one["head"], two["head"]);
    assert!(!other.root().join("hook-ran").exists());
    assert_eq!(lab.read(ALLOCATOR), other.read(ALLOCATOR));
}

#[test]
fn a_selection_can_be_completed_later() {
    let lab = Lab::new();
    let whole = Lab::new().apply();
    let base = lab.git(&["rev-parse", "HEAD"]);
    let part = lab.json(lab.with_series(&["apply", "--until", "second"]));
    assert_eq!(part["patches"].as_array().unwrap().len(), 2);
    let rest = lab.apply();
    assert_eq!(rest["head"], whole["head"]);
    assert_eq!(rest["base"], base.as_str());
    lab.unapply();
    assert_eq!(lab.git(&["rev-parse", "HEAD"]), base);
    let only = lab.json(lab.with_series(&["apply", "--only", "third"]));
    assert_eq!(only["patches"].as_array().unwrap().len(), 1);
}

#[test]
fn a_selection_that_cannot_be_is_refused() {
    let lab = Lab::new();
    lab.with_series(&["apply", "--only", "fourth"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("first, second, third"));
    lab.with_series(&["apply", "--only", "second"])
        .assert()
        .code(4)
        .stderr(predicate::str::contains("patch second does not apply"))
        .stderr(predicate::str::contains("patch first comes before it"));
}

#[test]
fn the_work_tree_form_makes_no_commits() {
    let lab = Lab::new();
    let before = lab.snapshot();
    let document = lab.json(lab.with_series(&["apply", "--worktree"]));
    assert_eq!(document["head"], document["base"]);
    assert!(document["patches"][0]["commit"].is_null());
    let during = lab.snapshot();
    assert_eq!(
        (&during.head, &during.branches, &during.index),
        (&before.head, &before.branches, &before.index)
    );
    assert!(lab.read(ALLOCATOR).contains("fifty"));
    let again = lab.json(lab.with_series(&["apply", "--worktree"]));
    assert_eq!(again["outcome"], "unchanged");
    lab.unapply();
    assert_eq!(lab.snapshot().contents(), before.contents());
    assert_eq!(lab.git(&["diff-files"]), "");
}

#[test]
fn the_work_tree_form_can_be_completed_too() {
    let lab = Lab::new();
    let before = lab.snapshot();
    lab.json(lab.with_series(&["apply", "--worktree", "--until", "first"]));
    lab.json(lab.with_series(&["apply", "--worktree"]));
    let committed = Lab::new();
    committed.apply();
    assert_eq!(lab.read(ALLOCATOR), committed.read(ALLOCATOR));
    assert_eq!(lab.read(HEADER), committed.read(HEADER));
    lab.unapply();
    assert_eq!(lab.snapshot().contents(), before.contents());
}

#[test]
fn a_detached_head_comes_back_detached() {
    let lab = Lab::new();
    lab.git(&["checkout", "-q", "--detach"]);
    let before = lab.snapshot();
    lab.apply();
    let document = lab.unapply();
    assert!(document["branch"].is_null());
    assert_eq!(lab.snapshot().contents(), before.contents());
}

#[test]
fn dirt_elsewhere_is_left_alone() {
    let lab = Lab::new();
    lab.write("README.md", "edited\n");
    lab.write("untracked.txt", "mine\n");
    lab.write("docs/elsewhere.txt", "staged\n");
    lab.git(&["add", "docs/elsewhere.txt"]);
    let status = lab.git(&["status", "--porcelain"]);
    let before = lab.snapshot();
    lab.apply();
    assert_eq!(lab.git(&["status", "--porcelain"]), status);
    lab.unapply();
    assert_eq!(lab.git(&["status", "--porcelain"]), status);
    assert_eq!(lab.snapshot().contents(), before.contents());
}

#[test]
fn lines_that_moved_are_found() {
    let lab = Lab::new();
    lab.edit(
        ALLOCATOR,
        "// allocator 1\n",
        "// one\n// two\n// three\n// allocator 1\n",
    );
    lab.commit("upstream moves on");
    let document = lab.apply();
    assert_eq!(document["patches"][0]["fit"]["offset"], 3);
    assert!(lab.read(ALLOCATOR).contains("fifty"));
}

#[test]
fn context_that_changed_is_merged_by_the_version_of_the_index_line() {
    let lab = Lab::new();
    // two lines above the first hunk's change: no exact match, but no overlap either
    lab.edit(ALLOCATOR, "// allocator 48\n", "// allocator forty-eight\n");
    lab.commit("upstream changes context");
    let document = lab.apply();
    assert_eq!(document["patches"][0]["fit"], "three-way");
    let text = lab.read(ALLOCATOR);
    assert!(text.contains("forty-eight") && text.contains("fifty") && text.contains("52, again"));
}

#[test]
fn a_conflict_names_the_place_and_changes_nothing() {
    let lab = Lab::new();
    lab.edit(ALLOCATOR, "// allocator 50\n", "// upstream's own fifty\n");
    lab.commit("upstream changes the same line");
    let before = lab.snapshot();
    lab.with_series(&["apply"])
        .assert()
        .code(4)
        .stderr(predicate::str::contains("patch first does not apply"))
        .stderr(predicate::str::contains(format!("{ALLOCATOR}:50")))
        .stderr(predicate::str::contains("base  | // allocator 50"))
        .stderr(predicate::str::contains("tree  | // upstream's own fifty"))
        .stderr(predicate::str::contains("patch | // allocator fifty"))
        .stderr(predicate::str::contains("0001-first.patch:"));
    let output = lab
        .with_series(&["apply", "--json"])
        .assert()
        .code(4)
        .get_output()
        .stdout
        .clone();
    let document: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(document["schema"], "umpatch.error/1");
    assert_eq!(document["detail"]["patch"], "first");
    assert_eq!(document["detail"]["places"][0]["line"], 50);
    assert_eq!(lab.snapshot(), before);
}

#[test]
fn a_patch_that_the_tree_has_is_said_to_be_there() {
    let lab = Lab::new();
    lab.edit(
        ALLOCATOR,
        "// allocator 50\n",
        "// allocator fifty\n// and more\n",
    );
    lab.edit(ALLOCATOR, "// allocator 150\n", "");
    lab.commit("upstream takes the first");
    let document = lab.apply();
    assert_eq!(document["patches"][0]["state"], "landed");
    assert!(document["patches"][0]["commit"].is_null());
    assert_eq!(document["patches"][1]["state"], "applied");
    lab.unapply();
    assert!(
        lab.read(ALLOCATOR).contains("fifty"),
        "what upstream has stays"
    );
}

#[test]
fn a_tree_with_all_patches_needs_nothing() {
    let lab = Lab::new();
    lab.apply();
    let clone = lab.root().join("clone");
    git_in(lab.root(), &["clone", "-q", "tree", "clone"]);
    let head = git_in(&clone, &["rev-parse", "HEAD"]);
    let output = assert_cmd::Command::cargo_bin("umpatch")
        .unwrap()
        .env("UMPATCH_CACHE", lab.root().join("cache"))
        .args(["--json", "apply", "--patches-from"])
        .arg(lab.series())
        .arg("-C")
        .arg(&clone)
        .assert()
        .success();
    let document: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(document["outcome"], "unchanged");
    assert_eq!(document["head"], head.as_str());
}

#[test]
fn a_checkout_with_carriage_returns_keeps_them() {
    let lab = Lab::new();
    let crlf = lab.read(ALLOCATOR).replace('\n', "\r\n");
    lab.git(&["config", "core.autocrlf", "true"]);
    lab.write(ALLOCATOR, &crlf);
    lab.apply();
    let patched = lab.read(ALLOCATOR);
    assert!(patched.contains("fifty\r\n") && !patched.replace("\r\n", "").contains('\n'));
    assert_eq!(
        lab.git(&["status", "--porcelain", "--untracked-files=no"]),
        ""
    );
    lab.unapply();
    assert_eq!(lab.read(ALLOCATOR), crlf);
}

#[test]
fn a_sparse_checkout_needs_no_files() {
    let lab = Lab::new();
    lab.git(&[
        "sparse-checkout",
        "set",
        "--no-cone",
        "/aten/",
        "/version.txt",
    ]);
    assert!(!lab.path("torch").exists());
    let whole = Lab::new().apply();
    assert_eq!(lab.apply()["head"], whole["head"]);
    assert!(!lab.path("torch/csrc/Storage.cpp").exists());
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    lab.unapply();
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_linked_work_tree_has_a_state_of_its_own() {
    let lab = Lab::new();
    lab.git(&["worktree", "add", "-q", "--detach", "../linked"]);
    lab.apply();
    let linked = |arguments: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
        command
            .env("UMPATCH_CACHE", lab.root().join("cache"))
            .arg("-C")
            .arg(lab.root().join("linked"))
            .args(arguments);
        command
    };
    let series = lab.series().display().to_string();
    linked(&["apply", "--patches-from", &series])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("checked out in another work tree"));
    linked(&["apply", "--patches-from", &series, "--branch", "other"])
        .assert()
        .success();
    linked(&["unapply"]).assert().success();
    assert_eq!(lab.unapply()["branch"], "main");
}

#[test]
fn other_forms_of_a_series_folder_are_read() {
    let lab = Lab::new();
    let patched = Lab::new().apply();
    // quilt: an order that is not that of the names
    std::fs::rename(
        lab.series().join("0001-first.patch"),
        lab.series().join("9-first.patch"),
    )
    .unwrap();
    std::fs::write(
        lab.series().join("series"),
        "9-first.patch -p1\n0002-second.patch # why\n0003-third.patch\n",
    )
    .unwrap();
    assert_eq!(lab.apply()["head"], patched["head"]);
    lab.unapply();
    // plain diffs without prefix and mail: other commits, the same tree
    let tree = lab.git(&["rev-parse", &format!("{}^{{tree}}", "HEAD")]);
    for name in ["9-first.patch", "0002-second.patch"] {
        let mail = std::fs::read_to_string(lab.series().join(name)).unwrap();
        let diff = &mail[mail.find("diff --git").unwrap()..];
        let plain: String = diff
            .lines()
            .filter(|line| !line.starts_with("diff --git") && !line.starts_with("index "))
            .map(|line| {
                let line = line.replace("--- a/", "--- ").replace("+++ b/", "+++ ");
                format!("{line}\n")
            })
            .collect();
        std::fs::write(lab.series().join(name), plain).unwrap();
    }
    let plain = lab.apply();
    assert_ne!(plain["head"], patched["head"]);
    assert_ne!(lab.git(&["rev-parse", "HEAD^{tree}"]), tree);
    assert_eq!(
        lab.git(&["show", "-s", "--format=%an %at %s", "HEAD~2"]),
        "umpatch 946684800 first"
    );
}

#[test]
fn a_branch_of_the_users_is_never_moved() {
    let lab = Lab::new();
    lab.git(&["branch", "umpatch/series"]);
    let before = lab.snapshot();
    lab.with_series(&["apply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("umpatch/series exists"));
    assert_eq!(lab.snapshot(), before);
    lab.git(&["branch", "-D", "umpatch/series"]);
    // a branch where a folder of branches would have to be
    lab.git(&["branch", "umpatch"]);
    let before = lab.snapshot();
    lab.with_series(&["apply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("there is a branch umpatch"));
    assert_eq!(lab.snapshot(), before);
    lab.git(&["branch", "-D", "umpatch"]);
    lab.git(&["branch", "umpatch/series/deeper"]);
    lab.with_series(&["apply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains(
            "there is a branch umpatch/series/deeper",
        ));
}

#[test]
fn commits_on_top_are_never_lost() {
    let lab = Lab::new();
    lab.apply();
    lab.write("README.md", "my own work\n");
    lab.commit("mine");
    let before = lab.snapshot();
    assert_eq!(lab.apply()["outcome"], "unchanged");
    lab.umpatch(&["unapply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("commits on top"));
    assert_eq!(lab.snapshot(), before);
}

#[test]
fn somebody_who_switched_away_can_apply_again() {
    let lab = Lab::new();
    let first = lab.apply();
    lab.git(&["checkout", "-q", "main"]);
    assert_eq!(lab.apply()["head"], first["head"]);
    lab.git(&["checkout", "-q", "main"]);
    lab.write("README.md", "upstream moves on\n");
    lab.commit("main moves on");
    let anew = lab.apply();
    assert_ne!(anew["head"], first["head"]);
    lab.unapply();
    assert_eq!(lab.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    lab.apply();
    lab.git(&["checkout", "-q", "main"]);
    assert_eq!(lab.unapply()["outcome"], "changed");
    assert_eq!(lab.git(&["branch", "--list", "umpatch/*"]), "");
}

#[test]
fn names_that_git_lets_no_branch_have_are_refused() {
    let lab = Lab::new();
    let before = lab.snapshot();
    let long = "a".repeat(300);
    for name in [
        "HEAD", "-x", "@", "a b", "x.lock", "", "../x", "a//b", &long,
    ] {
        lab.with_series(&["apply", &format!("--branch={name}")])
            .assert()
            .code(2)
            .stderr(predicate::str::contains("cannot be the name of a branch"));
        assert_eq!(lab.snapshot(), before, "{name:?}");
    }
}
