//! Patches and repositories that are odd, broken or made to do harm.
use crate::lab::{ALLOCATOR, HEADER, Lab, git_in};
use predicates::prelude::*;

fn write_series(lab: &Lab, patches: &[(&str, &[u8])]) {
    std::fs::remove_dir_all(lab.series()).unwrap();
    std::fs::create_dir_all(lab.series()).unwrap();
    for (name, bytes) in patches {
        std::fs::write(lab.series().join(name), bytes).unwrap();
    }
}

fn commit_as_patch(lab: &Lab) -> Vec<u8> {
    let patch = lab.git(&[
        "format-patch",
        "-1",
        "--stdout",
        "--full-index",
        "--zero-commit",
    ]);
    lab.git(&["reset", "-q", "--hard", "HEAD~1"]);
    (patch + "\n").into_bytes()
}

/// Applies what was committed on top as a patch, and expects the tree of that commit; then takes it out again.
fn round(lab: &Lab) {
    let tree = lab.git(&["rev-parse", "HEAD^{tree}"]);
    let patch = commit_as_patch(lab);
    let before = lab.snapshot();
    write_series(lab, &[("0001-odd.patch", &patch)]);
    lab.apply();
    assert_eq!(lab.git(&["rev-parse", "HEAD^{tree}"]), tree);
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    lab.with_series(&["refresh", "--check"]).assert().success();
    lab.unapply();
    assert_eq!(lab.snapshot().contents(), before.contents());
}

#[test]
fn symbolic_links_come_go_and_change() {
    let lab = Lab::new();
    let link =
        |target: &str, path: &str| std::os::unix::fs::symlink(target, lab.path(path)).unwrap();
    link("../elsewhere", "docs/kept");
    link("run.sh", "tools/gone");
    lab.git(&["add", "-A"]);
    lab.commit("links");
    std::fs::remove_file(lab.path("docs/kept")).unwrap();
    link("../../somewhere/else", "docs/kept");
    std::fs::remove_file(lab.path("tools/gone")).unwrap();
    link("/etc/passwd", "tools/new");
    lab.git(&["add", "-A"]);
    lab.commit("links change");
    round(&lab);
}

#[test]
fn modes_renames_and_files_without_an_end() {
    let lab = Lab::new();
    lab.write("docs/no-end.txt", "a\nb");
    lab.write("docs/crlf.txt", "a\r\nb\r\nc\r\n");
    lab.write("docs/ümlaut with space.txt", "1\n2\n3\n4\n5\n6\n");
    lab.write("docs/empty.txt", "");
    lab.git(&["add", "-A"]);
    lab.commit("odd files");
    lab.write("docs/no-end.txt", "a\nb\nc");
    lab.write("docs/crlf.txt", "a\r\nB\r\nc\r\n");
    lab.git(&["mv", "docs/ümlaut with space.txt", "docs/\"quoted\".txt"]);
    lab.write("docs/\"quoted\".txt", "1\n2\n3\n4\n5\nsix\n");
    lab.git(&["rm", "-q", "docs/empty.txt"]);
    lab.write("docs/also-empty.txt", "");
    lab.git(&["update-index", "--chmod=+x", "docs/crlf.txt"]);
    lab.git(&["add", "-A"]);
    lab.git(&["update-index", "--chmod=+x", "docs/crlf.txt"]);
    lab.git(&["commit", "-q", "-m", "odd changes"]);
    lab.git(&["checkout", "-q", "-f", "HEAD"]);
    round(&lab);
}

#[test]
fn a_binary_hunk_is_refused_by_name() {
    let lab = Lab::new();
    std::fs::write(lab.path("docs/picture"), [0, 1, 2, 255, 0]).unwrap();
    lab.git(&["add", "-A"]);
    lab.commit("a picture");
    for arguments in [&["--binary"][..], &[][..]] {
        let mut all = vec!["diff", "HEAD~1", "HEAD"];
        all.extend(arguments);
        let patch = lab.git(&all) + "\n";
        write_series(&lab, &[("0001-binary.patch", patch.as_bytes())]);
        let before = lab.snapshot();
        lab.with_series(&["apply"])
            .assert()
            .failure()
            .stderr(predicate::str::contains("binary").and(predicate::str::contains("picture")));
        assert_eq!(lab.snapshot(), before);
    }
}

#[test]
fn paths_that_leave_the_tree_or_enter_git_are_refused() {
    for path in [
        "../outside",
        "/etc/x",
        ".git/hooks/x",
        "a/../../x",
        ".GIT/config",
        "a/.git/x",
    ] {
        let lab = Lab::new();
        let patch = format!(
            "diff --git a/{path} b/{path}\nnew file mode 100755\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
        );
        write_series(&lab, &[("0001-evil.patch", patch.as_bytes())]);
        let before = lab.snapshot();
        lab.with_series(&["apply"]).assert().failure();
        assert_eq!(lab.snapshot(), before, "{path}");
        assert!(!lab.root().join("outside").exists());
    }
}

#[test]
fn a_name_that_differs_in_case_only_is_never_written_over() {
    // on a file system that ignores case both names are one file; on this one the patch is applied as it is
    let lab = Lab::new();
    lab.git(&["config", "core.ignorecase", "true"]);
    let patch = "diff --git a/readme.MD b/readme.MD\nnew file mode 100644\n--- /dev/null\n+++ b/readme.MD\n@@ -0,0 +1 @@\n+x\n";
    write_series(&lab, &[("0001-case.patch", patch.as_bytes())]);
    let before = lab.snapshot();
    lab.with_series(&["apply"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("README.md"));
    assert_eq!(lab.snapshot(), before);
    lab.git(&["config", "core.ignorecase", "false"]);
    lab.apply();
    assert_eq!(
        lab.read("README.md"),
        "a tree with the structure of another\n"
    );
}

#[test]
fn headers_in_odd_encodings_make_the_same_commit_as_git() {
    let lab = Lab::new();
    lab.edit(ALLOCATOR, "// allocator 9\n", "// allocator nine\n");
    lab.commit("x");
    let diff = String::from_utf8(commit_as_patch(&lab)).unwrap();
    let diff = diff.split_once("---\n").unwrap().1.to_owned();
    for (head, name, subject) in [
        (
            "From: =?UTF-8?B?SsO8cmdlbiBN?= <j@example.org>\nSubject: [PATCH 1/2] =?iso-8859-1?Q?[MPS]_caf=E9?=\n",
            "Jürgen M",
            "[MPS] café",
        ),
        (
            "From: \"Doe, Jane\" <j@example.org>\nSubject: [PATCH v3 01/10] [MPS][Easy] Folded\n over lines\n",
            "Doe, Jane",
            "[MPS][Easy] Folded over lines",
        ),
        (
            "From: j@example.org (Jane)\nSubject: =?unknown-8bit?Q?=E9?= x\n",
            "",
            "",
        ),
    ] {
        let mail = format!(
            "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n{head}Date: Tue, 2 Jan 2024 03:04:05 +0130\n\nWhy.\n---\n{diff}"
        );
        write_series(&lab, &[("0001-mail.patch", mail.as_bytes())]);
        lab.apply();
        if !name.is_empty() {
            assert_eq!(lab.git(&["log", "-1", "--format=%an"]), name);
            assert_eq!(lab.git(&["log", "-1", "--format=%s"]), subject);
            assert_eq!(
                lab.git(&["log", "-1", "--format=%aI"]),
                "2024-01-02T03:04:05+01:30"
            );
        }
        lab.unapply();
    }
}

#[test]
fn a_patch_of_a_hundred_megabytes() {
    let lab = Lab::new();
    let mut patch = b"diff --git a/docs/large.txt b/docs/large.txt\nnew file mode 100644\n--- /dev/null\n+++ b/docs/large.txt\n@@ -0,0 +1,2000000 @@\n".to_vec();
    for number in 0..2_000_000u32 {
        patch.extend(format!("+line {number:>43}\n").bytes());
    }
    assert!(patch.len() >= 100_000_000);
    write_series(&lab, &[("0001-large.patch", &patch)]);
    let before = lab.snapshot().contents();
    lab.apply();
    assert_eq!(
        lab.path("docs/large.txt").metadata().unwrap().len(),
        98_000_000
    );
    lab.unapply();
    assert_eq!(lab.snapshot().contents(), before);
    // cut off, it is refused
    patch.truncate(60_000_000);
    write_series(&lab, &[("0001-large.patch", &patch)]);
    lab.with_series(&["apply"])
        .assert()
        .failure()
        .stderr(predicate::str::contains("cut off").or(predicate::str::contains("bad hunk")));
}

#[test]
fn a_patch_that_is_cut_off_anywhere_changes_nothing_wrong() {
    let lab = Lab::new();
    let whole = std::fs::read(lab.series().join("0001-first.patch")).unwrap();
    let expected = lab.apply()["patches"][0]["commit"].clone();
    lab.unapply();
    let before = lab.snapshot().contents();
    let start = whole.windows(4).position(|four| four == b"\n@@ ").unwrap();
    for cut in (start..whole.len()).step_by(37) {
        write_series(&lab, &[("0001-first.patch", &whole[..cut])]);
        let output = lab.with_series(&["apply", "--json"]).output().unwrap();
        if output.status.success() {
            // only what follows the last hunk may be missing
            let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(
                document["patches"][0]["commit"], expected,
                "cut at {cut}: {document:#}"
            );
            lab.unapply();
        }
        assert_eq!(lab.snapshot().contents(), before, "cut at {cut}");
    }
}

#[test]
fn hooks_signing_filters_and_drivers_of_the_user_have_no_say() {
    let lab = Lab::new();
    let expected = Lab::new().apply();
    let refreshed = {
        let other = Lab::new();
        edited(&other)
    };
    let hooks = lab.root().join("hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-checkout",
        "reference-transaction",
        "pre-applypatch",
        "post-commit",
    ] {
        let path = hooks.join(hook);
        std::fs::write(&path, "#!/bin/sh\ntouch \"$0.ran\"\nexit 1\n").unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let global = lab.root().join(".gitconfig");
    let text = format!(
        "[user]\nname = Somebody\nemail = some@body\nsigningkey = none\n[commit]\ngpgsign = true\ntemplate = /nonexistent\n[tag]\ngpgsign = true\n\
         [core]\nhooksPath = {}\nabbrev = 4\nquotePath = false\npager = false\nattributesFile = {}\nlogAllRefUpdates = always\n\
         [diff]\nnoprefix = true\nmnemonicPrefix = true\ncontext = 9\ninterHunkContext = 50\nrenames = copies\nalgorithm = patience\nexternal = false\nsuppressBlankEmpty = true\norderFile = /nonexistent\n\
         [diff \"odd\"]\nxfuncname = \"^// allocator 4.*$\"\ncommand = false\nbinary = true\ntextconv = false\n[format]\npretty = oneline\nsuffix = .txt\nsubjectPrefix = ODD\nsignature = odd\nnumbered = true\nattach = true\n[i18n]\ncommitEncoding = iso-8859-1\nlogOutputEncoding = iso-8859-1\n[apply]\nwhitespace = error-all\n[merge]\nconflictStyle = diff3\n[am]\nkeepcr = true\n[rerere]\nenabled = true\n",
        hooks.display(),
        lab.root().join("attributes").display()
    );
    std::fs::write(&global, &text).unwrap();
    std::fs::write(lab.root().join("attributes"), "* diff=odd\n*.h -diff\n").unwrap();
    // the same in the repository's own configuration
    let config = std::fs::read_to_string(lab.path(".git/config")).unwrap();
    std::fs::write(lab.path(".git/config"), config + &text).unwrap();
    let applied = lab.apply();
    assert_eq!(applied["head"], expected["head"]);
    assert_eq!(applied["patches"], expected["patches"]);
    lab.unapply();
    assert_eq!(edited(&lab), refreshed, "patch files are the same");
    let ran: Vec<_> = std::fs::read_dir(&hooks)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| {
            name.ends_with(".ran") && !name.contains("commit-msg") && !name.contains("commit")
        })
        .filter(|name| !name.starts_with("reference") && !name.starts_with("post-checkout"))
        .collect();
    assert_eq!(ran, Vec::<String>::new());
}

/// The patch files after the first commit was edited by plumbing, which knows no configuration.
fn edited(lab: &Lab) -> Vec<Vec<u8>> {
    let applied = lab.apply();
    let commits: Vec<String> = applied["patches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|patch| patch["commit"].as_str().unwrap().to_owned())
        .collect();
    // each commit's tree with one line more in the header
    let mut parent = lab.git(&["rev-parse", "main"]);
    for commit in &commits {
        let text = lab.git(&["show", &format!("{commit}:{HEADER}")]) + "\n// one more\n";
        let scratch = lab.root().join("scratch");
        std::fs::write(&scratch, text).unwrap();
        let blob = lab.git(&[
            "hash-object",
            "-w",
            "--no-filters",
            scratch.to_str().unwrap(),
        ]);
        let index = lab.root().join("scratch-index");
        let with_index = |arguments: &[&str]| {
            let output = std::process::Command::new("git")
                .args(arguments)
                .current_dir(lab.tree())
                .env("GIT_INDEX_FILE", &index)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output()
                .unwrap();
            assert!(output.status.success(), "{arguments:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        with_index(&["read-tree", commit]);
        with_index(&[
            "update-index",
            "--cacheinfo",
            &format!("100644,{blob},{HEADER}"),
        ]);
        let tree = with_index(&["write-tree"]);
        let raw = lab.git(&["cat-file", "commit", commit]);
        let (head, message) = raw.split_once("\n\n").unwrap();
        let kept = head
            .lines()
            .filter(|line| line.starts_with("author ") || line.starts_with("committer "))
            .collect::<Vec<_>>()
            .join("\n");
        let object = format!("tree {tree}\nparent {parent}\n{kept}\n\n{message}\n");
        std::fs::write(&scratch, object).unwrap();
        parent = lab.git(&[
            "hash-object",
            "-t",
            "commit",
            "-w",
            scratch.to_str().unwrap(),
        ]);
    }
    // the hooks of the test are ours to run, not git's
    lab.git(&[
        "-c",
        "core.hooksPath=/dev/null",
        "reset",
        "-q",
        "--hard",
        &parent,
    ]);
    lab.with_series(&["refresh"]).assert().success();
    let mut names: Vec<_> = std::fs::read_dir(lab.series())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let files = names
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    lab.unapply();
    files
}

#[test]
fn two_gits_of_different_versions_agree_with_us() {
    let gits: Vec<_> = ["/usr/bin/git", "/usr/local/bin/git"]
        .into_iter()
        .filter(|git| std::path::Path::new(git).exists())
        .collect();
    let expected = Lab::new().apply();
    for git in gits {
        let lab = Lab::new();
        lab.apply();
        let run = |arguments: &[&str]| {
            let output = std::process::Command::new(git)
                .args(arguments)
                .current_dir(lab.tree())
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output()
                .unwrap();
            assert!(output.status.success(), "{git} {arguments:?}");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        assert_eq!(
            run(&["rev-parse", "HEAD"]),
            expected["head"].as_str().unwrap()
        );
        assert_eq!(run(&["status", "--porcelain"]), "", "{git}");
        run(&["fsck", "--strict"]);
        // what it makes of the tree, we take out again
        run(&["gc", "-q"]);
        run(&["update-index", "--refresh"]);
        lab.unapply();
        assert_eq!(run(&["status", "--porcelain"]), "", "{git}");
    }
}

#[test]
fn no_space_left_changes_nothing() {
    // the limit on file sizes makes a write fail as a full disk does, in the middle of a file
    let lab = Lab::new();
    let large: String = (0..40_000).map(|number| format!("// {number}\n")).collect();
    lab.write("docs/large.txt", &large);
    lab.git(&["add", "-A"]);
    lab.commit("a large file");
    lab.edit("docs/large.txt", "// 20000\n", "// here\n");
    lab.commit("an edit of it");
    let patch = commit_as_patch(&lab);
    write_series(&lab, &[("0001-large.patch", &patch)]);
    let before = lab.snapshot();
    let program = assert_cmd::cargo::cargo_bin("umpatch");
    let line = format!(
        "ulimit -f 100; trap '' XFSZ; exec {} -C {} apply --patches-from {}",
        program.display(),
        lab.tree().display(),
        lab.series().display()
    );
    let output = std::process::Command::new("bash")
        .args(["-c", &line])
        .env("UMPATCH_CACHE", lab.root().join("cache"))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{message}");
    assert_eq!(lab.snapshot().contents(), before.contents(), "{message}");
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    lab.apply();
    lab.unapply();
    assert_eq!(lab.snapshot().contents(), before.contents());
}

#[test]
fn a_work_tree_beside_a_bare_repository_and_an_unborn_branch() {
    let lab = Lab::new();
    git_in(lab.root(), &["clone", "-q", "--bare", "tree", "bare.git"]);
    let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
    command
        .arg("-C")
        .arg(lab.root().join("bare.git"))
        .arg("apply");
    command
        .assert()
        .code(2)
        .stderr(predicate::str::contains("bare"));
    let bare = lab.root().join("bare.git");
    git_in(&bare, &["worktree", "add", "-q", "../beside", "main"]);
    let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
    command
        .env("UMPATCH_CACHE", lab.root().join("cache"))
        .arg("-C")
        .arg(lab.root().join("beside"))
        .args(["apply", "--patches-from"])
        .arg(lab.series());
    command.assert().success();
    assert_eq!(
        git_in(&lab.root().join("beside"), &["status", "--porcelain"]),
        ""
    );
}
