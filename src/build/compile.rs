//! Compiles what the cache does not have, in parallel. An object appears under its name only when it is whole.
use super::BuildError;
use super::job::Job;
use super::place::Place;
use crate::progress::Progress;
use crate::run::process::Program;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Compiles the missing objects; returns how many there were.
pub(super) fn all(
    jobs: &[Job],
    place: &Place,
    logs: &Path,
    progress: &dyn Progress,
) -> Result<usize, BuildError> {
    let mut missing: Vec<&Job> = jobs.iter().filter(|job| !job.object.is_file()).collect();
    // the long ones first, so that no core idles at the end
    missing.sort_by_key(|job| std::cmp::Reverse(job.weight));
    let total = missing.len();
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let first_error = Mutex::new(None);
    progress.advance(0, total as u64);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(total) {
            scope.spawn(|| {
                while !failed.load(Ordering::SeqCst) {
                    let Some(job) = missing.get(next.fetch_add(1, Ordering::SeqCst)) else {
                        return;
                    };
                    if let Err(error) = one(job, place, logs) {
                        failed.store(true, Ordering::SeqCst);
                        if let Ok(mut first) = first_error.lock() {
                            first.get_or_insert(error);
                        }
                        return;
                    }
                    let finished = done.fetch_add(1, Ordering::SeqCst) + 1;
                    progress.advance(finished as u64, total as u64);
                }
            });
        }
    });
    match first_error.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(total),
    }
}

fn one(job: &Job, place: &Place, logs: &Path) -> Result<(), BuildError> {
    let folder = job.object.parent().unwrap_or(logs);
    std::fs::create_dir_all(folder).map_err(BuildError::write(folder))?;
    let beside = tempfile::Builder::new()
        .prefix(".compiling-")
        .suffix(".o")
        .tempfile_in(folder)
        .map_err(BuildError::write(folder))?;
    let finished = Program::new(&job.compiler)
        .args(&job.arguments)
        .arg("-c")
        .arg(&job.source)
        .arg("-o")
        .arg(beside.path())
        .run()?;
    if !finished.status.success() {
        let said = String::from_utf8_lossy(&finished.stderr);
        let log = write_log(logs, &job.key, &said)?;
        let (location, message) = first_error(&said, place).unwrap_or_else(|| {
            let last = said.lines().last().unwrap_or("the compiler said nothing");
            (job.name.clone(), last.to_owned())
        });
        return Err(BuildError::Compile {
            source_file: job.name.clone(),
            location,
            message,
            log,
        });
    }
    beside
        .persist(&job.object)
        .map_err(|error| BuildError::Write {
            path: job.object.clone(),
            source: error.error,
        })?;
    Ok(())
}

/// Keeps all that a tool said.
pub(super) fn write_log(
    logs: &Path,
    name: &str,
    said: &str,
) -> Result<std::path::PathBuf, BuildError> {
    std::fs::create_dir_all(logs).map_err(BuildError::write(logs))?;
    let log = logs.join(format!("{name}.log"));
    std::fs::write(&log, said).map_err(BuildError::write(&log))?;
    Ok(log)
}

/// Where and what a compiler's error is.
pub(super) struct Location<'s> {
    pub file: &'s str,
    pub line: usize,
    pub column: usize,
    pub message: &'s str,
}

/// The error that a line of a compiler's output names.
pub(super) fn location_of(line: &str) -> Option<Location<'_>> {
    let (before, message) = line
        .split_once(" error: ")
        .or_else(|| line.split_once(" fatal error: "))?;
    let mut parts = before.trim_end_matches(':').rsplitn(3, ':');
    let (column, row, file) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Location {
        file,
        line: row.parse().ok()?,
        column: column.parse().ok()?,
        message,
    })
}

/// File and line, and message, of the first error that a compiler named.
fn first_error(said: &str, place: &Place) -> Option<(String, String)> {
    said.lines().find_map(|line| {
        let at = location_of(line)?;
        let file = place.short(Path::new(at.file));
        Some((format!("{file}:{}", at.line), at.message.to_owned()))
    })
}
