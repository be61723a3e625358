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
    println!("cargo:rerun-if-changed=.git/HEAD");
    let commit = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned());
    println!("cargo:rustc-env=UMPATCH_COMMIT={commit}");
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
