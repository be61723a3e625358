//! Two runs at once, and a run that is killed at any point.
use crate::sandbox::{Ended, Sandbox, git, small_tree, tarball};
use std::fs;
use std::process::Stdio;
use std::time::Duration;

/// A tree with so many files that a kill finds it unfinished.
fn large(sandbox: &Sandbox) {
    let names: Vec<String> = (0..600)
        .map(|number| format!("torch/part{}/file{number}.py", number % 40))
        .collect();
    let text = "x = 1\n".repeat(200);
    let mut files = small_tree();
    files.extend(names.iter().map(|name| (name.as_str(), text.as_str())));
    fs::write(sandbox.path("large.tar"), tarball(files)).unwrap();
}

#[test]
fn two_runs_at_once_give_one_tree() {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let start = || {
        sandbox
            .command(&["fetch", "--json", "archive", "large.tar"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let runs = [start(), start(), start()];
    let documents: Vec<_> = runs
        .into_iter()
        .map(|run| Ended::of(&run.wait_with_output().unwrap()).expect(0).json())
        .collect();
    assert!(
        documents
            .iter()
            .all(|document| document["tree"] == documents[0]["tree"])
    );
    let brought = documents
        .iter()
        .filter(|document| document["arrival"] == "brought");
    assert_eq!(brought.count(), 1);
    assert_eq!(sandbox.trees().len(), 1);
}

#[test]
fn a_kill_leaves_nothing_that_looks_complete() {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let mut cut = 0;
    // each time a little later, until it comes through
    let mut pause = Duration::from_millis(4);
    for _ in 0..100 {
        let mut run = sandbox
            .command(&["fetch", "archive", "large.tar"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(pause);
        pause = pause * 4 / 3;
        let through = run.try_wait().unwrap().is_some();
        let _ = run.kill();
        run.wait().unwrap();
        for tree in sandbox.trees() {
            assert_eq!(git(&tree, &["status", "--porcelain"]), "");
            git(&tree, &["fsck", "--strict"]);
            assert!(fs::metadata(tree.join("torch/part39/file599.py")).is_ok());
        }
        if through {
            break;
        }
        cut += 1;
    }
    assert!(cut >= 3, "only {cut} kills fell into a run");
    let document = sandbox
        .run(&["fetch", "--json", "archive", "large.tar"])
        .expect(0)
        .json();
    assert_eq!(sandbox.trees().len(), 1);
    assert_eq!(sandbox.leftovers(), 0);
    let tree = document["tree"]["path"].as_str().unwrap();
    assert_eq!(git(tree.as_ref(), &["status", "--porcelain"]), "");
}

#[test]
fn a_damaged_tree_is_made_anew() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("a.tar"), tarball(small_tree())).unwrap();
    let document = sandbox
        .run(&["fetch", "--json", "archive", "a.tar"])
        .expect(0)
        .json();
    let tree = document["tree"]["path"].as_str().unwrap();
    fs::remove_dir_all(format!("{tree}/aten")).unwrap();
    let again = sandbox
        .run(&["fetch", "--json", "archive", "a.tar"])
        .expect(0)
        .json();
    assert_eq!(again["tree"], document["tree"]);
    assert_eq!(again["arrival"], "brought");
}
