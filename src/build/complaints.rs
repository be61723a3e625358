//! What the compiler has against sources, all of it, without making an object.
use super::compile::location_of;
use super::job::Job;
use super::place::Place;
use super::{BuildError, BuildRequest, recipe::Recipe, staging};
use crate::paths;
use crate::progress::Progress;
use crate::run::process::Program;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// One error of the compiler.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complaint {
    /// The file, relative to the tree or the harness.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in bytes, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// All errors of the sources that no earlier build has an object of; none when all compile.
///
/// # Errors
/// When the recipe does not fit the tree, the compiler cannot be run, or the user interrupts.
pub fn complaints(
    request: &BuildRequest<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Complaint>, BuildError> {
    let cache = paths::cache();
    let builds = cache.join("builds");
    let recipe = Recipe::read(request.harness)?;
    let staged = staging::stage(&recipe, request.tree, &builds.join("sources"))?;
    let place = Place::new(request, &staged.folder, &recipe)?;
    let generated = staging::generate(&recipe, &place, &builds.join("generated"))?;
    let place = place.with_generated(generated);
    let mut jobs = super::job::plan(&recipe, &place, request.flavour, &cache.join("objects"))?;
    jobs.retain(|job| !job.object.is_file());
    jobs.sort_by_key(|job| std::cmp::Reverse(job.weight));
    progress.stage(&format!("check {}", request.name));
    let mut all = all(&jobs, &place, progress)?;
    all.sort();
    // a header is compiled with each source that includes it
    all.dedup();
    Ok(all)
}

fn all(jobs: &[Job], place: &Place, progress: &dyn Progress) -> Result<Vec<Complaint>, BuildError> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let found: Mutex<Result<Vec<Complaint>, BuildError>> = Mutex::new(Ok(Vec::new()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(jobs.len()) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let own = one(job, place);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    match (own, found.as_mut()) {
                        (Ok(own), Ok(found)) => found.extend(own),
                        (Err(error), Ok(_)) => {
                            next.store(jobs.len(), Ordering::SeqCst);
                            *found = Err(error);
                        }
                        _ => {}
                    }
                    let finished = done.fetch_add(1, Ordering::SeqCst) + 1;
                    progress.advance(finished as u64, jobs.len() as u64);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn one(job: &Job, place: &Place) -> Result<Vec<Complaint>, BuildError> {
    let finished = Program::new(&job.compiler)
        .args(&job.arguments)
        .args(["-fsyntax-only", "-ferror-limit=0", "-w"])
        .arg(&job.source)
        .run()?;
    if finished.status.success() {
        return Ok(Vec::new());
    }
    let said = String::from_utf8_lossy(&finished.stderr);
    let named: Vec<Complaint> = said
        .lines()
        .filter_map(location_of)
        .map(|at| Complaint {
            file: place.short(&PathBuf::from(at.file)),
            line: at.line,
            column: at.column,
            message: at.message.to_owned(),
        })
        .collect();
    if named.is_empty() {
        // it failed, so that something is wrong, wherever
        return Ok(vec![Complaint {
            file: job.name.clone(),
            line: 0,
            column: 0,
            message: said.lines().last().unwrap_or_default().to_owned(),
        }]);
    }
    Ok(named)
}
