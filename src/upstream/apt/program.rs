//! apt's programs, run in a place of ours, and what the machine says about itself.
use super::error::{AptError, storage};
use crate::run::process::{Finished, Program};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one run of apt may take.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Where apt works for one suite of one archive.
#[derive(Debug, Clone)]
pub(super) struct Place(pub(super) PathBuf);

impl Place {
    pub(super) fn sources(&self) -> PathBuf {
        self.0.join("list.sources")
    }

    /// A program of apt that works here and nowhere else.
    pub(super) fn apt(&self, program: &str) -> Program {
        let at = |key: &str, path: &Path| format!("{key}={}", path.display());
        let mut options = vec![
            at("Dir::Etc::SourceList", &self.sources()),
            "Dir::Etc::SourceParts=/dev/null".to_owned(),
            at("Dir::State::Lists", &self.0.join("lists")),
            at("Dir::Cache", &self.0.join("cache")),
            // our cache need not be open to apt's own user
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Retries=2".to_owned(),
        ];
        let mut program = Program::new(program).arg("-q").limit(PATIENCE);
        for option in options.drain(..) {
            program = program.arg("-o").arg(option);
        }
        program.env("LC_ALL", "C")
    }
}

pub(super) fn output(finished: &Finished) -> String {
    format!(
        "{}{}",
        finished.text(),
        String::from_utf8_lossy(&finished.stderr)
    )
}

/// Where the words of every run of apt are kept.
#[derive(Debug, Clone)]
pub(super) struct Log(pub(super) PathBuf);

impl Log {
    /// Runs apt and keeps its output.
    pub(super) fn run(&self, program: &Program) -> Result<Finished, AptError> {
        use std::io::Write;
        let finished = program.run()?;
        let entry = format!(
            "$ {}\n{}[{}]\n\n",
            program.display(),
            output(&finished),
            finished.status
        );
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.0)
            .and_then(|mut file| file.write_all(entry.as_bytes()))
            .map_err(storage("write", &self.0))?;
        Ok(finished)
    }
}

/// The main source list and the folder of lists, as apt itself is configured.
pub(super) fn configured_lists() -> Result<(PathBuf, PathBuf), AptError> {
    let finished = Program::new("apt-config")
        .args([
            "shell",
            "LIST",
            "Dir::Etc::sourcelist/f",
            "PARTS",
            "Dir::Etc::sourceparts/d",
        ])
        .limit(Duration::from_secs(60))
        .run()?;
    let text = finished.text();
    let value = |name: &str, otherwise: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .map_or_else(
                || PathBuf::from(otherwise),
                |value| PathBuf::from(value.trim_matches('\'')),
            )
    };
    Ok((
        value("LIST", "/etc/apt/sources.list"),
        value("PARTS", "/etc/apt/sources.list.d"),
    ))
}

/// The code name of the machine's distribution.
pub(super) fn codename() -> Option<String> {
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .map(|name| name.trim_matches('"').to_owned())
}
