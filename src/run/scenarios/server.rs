//! A driver that stays and forks a process for each job: for hundreds of short jobs, of which loading the program would be the
//! longest part.
use super::{Driver, Ended, Limits, ScenarioError, arguments, concluded};
use crate::run::job::{Job, JobResult};
use crate::run::process::conversation::{Conversation, wait_for_any};
use crate::run::process::{self, ProcessError};
use crate::run::scenarios::collect::Collector;
use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// The driver.
#[derive(Debug)]
pub struct Server {
    talk: Conversation,
    command: PathBuf,
}

/// Beyond a job's own limit, until the driver must have answered.
const GRACE: Duration = Duration::from_secs(30);

impl Server {
    /// Starts it; what it complains about goes into a file of the folder.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(driver: &Driver, folder: &Path) -> Result<Self, ScenarioError> {
        let talk = driver
            .program()
            .arg("--serve")
            .stderr_log(folder.join("server.err"))
            .converse()?;
        Ok(Self {
            talk,
            command: driver.command.clone(),
        })
    }

    /// Runs a job with more variables in its environment, its files below a folder that has `logs/` and `curves/`.
    ///
    /// # Errors
    /// When the driver does not answer, the folder cannot be written, or the user interrupts. The server is of no more use then.
    pub fn attempt(
        &mut self,
        folder: &Path,
        job: &Job,
        limits: Limits,
        environment: &[(&str, String)],
    ) -> Result<JobResult, ScenarioError> {
        let slug = job.slug();
        let file = |extension: &str| folder.join("logs").join(format!("{slug}.{extension}"));
        let mut fields: Vec<String> = vec![
            limits.job.as_secs().max(1).to_string(),
            file("out").display().to_string(),
            file("err").display().to_string(),
            environment.len().to_string(),
        ];
        fields.extend(
            environment
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        fields.extend(arguments(job));
        let started = Instant::now();
        let program = self.command.display().to_string();
        let lost = |source| ProcessError::Output {
            program: program.clone(),
            source,
        };
        self.talk.send(&fields.join("\t")).map_err(lost)?;
        let status = self.answer(limits.job + GRACE)?;
        let seconds = started.elapsed().as_secs_f64();
        let ended = match status.signal() {
            Some(signal) if signal == Signal::SIGALRM as i32 => {
                Ended::Stopped(format!("longer than {} s", limits.job.as_secs()))
            }
            _ => Ended::ByItself(status),
        };
        let mut collector = Collector::default();
        let output = std::fs::read(file("out")).map_err(lost)?;
        for line in String::from_utf8_lossy(&output).lines() {
            collector.line(line);
        }
        concluded(folder, &slug, &ended, &collector, seconds)
    }

    /// The status of the process that was forked.
    fn answer(&mut self, longest: Duration) -> Result<ExitStatus, ScenarioError> {
        let program = self.command.display().to_string();
        let until = Instant::now() + longest;
        loop {
            wait_for_any([&self.talk], Duration::from_millis(100));
            let lines = self.talk.lines().map_err(|source| ProcessError::Output {
                program: program.clone(),
                source,
            })?;
            if process::interrupted() {
                return Err(ProcessError::Interrupted { program }.into());
            }
            if let Some(status) = lines.iter().find_map(|line| line.parse().ok()) {
                return Ok(ExitStatus::from_raw(status));
            }
            if Instant::now() > until {
                return Err(ProcessError::TimedOut {
                    program,
                    limit: longest,
                    stdout: Vec::new(),
                }
                .into());
            }
            let ended = self.talk.status().map_err(|source| ProcessError::Output {
                program: program.clone(),
                source,
            })?;
            if let Some(status) = ended {
                return Err(ProcessError::Output {
                    program,
                    source: std::io::Error::other(format!("it ended with {status}")),
                }
                .into());
            }
        }
    }
}
