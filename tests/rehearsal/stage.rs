//! A small checkout with the allocator of 2.6.0, a cache, and a Mac that answers from recordings.
use super::ran::Ran;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What of PyTorch's tree these tests need.
const KEPT: [&str; 6] = [
    "aten/src/ATen/mps",
    "aten/src/ATen/native/mps",
    "test/test_mps.py",
    "version.txt",
    "requirements.txt",
    "torch/mps",
];

pub struct Stage {
    folder: tempfile::TempDir,
    machine: &'static str,
}

pub fn machines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/machines")
}

/// The tree of 2.6.0 as it was fetched. Its absence is a failure: a test that cannot run has shown nothing.
fn fetched() -> PathBuf {
    let given = std::env::var_os("UMPATCH_TEST_TREE").map(PathBuf::from);
    let cached = || {
        let all = umpatch::upstream::cached();
        let mut trees = all.into_iter().map(|cached| cached.tree);
        trees
            .find(|tree| tree.version == "2.6.0")
            .map(|tree| tree.path)
    };
    given.or_else(cached).expect(
        "the tree of 2.6.0 is needed: run `umpatch fetch 2.6.0` first, or set UMPATCH_TEST_TREE",
    )
}

pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "core.autocrlf=false",
        ])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "git {arguments:?}: {text}");
    text
}

/// A repository with the kept parts of the base commit, made once.
fn small_tree() -> &'static Path {
    static TREE: OnceLock<PathBuf> = OnceLock::new();
    TREE.get_or_init(|| {
        let source = fetched();
        let base = git(&source, &["rev-list", "--max-parents=0", "HEAD"]);
        let folder = tempfile::tempdir().unwrap().keep();
        let archive = folder.join("kept.tar");
        let mut arguments = vec!["archive", "-o", archive.to_str().unwrap(), &base];
        let listed = git(&source, &["ls-tree", "--name-only", &base]);
        let there = |path: &&str| {
            let top = path.split('/').next().unwrap_or_default();
            listed.lines().any(|line| line == top)
        };
        arguments.extend(KEPT.into_iter().filter(there));
        git(&source, &arguments);
        let tree = folder.join("tree");
        std::fs::create_dir(&tree).unwrap();
        let unpacked = Command::new("tar")
            .args([Path::new("-xf"), &archive])
            .current_dir(&tree)
            .status()
            .unwrap();
        assert!(unpacked.success());
        git(&tree, &["init", "-q", "-b", "main"]);
        git(&tree, &["add", "-A", "-f"]);
        git(&tree, &["commit", "-q", "-m", "base"]);
        tree
    })
}

impl Stage {
    /// A checkout, and this machine.
    pub fn on(machine: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = small_tree();
        git(
            folder.path(),
            &["clone", "-q", "--local", source.to_str().unwrap(), "tree"],
        );
        Self { folder, machine }
    }

    /// The same checkout and cache on another machine.
    pub fn moved_to(self, machine: &'static str) -> Self {
        Self { machine, ..self }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_umpatch"));
        command
            .arg("-C")
            .arg(self.path("tree"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("UMPATCH_CACHE", self.path("cache"))
            .env("UMPATCH_REHEARSAL", machines().join(self.machine))
            .env("UMPATCH_CANARY_PATIENCE", "3")
            .env("UMPATCH_BUILD_SILENCE", "3")
            .env_remove("MAX_JOBS")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// A short run of one scenario.
    pub fn verify(&self, more: &[&str]) -> Ran {
        let mut all = vec![
            "verify",
            "--device",
            "metal",
            "--json",
            "--scenario",
            "transformer-loop",
            "--pairs",
            "1",
            "--steps",
            "40",
        ];
        all.extend(more);
        self.run(&all)
    }
}
