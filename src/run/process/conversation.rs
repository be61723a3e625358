//! A program that stays: commands go in line by line, answers come out line by line, and it can be ended at any time.
use super::{Group, ProcessError, Program};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// Longest answer that is kept in one piece: a program gone wild must not fill our memory.
const LONGEST_LINE: usize = 1 << 20;

/// A running program with a pipe in each direction; standard error goes to the program's log file.
///
/// Dropping it ends the program with its process group.
#[derive(Debug)]
pub struct Conversation {
    handle: duct::Handle,
    group: Group,
    input: Option<PipeWriter>,
    output: PipeReader,
    partial: Vec<u8>,
    finished: bool,
    started: Instant,
}

impl Program {
    /// Starts the program and keeps talking with it. Time limits are the caller's: see [`Conversation::end`].
    ///
    /// # Errors
    /// When it cannot be started or its log file not be written.
    pub fn converse(&self) -> Result<Conversation, ProcessError> {
        let program = self.name();
        let lost = |source| ProcessError::Output {
            program: program.clone(),
            source,
        };
        let (input_end, input) = std::io::pipe().map_err(lost)?;
        let (output, output_end) = std::io::pipe().map_err(lost)?;
        fcntl(&output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(|errno| lost(errno.into()))?;
        let expression = self
            .connected(|expression| expression.stdin_file(input_end))?
            .stdout_file(output_end);
        let started = Instant::now();
        // the expression owns our copies of the program's pipe ends: they close when it is dropped here
        let handle = expression.start().map_err(|source| ProcessError::Start {
            program: program.clone(),
            source,
        })?;
        drop(expression);
        let pid = handle.pids().first().copied().unwrap_or_default();
        Ok(Conversation {
            handle,
            group: Group {
                pid: Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX)),
                reaped: false,
            },
            input: Some(input),
            output,
            partial: Vec::new(),
            finished: false,
            started,
        })
    }
}

impl Conversation {
    /// The process id, which is the id of its process group too.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.group.pid.as_raw()
    }

    /// How long ago it was started.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Sends one line. The pipe holds 64 KiB: more than that outstanding blocks until the program reads.
    ///
    /// # Errors
    /// When the program no longer reads; [`Conversation::status`] will tell more.
    pub fn send(&mut self, line: &str) -> std::io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(format!("{line}\n").as_bytes()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// The lines that have come since the last call, without waiting.
    ///
    /// # Errors
    /// When the pipe cannot be read.
    pub fn lines(&mut self) -> std::io::Result<Vec<String>> {
        let mut lines = Vec::new();
        let mut buffer = [0_u8; 64 * 1024];
        loop {
            let count = match self.output.read(&mut buffer) {
                Ok(0) => {
                    self.finished = true;
                    return Ok(lines);
                }
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(lines),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut rest = &buffer[..count];
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                self.partial.extend_from_slice(&rest[..end]);
                lines.push(String::from_utf8_lossy(&self.partial).into_owned());
                self.partial.clear();
                rest = &rest[end + 1..];
            }
            self.partial.extend_from_slice(rest);
            if self.partial.len() > LONGEST_LINE {
                self.partial.clear();
            }
        }
    }

    /// Its status once it has ended. What it had written before can still be read with [`Conversation::lines`].
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn status(&mut self) -> std::io::Result<Option<ExitStatus>> {
        let ended = self.handle.try_wait()?.map(|output| output.status);
        if ended.is_some() && !self.group.reaped {
            self.group.reaped = true;
            // what it left running in its group must not go on beside the next program
            let _ = killpg(self.group.pid, Signal::SIGKILL);
        }
        Ok(ended)
    }

    /// Asks the program itself, not its group, to print where it is and end (SIGABRT, which Python's faulthandler answers
    /// with the stack of every thread). Follow with [`Conversation::end`].
    pub fn ask_for_stack(&self) {
        if !self.group.reaped {
            let _ = kill(self.group.pid, Signal::SIGABRT);
        }
    }

    /// Ends the program with its process group, at once.
    pub fn end(&self) {
        if !self.group.reaped {
            let _ = killpg(self.group.pid, Signal::SIGKILL);
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        if !self.group.reaped {
            self.end();
            // leaves no zombie behind; after a SIGKILL the wait is short
            let _ = self.handle.wait();
            self.group.reaped = true;
        }
    }
}

/// Waits until one of the conversations has something to say or has ended, or the time is over.
pub fn wait_for_any<'a>(
    conversations: impl IntoIterator<Item = &'a Conversation>,
    longest: Duration,
) {
    let mut descriptors: Vec<PollFd<'_>> = conversations
        .into_iter()
        .filter(|conversation| !conversation.finished)
        .map(|conversation| PollFd::new(conversation.output.as_fd(), PollFlags::POLLIN))
        .collect();
    let timeout = PollTimeout::try_from(longest).unwrap_or(PollTimeout::MAX);
    match poll(&mut descriptors, timeout) {
        // an interrupted wait is a short wait; nothing else can go wrong with open descriptors
        Ok(_) | Err(Errno::EINTR) => {}
        Err(_) => std::thread::sleep(longest.min(Duration::from_millis(10))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn next_lines(conversation: &mut Conversation) -> Vec<String> {
        for _ in 0..1000 {
            wait_for_any([&*conversation], Duration::from_millis(20));
            let lines = conversation.lines().unwrap();
            if !lines.is_empty() {
                return lines;
            }
        }
        panic!("no answer");
    }

    fn end_of(conversation: &mut Conversation) -> ExitStatus {
        for _ in 0..1000 {
            if let Some(status) = conversation.status().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end");
    }

    #[test]
    fn a_program_answers_line_by_line() {
        let mut conversation = Program::new("sh")
            .args(["-c", "while read line; do echo \"got $line\"; done"])
            .converse()
            .unwrap();
        conversation.send("one").unwrap();
        assert_eq!(next_lines(&mut conversation), ["got one"]);
        conversation.send("two").unwrap();
        assert_eq!(next_lines(&mut conversation), ["got two"]);
        assert!(conversation.status().unwrap().is_none());
        conversation.end();
        assert_eq!(end_of(&mut conversation).signal(), Some(9));
    }

    #[test]
    fn what_was_said_before_a_crash_is_heard_after_it() {
        let mut conversation = Program::new("sh")
            .args(["-c", "echo last words; kill -SEGV $$"])
            .converse()
            .unwrap();
        assert_eq!(end_of(&mut conversation).signal(), Some(11));
        assert_eq!(conversation.lines().unwrap(), ["last words"]);
    }

    #[test]
    fn a_drop_ends_the_whole_group() {
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join("alive");
        let script = format!("(sleep 1; touch {}) & echo up; wait", marker.display());
        let mut conversation = Program::new("sh").args(["-c", &script]).converse().unwrap();
        assert_eq!(next_lines(&mut conversation), ["up"]);
        drop(conversation);
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!marker.exists());
    }
}
