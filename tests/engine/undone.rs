//! Patches that were applied and then undone by other hands: no command may say that they are there, or that it took them
//! out, when that is not so.
use crate::lab::{ALLOCATOR, HEADER, Lab};
use predicates::prelude::*;

/// Apply has to see that patches are gone, and to change nothing.
fn seen_to_be_gone(lab: &Lab, arguments: &[&str], patches: &str) {
    let before = lab.snapshot();
    lab.with_series(arguments)
        .assert()
        .code(2)
        .stderr(predicate::str::contains(format!(
            "umpatch applied {patches}, but"
        )));
    assert_eq!(lab.snapshot(), before);
}

#[test]
fn commits_that_revert_a_patch() {
    let lab = Lab::new();
    lab.apply();
    lab.git(&["revert", "--no-edit", "HEAD"]);
    seen_to_be_gone(&lab, &["apply"], "third");
    lab.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(lab.apply()["outcome"], "unchanged");
}

#[test]
fn files_of_single_patches_that_were_put_back() {
    for form in [&["apply"][..], &["apply", "--worktree"]] {
        let lab = Lab::new();
        lab.json(lab.with_series(form));
        lab.git(&["checkout", "-q", "main", "--", HEADER]);
        // the first lies under what is left of the second, so nothing can be said of it either
        seen_to_be_gone(&lab, form, "first, second");
        lab.git(&["checkout", "-q", "main", "--", ALLOCATOR]);
        seen_to_be_gone(&lab, form, "first, second");
    }
}

#[test]
fn a_work_tree_that_was_put_back_is_patched_anew() {
    let lab = Lab::new();
    let worktree = ["apply", "--worktree"];
    let base = lab.snapshot().contents();
    lab.json(lab.with_series(&worktree));
    let patched = lab.snapshot().contents();
    lab.git(&["stash", "-q", "-u"]);
    let again = lab.json(lab.with_series(&worktree));
    assert_eq!(again["outcome"], "changed");
    assert_eq!(lab.snapshot().files.len(), patched.files.len());
    lab.unapply();
    lab.git(&["stash", "drop", "-q"]);
    assert_eq!(lab.snapshot().contents(), base);
    // put back, and then taken out: there is nothing but the record to remove
    lab.json(lab.with_series(&worktree));
    lab.git(&["stash", "-q", "-u"]);
    let undone = lab.unapply();
    assert_eq!(undone["changed_files"].as_array().unwrap().len(), 0);
    lab.git(&["stash", "drop", "-q"]);
    assert_eq!(lab.snapshot().contents(), base);
    assert_eq!(lab.unapply()["series"], serde_json::Value::Null);
    // put back, and then applied as commits
    lab.json(lab.with_series(&worktree));
    lab.git(&["stash", "-q", "-u"]);
    assert_eq!(lab.apply()["outcome"], "changed");
    lab.unapply();
}

#[test]
fn a_detached_head_on_the_patches_goes_back_and_another_branch_is_left_alone() {
    let lab = Lab::new();
    let base = lab.snapshot().contents();
    lab.apply();
    lab.git(&["checkout", "-q", "--detach"]);
    assert_eq!(lab.unapply()["branch"], "main");
    assert_eq!(lab.snapshot().contents(), base);
    for more in [false, true] {
        lab.apply();
        lab.git(&["checkout", "-q", "-b", "mine"]);
        if more {
            lab.write("README.md", "my own work\n");
            lab.commit("mine");
        }
        let before = lab.snapshot();
        lab.umpatch(&["unapply"])
            .assert()
            .code(2)
            .stderr(predicate::str::contains(
                "the branch mine holds the patches' commits",
            ));
        assert_eq!(lab.snapshot(), before);
        lab.git(&["checkout", "-q", "main"]);
        lab.git(&["branch", "-q", "-D", "mine"]);
        lab.unapply();
    }
    assert_eq!(lab.snapshot().contents(), base);
}

#[test]
fn a_work_tree_that_lacks_touched_files_is_not_said_to_be_patched() {
    let lab = Lab::new();
    lab.git(&[
        "sparse-checkout",
        "set",
        "--no-cone",
        "/*",
        "!/tools",
        "!/aten/src/ATen/mps/MPSAllocator.h",
    ]);
    let before = lab.snapshot();
    lab.with_series(&["apply", "--worktree"])
        .assert()
        .code(2)
        .stderr(
            predicate::str::contains("a sparse checkout leaves out")
                .and(predicate::str::contains(HEADER)),
        );
    assert_eq!(lab.snapshot(), before);
    // the patches without those files go
    lab.json(lab.with_series(&["apply", "--worktree", "--until", "first"]));
    let before = lab.snapshot();
    lab.with_series(&["apply", "--worktree"]).assert().code(2);
    assert_eq!(lab.snapshot(), before);
    lab.unapply();
    lab.apply();
    lab.unapply();
}
