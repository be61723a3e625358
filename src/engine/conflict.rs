//! Where and why a patch does not apply, so that a person can act on it.
use super::matching::{Mismatch, MismatchReason};
use crate::series::{Patch, PatchId, TreePath};
use serde::Serialize;

/// A patch that does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The patch.
    pub patch: PatchId,
    /// Every place of it that does not apply, at most one per file.
    pub places: Vec<ConflictPlace>,
    /// Patches of the series that were not selected or applied although they come before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<PatchId>,
}

/// One place where a patch does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConflictPlace {
    /// The file in the tree.
    pub path: TreePath,
    /// The line of it, from 1; none where the whole file is the matter.
    pub line: Option<usize>,
    /// The patch file and its line, as `FILE:LINE`.
    pub patch_line: String,
    /// Which hunk of the file, from 1.
    pub hunk: Option<usize>,
    /// What is wrong.
    pub reason: String,
    /// The first lines that the patch expects there.
    pub expected: Vec<String>,
    /// The lines that are there.
    pub actual: Vec<String>,
}

impl Conflict {
    /// One line that names the first place.
    #[must_use]
    pub fn headline(&self) -> String {
        let Some(place) = self.places.first() else {
            return "for no known reason".to_owned();
        };
        let line = place.line.map_or(String::new(), |line| format!(":{line}"));
        let hunk = place
            .hunk
            .map_or(String::new(), |hunk| format!(" (hunk {hunk})"));
        format!(
            "{}{line}: {}{hunk}, {}",
            place.path, place.reason, place.patch_line
        )
    }

    /// Both sides of each place.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        for place in &self.places {
            let line = place.line.map_or(String::new(), |line| format!(":{line}"));
            hints.push(format!(
                "{}{line}: {} ({})",
                place.path, place.reason, place.patch_line
            ));
            let quote = |name: &str, lines: &[String]| {
                lines
                    .iter()
                    .map(|line| format!("  {name} | {line}"))
                    .collect::<Vec<_>>()
            };
            hints.extend(quote("expected", &place.expected));
            hints.extend(quote("found   ", &place.actual));
        }
        for id in &self.missing {
            hints.push(format!(
                "patch {id} comes before it in the series and is not applied"
            ));
        }
        hints
    }
}

impl ConflictPlace {
    pub(super) fn of_mismatch(patch: &Patch, file: usize, mismatch: &Mismatch) -> Self {
        let change = &patch.content.files[file];
        let hunk = &change.hunks[mismatch.hunk];
        Self {
            path: change.old.clone(),
            line: Some(mismatch.line),
            patch_line: format!("{}:{}", patch.file, hunk.line),
            hunk: Some(mismatch.hunk + 1),
            reason: match mismatch.reason {
                MismatchReason::NotFound => "the lines that the patch changes are not there",
                MismatchReason::Ambiguous => {
                    "the lines that the patch changes are there twice, equally near"
                }
                MismatchReason::NoContext => "the hunk has no context that would say where it goes",
            }
            .to_owned(),
            expected: mismatch.expected.clone(),
            actual: mismatch.actual.clone(),
        }
    }

    pub(super) fn of_file(patch: &Patch, file: usize, path: &TreePath, reason: &str) -> Self {
        Self {
            path: path.clone(),
            line: None,
            patch_line: format!("{}:{}", patch.file, patch.content.files[file].line),
            hunk: None,
            reason: reason.to_owned(),
            expected: Vec::new(),
            actual: Vec::new(),
        }
    }
}
