//! Trees from git repositories.
use crate::sandbox::{Sandbox, git, write_tree};
use std::fs;

/// A repository with two commits, a tag on the first, and a branch.
fn upstream(sandbox: &Sandbox) -> (String, String) {
    let folder = sandbox.path("upstream");
    write_tree(&folder);
    git(&folder, &["init", "-q", "-b", "main"]);
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-q", "-m", "first"]);
    git(&folder, &["tag", "v2.6.1"]);
    let first = git(&folder, &["rev-parse", "HEAD"]);
    fs::write(folder.join("torch/more.py"), "# more\n").unwrap();
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-q", "-m", "second"]);
    (first, git(&folder, &["rev-parse", "HEAD"]))
}

#[test]
fn any_reference_of_a_local_repository_comes_alone() {
    let sandbox = Sandbox::new();
    let (first, second) = upstream(&sandbox);
    for (reference, commit) in [
        ("v2.6.1", &first),
        ("main", &second),
        ("HEAD", &second),
        ("main~1", &first),
        (&first[..12], &first),
    ] {
        let document = sandbox
            .run(&["fetch", "--json", "git", "upstream", "--ref", reference])
            .expect(0)
            .json();
        assert_eq!(document["tree"]["commit"], commit.as_str(), "{reference}");
        let tree = document["tree"]["path"].as_str().unwrap();
        assert_eq!(git(tree.as_ref(), &["rev-list", "--count", "HEAD"]), "1");
        assert_eq!(git(tree.as_ref(), &["status", "--porcelain"]), "");
    }
    // the tag tells the release better than the tree does
    let tagged = sandbox
        .run(&["fetch", "--json", "git", "upstream", "--ref", "v2.6.1"])
        .json();
    assert_eq!(tagged["tree"]["version"], "2.6.1");
    sandbox
        .run(&["fetch", "git", "upstream", "--ref", "nowhere"])
        .fails(2, &["no branch, tag or commit \"nowhere\""]);
}

#[test]
fn an_address_goes_through_the_git_program() {
    let sandbox = Sandbox::new();
    let (first, _) = upstream(&sandbox);
    let address = format!("file://{}", sandbox.path("upstream").display());
    let document = sandbox
        .run(&["fetch", "--json", "git", &address, "--ref", "v2.6.1"])
        .expect(0)
        .json();
    assert_eq!(document["tree"]["commit"], first.as_str());
    sandbox
        .run(&["fetch", "git", &address, "--ref", "nowhere"])
        .fails(2, &["no branch, tag or commit", "git.log"]);
    let history = sandbox
        .run(&[
            "fetch",
            "--json",
            "git",
            &address,
            "--ref",
            "main",
            "--history",
        ])
        .expect(0)
        .json();
    let tree = history["tree"]["path"].as_str().unwrap();
    assert_eq!(git(tree.as_ref(), &["rev-list", "--count", "HEAD"]), "2");
}

#[test]
fn a_connection_that_breaks_is_tried_again() {
    let sandbox = Sandbox::new();
    upstream(&sandbox);
    let real = String::from_utf8(
        std::process::Command::new("sh")
            .args(["-c", "command -v git"])
            .output()
            .unwrap()
            .stdout,
    )
    .unwrap();
    let marker = sandbox.path("broke");
    sandbox.program(
        "git",
        &format!(
            "case \"$*\" in *fetch*) if [ ! -e {marker} ]; then touch {marker}; echo 'fatal: early EOF' >&2; exit 128; fi;; esac\n\
             exec {real} \"$@\"",
            marker = marker.display(),
            real = real.trim(),
        ),
    );
    let ended = sandbox.run(&["fetch", "git", "upstream"]).expect(0);
    assert!(ended.stderr.contains("trying again"), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_reached_is_told() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["fetch", "git", "file:///nowhere/at/all"])
        .fails(
            4,
            &["git cannot fetch from file:///nowhere/at/all", "git.log"],
        );
    sandbox
        .run(&["fetch", "git", "./nowhere"])
        .fails(2, &["./nowhere does not exist"]);
    sandbox
        .run(&["fetch", "git", "--", "--upload-pack=evil"])
        .fails(2, &["no address"]);
    sandbox.program("git", "exit 127");
    sandbox.run(&["fetch", "git", "file:///x"]).expect(4);
    assert!(sandbox.trees().is_empty());
    assert_eq!(sandbox.leftovers(), 0);
}
