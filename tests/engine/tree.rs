//! The real tree of 2.6.0 with the built-in series. Its place is `UMPATCH_TEST_TREE`, else the cache; where neither has it the
//! test fails, since the test command fetches it first.
use crate::lab::git_in;
use std::path::{Path, PathBuf};

fn fetched() -> PathBuf {
    let given = std::env::var_os("UMPATCH_TEST_TREE").map(PathBuf::from);
    let cached = || {
        let mut trees = umpatch::upstream::cached()
            .into_iter()
            .map(|cached| cached.tree);
        trees
            .find(|tree| tree.version == "2.6.0")
            .map(|tree| tree.path)
    };
    given.or_else(cached).expect(
        "the tree of 2.6.0 is needed: run `umpatch fetch 2.6.0` first, or set UMPATCH_TEST_TREE",
    )
}

fn umpatch(tree: &Path, arguments: &[&str]) -> serde_json::Value {
    let output = assert_cmd::Command::cargo_bin("umpatch")
        .unwrap()
        .args(["--json", "-C"])
        .arg(tree)
        .args(arguments)
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    serde_json::from_slice(&output).unwrap()
}

#[test]
fn the_built_in_series_applies_to_the_real_tree() {
    let source = fetched();
    let folder = tempfile::tempdir().unwrap();
    // the base commit alone: the fetched tree itself may have patches applied
    git_in(
        folder.path(),
        &[
            "clone",
            "-q",
            "--local",
            "--no-checkout",
            source.to_str().unwrap(),
            "tree",
        ],
    );
    let tree = folder.path().join("tree");
    let base = git_in(&source, &["rev-list", "--max-parents=0", "HEAD"]);
    git_in(&tree, &["checkout", "-q", "-B", "main", &base]);
    let index = git_in(&tree, &["ls-files", "-s"]);
    let document = umpatch(&tree, &["status"]);
    for patch in document["patches"].as_array().unwrap() {
        assert_eq!(patch["state"], "clean", "{patch}");
    }
    let times = times(&tree);
    let applied = umpatch(&tree, &["apply"]);
    assert!(
        applied["patches"]
            .as_array()
            .unwrap()
            .iter()
            .all(|patch| patch["fit"] == "exact")
    );
    assert_eq!(git_in(&tree, &["status", "--porcelain"]), "");
    let changed: Vec<&str> = applied["changed_files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|p| p.as_str())
        .collect();
    let after = self::times(&tree);
    for (path, time) in &times {
        assert!(
            after.get(path) == Some(time) || changed.contains(&path.as_str()),
            "{path} was rewritten"
        );
    }
    let document = umpatch(&tree, &["status"]);
    for patch in document["patches"].as_array().unwrap() {
        assert_eq!(patch["state"], "applied", "{patch}");
    }
    let undone = umpatch(&tree, &["unapply"]);
    assert_eq!(undone["head"], base.as_str());
    assert_eq!(git_in(&tree, &["ls-files", "-s"]), index);
    assert_eq!(git_in(&tree, &["status", "--porcelain"]), "");
}

fn times(tree: &Path) -> std::collections::BTreeMap<String, (std::time::SystemTime, u64)> {
    use std::os::unix::fs::MetadataExt;
    walkdir::WalkDir::new(tree)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != ".git")
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let metadata = entry.metadata().unwrap();
            let path = entry
                .path()
                .strip_prefix(tree)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            (path, (metadata.modified().unwrap(), metadata.ino()))
        })
        .collect()
}
