//! The binary on the real 2.6.0 tree, for tests that need what the test command provides.
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One compiler run at a time is enough for a machine.
pub fn alone() -> MutexGuard<'static, ()> {
    static BUSY: Mutex<()> = Mutex::new(());
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn tree() -> PathBuf {
    std::env::var_os("UMPATCH_TEST_TREE")
        .expect("UMPATCH_TEST_TREE names a 2.6.0 tree: `umpatch fetch 2.6.0` brings one, ci/test sets it")
        .into()
}

/// A command with `--json` on the tree: the exit code and the document.
pub fn umpatch(command: &str, arguments: &[&str]) -> (i32, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_umpatch"))
        .arg("-C")
        .arg(tree())
        .args([command, "--json", "--quiet"])
        .args(arguments)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let document =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {words}"));
    (output.status.code().unwrap(), document)
}
