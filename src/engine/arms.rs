//! The two arms of a comparison as sources: what a file holds at stock and with the patches, without touching the checkout.
use super::{EngineError, Selection};
use crate::series::{PatchId, SeriesName, TreePath};
use std::path::{Path, PathBuf};

/// What is compared with what.
#[derive(Debug)]
pub struct Arms {
    /// The tree that both come from.
    pub tree: Tree,
    /// The series, its patches in order.
    pub series: SeriesName,
    /// The ids of the patches that make the difference, in order.
    pub patches: Vec<PatchId>,
    /// The tree with none of the series' patches.
    pub stock: SourceSet,
    /// The tree with the selected patches.
    pub patched: SourceSet,
    /// What a reader should know, for example uncommitted changes that are not part of the comparison.
    pub notes: Vec<String>,
}

/// Which tree it is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Tree {
    /// Its folder.
    pub path: PathBuf,
    /// The PyTorch version that it states, for example `2.6.0`.
    pub version: Option<String>,
    /// The generation of the allocator, recognised by the code's shape.
    pub generation: Option<String>,
    /// The commit that is checked out; none where the folder is no git repository.
    pub commit: Option<String>,
}

/// All files of one arm, readable from several threads.
#[derive(Debug)]
pub struct SourceSet {
    root: PathBuf,
}

impl SourceSet {
    /// What a file holds, or none where the arm has no such file.
    ///
    /// # Errors
    /// When the object database or the folder cannot be read.
    pub fn read(&self, _path: &TreePath) -> Result<Option<Vec<u8>>, EngineError> {
        Err(EngineError::Incomplete)
    }

    /// The files at or below a path, sorted; an empty `under` lists all.
    ///
    /// # Errors
    /// When the object database or the folder cannot be read.
    pub fn list(&self, _under: &str) -> Result<Vec<TreePath>, EngineError> {
        Err(EngineError::Incomplete)
    }

    /// Writes the files at or below each path into a folder, keeping their relative paths. A file that already holds the
    /// same bytes is left as it is, with its time.
    ///
    /// # Errors
    /// When the arm cannot be read or the folder not written.
    pub fn export(&self, _paths: &[&str], _folder: &Path) -> Result<(), EngineError> {
        Err(EngineError::Incomplete)
    }

    /// The files in which this arm differs from the tree as it is checked out.
    #[must_use]
    pub fn changed(&self) -> Vec<TreePath> {
        Vec::new()
    }

    /// An identity of all contents, for a fingerprint: equal exactly when the two sets hold the same bytes.
    #[must_use]
    pub fn identity(&self) -> String {
        self.root.display().to_string()
    }
}

/// The two arms for a tree and a series (the built-in one for the tree's generation, or that of a folder).
///
/// Works whether the patches are applied as commits, are in the work tree uncommitted, or not applied at all, and on a
/// folder that is no git repository.
///
/// # Errors
/// When the tree is none that the series is for, or a patch does not apply.
pub fn arms(
    _tree: &Path,
    _patches_from: Option<&Path>,
    _selection: &Selection,
) -> Result<Arms, EngineError> {
    Err(EngineError::Incomplete)
}
