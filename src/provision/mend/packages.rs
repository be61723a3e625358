//! Packages of the distribution, through apt as root.
use super::super::program::on_path;
use super::error::ProvisionError;
use super::log::{Log, words};
use super::{PATIENCE, Step};
use crate::progress::Progress;
use crate::run::process::{Finished, Program, interrupted};
use std::time::{Duration, Instant};

/// How long another package manager is waited for.
const LOCK: Duration = Duration::from_secs(600);

pub(super) fn is_root() -> bool {
    // the owner of our own process entry is the effective user
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// Installs packages by name.
pub(super) fn install(
    names: &[String],
    log: &Log,
    progress: &dyn Progress,
) -> Result<(), ProvisionError> {
    if on_path("apt-get").is_none() {
        return Err(ProvisionError::NoPackageManager {
            packages: names.to_vec(),
        });
    }
    let apt = apt_get(names)?;
    progress.stage("refresh the package lists");
    let updated = waiting(log, &apt.clone().arg("update"), progress)?;
    // a third-party archive that fails must not keep the distribution's own packages from being installed
    let update_failed =
        (!updated.status.success()).then(|| log.failure("apt-get update", &updated));
    progress.stage(&format!("install {}", names.join(" ")));
    let install = apt
        .args(["install", "-y", "--no-install-recommends"])
        .args(names.iter().map(String::as_str));
    let installed = waiting(log, &install, progress)?;
    if installed.status.success() {
        return Ok(());
    }
    Err(update_failed.unwrap_or_else(|| log.failure("apt-get install", &installed)))
}

/// `apt-get`, as root, without a question.
fn apt_get(names: &[String]) -> Result<Program, ProvisionError> {
    let options = [
        "-q",
        "-o",
        "DPkg::Lock::Timeout=600",
        "-o",
        "Acquire::Retries=3",
        "-o",
        "Dpkg::Options::=--force-confdef",
        "-o",
        "Dpkg::Options::=--force-confold",
    ];
    let program = if is_root() {
        Program::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive")
    } else {
        let may = on_path("sudo").is_some()
            && Program::new("sudo")
                .args(["-n", "true"])
                .limit(Duration::from_secs(30))
                .run()
                .is_ok_and(|finished| finished.status.success());
        if !may {
            return Err(ProvisionError::NotRoot {
                command: Step::Packages(names.to_vec())
                    .command()
                    .replace("sudo ", ""),
            });
        }
        // sudo clears the environment
        Program::new("sudo").args([
            "-n",
            "env",
            "DEBIAN_FRONTEND=noninteractive",
            "LC_ALL=C",
            "apt-get",
        ])
    };
    Ok(program.env("LC_ALL", "C").args(options).limit(PATIENCE))
}

/// Runs apt, again and again while another package manager holds its lock.
fn waiting(
    log: &Log,
    program: &Program,
    progress: &dyn Progress,
) -> Result<Finished, ProvisionError> {
    let started = Instant::now();
    loop {
        let finished = log.run(program)?;
        let text = words(&finished);
        let locked = text.contains("Could not get lock") || text.contains("Unable to acquire");
        if finished.status.success() || !locked || started.elapsed() > LOCK {
            return Ok(finished);
        }
        progress.note("another package manager works; waiting for it");
        for _ in 0..30 {
            if interrupted() {
                return Err(ProvisionError::Interrupted);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
