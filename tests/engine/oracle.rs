//! Random files, edits and drift, with `git apply` as the oracle: where git applies a patch, so do we, to the same bytes; and
//! where we do and git does not, a three-way merge by git agrees.
use crate::lab::git_in;
use proptest::prelude::*;
use std::path::Path;

const FILE: &str = "aten/src/ATen/mps/file.txt";

/// An edit of a list of lines.
#[derive(Debug, Clone)]
enum Edit {
    Replace(usize, String),
    Insert(usize, String),
    Remove(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let line = "[ab]{0,2}";
    prop_oneof![
        (any::<usize>(), line).prop_map(|(at, text)| Edit::Replace(at, text)),
        (any::<usize>(), line).prop_map(|(at, text)| Edit::Insert(at, text)),
        any::<usize>().prop_map(Edit::Remove),
    ]
}

fn edited(lines: &[String], edits: &[Edit]) -> Vec<String> {
    let mut lines = lines.to_vec();
    for edit in edits {
        match edit {
            Edit::Replace(at, text) if !lines.is_empty() => {
                let at = at % lines.len();
                lines[at].clone_from(text);
            }
            Edit::Insert(at, text) => lines.insert(at % (lines.len() + 1), text.clone()),
            Edit::Remove(at) if lines.len() > 1 => {
                lines.remove(at % lines.len());
            }
            _ => {}
        }
    }
    lines
}

fn text(lines: &[String], ends: &str, last: bool) -> String {
    let mut text = lines.join(ends);
    if last {
        text.push_str(ends);
    }
    text
}

struct Trial {
    folder: tempfile::TempDir,
}

impl Trial {
    /// The oracle's answer and ours to a patch from `before` to `after` on a tree that holds `now`.
    fn run(before: &str, after: &str, now: &str) -> (Option<String>, Result<String, String>) {
        let trial = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let tree = trial.folder.path().join("tree");
        let file = tree.join(FILE);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let git = |arguments: &[&str]| git_in(&tree, arguments);
        git(&["init", "-q", "-b", "main"]);
        std::fs::write(&file, before).unwrap();
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "before"]);
        std::fs::write(&file, after).unwrap();
        git(&["commit", "-q", "-a", "-m", "the change"]);
        let patches = trial.folder.path().join("patches");
        std::fs::create_dir_all(&patches).unwrap();
        let patch = patches.join("0001-change.patch");
        git(&["format-patch", "-q", "-1", "-o", patches.to_str().unwrap()]);
        std::fs::rename(patches.join("0001-the-change.patch"), &patch).unwrap();
        // a repository that has never seen the version that the patch was made for
        std::fs::remove_dir_all(tree.join(".git")).unwrap();
        git(&["init", "-q", "-b", "main"]);
        std::fs::write(&file, now).unwrap();
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "now"]);
        let oracle = trial.oracle(&patch);
        (oracle, trial.ours(&tree, &patches, &file))
    }

    fn oracle(&self, patch: &Path) -> Option<String> {
        let tree = self.folder.path().join("tree");
        let copy = self.folder.path().join("oracle");
        git_in(
            self.folder.path(),
            &[
                "clone",
                "-q",
                tree.to_str().unwrap(),
                copy.to_str().unwrap(),
            ],
        );
        let status = std::process::Command::new("git")
            .arg("apply")
            .arg(patch)
            .current_dir(&copy)
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        status
            .success()
            .then(|| std::fs::read_to_string(copy.join(FILE)).unwrap())
    }

    fn ours(&self, tree: &Path, patches: &Path, file: &Path) -> Result<String, String> {
        let output = assert_cmd::Command::cargo_bin("umpatch")
            .unwrap()
            .env("UMPATCH_CACHE", self.folder.path().join("cache"))
            .args(["apply", "--patches-from"])
            .arg(patches)
            .arg("-C")
            .arg(tree)
            .output()
            .unwrap();
        match output.status.code() {
            Some(0) => Ok(std::fs::read_to_string(file).unwrap()),
            Some(4) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            other => panic!(
                "exit {other:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            ),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn we_apply_what_git_applies_and_nothing_else(
        lines in prop::collection::vec("[abc]{0,2}", 1..30),
        change in prop::collection::vec(edit(), 1..4),
        drift in prop::collection::vec(edit(), 0..4),
        carriage in any::<bool>(),
        last in any::<bool>(),
        last_after in any::<bool>(),
    ) {
        let ends = if carriage { "\r\n" } else { "\n" };
        let before = text(&lines, ends, last);
        let after = text(&edited(&lines, &change), ends, last_after);
        prop_assume!(before != after);
        let now = text(&edited(&lines, &drift), ends, last);
        match Trial::run(&before, &after, &now) {
            (Some(oracle), Ok(ours)) => {
                // where the tree held the change already we leave it, and git may make it twice
                prop_assert!(ours == oracle || ours == now, "git: {oracle:?}, we: {ours:?}");
                if now == before {
                    prop_assert_eq!(ours, after);
                }
            }
            (Some(oracle), Err(message)) => {
                // two equally near places: git takes one, we ask; and it takes a last line without its newline for one with it
                let ends = before.ends_with('\n') != now.ends_with('\n');
                let excused = message.contains("equally near") || ends;
                prop_assert!(excused, "git: {oracle:?}, we: {message}");
            }
            (None, Ok(ours)) => {
                // the change was there already
                prop_assert!(ours == now, "git refuses, we make {ours:?}");
            }
            (None, Err(_)) => {}
        }
    }

    /// Several files that are edited, made, deleted, renamed, marked as executable or turned into links, in one patch.
    #[test]
    fn whole_trees_become_what_git_makes_of_them(
        before in prop::collection::btree_map("[ab]/[abc]|[cd]", file(), 1..6),
        after in prop::collection::btree_map("[ab]/[abc]|[cd]", file(), 1..6),
        moved in any::<prop::sample::Index>(),
    ) {
        let mut after = after;
        // a file that moves, with most of its content
        let (from, content) = moved.get(&before.iter().collect::<Vec<_>>()).to_owned();
        if before.len() > 1 && !after.contains_key(from) {
            after.insert("moved/here".to_owned(), content.clone());
        }
        prop_assume!(before != after);
        whole_tree(&before, &after);
    }
}

/// A file of a tree: a mode as git has it, and a content.
type Made = (u32, Vec<u8>);

fn file() -> impl Strategy<Value = Made> {
    let lines = prop::collection::vec("[ab\u{e4} ]{0,3}", 0..12);
    let ends = prop_oneof![Just("\n"), Just("\r\n")];
    let text = (lines, ends, any::<bool>()).prop_map(|(lines, ends, last)| {
        let mut text = lines.join(ends);
        if last && !text.is_empty() {
            text.push_str(ends);
        }
        text.into_bytes()
    });
    prop_oneof![
        4 => text.clone().prop_map(|text| (0o100_644, text)),
        2 => text.prop_map(|text| (0o100_755, text)),
        1 => "[a-c./]{1,8}".prop_map(|target| (0o120_000, target.into_bytes())),
    ]
}

fn write_tree(root: &Path, files: &std::collections::BTreeMap<String, Made>) {
    use std::os::unix::fs::PermissionsExt;
    for (path, (mode, bytes)) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if *mode == 0o120_000 {
            let target = String::from_utf8(bytes.clone()).unwrap();
            std::os::unix::fs::symlink(target, &path).unwrap();
            continue;
        }
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode & 0o777)).unwrap();
    }
}

/// The change from one tree to another as a patch of git's, applied by us: the same tree as git's own, and back again.
fn whole_tree(
    before: &std::collections::BTreeMap<String, Made>,
    after: &std::collections::BTreeMap<String, Made>,
) {
    let trial = tempfile::tempdir().unwrap();
    let tree = trial.path().join("tree");
    std::fs::create_dir_all(tree.join("aten/src/ATen")).unwrap();
    let git = |arguments: &[&str]| git_in(&tree, arguments);
    let clear = || {
        for entry in std::fs::read_dir(&tree).unwrap() {
            let entry = entry.unwrap();
            match entry.file_name().to_str().unwrap() {
                ".git" | "aten" => {}
                _ if entry.file_type().unwrap().is_dir() => {
                    std::fs::remove_dir_all(entry.path()).unwrap();
                }
                _ => std::fs::remove_file(entry.path()).unwrap(),
            }
        }
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(tree.join("aten/src/ATen/kept"), "kept\n").unwrap();
    write_tree(&tree, before);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "before"]);
    clear();
    write_tree(&tree, after);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "the change"]);
    let wanted = git(&["rev-parse", "HEAD^{tree}"]);
    let patches = trial.path().join("patches");
    git(&[
        "format-patch",
        "-q",
        "-1",
        "-M",
        "-o",
        patches.to_str().unwrap(),
    ]);
    git(&["reset", "-q", "--hard", "HEAD~1"]);
    let run = |arguments: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
        command
            .env("UMPATCH_CACHE", trial.path().join("cache"))
            .arg("-C")
            .arg(&tree)
            .args(arguments)
            .assert()
            .success();
    };
    let base = git(&["ls-files", "-s"]);
    run(&["apply", "--patches-from", patches.to_str().unwrap()]);
    assert_eq!(git(&["rev-parse", "HEAD^{tree}"]), wanted);
    assert_eq!(git(&["status", "--porcelain"]), "");
    run(&["unapply"]);
    assert_eq!(git(&["ls-files", "-s"]), base);
    assert_eq!(git(&["status", "--porcelain"]), "");
}
