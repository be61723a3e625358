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
                // two equally near places: git takes one, we ask
                prop_assert!(message.contains("equally near"), "git: {oracle:?}, we: {message}");
            }
            (None, Ok(ours)) => {
                // the change was there already
                prop_assert!(ours == now, "git refuses, we make {ours:?}");
            }
            (None, Err(_)) => {}
        }
    }
}
