//! Links the objects into a program or library, in a folder named by all that went into it.
use super::BuildError;
use super::compile::write_log;
use super::job::Job;
use super::place::Place;
use super::recipe::{Flavour, Recipe};
use crate::run::process::Program;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The program.
#[derive(Debug)]
pub(super) struct Linked {
    pub program: PathBuf,
    pub folder: PathBuf,
    pub key: String,
}

/// Links, unless the same was linked before.
pub(super) fn link(
    recipe: &Recipe,
    place: &Place,
    flavour: Flavour,
    jobs: &[Job],
    beside: &BTreeMap<String, Vec<u8>>,
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
    for (path, bytes) in beside {
        hasher.update(path);
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    }
    let key = hex::encode(&hasher.finalize()[..12]);
    let folder = builds.join(&key);
    let program = folder.join(&recipe.output.name);
    let linked = Linked {
        program: program.clone(),
        folder: folder.clone(),
        key: key.clone(),
    };
    // it is written last: where it is, everything beside it is too
    if program.is_file() {
        return Ok(linked);
    }
    let own = program.parent().unwrap_or(&folder);
    std::fs::create_dir_all(own).map_err(BuildError::write(own))?;
    for (path, bytes) in beside {
        let target = folder.join(path);
        let above = target.parent().unwrap_or(&folder);
        std::fs::create_dir_all(above).map_err(BuildError::write(above))?;
        std::fs::write(&target, bytes).map_err(BuildError::write(&target))?;
    }
    let linking = folder.join(format!(".linking-{}", std::process::id()));
    let finished = Program::new(&recipe.compiler.program)
        .args(jobs.iter().map(|job| &job.object))
        .args(&flags)
        .arg("-o")
        .arg(&linking)
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
    std::fs::rename(&linking, &program).map_err(BuildError::write(&program))?;
    Ok(linked)
}
