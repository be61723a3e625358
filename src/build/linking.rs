//! Links the objects into a program or library, in a folder named by all that went into it.
use super::BuildError;
use super::compile::write_log;
use super::job::Job;
use super::place::Place;
use super::recipe::{Flavour, Recipe};
use crate::run::process::Program;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The program.
#[derive(Debug)]
pub(super) struct Linked {
    pub program: PathBuf,
    pub key: String,
}

/// Links, unless the same was linked before.
pub(super) fn link(
    recipe: &Recipe,
    place: &Place,
    flavour: Flavour,
    jobs: &[Job],
    builds: &Path,
) -> Result<Linked, BuildError> {
    let flavoured = recipe.flavour.get(flavour.name()).map(|flags| &flags.link);
    let flags = place.expand_all(flavoured.into_iter().flatten().chain(&recipe.link.flags))?;
    let mut hasher = Sha256::new();
    for text in jobs
        .iter()
        .map(|job| &job.key)
        .chain(&flags)
        .chain([&recipe.output.name, &place.versions])
    {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    let key = hex::encode(&hasher.finalize()[..12]);
    let folder = builds.join(&key);
    let program = folder.join(&recipe.output.name);
    if program.is_file() {
        return Ok(Linked { program, key });
    }
    std::fs::create_dir_all(&folder).map_err(BuildError::write(&folder))?;
    let beside = folder.join(format!(".linking-{}", std::process::id()));
    let finished = Program::new(&recipe.compiler.program)
        .args(jobs.iter().map(|job| &job.object))
        .args(&flags)
        .arg("-o")
        .arg(&beside)
        .run()?;
    if !finished.status.success() {
        let said = String::from_utf8_lossy(&finished.stderr);
        let log = write_log(&builds.join("logs"), &key, &said)?;
        return Err(BuildError::Link {
            name: recipe.output.name.clone(),
            message: said.lines().next().unwrap_or_default().to_owned(),
            log,
        });
    }
    std::fs::rename(&beside, &program).map_err(BuildError::write(&program))?;
    Ok(Linked { program, key })
}
