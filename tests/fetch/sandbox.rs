//! A machine of its own for each test: cache, home, programs.
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The umpatch that is tested.
pub const UMPATCH: &str = env!("CARGO_BIN_EXE_umpatch");

/// Folders for one test.
pub struct Sandbox {
    folder: tempfile::TempDir,
    environment: BTreeMap<String, String>,
}

/// What a command ended with.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The one JSON document on stdout.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr))
    }

    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails with this code and all these words, and without an address.
    #[track_caller]
    pub fn fails(self, code: i32, words: &[&str]) -> Self {
        let ended = self.expect(code);
        for word in words {
            assert!(
                ended.stderr.contains(word),
                "no {word:?} in:\n{}",
                ended.stderr
            );
        }
        assert!(!ended.stderr.contains("mirror.example"), "{}", ended.stderr);
        ended
    }
}

impl Sandbox {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bin", "home", "cache"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let path = format!("{}:{}", at("bin"), std::env::var("PATH").unwrap());
        let environment = BTreeMap::from([
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), at("home")),
            ("UMPATCH_CACHE".to_owned(), at("cache")),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
        ]);
        Self {
            folder,
            environment,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn set(&mut self, variable: &str, value: impl Into<String>) {
        self.environment.insert(variable.to_owned(), value.into());
    }

    /// A program of this name that comes before the machine's own.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// The command, run in the sandbox's folder, which is no PyTorch tree.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(UMPATCH);
        command
            .args(arguments)
            .env_clear()
            .envs(&self.environment)
            .current_dir(self.folder.path());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(&self.command(arguments).output().unwrap())
    }

    /// The names in the store that look like trees.
    pub fn trees(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("cache/trees")) else {
            return Vec::new();
        };
        entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'))
            .collect()
    }

    /// Staging folders that were left.
    pub fn leftovers(&self) -> usize {
        fs::read_dir(self.path("cache/trees")).map_or(0, |entries| {
            entries
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().starts_with(".staging"))
                .count()
        })
    }
}

/// What a small tree with the classic allocator's shape holds.
pub fn small_tree() -> Vec<(&'static str, &'static str)> {
    vec![
        ("version.txt", "2.6.0a0\n"),
        ("torch/__init__.py", "# torch\n"),
        (
            "aten/src/ATen/mps/MPSAllocator.h",
            "struct BufferPool {\n  enum class Kind { PRIVATE_SMALL, SHARED_SMALL, SCALAR };\n};\n",
        ),
        ("aten/src/ATen/mps/MPSAllocator.mm", "// the allocator\n"),
        (
            "aten/src/ATen/mps/MPSAllocatorInterface.h",
            "bool waitForEvents();\nIMPSAllocator* getIMPSAllocator(bool sharedAllocator = false);\n",
        ),
    ]
}

/// Writes the small tree into a folder.
pub fn write_tree(root: &Path) {
    for (name, text) in small_tree() {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A tar of files.
pub fn tarball<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(
                &mut header,
                format!("pytorch-v2.6.0/{name}"),
                text.as_bytes(),
            )
            .unwrap();
    }
    builder.into_inner().unwrap()
}

/// The same, compressed with xz.
pub fn xz(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = xz2::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The SHA-256 of bytes, as text.
pub fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    hex::encode(Sha256::digest(bytes))
}

/// What git says, in a folder.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@localhost"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
