//! The Python environment with torch, through venv and pip as the user has configured it.
use super::super::torch::{self, Venv};
use super::PATIENCE;
use super::error::ProvisionError;
use super::log::{Log, words};
use crate::progress::Progress;
use crate::run::process::Program;
use crate::upstream::Version;
use std::path::PathBuf;
use std::time::Duration;

/// How often a download is tried.
const TRIES: u32 = 3;

/// Makes or completes the environment for a version.
pub(super) fn complete(
    version: &Version,
    log: &Log,
    progress: &dyn Progress,
) -> Result<(), ProvisionError> {
    let folder = torch::venv(version);
    let python = torch::interpreter()
        .filter(|found| found.venv == Venv::Able)
        .ok_or(ProvisionError::NoPython)?
        .path;
    let own = folder.join("bin").join("python");
    let has_pip = |own: &PathBuf| {
        Program::new(own)
            .args(["-I", "-m", "pip", "--version"])
            .limit(Duration::from_secs(120))
            .run()
            .is_ok_and(|finished| finished.status.success())
    };
    if !has_pip(&own) {
        progress.stage("make a Python environment");
        let made = log.run(
            &Program::new(&python)
                .args(["-m", "venv", "--clear"])
                .arg(&folder)
                .limit(PATIENCE),
        )?;
        if !made.status.success() {
            return Err(log.failure("python3 -m venv", &made));
        }
    }
    progress.stage(&format!(
        "install torch {version} (gigabytes; some minutes)"
    ));
    // pip's own configuration says where from; what it has downloaded it keeps
    let mut install = Program::new(&own)
        .args(["-m", "pip", "install", "--no-input", "--retries", "10"])
        .args(torch::requirements(version))
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .limit(PATIENCE);
    let mut finished = log.run(&install)?;
    for _ in 1..TRIES {
        if finished.status.success() || !worth_another_try(&words(&finished)) {
            break;
        }
        progress.note("the download broke; trying again");
        finished = log.run(&install)?;
    }
    if !finished.status.success() {
        return Err(log.failure("pip install", &finished));
    }
    if let Err(torch::Unusable::Broken(_)) = torch::ask(&folder, version) {
        // a run that was cut may have left packages that pip takes for whole
        progress.stage("install torch anew, since what is there does not work");
        install = install.arg("--force-reinstall");
        finished = log.run(&install)?;
        if !finished.status.success() {
            return Err(log.failure("pip install", &finished));
        }
    }
    Ok(())
}

/// Whether pip failed for a reason that passes.
fn worth_another_try(text: &str) -> bool {
    [
        "IncompleteRead",
        "ReadTimeoutError",
        "Connection reset",
        "Connection broken",
        "ProtocolError",
        "DO NOT MATCH THE HASHES",
        "Temporary failure",
    ]
    .iter()
    .any(|words| text.contains(words))
}
