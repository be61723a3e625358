//! States in which a tree must not be patched, each named, each left as it is.
use crate::lab::{ALLOCATOR, Lab, git_in};
use predicates::prelude::*;
use std::os::unix::fs::PermissionsExt;

/// Apply has to refuse with this exit code and words, and to change nothing.
fn refused(lab: &Lab, code: i32, words: &str) {
    let before = lab.snapshot();
    lab.with_series(&["apply"])
        .assert()
        .code(code)
        .stderr(predicate::str::contains(words));
    assert_eq!(lab.snapshot(), before);
}

#[test]
fn touched_files_with_changes() {
    let lab = Lab::new();
    lab.edit(ALLOCATOR, "// allocator 7\n", "// mine\n");
    refused(
        &lab,
        2,
        "uncommitted changes: aten/src/ATen/mps/MPSAllocator.mm",
    );
    lab.git(&["add", "-A"]);
    refused(
        &lab,
        2,
        "uncommitted changes: aten/src/ATen/mps/MPSAllocator.mm",
    );
}

#[test]
fn an_untracked_file_where_a_patch_makes_one() {
    let lab = Lab::new();
    lab.write("aten/src/ATen/mps/fresh/New.h", "mine\n");
    refused(
        &lab,
        2,
        "untracked files are where the patches make new ones: aten/src/ATen/mps/fresh/New.h",
    );
}

#[test]
fn operations_in_progress() {
    let lab = Lab::new();
    lab.git(&["checkout", "-q", "-b", "other"]);
    lab.write("README.md", "other\n");
    lab.commit("other");
    lab.git(&["checkout", "-q", "main"]);
    lab.write("README.md", "main\n");
    lab.commit("main");
    let git = |arguments: &[&str]| {
        std::process::Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.org"])
            .args(arguments)
            .current_dir(lab.tree())
            .output()
            .unwrap();
    };
    git(&["merge", "other"]);
    refused(&lab, 2, "a merge is in progress");
    git(&["merge", "--abort"]);
    git(&["cherry-pick", "other"]);
    refused(&lab, 2, "a cherry-pick is in progress");
    git(&["cherry-pick", "--abort"]);
    git(&["rebase", "other"]);
    refused(&lab, 2, "a rebase is in progress");
    git(&["rebase", "--abort"]);
    git(&["bisect", "start"]);
    refused(&lab, 2, "a bisect is in progress");
    git(&["bisect", "reset"]);
    std::fs::write(
        lab.root().join("bad.patch"),
        git_in(&lab.tree(), &["format-patch", "-1", "--stdout", "other"]),
    )
    .unwrap();
    git(&["am", "../bad.patch"]);
    refused(&lab, 2, "git am");
    git(&["am", "--abort"]);
    std::fs::write(lab.path(".git/index.lock"), "").unwrap();
    refused(&lab, 2, "another git process is at work");
    std::fs::remove_file(lab.path(".git/index.lock")).unwrap();
    lab.apply();
}

#[test]
fn a_commit_that_git_shows_as_another() {
    let lab = Lab::new();
    lab.write("README.md", "more\n");
    lab.commit("more");
    lab.git(&["replace", "HEAD", "HEAD~1"]);
    lab.git(&["reset", "-q", "--hard"]);
    refused(&lab, 2, "is replaced by another object");
    lab.git(&["replace", "-d", "HEAD"]);
    lab.git(&["reset", "-q", "--hard"]);
    lab.apply();
}

#[test]
fn a_repository_without_a_commit_or_a_work_tree() {
    let lab = Lab::new();
    let run = |folder: &str| {
        let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
        command
            .env("UMPATCH_CACHE", lab.root().join("cache"))
            .args(["apply", "--patches-from"])
            .arg(lab.series())
            .arg("-C")
            .arg(lab.root().join(folder));
        command.assert().code(2)
    };
    git_in(lab.root(), &["clone", "-q", "--bare", "tree", "bare"]);
    run("bare").stderr(predicate::str::contains("bare repository"));
    std::fs::create_dir_all(lab.root().join("unborn/aten/src/ATen")).unwrap();
    git_in(&lab.root().join("unborn"), &["init", "-q"]);
    run("unborn").stderr(predicate::str::contains("HEAD is unborn"));
    std::fs::create_dir_all(lab.root().join("plain/aten/src/ATen")).unwrap();
    run("plain").stderr(predicate::str::contains("is no git repository"));
    std::fs::create_dir_all(lab.root().join("else")).unwrap();
    run("else").stderr(predicate::str::contains("is no PyTorch tree"));
    run("missing").stderr(predicate::str::contains("does not exist"));
}

#[test]
fn an_allocator_without_events_or_pending_list() {
    let lab = Lab::new();
    lab.write(
        "aten/src/ATen/mps/MPSAllocator.h",
        "struct BufferBlock {};\nclass MPSHeapAllocatorImpl {};\n",
    );
    lab.write("version.txt", "1.13.1\n");
    lab.commit("an old tree");
    let before = lab.snapshot();
    lab.umpatch(&["apply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("does not support this tree"));
    assert_eq!(lab.snapshot(), before);
}

#[test]
fn patch_files_that_cannot_be_used() {
    let lab = Lab::new();
    let path = lab.series().join("0001-first.patch");
    let good = std::fs::read_to_string(&path).unwrap();
    let hunk = good
        .lines()
        .position(|line| line.starts_with("@@"))
        .unwrap();
    let broken = |change: &dyn Fn(&str) -> String, words: &str| {
        std::fs::write(&path, change(&good)).unwrap();
        refused(&lab, 4, words);
        std::fs::write(&path, &good).unwrap();
    };
    broken(
        &|text| text.replacen("@@ -", "@@ -x", 1),
        "0001-first.patch:",
    );
    broken(
        &|text| text.replacen("// allocator 48", "// something else", 1),
        "does not apply",
    );
    broken(
        &|text| text.replacen("-47,7 +47,8", "-47,70 +47,8", 1),
        "bad hunk",
    );
    broken(
        &|text| text.replacen("-47,7 +47,8", "-47,3 +47,4", 1),
        "bad hunk",
    );
    let cut: String = good
        .lines()
        .take(hunk + 3)
        .map(|line| format!("{line}\n"))
        .collect();
    broken(&|_| cut.clone(), "cut off");
    broken(&|_| "only words\n".to_owned(), "holds no diff");
    broken(
        &|text| text.replace("aten/src/ATen/mps/MPSAllocator.mm", "../../../etc/passwd"),
        "leaves the tree",
    );
    broken(
        &|text| {
            text.replace(
                "aten/src/ATen/mps/MPSAllocator.mm",
                ".git/hooks/post-checkout",
            )
        },
        "git's own folder",
    );
    broken(
        &|text| {
            format!(
                "{text}diff --git a/x.png b/x.png\nindex 0123456..789abcd 100644\nGIT binary patch\nliteral 1\nIcmZ\n"
            )
        },
        "binary",
    );
    broken(
        &|text| {
            format!(
                "{text}diff --git a/sub b/sub\nindex 0123456..789abcd 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-a\n+b\n"
            )
        },
        "submodule",
    );
    lab.apply();
}

#[test]
fn paths_beyond_a_symbolic_link() {
    let lab = Lab::new();
    std::fs::rename(lab.path("tools"), lab.root().join("outside")).unwrap();
    std::os::unix::fs::symlink(lab.root().join("outside"), lab.path("tools")).unwrap();
    lab.with_series(&["apply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("symbolic link"));
    assert_eq!(
        std::fs::read_to_string(lab.root().join("outside/run.sh")).unwrap(),
        "#!/bin/sh\necho run\n"
    );
}

#[test]
fn a_folder_that_cannot_be_written() {
    let lab = Lab::new();
    let folder = lab.path("aten/src/ATen/mps");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(folder.join("probe"), "").is_ok() {
        // permissions do not bind this user: a write that fails is put in their place
        std::fs::remove_file(folder.join("probe")).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        let before = lab.snapshot();
        lab.with_series(&["apply"])
            .env("UMPATCH_FAULT_STEP", "20:fail")
            .assert()
            .code(4)
            .stderr(predicate::str::contains("free some space"));
        assert_eq!(lab.snapshot(), before);
        return;
    }
    refused(&lab, 4, "cannot write");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn two_at_a_time() {
    let lab = Lab::new();
    std::fs::create_dir_all(lab.path(".git/umpatch")).unwrap();
    let file = std::fs::File::create(lab.path(".git/umpatch/lock")).unwrap();
    fs4::fs_std::FileExt::lock_exclusive(&file).unwrap();
    lab.with_series(&["apply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("another umpatch is at work"));
    drop(file);
    lab.apply();
}
