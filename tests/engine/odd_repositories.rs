//! Repositories that are set up in a less common way.
use crate::lab::{ALLOCATOR, Lab, git_in};
use predicates::prelude::*;

/// Applies and takes out, and expects the same commits as in a plain repository and nothing left to see for git.
fn works(lab: &Lab) {
    let expected = Lab::new().apply();
    assert_eq!(lab.apply()["head"], expected["head"]);
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    git_in(&lab.tree(), &["fsck"]);
    lab.unapply();
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    lab.git(&["update-index", "--refresh"]);
}

/// Replaces the lab's tree by a clone of it.
fn cloned(lab: &Lab, arguments: &[&str]) {
    let source = format!("file://{}", lab.tree().display());
    let mut all = vec!["clone", "-q"];
    all.extend(arguments);
    all.extend([source.as_str(), "clone"]);
    git_in(lab.root(), &all);
    std::fs::rename(lab.tree(), lab.root().join("source")).unwrap();
    std::fs::rename(lab.root().join("clone"), lab.tree()).unwrap();
}

#[test]
fn a_shallow_clone() {
    let lab = Lab::new();
    cloned(&lab, &["--depth", "1"]);
    works(&lab);
}

#[test]
fn a_partial_clone() {
    let lab = Lab::new();
    lab.git(&["config", "uploadpack.allowFilter", "true"]);
    cloned(&lab, &["--filter=blob:none"]);
    std::fs::remove_dir_all(lab.root().join("source")).unwrap();
    works(&lab);
}

#[test]
fn each_version_of_the_index() {
    for version in ["2", "3", "4"] {
        let lab = Lab::new();
        lab.git(&["update-index", "--index-version", version]);
        works(&lab);
    }
}

#[test]
fn an_index_with_caches_and_without_a_checksum() {
    let lab = Lab::new();
    lab.git(&["config", "index.skipHash", "true"]);
    lab.git(&["config", "feature.manyFiles", "true"]);
    lab.git(&["update-index", "--force-untracked-cache"]);
    lab.git(&["update-index", "--force-write-index"]);
    works(&lab);
}

#[test]
fn a_split_index() {
    let lab = Lab::new();
    lab.git(&["update-index", "--split-index"]);
    works(&lab);
    // entries that are replaced, deleted and added against the other half
    lab.git(&["update-index", "--split-index"]);
    lab.write("added.txt", "added\n");
    lab.git(&["add", "added.txt"]);
    lab.git(&["rm", "-q", "--cached", "docs/elsewhere.txt"]);
    lab.git(&["update-index", "--chmod=+x", "README.md"]);
    let index = lab.git(&["ls-files", "-s"]);
    lab.apply();
    lab.unapply();
    assert_eq!(lab.git(&["ls-files", "-s"]), index);
}

#[test]
fn a_sparse_index_is_refused_only_where_it_matters() {
    let lab = Lab::new();
    lab.write("other/file.txt", "not touched\n");
    lab.git(&["add", "-A"]);
    lab.commit("more");
    lab.git(&[
        "sparse-checkout",
        "set",
        "--cone",
        "--sparse-index",
        "aten",
        "tools",
    ]);
    let before = lab.snapshot();
    lab.with_series(&["apply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("--no-sparse-index"));
    assert_eq!(lab.snapshot(), before);
    lab.json(lab.with_series(&["apply", "--until", "second"]));
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    lab.unapply();
    assert_eq!(lab.snapshot().contents(), before.contents());
    lab.git(&[
        "sparse-checkout",
        "set",
        "--cone",
        "--sparse-index",
        "aten",
        "tools",
        "torch",
    ]);
    lab.apply();
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
}

#[test]
fn packed_references_and_objects() {
    let lab = Lab::new();
    lab.git(&["pack-refs", "--all"]);
    lab.git(&["gc", "-q"]);
    works(&lab);
    lab.apply();
    lab.git(&["pack-refs", "--all"]);
    lab.git(&["gc", "-q"]);
    lab.unapply();
    assert_eq!(
        lab.git(&["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
}

/// A work tree is where its `.git` is, whatever the repository remembers; what lies at the remembered place is not touched.
#[test]
fn a_linked_work_tree_that_was_moved_or_copied() {
    let lab = Lab::new();
    lab.git(&["worktree", "add", "-q", "--detach", "../linked"]);
    let (linked, copied) = (lab.root().join("linked"), lab.root().join("copied"));
    let copy = std::process::Command::new("cp")
        .arg("-a")
        .args([&linked, &copied])
        .status();
    assert!(copy.unwrap().success());
    for moved in [false, true] {
        if moved {
            std::fs::remove_dir_all(&linked).unwrap();
        }
        let before = std::fs::read(linked.join(ALLOCATOR)).ok();
        let run = |arguments: &[&str]| {
            let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
            command
                .env("UMPATCH_CACHE", lab.root().join("cache"))
                .arg("-C")
                .arg(&copied);
            command.args(arguments).assert().success();
        };
        run(&["apply", "--patches-from", lab.series().to_str().unwrap()]);
        assert!(
            std::fs::read_to_string(copied.join(ALLOCATOR))
                .unwrap()
                .contains("fifty")
        );
        assert_eq!(std::fs::read(linked.join(ALLOCATOR)).ok(), before);
        assert_eq!(git_in(&copied, &["status", "--porcelain"]), "");
        run(&["unapply"]);
        assert_eq!(git_in(&copied, &["status", "--porcelain"]), "");
    }
}

#[test]
fn a_repository_whose_work_tree_is_elsewhere_is_refused() {
    let lab = Lab::new();
    let other = lab.copy();
    let before = other.snapshot();
    lab.git(&["config", "core.worktree", other.tree().to_str().unwrap()]);
    lab.with_series(&["apply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("has its work tree elsewhere"));
    assert_eq!(other.snapshot(), before);
}

#[test]
fn a_dirty_submodule() {
    let lab = Lab::new();
    let other = lab.root().join("other");
    std::fs::create_dir_all(&other).unwrap();
    git_in(&other, &["init", "-q", "-b", "main"]);
    std::fs::write(other.join("f"), "f\n").unwrap();
    git_in(&other, &["add", "-A"]);
    git_in(&other, &["commit", "-q", "-m", "other"]);
    lab.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../other",
        "third_party/other",
    ]);
    lab.commit("with a submodule");
    std::fs::write(lab.path("third_party/other/f"), "edited\n").unwrap();
    let status = lab.git(&["status", "--porcelain"]);
    assert_ne!(status, "");
    lab.apply();
    assert_eq!(lab.git(&["status", "--porcelain"]), status);
    lab.unapply();
    assert_eq!(lab.git(&["status", "--porcelain"]), status);
}

#[test]
fn files_without_write_permission() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new();
    let path = lab.path(crate::lab::ALLOCATOR);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    works(&lab);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o444);
}

#[test]
fn a_repository_of_sha256_is_refused() {
    let lab = Lab::new();
    let other = lab.root().join("sha256");
    std::fs::create_dir_all(other.join("aten/src/ATen")).unwrap();
    git_in(&other, &["init", "-q", "--object-format=sha256"]);
    let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
    command
        .env("UMPATCH_CACHE", lab.root().join("cache"))
        .args(["apply", "-C"])
        .arg(&other);
    command
        .assert()
        .code(4)
        .stderr(predicate::str::contains("cannot open the repository"))
        .stderr(predicate::str::contains("SHA-256"));
}
