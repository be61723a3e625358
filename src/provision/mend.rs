//! Carries out what mends a machine, through its own package managers. Each step can be repeated; their words are kept in a
//! log.
use super::item::{Item, Mend};
use super::program::on_path;
use super::torch::{self, Venv};
use crate::error::Explain;
use crate::exit::Exit;
use crate::paths;
use crate::progress::Progress;
use crate::run::process::{Finished, ProcessError, Program, interrupted};
use crate::upstream::Version;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long one step may take: gigabytes come over slow lines too.
const PATIENCE: Duration = Duration::from_secs(2 * 3600);
/// How long another package manager is waited for.
const LOCK: Duration = Duration::from_secs(600);
/// How often a download is tried.
const TRIES: u32 = 3;

/// One command that mends something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Install packages of the distribution, by name, sorted.
    Packages(Vec<String>),
    /// Make or complete the environment for a version of torch.
    Torch(Version),
}

/// A machine could not be mended.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// A program could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// No apt.
    #[error("this machine has no apt, so its packages cannot be installed from here")]
    NoPackageManager {
        /// What is missing.
        packages: Vec<String>,
    },
    /// Neither root nor sudo.
    #[error(
        "packages can be installed by root only, and sudo does not work here without a password"
    )]
    NotRoot {
        /// What root has to run.
        command: String,
    },
    /// A step failed.
    #[error("{what} failed: {words}")]
    Failed {
        /// What was done.
        what: &'static str,
        /// The last line that it said.
        words: String,
        /// Why, where that can be told, and what to do.
        advice: Option<&'static str>,
        /// Where all its words are kept.
        log: PathBuf,
    },
    /// No Python that can make an environment.
    #[error("there is no Python that can make a virtual environment")]
    NoPython,
    /// A file of ours cannot be written.
    #[error("cannot write {}", path.display())]
    Storage {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl Explain for ProvisionError {
    fn exit(&self) -> Exit {
        match self {
            Self::Process(error) => error.exit(),
            Self::Interrupted => Exit::Interrupted,
            _ => Exit::PatchOrBuildFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Process(error) => error.hints(),
            Self::NoPackageManager { packages } => vec![format!(
                "install what corresponds to these packages of Debian: {}",
                packages.join(" ")
            )],
            Self::NotRoot { command } => vec![format!("as root: {command}")],
            Self::Failed { advice, log, .. } => {
                let mut hints: Vec<String> = advice.iter().map(|&line| line.to_owned()).collect();
                hints.push(format!("all its words are in {}", log.display()));
                hints.push("run the same command again: it resumes".to_owned());
                hints
            }
            Self::NoPython => vec![
                "install Python 3 with its venv and ensurepip modules, or name an environment with UMPATCH_TORCH_VENV"
                    .to_owned(),
            ],
            Self::Storage { .. } => vec![format!(
                "make {} writable, free some space there, or set UMPATCH_CACHE to another folder",
                paths::cache().display()
            )],
            Self::Interrupted => vec!["run the same command again to resume".to_owned()],
        }
    }
}

/// The steps that mend what can be mended from here, in the order in which they have to be taken.
#[must_use]
pub fn steps(items: &[Item], version: &Version) -> Vec<Step> {
    let mut packages: Vec<String> = items
        .iter()
        .filter_map(|item| match &item.mend {
            Some(Mend::Package(name)) => Some(name.clone()),
            _ => None,
        })
        .collect();
    packages.sort();
    packages.dedup();
    let mut steps = Vec::new();
    if !packages.is_empty() {
        steps.push(Step::Packages(packages));
    }
    if items.iter().any(|item| item.mend == Some(Mend::Torch)) {
        steps.push(Step::Torch(version.clone()));
    }
    steps
}

impl Step {
    /// The step as a user would type it.
    #[must_use]
    pub fn command(&self) -> String {
        match self {
            Self::Packages(names) => {
                let sudo = if is_root() { "" } else { "sudo " };
                format!(
                    "{sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends {}",
                    names.join(" ")
                )
            }
            Self::Torch(version) => {
                let venv = shell_word(&torch::venv(version).to_string_lossy());
                let python = torch::interpreter().map_or_else(
                    || "python3".to_owned(),
                    |found| found.path.display().to_string(),
                );
                let wanted: Vec<String> = torch::requirements(version)
                    .iter()
                    .map(|word| shell_word(word))
                    .collect();
                format!(
                    "{python} -m venv {venv} && {venv}/bin/python -m pip install {}",
                    wanted.join(" ")
                )
            }
        }
    }

    /// Takes the step.
    ///
    /// # Errors
    /// When it fails, or the user interrupts.
    pub fn run(&self, progress: &dyn Progress) -> Result<(), ProvisionError> {
        let log = Log::open()?;
        match self {
            Self::Packages(names) => packages(names, &log, progress),
            Self::Torch(version) => environment(version, &log, progress),
        }
    }
}

fn shell_word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-=+".contains(letter);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn is_root() -> bool {
    // the owner of our own process entry is the effective user
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// Keeps every program's words.
struct Log(PathBuf);

impl Log {
    fn open() -> Result<Self, ProvisionError> {
        let folder = paths::cache().join("logs");
        std::fs::create_dir_all(&folder).map_err(|source| ProvisionError::Storage {
            path: folder.clone(),
            source,
        })?;
        Ok(Self(folder.join("provision.log")))
    }

    fn run(&self, program: &Program) -> Result<Finished, ProvisionError> {
        use std::io::Write;
        let finished = program.run()?;
        let entry = format!(
            "$ {}\n{}{}[{}]\n\n",
            program.display(),
            finished.text(),
            String::from_utf8_lossy(&finished.stderr),
            finished.status
        );
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.0)
            .and_then(|mut file| file.write_all(entry.as_bytes()))
            .map_err(|source| ProvisionError::Storage {
                path: self.0.clone(),
                source,
            })?;
        Ok(finished)
    }

    /// The failure of a program that ended badly.
    fn failure(&self, what: &'static str, finished: &Finished) -> ProvisionError {
        let text = words(finished);
        let last = text
            .lines()
            .rev()
            .find(|line| line.starts_with("E: ") || line.starts_with("ERROR: "))
            .or_else(|| text.lines().rev().find(|line| !line.trim().is_empty()))
            .unwrap_or("it said nothing");
        ProvisionError::Failed {
            what,
            words: without_addresses(last),
            advice: advice(&text),
            log: self.0.clone(),
        }
    }
}

fn words(finished: &Finished) -> String {
    format!(
        "{}{}",
        finished.text(),
        String::from_utf8_lossy(&finished.stderr)
    )
}

/// The line with addresses of servers left out: they say nothing to the user that the log does not.
fn without_addresses(line: &str) -> String {
    line.split(' ')
        .map(|word| {
            if word.contains("://") {
                "(address)"
            } else {
                word
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// What to do about a failure that is known.
fn advice(text: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 9] = [
        (
            "No space left on device",
            "free some space, or set UMPATCH_CACHE to a folder on a larger disk",
        ),
        (
            "Temporary failure resolving",
            "check the network and the proxy settings of apt",
        ),
        (
            "Could not resolve",
            "check the network and the proxy settings",
        ),
        (
            "Unable to locate package",
            "this release of the distribution has no such package: Debian 12 has all of them",
        ),
        (
            "has no installation candidate",
            "this release of the distribution has no such package: Debian 12 has all of them",
        ),
        (
            "Could not get lock",
            "another package manager works: wait for it to end",
        ),
        (
            "NewConnectionError",
            "check the network and pip's own configuration (`pip config list`)",
        ),
        (
            "Name or service not known",
            "check the network and pip's own configuration (`pip config list`)",
        ),
        (
            "No matching distribution found",
            "pip finds no such release for this Python: its index, as configured, may lack it, or the Python be too new",
        ),
    ];
    KNOWN
        .iter()
        .find(|(words, _)| text.contains(words))
        .map(|(_, advice)| *advice)
}

fn packages(names: &[String], log: &Log, progress: &dyn Progress) -> Result<(), ProvisionError> {
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

fn environment(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provision::item::Need;

    #[test]
    fn packages_come_first_once_each_and_sorted() {
        let package = |id: &str, name: &str| {
            Item::missing(
                id,
                Need::SimulatedDevice,
                "",
                Mend::Package(name.to_owned()),
            )
        };
        let items = [
            Item::missing("torch", Need::SimulatedDevice, "", Mend::Torch),
            package("b", "b-dev"),
            package("a", "a-dev"),
            package("c", "b-dev"),
            Item::wrong(
                "disk",
                Need::SimulatedDevice,
                "",
                Mend::ByHand("free".to_owned()),
            ),
            Item::ok("git", Need::Fetch, ""),
        ];
        let version: Version = "2.6.0".parse().unwrap();
        let steps = steps(&items, &version);
        assert_eq!(
            steps,
            [
                Step::Packages(vec!["a-dev".to_owned(), "b-dev".to_owned()]),
                Step::Torch(version)
            ]
        );
        assert!(
            steps[0]
                .command()
                .ends_with("apt-get install -y --no-install-recommends a-dev b-dev")
        );
        assert!(
            steps[1]
                .command()
                .contains("pip install torch==2.6.0 numpy pytest")
        );
    }

    #[test]
    fn addresses_stay_in_the_log() {
        let line = "E: Failed to fetch http://m.example/x.deb  404  Not Found";
        assert_eq!(
            without_addresses(line),
            "E: Failed to fetch (address)  404  Not Found"
        );
        assert_eq!(shell_word("numpy<2"), "'numpy<2'");
    }
}
