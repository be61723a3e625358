//! Carries out what mends a machine, through its own package managers. Each step can be repeated; their words are kept in a
//! log.
mod environment;
mod error;
mod log;
mod packages;

pub use error::ProvisionError;

use super::item::{Item, Mend};
use super::torch;
use crate::progress::Progress;
use crate::upstream::Version;
use log::Log;
use std::time::Duration;

/// How long one step may take: gigabytes come over slow lines too.
const PATIENCE: Duration = Duration::from_secs(2 * 3600);

/// One command that mends something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Install packages of the distribution, by name, sorted.
    Packages(Vec<String>),
    /// Make or complete the environment for a version of torch.
    Torch(Version),
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
                let sudo = if packages::is_root() { "" } else { "sudo " };
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
            Self::Packages(names) => packages::install(names, &log, progress),
            Self::Torch(version) => environment::complete(version, &log, progress),
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
        assert_eq!(shell_word("numpy<2"), "'numpy<2'");
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
}
