//! Archives and folders.
use crate::sandbox::{Sandbox, git, sha256, small_tree, tarball, write_tree, xz};
use std::fs;

#[test]
fn an_archive_becomes_a_repository_that_is_the_same_everywhere() {
    let (one, other) = (Sandbox::new(), Sandbox::new());
    let bytes = tarball(small_tree());
    let mut commits = Vec::new();
    for (sandbox, name, bytes) in [
        (&one, "pytorch-v2.6.0.tar", bytes.clone()),
        (&other, "other-name.tar.xz", xz(&bytes)),
    ] {
        let file = sandbox.path(name);
        fs::write(&file, &bytes).unwrap();
        let sum = sha256(&bytes);
        let document = sandbox
            .run(&[
                "fetch",
                "--json",
                "archive",
                file.to_str().unwrap(),
                "--sha256",
                &sum,
            ])
            .expect(0)
            .json();
        assert_eq!(document["schema"], "umpatch.fetch/1");
        assert_eq!(document["tree"]["version"], "2.6.0");
        assert_eq!(document["tree"]["generation"], "classic");
        assert_eq!(document["arrival"], "brought");
        assert_eq!(document["origin"]["sha256"], sum.as_str());
        let tree = std::path::PathBuf::from(document["tree"]["path"].as_str().unwrap());
        assert_eq!(git(&tree, &["status", "--porcelain"]), "");
        git(&tree, &["fsck", "--strict"]);
        assert_eq!(
            git(&tree, &["log", "--format=%an %ae %at", "-1"]),
            "umpatch umpatch@localhost 946684800"
        );
        commits.push(document["base"].as_str().unwrap().to_owned());
        assert_eq!(
            git(&tree, &["rev-parse", "HEAD"]),
            commits[commits.len() - 1]
        );
    }
    assert_eq!(commits[0], commits[1]);
    let file = one.path("pytorch-v2.6.0.tar");
    let again = one.run(&["fetch", "--json", "archive", file.to_str().unwrap()]);
    assert_eq!(again.expect(0).json()["arrival"], "cached");
    assert_eq!(one.trees().len(), 1);
}

#[test]
fn what_is_no_pytorch_is_refused_and_nothing_is_kept() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("other.tar");
    fs::write(&file, tarball([("README", "another project")])).unwrap();
    sandbox
        .run(&["fetch", "archive", "other.tar"])
        .fails(2, &["other.tar is no PyTorch tree", "aten/src/ATen"]);
    fs::write(&file, b"torn").unwrap();
    sandbox
        .run(&["fetch", "archive", "other.tar"])
        .fails(2, &["damaged or cut short"]);
    sandbox
        .run(&["fetch", "archive", "nothing.tar"])
        .fails(2, &["nothing.tar does not exist"]);
    fs::write(sandbox.path("a.rar"), "x").unwrap();
    sandbox
        .run(&["fetch", "archive", "a.rar"])
        .fails(2, &["a.rar is no archive", ".tar.xz"]);
    assert!(sandbox.trees().is_empty());
    assert_eq!(sandbox.leftovers(), 0);
}

#[test]
fn a_wrong_checksum_is_refused_before_anything_is_unpacked() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("a.tar"), tarball(small_tree())).unwrap();
    let wrong = "0".repeat(64);
    sandbox
        .run(&["fetch", "archive", "a.tar", "--sha256", &wrong])
        .fails(2, &["wrong checksum", &wrong]);
    sandbox
        .run(&["fetch", "archive", "a.tar", "--sha256", "beef"])
        .fails(2, &["no SHA-256"]);
    assert!(sandbox.trees().is_empty());
}

#[test]
fn an_archive_that_would_leave_its_folder_writes_nothing_outside() {
    let sandbox = Sandbox::new();
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder
        .append_link(&mut header, "torch", sandbox.path("home"))
        .unwrap();
    fs::write(sandbox.path("evil.tar"), builder.into_inner().unwrap()).unwrap();
    sandbox
        .run(&["fetch", "archive", "evil.tar"])
        .fails(2, &["evil.tar is refused", "leaves the folder"]);
    assert_eq!(sandbox.leftovers(), 0);
}

#[test]
fn a_folder_is_used_in_place_and_changed_only_when_asked() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("mine");
    write_tree(&folder);
    sandbox
        .run(&["fetch", "dir", "mine"])
        .fails(2, &["no git repository", "--init"]);
    assert!(!folder.join(".git").exists());
    let document = sandbox
        .run(&["fetch", "--json", "dir", "mine", "--init"])
        .expect(0)
        .json();
    assert_eq!(document["arrival"], "in-place");
    assert_eq!(git(&folder, &["status", "--porcelain"]), "");
    let again = sandbox
        .run(&["fetch", "--json", "dir", "mine"])
        .expect(0)
        .json();
    assert_eq!(again["base"], document["base"]);
    // and it is the tree that other commands use
    let list = last(&sandbox);
    assert_eq!(list, folder.canonicalize().unwrap().to_str().unwrap());
    sandbox
        .run(&["fetch", "dir", "home"])
        .fails(2, &["no PyTorch tree"]);
}

#[test]
fn a_repository_without_a_commit_is_told() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("mine");
    write_tree(&folder);
    git(&folder, &["init", "-q"]);
    sandbox
        .run(&["fetch", "dir", "mine", "--init"])
        .fails(2, &["has no commit yet"]);
}

/// The tree that was fetched last, as `--list` tells it without an archive to ask.
fn last(sandbox: &Sandbox) -> String {
    for program in ["apt-get", "apt-cache", "apt-config"] {
        sandbox.program(
            program,
            "echo 'E: Temporary failure resolving' >&2; exit 100",
        );
    }
    // the folder is used in place, so the cache holds no tree: the list needs one to be worth showing
    fs::write(sandbox.path("a.tar"), tarball(small_tree())).unwrap();
    let pointer = fs::read_to_string(sandbox.path("cache/trees/last")).unwrap();
    pointer.trim().to_owned()
}

#[test]
fn unwritable_and_full_caches_are_told() {
    let mut sandbox = Sandbox::new();
    fs::write(sandbox.path("a.tar"), tarball(small_tree())).unwrap();
    // /proc takes no folder, whoever asks
    sandbox.set("UMPATCH_CACHE", "/proc/umpatch");
    let ended = sandbox.run(&["fetch", "archive", "a.tar"]);
    ended.fails(4, &["cannot write /proc/umpatch"]);
    sandbox.set("UMPATCH_CACHE", sandbox.path("a.tar").to_str().unwrap());
    sandbox
        .run(&["fetch", "archive", "a.tar"])
        .fails(4, &["cannot write"]);
}
