//! Runs the commands of a plan, and goes on where an earlier run was cut.
use super::error::{Failed, PyTorchError};
use super::output::{Line, Output};
use super::plan::{Command, Purpose, Side};
use crate::error::StorageError;
use crate::progress::Progress;
use crate::run::process::{ProcessError, Program};
use crate::run::rehearsal;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest silence of a command: the linker of a large library takes minutes.
const SILENCE: Duration = Duration::from_secs(45 * 60);
/// Names another silence, in seconds.
const SILENCE_VARIABLE: &str = "UMPATCH_BUILD_SILENCE";

/// What is done already, kept beside the build.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Done {
    /// Preparations, as the shell takes them.
    prepared: BTreeSet<String>,
    /// What the arms were built from.
    #[serde(default)]
    built: BTreeMap<String, String>,
    #[serde(skip)]
    path: PathBuf,
}

impl Done {
    pub(super) fn read(root: &Path) -> Self {
        let path = root.join("done.json");
        let mut done: Self = std::fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        done.path = path;
        done
    }

    pub(super) fn is_built(&self, side: Side, key: &str) -> bool {
        self.built
            .get(side.name())
            .is_some_and(|built| built == key)
    }

    /// Whether anything is done.
    pub(super) fn has_begun(&self) -> bool {
        !self.prepared.is_empty()
    }

    pub(super) fn unbuilt(&mut self, side: Side) -> Result<(), PyTorchError> {
        self.built.remove(side.name());
        self.write()
    }

    pub(super) fn built(&mut self, side: Side, key: &str) -> Result<(), PyTorchError> {
        self.built.insert(side.name().to_owned(), key.to_owned());
        self.write()
    }

    fn write(&self) -> Result<(), PyTorchError> {
        let failed = |source| StorageError::at("write", &self.path)(source);
        let text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        crate::run::folder::write_atomically(&self.path, &text)
            .map_err(|error| failed(std::io::Error::other(error)))?;
        Ok(())
    }
}

/// Runs one command, unless it is a preparation that is done.
pub(super) fn run(
    command: &Command,
    logs: &Path,
    done: &mut Done,
    progress: &dyn Progress,
) -> Result<Output, PyTorchError> {
    let prepares = !matches!(
        command.purpose,
        Purpose::Sources | Purpose::Compile | Purpose::Keep
    );
    let shell = command.shell();
    if prepares && done.prepared.contains(&shell) {
        return Ok(Output::default());
    }
    clear(command)?;
    progress.stage(&format!(
        "{}: {}",
        command.side.name(),
        command.purpose.words()
    ));
    let output = execute(command, logs, progress)?;
    if prepares {
        done.prepared.insert(shell);
        done.write()?;
    }
    Ok(output)
}

/// Makes the folder that the command needs, without what a run that was cut left half made in its place.
fn clear(command: &Command) -> Result<(), PyTorchError> {
    let target = command.words.last().map(PathBuf::from).unwrap_or_default();
    let keeps = command.purpose == Purpose::Keep;
    if (keeps || command.words.iter().any(|word| word == "clone")) && target.exists() {
        std::fs::remove_dir_all(&target).map_err(StorageError::at("clear", &target))?;
    }
    if let Some(folder) = command.new_folder() {
        std::fs::create_dir_all(&folder).map_err(StorageError::at("make", &folder))?;
    }
    Ok(())
}

fn silence() -> Duration {
    std::env::var(SILENCE_VARIABLE)
        .ok()
        .and_then(|text| text.parse().ok())
        .map_or(SILENCE, Duration::from_secs)
}

fn execute(
    command: &Command,
    logs: &Path,
    progress: &dyn Progress,
) -> Result<Output, PyTorchError> {
    let side = command.side.name();
    let what = command.purpose.words();
    let log = logs.join(format!("{side}-{}.log", what.replace(' ', "-")));
    let mut words = command.words.iter();
    let mut program = Program::new(words.next().map(String::as_str).unwrap_or_default())
        .args(words)
        .folder(&command.folder)
        .idle_limit(silence())
        .errors_with_output();
    for (key, value) in &command.environment {
        program = program.env(key, value);
    }
    if let Some(first) = &command.path {
        let mut path = first.clone().into_os_string();
        if let Some(rest) = rehearsal::search_path() {
            path.push(":");
            path.push(rest);
        }
        program = program.env("PATH", path);
    }
    let mut output = Output::default();
    let mut told = Instant::now();
    let outcome = program.run_lines(&log, &mut |line| {
        if let Line::Progress { done, total } = output.line(line) {
            progress.advance(done, total);
            // a log without a terminal hears of it now and then
            if told.elapsed() > Duration::from_secs(60) {
                told = Instant::now();
                progress.note(&format!("{side}: {done} of {total}"));
            }
        }
    });
    match outcome {
        Ok(finished) if finished.status.success() => Ok(output),
        Ok(_) => Err(PyTorchError::Failed(Box::new(Failed {
            side,
            what,
            complaint: output.complaint().cloned(),
            target: output.failed().map(str::to_owned),
            last: output.last(),
            log,
            progress: output.progress(),
        }))),
        Err(ProcessError::Idle { limit, .. }) => Err(PyTorchError::Stalled {
            side,
            what,
            limit,
            log,
            progress: output.progress(),
        }),
        Err(error) => Err(error.into()),
    }
}
