//! The release that everything else is tested on, from the machine's own package archive. Needs the network and apt.
#![allow(clippy::unwrap_used)]
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The base commit of 2.6.0: the same on every machine. A change of it would orphan every recorded run.
const BASE: &str = "afffb53d9548597f87840c0eeae25dbb4285898c";
/// Upstream's tree of 2.6.0 as git itself hashes it.
const TREE: &str = "44a139f8fbcb45f6fb69c5959bc612be3d620833";

fn fetch(cache: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_umpatch"))
        .args(["--json", "fetch"])
        .args(arguments)
        .env("UMPATCH_CACHE", cache)
        .current_dir(cache)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn git(tree: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(tree)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_default_release_is_the_same_on_every_machine() {
    let cache = tempfile::tempdir().unwrap();
    let document = fetch(cache.path(), &[]);
    assert_eq!(document["tree"]["version"], "2.6.0");
    assert_eq!(document["tree"]["generation"], "classic");
    assert_eq!(document["base"], BASE);
    let tree = Path::new(document["tree"]["path"].as_str().unwrap());
    assert_eq!(git(tree, &["rev-parse", "HEAD^{tree}"]), TREE);
    assert_eq!(git(tree, &["status", "--porcelain", "--ignored"]), "");
    assert!(tree.join("test/test_mps.py").is_file());
    let again = fetch(cache.path(), &["2.6.0"]);
    assert_eq!(again["arrival"], "cached");
    // the same tree by way of git, alone and without its history
    let copy = tempfile::tempdir().unwrap();
    let cloned = fetch(copy.path(), &["git", tree.to_str().unwrap(), "--ref", BASE]);
    assert_eq!(cloned["tree"]["commit"], BASE);
}
