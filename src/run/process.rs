//! The only place that starts other programs.
//!
//! Every program runs in a process group of its own, with its output captured or sent to a log file, an optional time
//! limit, and it ends with its whole group when the user interrupts the run.
use crate::error::Explain;
use crate::exit::Exit;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Marks the run as interrupted; running programs end within a fraction of a second. Called by the signal handler.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::SeqCst);
}

/// Whether the user has interrupted the run.
#[must_use]
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// A program to start: its name, arguments, folder, environment and limits.
#[derive(Debug, Clone)]
pub struct Program {
    name: OsString,
    arguments: Vec<OsString>,
    folder: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    limit: Option<Duration>,
    stderr_log: Option<PathBuf>,
}

/// What a program that was started left behind.
#[derive(Debug)]
pub struct Finished {
    /// Its status; a signal is told by [`Finished::signal`].
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, empty when it went to a log file.
    pub stderr: Vec<u8>,
    /// How long it ran.
    pub elapsed: Duration,
}

impl Finished {
    /// The signal that ended the program, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Standard output as text, invalid bytes replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The last lines of standard error, for a message.
    #[must_use]
    pub fn tail(&self, lines: usize) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

/// A program could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program does not exist or cannot be started.
    #[error("cannot start {program}")]
    Start {
        /// The program's name.
        program: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// It ran past its limit and was ended with its process group.
    #[error("{program} was ended after {} s", limit.as_secs_f64())]
    TimedOut {
        /// The program's name.
        program: String,
        /// The limit.
        limit: Duration,
        /// What it had printed until then.
        stdout: Vec<u8>,
    },
    /// The user interrupted the run.
    #[error("interrupted while {program} ran")]
    Interrupted {
        /// The program's name.
        program: String,
    },
    /// Its output could not be read, or its log file not written.
    #[error("lost the output of {program}")]
    Output {
        /// The program's name.
        program: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
}

impl Explain for ProcessError {
    fn exit(&self) -> Exit {
        match self {
            Self::Interrupted { .. } => Exit::Interrupted,
            Self::TimedOut { .. } => Exit::Inconclusive,
            Self::Start { .. } | Self::Output { .. } => Exit::PatchOrBuildFailed,
        }
    }
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Start { .. } => vec!["`umpatch doctor` names what is missing".to_owned()],
            Self::Interrupted { .. } => vec!["run the same command again to resume".to_owned()],
            Self::TimedOut { .. } | Self::Output { .. } => Vec::new(),
        }
    }
}

/// Ends the process group of a started program when it is dropped before the program was reaped.
struct Group {
    pid: Pid,
    reaped: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = killpg(self.pid, Signal::SIGKILL);
        }
    }
}

impl Program {
    /// A program by name (looked up on the path) or by path.
    pub fn new(name: impl Into<OsString>) -> Self {
        Self {
            name: name.into(),
            arguments: Vec::new(),
            folder: None,
            environment: Vec::new(),
            limit: None,
            stderr_log: None,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// The folder that it runs in.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets one environment variable.
    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((key.into(), value.into()));
        self
    }

    /// Ends the program, with its process group, after this long.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Appends standard error to this file instead of keeping it in memory.
    #[must_use]
    pub fn stderr_log(mut self, path: impl Into<PathBuf>) -> Self {
        self.stderr_log = Some(path.into());
        self
    }

    /// The command line, for messages and logs.
    #[must_use]
    pub fn display(&self) -> String {
        std::iter::once(&self.name)
            .chain(&self.arguments)
            .map(|part| part.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn name(&self) -> String {
        Path::new(&self.name)
            .file_name()
            .unwrap_or(&self.name)
            .to_string_lossy()
            .into_owned()
    }

    /// Runs the program to its end. A non-zero status is not an error here: the caller knows what it means.
    ///
    /// # Errors
    /// When it cannot be started, runs past its limit, or the user interrupts.
    pub fn run(&self) -> Result<Finished, ProcessError> {
        let program = self.name();
        let mut expression = duct::cmd(&self.name, &self.arguments)
            .stdin_null()
            .stdout_capture()
            .unchecked()
            .before_spawn(|command| {
                command.process_group(0);
                Ok(())
            });
        expression = match &self.stderr_log {
            Some(path) => {
                let file = std::fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(path)
                    .map_err(|source| ProcessError::Output {
                        program: program.clone(),
                        source,
                    })?;
                expression.stderr_file(file)
            }
            None => expression.stderr_capture(),
        };
        if let Some(folder) = &self.folder {
            expression = expression.dir(folder);
        }
        for (key, value) in &self.environment {
            expression = expression.env(key, value);
        }
        let started = Instant::now();
        let handle = expression.start().map_err(|source| ProcessError::Start {
            program: program.clone(),
            source,
        })?;
        let pid = handle.pids().first().copied().unwrap_or_default();
        let mut group = Group {
            pid: Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX)),
            reaped: false,
        };
        let mut pause = Duration::from_millis(1);
        loop {
            let lost = |source| ProcessError::Output {
                program: program.clone(),
                source,
            };
            if handle.try_wait().map_err(lost)?.is_some() {
                break;
            }
            let late = self.limit.is_some_and(|limit| started.elapsed() > limit);
            if late || interrupted() {
                // the leader is not yet reaped, so its group id cannot have been reused
                let _ = killpg(group.pid, Signal::SIGKILL);
                let output = handle.wait().map_err(lost)?;
                group.reaped = true;
                return Err(match self.limit {
                    Some(limit) if late => ProcessError::TimedOut {
                        program,
                        limit,
                        stdout: output.stdout.clone(),
                    },
                    _ => ProcessError::Interrupted { program },
                });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        group.reaped = true;
        let output = handle
            .into_output()
            .map_err(|source| ProcessError::Output { program, source })?;
        Ok(Finished {
            status: output.status,
            stdout: output.stdout,
            stderr: output.stderr,
            elapsed: started.elapsed(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_and_both_outputs_come_back() {
        let finished = Program::new("sh")
            .args(["-c", "echo out; echo err >&2; exit 3"])
            .run()
            .unwrap();
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!(finished.text(), "out\n");
        assert_eq!(finished.tail(1), "err");
    }

    #[test]
    fn a_signal_is_told() {
        let finished = Program::new("sh").args(["-c", "kill -9 $$"]).run().unwrap();
        assert_eq!(finished.signal(), Some(9));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Program::new("no-such-program-here").run().unwrap_err();
        assert!(error.to_string().contains("no-such-program-here"));
    }

    #[test]
    fn a_limit_ends_the_whole_group() {
        let started = Instant::now();
        // the grandchild would hold the pipe open for 30 s if only the shell were ended
        let error = Program::new("sh")
            .args(["-c", "echo early; sleep 30 & wait"])
            .limit(Duration::from_millis(200))
            .run()
            .unwrap_err();
        assert!(matches!(error, ProcessError::TimedOut { ref stdout, .. } if stdout == b"early\n"));
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
