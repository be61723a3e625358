//! Puts the tree's files where the compiler sees them, with the recipe's rewrites done, in a folder named by its content.
use super::BuildError;
use super::pattern;
use super::place::Place;
use super::recipe::Recipe;
use crate::run::process::Program;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The staged files.
#[derive(Debug)]
pub(super) struct Staged {
    pub folder: PathBuf,
    /// What was rewritten, one line each.
    pub rewrites: Vec<String>,
}

/// Stages what the recipe wants of `tree` below `parent`.
pub(super) fn stage(recipe: &Recipe, tree: &Path, parent: &Path) -> Result<Staged, BuildError> {
    let mut files = BTreeMap::new();
    for wanted in &recipe.tree.staged {
        for relative in pattern::files(tree, wanted) {
            let path = tree.join(&relative);
            let bytes = std::fs::read(&path).map_err(BuildError::read(&path))?;
            files.insert(relative, bytes);
        }
    }
    let rewrites = rewrite(recipe, &mut files)?;
    for source in &recipe.tree.sources {
        if !files.contains_key(source) {
            return Err(BuildError::NoSource {
                path: source.clone(),
                place: "the tree",
            });
        }
    }
    let folder = write_once(parent, &files)?;
    Ok(Staged { folder, rewrites })
}

fn rewrite(
    recipe: &Recipe,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> Result<Vec<String>, BuildError> {
    let mut notes = Vec::new();
    for rewrite in &recipe.tree.rewrite {
        let bytes = files
            .get_mut(&rewrite.file)
            .ok_or_else(|| BuildError::NoSource {
                path: rewrite.file.clone(),
                place: "the tree",
            })?;
        let text = String::from_utf8_lossy(bytes).into_owned();
        let found = text.matches(&rewrite.find).count();
        if found != rewrite.count {
            return Err(BuildError::Rewrite {
                file: rewrite.file.clone(),
                find: rewrite.find.clone(),
                expected: rewrite.count,
                found,
            });
        }
        *bytes = text.replace(&rewrite.find, &rewrite.replace).into_bytes();
        notes.push(format!(
            "{}: `{}` becomes `{}` ({} times): {}",
            rewrite.file, rewrite.find, rewrite.replace, rewrite.count, rewrite.why
        ));
    }
    Ok(notes)
}

/// Runs the recipe's generators; none where it has none.
pub(super) fn generate(
    recipe: &Recipe,
    place: &Place,
    parent: &Path,
) -> Result<Option<PathBuf>, BuildError> {
    if recipe.generate.is_empty() {
        return Ok(None);
    }
    let mut files = BTreeMap::new();
    for generator in &recipe.generate {
        let mut command = place.expand_all(&generator.command)?.into_iter();
        let finished = Program::new(command.next().unwrap_or_default())
            .args(command)
            .folder(&place.harness)
            .limit(Duration::from_secs(120))
            .run()?;
        if !finished.status.success() {
            return Err(BuildError::Generate {
                output: generator.output.clone(),
                message: finished.tail(1),
            });
        }
        files.insert(generator.output.clone(), finished.stdout);
    }
    write_once(parent, &files).map(Some)
}

/// Writes files into a folder below `parent` that is named by what they hold; where it exists, nothing is written.
fn write_once(parent: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<PathBuf, BuildError> {
    let mut hasher = Sha256::new();
    for (path, bytes) in files {
        hasher.update((path.len() as u64).to_le_bytes());
        hasher.update(path);
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    }
    let folder = parent.join(hex::encode(&hasher.finalize()[..12]));
    if folder.is_dir() {
        return Ok(folder);
    }
    std::fs::create_dir_all(parent).map_err(BuildError::write(parent))?;
    let beside = tempfile::tempdir_in(parent).map_err(BuildError::write(parent))?;
    for (path, bytes) in files {
        let target = beside.path().join(path);
        let above = target.parent().unwrap_or(parent);
        std::fs::create_dir_all(above).map_err(BuildError::write(above))?;
        std::fs::write(&target, bytes).map_err(BuildError::write(&target))?;
    }
    match std::fs::rename(beside.path(), &folder) {
        Ok(()) => {
            let _ = beside.keep();
            Ok(folder)
        }
        // another build was faster
        Err(_) if folder.is_dir() => Ok(folder),
        Err(source) => Err(BuildError::Write {
            path: folder,
            source,
        }),
    }
}
