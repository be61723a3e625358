//! Rebuilds the binary when a file that it embeds changes, and records the commit that it was built from.
use std::process::Command;

fn main() {
    for folder in [
        "harness",
        "patches",
        "fixtures/controls",
        "fixtures/mutants",
    ] {
        watch(std::path::Path::new(folder));
    }
    // the log of HEAD grows with each commit and each switch, wherever the checkout keeps it; a source archive has none
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    println!("cargo:rerun-if-env-changed=UMPATCH_COMMIT");
    let commit = std::env::var("UMPATCH_COMMIT")
        .ok()
        .filter(|given| !given.is_empty())
        .or_else(|| git(&["rev-parse", "--short=12", "HEAD"]))
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=UMPATCH_COMMIT={commit}");
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn watch(folder: &std::path::Path) {
    println!("cargo:rerun-if-changed={}", folder.display());
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            watch(&path);
        }
    }
}
