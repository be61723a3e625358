//! A small git tree with the structure of PyTorch's (and our own text), a series for it, and the binary to try on it.
use assert_cmd::Command;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub const ALLOCATOR: &str = "aten/src/ATen/mps/MPSAllocator.mm";
pub const HEADER: &str = "aten/src/ATen/mps/MPSAllocator.h";

/// A tree, a series, and a cache of their own.
pub struct Lab {
    folder: tempfile::TempDir,
}

/// All that must come back: HEAD, branches, index, and each file's content, permissions, time and inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub head: String,
    pub commit: String,
    pub branches: String,
    pub index: String,
    pub files: BTreeMap<String, FileState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    pub bytes: Vec<u8>,
    pub permissions: u32,
    pub time: (i64, i64),
    pub inode: u64,
}

impl Snapshot {
    /// The same without times and inodes, which change where the content has changed and come back.
    pub fn contents(&self) -> Self {
        let mut same = self.clone();
        for file in same.files.values_mut() {
            file.time = (0, 0);
            file.inode = 0;
        }
        same
    }

    /// Files whose time or inode differ.
    pub fn rewritten(&self, other: &Self) -> Vec<String> {
        self.files
            .iter()
            .filter(|(path, file)| {
                other
                    .files
                    .get(*path)
                    .is_none_or(|o| (o.time, o.inode) != (file.time, file.inode))
            })
            .map(|(path, _)| path.clone())
            .collect()
    }
}

fn numbered(name: &str, range: std::ops::RangeInclusive<u32>) -> String {
    range
        .map(|number| format!("// {name} {number}\n"))
        .collect()
}

/// The files of the tree; the allocator's header has the shape by which the classic generation is told.
pub fn base_files() -> Vec<(&'static str, String)> {
    vec![
        ("version.txt", "2.6.0a0\n".to_owned()),
        (
            "README.md",
            "a tree with the structure of another\n".to_owned(),
        ),
        (
            HEADER,
            format!(
                "{}struct BufferPool {{\n  enum class Kind {{\n    PRIVATE_SMALL,\n    SHARED_SMALL,\n    SCALAR,\n  }};\n}};\n{}",
                numbered("header", 1..=20),
                numbered("tail", 1..=20)
            ),
        ),
        (ALLOCATOR, numbered("allocator", 1..=200)),
        (
            "aten/src/ATen/mps/MPSAllocatorInterface.h",
            "bool waitForEvents();\nvoid* getIMPSAllocator(bool sharedAllocator = false);\n"
                .to_owned(),
        ),
        ("aten/src/ATen/mps/Old.h", numbered("old", 1..=10)),
        ("torch/csrc/Storage.cpp", numbered("storage", 1..=50)),
        ("tools/run.sh", "#!/bin/sh\necho run\n".to_owned()),
        ("docs/elsewhere.txt", "elsewhere\n".to_owned()),
    ]
}

impl Lab {
    /// The tree committed on `main`, and a series of three patches: `first` and `second` change the allocator, `third`
    /// makes, deletes, renames and marks files.
    pub fn new() -> Self {
        let lab = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir_all(lab.tree()).unwrap();
        lab.git(&["init", "-q", "-b", "main"]);
        for (path, text) in base_files() {
            lab.write(path, &text);
        }
        lab.git(&["add", "-A"]);
        lab.git(&["commit", "-q", "-m", "base"]);
        lab.git(&["checkout", "-q", "-b", "work"]);
        lab.edit(
            ALLOCATOR,
            "// allocator 50\n",
            "// allocator fifty\n// and more\n",
        );
        lab.edit(ALLOCATOR, "// allocator 150\n", "");
        lab.commit("[MPS] First");
        lab.edit(ALLOCATOR, "// allocator 52\n", "// allocator 52, again\n");
        lab.edit(HEADER, "// tail 3\n", "// tail three\n");
        lab.commit("[MPS] Second");
        lab.write("aten/src/ATen/mps/fresh/New.h", "// new\n");
        lab.git(&["rm", "-q", "aten/src/ATen/mps/Old.h"]);
        lab.git(&["mv", "torch/csrc/Storage.cpp", "torch/csrc/Kept.cpp"]);
        lab.git(&["update-index", "--chmod=+x", "tools/run.sh"]);
        lab.git(&["add", "aten"]);
        lab.git(&["commit", "-q", "-m", "[MPS] Third"]);
        std::fs::create_dir_all(lab.series()).unwrap();
        let series = lab.series().display().to_string();
        lab.git(&[
            "format-patch",
            "-q",
            "--zero-commit",
            "--full-index",
            "--no-signature",
            "-o",
            &series,
            "main..work",
        ]);
        lab.git(&["checkout", "-q", "-f", "main"]);
        lab.git(&["branch", "-q", "-D", "work"]);
        for (number, id) in [(1, "First"), (2, "Second"), (3, "Third")] {
            let name = format!("000{number}-MPS-{id}.patch");
            let to = format!("000{number}-{}.patch", id.to_lowercase());
            std::fs::rename(lab.series().join(name), lab.series().join(to)).unwrap();
        }
        // the objects of the series' commits must not help: each test starts from the base alone
        lab.git(&["reflog", "expire", "--expire=now", "--all"]);
        lab.git(&["gc", "-q", "--prune=now"]);
        lab
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    pub fn series(&self) -> PathBuf {
        self.folder.path().join("series")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.tree().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from:?}");
        self.write(path, &text.replacen(from, to, 1));
    }

    pub fn commit(&self, message: &str) {
        self.git(&["commit", "-q", "-a", "-m", message]);
    }

    /// Runs git, with no configuration but its repository's.
    pub fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.tree(), arguments)
    }

    /// The binary, on the tree, with a cache of its own.
    pub fn umpatch(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("umpatch").unwrap();
        command
            .env("UMPATCH_CACHE", self.folder.path().join("cache"))
            .env("HOME", self.folder.path())
            .env_remove("UMPATCH_SHARE")
            .env_remove("XDG_CACHE_HOME")
            .arg("-C")
            .arg(self.tree())
            .args(arguments);
        command
    }

    /// The binary with the lab's series.
    pub fn with_series(&self, arguments: &[&str]) -> Command {
        let mut command = self.umpatch(arguments);
        command.arg("--patches-from").arg(self.series());
        command
    }

    /// Runs a command that has to succeed, and gives its JSON document.
    pub fn json(&self, mut command: Command) -> serde_json::Value {
        let output = command
            .arg("--json")
            .assert()
            .success()
            .get_output()
            .stdout
            .clone();
        serde_json::from_slice(&output).unwrap()
    }

    pub fn apply(&self) -> serde_json::Value {
        self.json(self.with_series(&["apply"]))
    }

    pub fn unapply(&self) -> serde_json::Value {
        self.json(self.umpatch(&["unapply"]))
    }

    pub fn snapshot(&self) -> Snapshot {
        let mut files = BTreeMap::new();
        for entry in walkdir::WalkDir::new(self.tree())
            .into_iter()
            .filter_entry(|entry| entry.file_name() != ".git")
        {
            let entry = entry.unwrap();
            if entry.file_type().is_dir() {
                continue;
            }
            let metadata = entry.path().symlink_metadata().unwrap();
            let path = entry.path().strip_prefix(self.tree()).unwrap();
            files.insert(
                path.to_str().unwrap().to_owned(),
                FileState {
                    bytes: std::fs::read(entry.path()).unwrap_or_default(),
                    permissions: metadata.mode(),
                    time: (metadata.mtime(), metadata.mtime_nsec()),
                    inode: metadata.ino(),
                },
            );
        }
        Snapshot {
            head: std::fs::read_to_string(self.path(".git/HEAD")).unwrap(),
            commit: self.git(&["rev-parse", "HEAD"]),
            branches: self.git(&["for-each-ref"]),
            index: self.git(&["ls-files", "-s"]),
            files,
        }
    }

    /// A copy of the whole lab, with times.
    pub fn copy(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let status = std::process::Command::new("cp")
            .args(["-a"])
            .arg(format!("{}/.", self.folder.path().display()))
            .arg(folder.path())
            .status()
            .unwrap();
        assert!(status.success());
        let lab = Self { folder };
        // the copy has inodes of its own; this fails where a file differs or the index is locked, which is as it should be
        let refresh = std::process::Command::new("git")
            .args(["update-index", "-q", "--refresh"])
            .current_dir(lab.tree())
            .stderr(std::process::Stdio::null())
            .status();
        assert!(refresh.is_ok());
        lab
    }
}

pub fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args([
            "-c",
            "user.name=Tester",
            "-c",
            "user.email=tester@example.org",
            "-c",
            "gc.auto=0",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_AUTHOR_DATE", "2024-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2024-01-02T03:04:05Z")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}
