//! A cache of its own, stand-in drivers, and the binary run on them.
use crate::ran::Ran;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A driver that behaves in a certain way; `more` are further environment variables.
    pub fn driver(&self, name: &str, behaviour: &str, more: &str) -> PathBuf {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/driver.py");
        let path = self.path(name);
        std::fs::write(
            &path,
            format!(
                "#!/bin/sh\nBEHAVIOUR={behaviour} {more} exec python3 -S '{}' \"$@\"\n",
                script.display()
            ),
        )
        .unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_umpatch"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("UMPATCH_CACHE", self.path("cache"))
            .env("UMPATCH_DATA", self.path("data"))
            .stdin(Stdio::null());
        command
    }

    /// `verify` on two drivers.
    pub fn verify(&self, baseline: &Path, patched: &Path, more: &[&str]) -> Command {
        let mut command = self.command(&["verify", "--quiet"]);
        command
            .args([Path::new("--driver-baseline"), baseline])
            .args([Path::new("--driver-patched"), patched])
            .args(more);
        command
    }

    /// `verify --json` on two behaviours.
    pub fn compare(&self, baseline: &str, patched: &str, more: &[&str]) -> Ran {
        let baseline = self.driver("baseline", baseline, "");
        let patched = self.driver("patched", patched, "");
        let mut all = vec!["--json"];
        all.extend(more);
        self.verify(&baseline, &patched, &all)
            .output()
            .unwrap()
            .into()
    }
}

/// Starts a command, and gives it back when its run folder's journal holds `count` ended jobs.
pub fn started_until(mut command: Command, journal: &Path, count: usize) -> Child {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let patience = std::time::Instant::now();
    while patience.elapsed().as_secs() < 120 {
        let text = std::fs::read_to_string(journal).unwrap_or_default();
        if text.matches("\"job-end\"").count() >= count {
            return child;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    panic!("the run did not get so far");
}

/// A report without what differs from run to run: when and where it ran, and how long it took.
pub fn lasting(mut report: Value) -> Value {
    let fields = report.as_object_mut().unwrap();
    for name in ["started", "run", "phases"] {
        fields.remove(name);
    }
    report
}
