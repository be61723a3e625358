//! Which folder a command works on, and what allocator it holds.
use super::files::Files;
use super::{EngineError, checkout};
use crate::series::TreePath;
use crate::upstream::{self, Recognition, UpstreamError};
use std::path::{Path, PathBuf};

/// Any of these makes a folder worth looking at: a tree may be there in part only.
const MARKERS: [&str; 3] = ["aten/src/ATen", "torch/csrc", "test/test_mps.py"];

/// The top of the tree: that of `-C`, else of the checkout around the current folder, else of the tree fetched last.
///
/// # Errors
/// When there is none, or it is no PyTorch tree.
pub fn root(given: Option<&Path>) -> Result<PathBuf, EngineError> {
    let Some(path) = given else {
        let here = std::env::current_dir().map_err(EngineError::storage("read", "."))?;
        let top = top_of(&here)?;
        return match is_pytorch(&top) {
            true => Ok(top),
            false => Ok(upstream::locate(None)?.path),
        };
    };
    if !path.is_dir() {
        return Err(UpstreamError::NoSuchPath {
            path: path.to_owned(),
        }
        .into());
    }
    let top = top_of(path)?;
    if is_pytorch(&top) {
        return Ok(top);
    }
    Err(no_tree(&top))
}

pub(super) fn no_tree(path: &Path) -> EngineError {
    UpstreamError::NotPyTorch {
        reason: format!("it has none of {}", MARKERS.join(", ")),
        path: path.to_owned(),
    }
    .into()
}

pub(super) fn is_pytorch(folder: &Path) -> bool {
    MARKERS.iter().any(|marker| folder.join(marker).exists())
}

/// The folder itself where it looks like the top, else the top of the work tree that holds it.
fn top_of(folder: &Path) -> Result<PathBuf, EngineError> {
    let folder = folder
        .canonicalize()
        .map_err(EngineError::storage("read", folder))?;
    if is_pytorch(&folder) {
        return Ok(folder);
    }
    if let Some(repository) = checkout::open(&folder)? {
        return match repository.workdir() {
            Some(_) => Ok(folder),
            None => Err(EngineError::Bare(folder)),
        };
    }
    let around = git2::Repository::discover(&folder).ok();
    let top = around.and_then(|repository| repository.workdir().map(Path::to_owned));
    match top {
        Some(top) => top
            .canonicalize()
            .map_err(EngineError::storage("read", &top)),
        None => Ok(folder),
    }
}

/// The generation of the allocator in these files.
pub(super) fn recognise(files: &dyn Files) -> Recognition {
    upstream::recognise(|path| files.text(&TreePath::new(path).ok()?).ok()?)
}

/// The version that these files state.
pub(super) fn version(files: &dyn Files) -> Option<String> {
    let text = files.text(&TreePath::new("version.txt").ok()?).ok()??;
    upstream::Version::of_tree(&text).map(|version| version.to_string())
}
