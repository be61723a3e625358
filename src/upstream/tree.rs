//! The PyTorch tree that a command works on.
use super::error::UpstreamError;
use super::generation::{Generation, recognise};
use super::store;
use super::version::Version;
use git2::Repository;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A PyTorch tree on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Its root, absolute.
    pub path: PathBuf,
    /// The release that it is or leads to, such as `2.6.0`; `unknown` where the tree does not say.
    pub version: String,
    /// The commit that is checked out; absent where the tree is no git repository or has no commit yet.
    pub commit: Option<String>,
    /// The generation of its allocator, told by the work tree's code.
    pub generation: Generation,
    /// What speaks for the generation; why, where it is unsupported.
    pub reasons: Vec<String>,
}

impl Tree {
    /// Reads the tree at `root`, which must be its top folder.
    ///
    /// # Errors
    /// When it is no PyTorch tree.
    pub fn read(root: &Path) -> Result<Self, UpstreamError> {
        let path = root.canonicalize().map_err(|_| UpstreamError::NoSuchPath {
            path: root.to_owned(),
        })?;
        if let Some(reason) = why_not_pytorch(&path) {
            return Err(UpstreamError::NotPyTorch { path, reason });
        }
        let text = |relative: &str| std::fs::read_to_string(path.join(relative)).ok();
        let recognition = recognise(text);
        let version = store::record(&path)
            .and_then(|record| record.release)
            .or_else(|| Version::of_tree(&text("version.txt")?))
            .map_or_else(|| "unknown".to_owned(), |version| version.to_string());
        let commit = Repository::open(&path).ok().and_then(|repository| {
            Some(
                repository
                    .head()
                    .ok()?
                    .peel_to_commit()
                    .ok()?
                    .id()
                    .to_string(),
            )
        });
        Ok(Self {
            path,
            version,
            commit,
            generation: recognition.generation,
            reasons: recognition.reasons,
        })
    }
}

/// Finds the tree: `given` (the option `-C`), else the checkout that holds the current folder, else the tree fetched last.
///
/// # Errors
/// When there is none, or what was given is no PyTorch tree.
pub fn locate(given: Option<&Path>) -> Result<Tree, UpstreamError> {
    if let Some(path) = given {
        if !path.is_dir() {
            return Err(UpstreamError::NoSuchPath {
                path: path.to_owned(),
            });
        }
        return Tree::read(&root_of(path));
    }
    let here =
        std::env::current_dir().map_err(UpstreamError::storage("read the current folder", "."))?;
    let root = root_of(&here);
    if why_not_pytorch(&root).is_none() {
        return Tree::read(&root);
    }
    match store::last_fetched()? {
        Some(tree) => Ok(tree),
        None => Err(UpstreamError::NoTree),
    }
}

/// The top of the checkout that holds the folder, or the folder itself where it is in none.
fn root_of(folder: &Path) -> PathBuf {
    if why_not_pytorch(folder).is_none() {
        return folder.to_owned();
    }
    Repository::discover(folder)
        .ok()
        .and_then(|repository| repository.workdir().map(Path::to_owned))
        .unwrap_or_else(|| folder.to_owned())
}

/// What a folder lacks to be a PyTorch tree, if it lacks something.
pub(super) fn why_not_pytorch(root: &Path) -> Option<String> {
    ["aten/src/ATen", "torch"]
        .iter()
        .find(|folder| !root.join(folder).is_dir())
        .map(|folder| format!("it has no folder {folder}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_pytorch_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = locate(Some(folder.path())).unwrap_err();
        assert!(matches!(error, UpstreamError::NotPyTorch { .. }), "{error}");
        let missing = folder.path().join("none");
        let error = locate(Some(&missing)).unwrap_err();
        assert!(matches!(error, UpstreamError::NoSuchPath { .. }), "{error}");
    }

    #[test]
    fn a_folder_inside_a_checkout_leads_to_its_root() {
        let folder = tempfile::tempdir().unwrap();
        Repository::init(folder.path()).unwrap();
        let inner = folder.path().join("aten/src/ATen/mps");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir_all(folder.path().join("torch")).unwrap();
        std::fs::write(folder.path().join("version.txt"), "2.6.0a0\n").unwrap();
        let tree = locate(Some(&inner)).unwrap();
        assert_eq!(tree.path, folder.path().canonicalize().unwrap());
        assert_eq!(tree.version, "2.6.0");
        assert_eq!(tree.commit, None);
        assert_eq!(tree.generation, Generation::Unsupported);
    }
}
