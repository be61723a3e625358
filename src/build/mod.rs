//! Compiles the tree for a device: from a recipe, the tree's own sources and the harness to a program or a library, with
//! every object kept by the content that made it.
mod compile;
mod complaints;
mod error;
mod includes;
mod job;
mod linking;
mod package;
mod pattern;
mod place;
pub mod pytorch;
mod recipe;
mod staging;

pub use complaints::{Complaint, complaints};
pub use error::BuildError;
pub use recipe::Flavour;

use crate::engine::SourceSet;
use crate::paths;
use crate::progress::Progress;
use crate::provision::torch::Torch;
use crate::share::{self, ShareError};
use place::Place;
use recipe::Recipe;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What to build, from what, with what.
#[derive(Debug)]
pub struct BuildRequest<'a> {
    /// The folder that holds `recipe.toml` and the sources that it names.
    pub harness: &'a Path,
    /// A folder with the tree's files as the arm has them.
    pub tree: &'a Path,
    /// The torch package to compile against and to link with.
    pub torch: &'a Torch,
    /// Plain, or with a sanitizer.
    pub flavour: Flavour,
    /// A name for progress and messages, for example `stock`.
    pub name: &'a str,
}

/// What a build made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The program or library.
    pub program: PathBuf,
    /// The folder that holds it, and what the recipe puts beside it.
    pub folder: PathBuf,
    /// The identity of all that went into it.
    pub key: String,
    /// What was rewritten in the tree's sources on the way, one line each.
    pub notes: Vec<String>,
    /// Objects that were compiled now.
    pub compiled: usize,
    /// Objects that an earlier build, or another arm's, had already made.
    pub reused: usize,
    /// How long it took.
    pub elapsed: Duration,
}

/// What can be made of a tree over the simulated Metal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The program that runs the native scenarios.
    Driver,
    /// The Python package that gives a stock torch wheel the device `mps`.
    MpsDevice,
    /// The program that tries schedules.
    Explorer,
}

impl Target {
    /// The folder of the harness that holds its recipe.
    ///
    /// # Errors
    /// When umpatch's own files are missing.
    pub fn harness(self) -> Result<PathBuf, ShareError> {
        let name = match self {
            Self::Driver => "metal",
            Self::MpsDevice => "device",
            Self::Explorer => "explore",
        };
        Ok(share::root()?.join("harness").join(name))
    }
}

/// Builds a target for one arm.
///
/// # Errors
/// As [`build`], and when the arm's files cannot be read.
pub fn build_arm(
    target: Target,
    sources: &SourceSet,
    torch: &Torch,
    flavour: Flavour,
    name: &str,
    progress: &dyn Progress,
) -> Result<Built, BuildError> {
    let harness = target.harness()?;
    let harness = harness.as_path();
    let recipe = Recipe::read(harness)?;
    let builds = paths::cache().join("builds");
    std::fs::create_dir_all(&builds).map_err(BuildError::write(&builds))?;
    let export = tempfile::tempdir_in(&builds).map_err(BuildError::write(&builds))?;
    let wanted = recipe.tree_paths();
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    sources.export(&wanted, export.path())?;
    let request = BuildRequest {
        harness,
        tree: export.path(),
        torch,
        flavour,
        name,
    };
    build(&request, progress)
}

/// The paths of the tree that a recipe reads.
///
/// # Errors
/// When the recipe cannot be read.
pub fn tree_paths(harness: &Path) -> Result<Vec<String>, BuildError> {
    Ok(Recipe::read(harness)?.tree_paths())
}

/// Builds a recipe: stages and rewrites the tree's sources, compiles what no earlier build has, links.
///
/// # Errors
/// When the recipe does not fit the tree, a source does not compile, linking fails, the cache cannot be written, or the
/// user interrupts. A build that was cut off leaves only whole objects, and goes on from them the next time.
pub fn build(request: &BuildRequest<'_>, progress: &dyn Progress) -> Result<Built, BuildError> {
    build_in(&paths::cache(), request, progress)
}

fn build_in(
    cache: &Path,
    request: &BuildRequest<'_>,
    progress: &dyn Progress,
) -> Result<Built, BuildError> {
    let started = Instant::now();
    let recipe = Recipe::read(request.harness)?;
    let builds = cache.join("builds");
    let staged = staging::stage(&recipe, request.tree, &builds.join("sources"))?;
    let place = Place::new(request, &staged.folder, &recipe)?;
    let generated = staging::generate(&recipe, &place, &builds.join("generated"))?;
    let place = place.with_generated(generated);
    let jobs = job::plan(&recipe, &place, request.flavour, &cache.join("objects"))?;
    progress.stage(&format!("compile {}", request.name));
    let compiled = compile::all(&jobs, &place, &builds.join("logs"), progress)?;
    let beside = package::files(&recipe, &place)?;
    let linked = linking::link(&recipe, &place, request.flavour, &jobs, &beside, &builds)?;
    Ok(Built {
        program: linked.program,
        folder: linked.folder,
        key: linked.key,
        notes: staged.rewrites,
        compiled,
        reused: jobs.len() - compiled,
        elapsed: started.elapsed(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
