//! The words of every program that mends something, and what is known about how they fail.
use super::error::ProvisionError;
use crate::error::StorageError;
use crate::paths;
use crate::run::process::{Finished, Program};
use std::path::PathBuf;

/// Keeps every program's words.
pub(super) struct Log(PathBuf);

impl Log {
    pub(super) fn open() -> Result<Self, ProvisionError> {
        let folder = paths::cache().join("logs");
        std::fs::create_dir_all(&folder).map_err(StorageError::at("write", &folder))?;
        Ok(Self(folder.join("provision.log")))
    }

    pub(super) fn run(&self, program: &Program) -> Result<Finished, ProvisionError> {
        let finished = program.run()?;
        finished
            .append_to(&self.0, program)
            .map_err(StorageError::at("write", &self.0))?;
        Ok(finished)
    }

    /// The failure of a program that ended badly.
    pub(super) fn failure(&self, what: &'static str, finished: &Finished) -> ProvisionError {
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

pub(super) fn words(finished: &Finished) -> String {
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
    const KNOWN: [(&str, &str); 10] = [
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
            "CERTIFICATE_VERIFY_FAILED",
            "the server's certificate is not trusted here: name the authority's file in pip's configuration (`pip config set global.cert FILE`)",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stay_in_the_log() {
        let line = "E: Failed to fetch http://m.example/x.deb  404  Not Found";
        assert_eq!(
            without_addresses(line),
            "E: Failed to fetch (address)  404  Not Found"
        );
    }
}
