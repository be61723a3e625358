//! What umpatch remembers of a tree: where the patches were applied, onto what, and how to get back. Kept beside the
//! repository's own state, never in the work tree.
use super::stop::{Ahead, Stopped};
use super::{EngineError, fault};
use crate::series::diff::Mode;
use crate::series::{PatchId, SeriesName, TreePath};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// How the patches are in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As commits on a branch of their own.
    Branch,
    /// As uncommitted changes of the work tree.
    Worktree,
}

/// Where HEAD points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadAt {
    /// At a branch, by its full name.
    Branch(String),
    /// At a commit.
    Detached(String),
}

/// A version of a file in the object database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) mode: Mode,
    /// The blob's id.
    pub(super) blob: String,
}

/// A file and its two versions; none where it does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileVersions {
    pub(super) path: TreePath,
    pub(super) before: Option<Version>,
    pub(super) after: Option<Version>,
}

/// A patch that is applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AppliedPatch {
    pub(super) id: PatchId,
    pub(super) digest: String,
    /// The commit; none where the tree had the patch already, or in the work tree's form.
    pub(super) commit: Option<String>,
}

/// The record of an applied series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) schema: String,
    pub(super) series: SeriesName,
    pub(super) form: Form,
    /// The commit that the patches were applied to; written once.
    pub(super) base: String,
    /// Where HEAD was then.
    pub(super) home: HeadAt,
    /// The branch that holds the patches, by its full name.
    pub(super) branch: Option<String>,
    /// Where the patches end: the branch's commit, or the base in the work tree's form.
    pub(super) head: String,
    /// A tree object with the patches: what the work tree's form leads to.
    pub(super) tree: String,
    pub(super) patches: Vec<AppliedPatch>,
    /// The files that differ from the base.
    pub(super) files: Vec<FileVersions>,
    /// The patch whose conflict waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stopped: Option<Stopped>,
    /// What the command that wrote this had still to do: it takes more than one step, and may be cut off between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ahead: Option<Ahead>,
}

/// The schema name of [`Record`].
pub(super) const SCHEMA: &str = "umpatch.record/1";

/// umpatch's folder under the git directory.
#[derive(Debug, Clone)]
pub(super) struct StateFolder(PathBuf);

impl StateFolder {
    pub(super) fn of(git: &Path) -> Self {
        Self(git.join("umpatch"))
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn create(&self) -> Result<(), EngineError> {
        std::fs::create_dir_all(&self.0).map_err(EngineError::storage("make", &self.0))
    }

    pub(super) fn read<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, EngineError> {
        let path = self.file(name);
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|source| EngineError::State { path, source }),
            Err(error) if super::files::is_absent(&error) => Ok(None),
            Err(source) => Err(EngineError::storage("read", path)(source)),
        }
    }

    /// Written beside and renamed: a reader sees the old or the new content.
    pub(super) fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), EngineError> {
        let path = self.file(name);
        let staged = self.file(&format!("{name}.new"));
        let bytes = serde_json::to_vec_pretty(value).map_err(|source| EngineError::State {
            path: path.clone(),
            source,
        })?;
        let write = || {
            fault::step()?;
            let mut file = std::fs::File::create(&staged)?;
            file.write_all(&bytes)?;
            fault::step()?;
            std::fs::rename(&staged, &path)
        };
        write().map_err(EngineError::storage("write", path.clone()))
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), EngineError> {
        let path = self.file(name);
        let remove = || {
            fault::step()?;
            std::fs::remove_file(&path)
        };
        match remove() {
            Err(error) if !super::files::is_absent(&error) => {
                Err(EngineError::storage("remove", path.clone())(error))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn record(&self) -> Result<Option<Record>, EngineError> {
        self.read(RECORD)
    }
}

/// The record's file.
pub(super) const RECORD: &str = "record.json";
