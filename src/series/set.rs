//! A series as it is used: its patches, parsed, each with its metadata, in order.
use super::diff::PatchFile;
use super::mail::{MailError, Message};
use super::manifest::{Expected, PatchEntry, Probe, PullRequestText, UpstreamStatus};
use super::parse::{ParseError, parse};
use super::{PatchId, SeriesName, TreePath};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Patches in the order in which they are applied.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name.
    pub name: SeriesName,
    /// The generation of the allocator that it is for, where it says so.
    pub generation: Option<String>,
    /// On what evidence the claim rests that it fits.
    pub evidence: Option<String>,
    /// For controls and mutants: what `verify` has to find.
    pub expected: Option<Expected>,
    /// The patches.
    pub patches: Vec<Patch>,
}

/// A patch with its metadata.
#[derive(Debug, Clone)]
pub struct Patch {
    /// Its id.
    pub id: PatchId,
    /// Its file, as messages name it.
    pub file: String,
    /// Where the file was read from.
    pub location: PathBuf,
    /// A line for people.
    pub title: String,
    /// A paragraph for people.
    pub why: String,
    /// The issues that it closes or touches.
    pub issues: Vec<String>,
    /// How it stands upstream.
    pub upstream_status: UpstreamStatus,
    /// The patches that have to come before it.
    pub depends_on: Vec<PatchId>,
    /// The scenarios and tests that prove it.
    pub proven_by: Vec<String>,
    /// Checks on the code's shape.
    pub probes: Vec<Probe>,
    /// What its pull request says.
    pub pull_request: Option<PullRequestText>,
    /// What it changes.
    pub content: PatchFile,
    /// Author, date and commit message.
    pub message: Message,
    /// SHA-256 of the patch file, in hex.
    pub digest: String,
}

/// Why a patch file or a series cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// A patch that cannot be parsed.
    #[error("{file}:{}: {}", .source.line, .source.reason)]
    Parse {
        /// The patch file.
        file: String,
        /// Where and why; its text is part of this error's.
        source: ParseError,
    },
    /// A mail that cannot be used.
    #[error("{file}")]
    Mail {
        /// The patch file.
        file: String,
        /// Why.
        source: MailError,
    },
    /// Two patches with one id.
    #[error("two patches of the series have the id {0}")]
    Twice(PatchId),
    /// A dependency that does not come before.
    #[error("patch {patch} depends on {needs}, which does not come before it in the series")]
    Order {
        /// The patch.
        patch: PatchId,
        /// What it depends on.
        needs: PatchId,
    },
    /// An id that is not in the series.
    #[error("the series {series} has no patch {patch} (it has: {known})")]
    Unknown {
        /// The series.
        series: SeriesName,
        /// The id asked for.
        patch: PatchId,
        /// The ids that it has.
        known: String,
    },
    /// A selection that leaves out a dependency.
    #[error("patch {patch} depends on {needs}, which the selection leaves out")]
    Incomplete {
        /// The patch.
        patch: PatchId,
        /// What is left out.
        needs: PatchId,
    },
    /// No patches.
    #[error("the series {0} has no patches")]
    Empty(SeriesName),
}

/// Which patches of a series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    #[default]
    All,
    /// These alone, in the order of the series.
    Only(Vec<PatchId>),
    /// From the first up to and including this one.
    Until(PatchId),
}

impl Patch {
    /// A patch from its file and what the manifest says of it.
    ///
    /// # Errors
    /// When the file cannot be parsed.
    pub fn new(entry: PatchEntry, location: &Path, bytes: &[u8]) -> Result<Self, SeriesError> {
        let file = shown(location);
        let content = parse(bytes).map_err(|source| SeriesError::Parse {
            file: file.clone(),
            source,
        })?;
        let mail =
            Message::from_preamble(&content.preamble).map_err(|source| SeriesError::Mail {
                file: file.clone(),
                source,
            })?;
        let title = entry
            .title
            .or_else(|| mail.as_ref().map(|m| m.subject.clone()));
        let title = title.unwrap_or_else(|| entry.id.to_string());
        let why = entry.why.unwrap_or_default();
        let message = mail.unwrap_or_else(|| Message::plain(&title, &why));
        Ok(Self {
            id: entry.id,
            file,
            location: location.to_owned(),
            title,
            why,
            issues: entry.issues,
            upstream_status: entry.upstream_status,
            depends_on: entry.depends_on,
            proven_by: entry.proven_by,
            probes: entry.probe,
            pull_request: entry.pull_request,
            content,
            message,
            digest: hex::encode(Sha256::digest(bytes)),
        })
    }
}

/// A patch file as messages name it: the folder's own name and the file's.
fn shown(path: &Path) -> String {
    let parts: Vec<_> = path
        .iter()
        .rev()
        .take(2)
        .map(|part| part.to_string_lossy())
        .collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

impl Series {
    /// Checks that ids are unique and dependencies come first.
    ///
    /// # Errors
    /// When they are not.
    pub fn checked(self) -> Result<Self, SeriesError> {
        if self.patches.is_empty() {
            return Err(SeriesError::Empty(self.name));
        }
        for (index, patch) in self.patches.iter().enumerate() {
            let before = &self.patches[..index];
            let known = |id: &PatchId| before.iter().any(|earlier| earlier.id == *id);
            if known(&patch.id) {
                return Err(SeriesError::Twice(patch.id.clone()));
            }
            if let Some(needs) = patch.depends_on.iter().find(|id| !known(id)) {
                return Err(SeriesError::Order {
                    patch: patch.id.clone(),
                    needs: needs.clone(),
                });
            }
        }
        Ok(self)
    }

    /// The patch of an id.
    ///
    /// # Errors
    /// When the series has none.
    pub fn patch(&self, id: &PatchId) -> Result<&Patch, SeriesError> {
        let found = self.patches.iter().find(|patch| patch.id == *id);
        found.ok_or_else(|| SeriesError::Unknown {
            series: self.name.clone(),
            patch: id.clone(),
            known: self.ids(),
        })
    }

    /// The selected patches, in the order of the series.
    ///
    /// # Errors
    /// When an id is not in the series, or a selected patch depends on one that is not selected.
    pub fn select(&self, selection: &Selection) -> Result<Vec<&Patch>, SeriesError> {
        let find = |id: &PatchId| {
            let position = self.patches.iter().position(|patch| patch.id == *id);
            position.ok_or_else(|| SeriesError::Unknown {
                series: self.name.clone(),
                patch: id.clone(),
                known: self.ids(),
            })
        };
        let chosen: Vec<&Patch> = match selection {
            Selection::All => self.patches.iter().collect(),
            Selection::Until(id) => self.patches[..=find(id)?].iter().collect(),
            Selection::Only(ids) => {
                for id in ids {
                    find(id)?;
                }
                let chosen = |patch: &&Patch| ids.contains(&patch.id);
                self.patches.iter().filter(chosen).collect()
            }
        };
        for patch in &chosen {
            let left_out = |id: &&PatchId| !chosen.iter().any(|other| other.id == **id);
            if let Some(needs) = patch.depends_on.iter().find(left_out) {
                return Err(SeriesError::Incomplete {
                    patch: patch.id.clone(),
                    needs: needs.clone(),
                });
            }
        }
        Ok(chosen)
    }

    /// The files that the patches touch, sorted.
    #[must_use]
    pub fn paths(&self) -> Vec<TreePath> {
        let mut paths: Vec<_> = self
            .patches
            .iter()
            .flat_map(|p| p.content.paths())
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }

    fn ids(&self) -> String {
        let ids: Vec<_> = self.patches.iter().map(|patch| patch.id.as_str()).collect();
        ids.join(", ")
    }
}
