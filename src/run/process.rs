//! The only place that starts other programs.
//!
//! Every program runs in a process group of its own, with its output captured, streamed line by line or sent to a log
//! file, optional limits on time, silence and memory, and it ends with its whole group when the user interrupts the run.
pub mod conversation;

use super::rehearsal;
use crate::error::Explain;
use crate::exit::Exit;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
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
    idle_limit: Option<Duration>,
    memory_cap: Option<u64>,
    stderr_log: Option<PathBuf>,
    errors: Errors,
}

/// Where standard error goes when no log file takes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Errors {
    /// Into memory.
    #[default]
    Apart,
    /// Where standard output goes, in order.
    WithOutput,
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

    /// Adds what a program was called with, and all that it said, to a file of such entries.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append_to(&self, log: &std::path::Path, program: &Program) -> std::io::Result<()> {
        use std::io::Write;
        let entry = format!(
            "$ {}\n{}{}[{}]\n\n",
            program.display(),
            self.text(),
            String::from_utf8_lossy(&self.stderr),
            self.status
        );
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)
            .and_then(|mut file| file.write_all(entry.as_bytes()))
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
    /// It printed nothing for longer than its idle limit and was ended with its process group.
    #[error("{program} was ended after {} s without output", limit.as_secs_f64())]
    Idle {
        /// The program's name.
        program: String,
        /// The limit.
        limit: Duration,
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
            Self::TimedOut { .. } | Self::Idle { .. } => Exit::Inconclusive,
            Self::Start { .. } | Self::Output { .. } => Exit::PatchOrBuildFailed,
        }
    }
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Start { .. } => vec!["`umpatch doctor` names what is missing".to_owned()],
            Self::Interrupted { .. } => vec!["run the same command again to resume".to_owned()],
            Self::TimedOut { .. } | Self::Idle { .. } | Self::Output { .. } => Vec::new(),
        }
    }
}

/// Ends the process group of a started program when it is dropped before the program was reaped.
#[derive(Debug)]
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
            idle_limit: None,
            memory_cap: None,
            stderr_log: None,
            errors: Errors::Apart,
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

    /// Ends the program, with its process group, when [`Program::run_lines`] gets no output for this long.
    #[must_use]
    pub fn idle_limit(mut self, limit: Duration) -> Self {
        self.idle_limit = Some(limit);
        self
    }

    /// Caps the address space of each process of the program, in bytes. Not for sanitizer builds, which reserve terabytes.
    #[must_use]
    pub fn memory_cap(mut self, bytes: u64) -> Self {
        self.memory_cap = Some(bytes);
        self
    }

    /// Appends standard error to this file instead of keeping it in memory.
    #[must_use]
    pub fn stderr_log(mut self, path: impl Into<PathBuf>) -> Self {
        self.stderr_log = Some(path.into());
        self
    }

    /// Sends standard error where standard output goes, in the order in which both were written.
    #[must_use]
    pub fn errors_with_output(mut self) -> Self {
        self.errors = Errors::WithOutput;
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
        let expression = self.expression()?.stdout_capture();
        self.supervise(&expression, None)
    }

    /// Runs the program to its end with standard output in the file `log`, and gives each complete line to `each` as it
    /// appears (a last line without its end too; invalid bytes replaced). What a killed program printed stays in the file,
    /// and memory use does not grow with the output.
    ///
    /// # Errors
    /// As [`Program::run`], and when the log file cannot be written or read.
    pub fn run_lines(
        &self,
        log: &Path,
        each: &mut dyn FnMut(&str),
    ) -> Result<Finished, ProcessError> {
        let lost = |source| self.lost(source);
        let sink = File::create(log).map_err(lost)?;
        let mut tail = Tail {
            file: File::open(log).map_err(lost)?,
            partial: Vec::new(),
            each,
        };
        let expression = self.expression()?.stdout_file(sink);
        let outcome = self.supervise(&expression, Some(&mut tail));
        tail.drain().map_err(lost)?;
        tail.finish();
        outcome
    }

    fn lost(&self, source: std::io::Error) -> ProcessError {
        ProcessError::Output {
            program: self.name(),
            source,
        }
    }

    /// The program with everything but standard output connected.
    fn expression(&self) -> Result<duct::Expression, ProcessError> {
        self.connected(duct::Expression::stdin_null)
    }

    /// The program with everything but standard output connected, standard input as `input` says.
    fn connected(
        &self,
        input: impl FnOnce(&duct::Expression) -> duct::Expression,
    ) -> Result<duct::Expression, ProcessError> {
        let mut expression = match self.memory_cap {
            None => duct::cmd(&self.name, &self.arguments),
            // the shell's own limit: the program replaces the shell, so that its signals and status stay its own
            Some(bytes) => {
                let mut arguments: Vec<OsString> = vec![
                    "-c".into(),
                    "ulimit -v \"$0\" 2>/dev/null; exec \"$@\"".into(),
                    (bytes / 1024).to_string().into(),
                    self.name.clone(),
                ];
                arguments.extend(self.arguments.iter().cloned());
                duct::cmd("sh", arguments)
            }
        };
        expression = input(&expression).unchecked().before_spawn(|command| {
            command.process_group(0);
            Ok(())
        });
        expression = match &self.stderr_log {
            Some(path) => {
                let file = std::fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(path)
                    .map_err(|source| self.lost(source))?;
                expression.stderr_file(file)
            }
            None if self.errors == Errors::WithOutput => expression.stderr_to_stdout(),
            None => expression.stderr_capture(),
        };
        if let Some(folder) = &self.folder {
            expression = expression.dir(folder);
        }
        // those of the program itself come last: they have the last word
        for (key, value) in rehearsal::environment().iter().chain(&self.environment) {
            expression = expression.env(key, value);
        }
        Ok(expression)
    }

    /// Starts the program and stays with it until it ended, a limit passed or the user interrupted.
    fn supervise(
        &self,
        expression: &duct::Expression,
        mut tail: Option<&mut Tail<'_>>,
    ) -> Result<Finished, ProcessError> {
        let program = self.name();
        let lost = |source| self.lost(source);
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
        let mut last_output = started;
        loop {
            if handle.try_wait().map_err(lost)?.is_some() {
                break;
            }
            if let Some(tail) = tail.as_deref_mut()
                && tail.drain().map_err(lost)?
            {
                last_output = Instant::now();
            }
            let late = self.limit.filter(|limit| started.elapsed() > *limit);
            let idle = self
                .idle_limit
                .filter(|limit| tail.is_some() && last_output.elapsed() > *limit);
            if late.is_some() || idle.is_some() || interrupted() {
                // the leader is not yet reaped, so its group id cannot have been reused
                let _ = killpg(group.pid, Signal::SIGKILL);
                let output = handle.wait().map_err(lost)?;
                group.reaped = true;
                return Err(match (late, idle) {
                    (Some(limit), _) => ProcessError::TimedOut {
                        program,
                        limit,
                        stdout: output.stdout.clone(),
                    },
                    (None, Some(limit)) => ProcessError::Idle { program, limit },
                    (None, None) => ProcessError::Interrupted { program },
                });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        group.reaped = true;
        if tail.is_some() {
            // what the program left running in its group would write into a log that nobody reads any more
            let _ = killpg(group.pid, Signal::SIGKILL);
        }
        let output = handle.into_output().map_err(lost)?;
        Ok(Finished {
            status: output.status,
            stdout: output.stdout,
            stderr: output.stderr,
            elapsed: started.elapsed(),
        })
    }
}

/// Follows a growing file and hands out its lines.
struct Tail<'a> {
    file: File,
    partial: Vec<u8>,
    each: &'a mut dyn FnMut(&str),
}

impl Tail<'_> {
    /// Longest line that is handed out in one piece: a program gone wild must not fill our memory.
    const LONGEST: usize = 1 << 20;

    /// Reads what is new; whether there was anything.
    fn drain(&mut self) -> std::io::Result<bool> {
        let mut any = false;
        let mut buffer = [0_u8; 16 * 1024];
        loop {
            let count = self.file.read(&mut buffer)?;
            let Some(mut rest) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
                return Ok(any);
            };
            any = true;
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                self.partial.extend_from_slice(&rest[..end]);
                self.emit();
                rest = &rest[end + 1..];
            }
            self.partial.extend_from_slice(rest);
            if self.partial.len() > Self::LONGEST {
                self.emit();
            }
        }
    }

    fn emit(&mut self) {
        (self.each)(&String::from_utf8_lossy(&self.partial));
        self.partial.clear();
    }

    fn finish(&mut self) {
        if !self.partial.is_empty() {
            self.emit();
        }
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

    #[test]
    fn lines_come_one_by_one_and_stay_in_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("out");
        let mut lines = Vec::new();
        let finished = Program::new("sh")
            .args(["-c", "printf 'a\\n\\377b\\nlast'; kill -SEGV $$"])
            .run_lines(&log, &mut |line| lines.push(line.to_owned()))
            .unwrap();
        assert_eq!(finished.signal(), Some(11));
        assert_eq!(lines, ["a", "\u{fffd}b", "last"]);
        assert_eq!(std::fs::read(&log).unwrap(), b"a\n\xffb\nlast");
    }

    #[test]
    fn silence_ends_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let mut lines = 0;
        let error = Program::new("sh")
            .args(["-c", "echo one; sleep 30"])
            .idle_limit(Duration::from_millis(200))
            .run_lines(&folder.path().join("out"), &mut |_| lines += 1)
            .unwrap_err();
        assert!(matches!(error, ProcessError::Idle { .. }));
        assert_eq!(lines, 1);
    }

    #[test]
    fn a_survivor_of_the_group_does_not_hold_up_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let started = Instant::now();
        Program::new("sh")
            .args(["-c", "sleep 30 & echo done"])
            .stderr_log(folder.path().join("err"))
            .run_lines(&folder.path().join("out"), &mut |_| ())
            .unwrap();
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_memory_cap_is_passed_on() {
        let finished = Program::new("sh")
            .args(["-c", "ulimit -v"])
            .memory_cap(512 << 20)
            .run()
            .unwrap();
        assert_eq!(finished.text().trim(), "524288");
    }
}
