//! Where and why a patch does not apply, so that a person can act on it.
use super::matching::{Mismatch, MismatchReason, lines};
use crate::series::diff::Direction;
use crate::series::{Patch, PatchId, TreePath};
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;

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
    /// Whether the patch was left in the work tree, as far as it fits, to be finished by a person.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_stopped: bool,
    /// The files in which conflict markers were left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<TreePath>,
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
    /// The whole place as the patch's author had it before the change, where a hunk is the matter.
    pub base: Vec<String>,
    /// The place as the tree has it.
    pub ours: Vec<String>,
    /// The place as the patch would make it.
    pub theirs: Vec<String>,
    /// The commits that changed the place since, newest first, where the history is there.
    pub blame: Vec<Blamed>,
    /// What the tree's history is asked with.
    #[serde(skip)]
    pub(super) seen: Option<Seen>,
}

/// A commit that changed the lines of a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Blamed {
    /// Its id.
    pub commit: String,
    /// Its first line.
    pub summary: String,
    /// Who made it.
    pub author: String,
    /// When, as `YYYY-MM-DD`.
    pub date: String,
}

/// The content in which a hunk did not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) bytes: Arc<[u8]>,
    pub(super) region: Range<usize>,
    /// The version that the patch was made for, by its blob's id or the beginning of it.
    pub(super) made_for: Option<String>,
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
            if place.ours.is_empty() && place.theirs.is_empty() {
                hints.extend(quote("expected", &place.expected));
                hints.extend(quote("found   ", &place.actual));
            } else {
                let [tree, base, patch] = without_shared([&place.ours, &place.base, &place.theirs]);
                hints.extend(quote("tree ", tree));
                hints.extend(quote("base ", base));
                hints.extend(quote("patch", patch));
            }
            for blamed in &place.blame {
                hints.push(format!(
                    "  changed by {} {} ({}, {})",
                    blamed.commit.get(..12).unwrap_or(&blamed.commit),
                    blamed.summary,
                    blamed.author,
                    blamed.date
                ));
            }
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
    pub(super) fn of_mismatch(
        patch: &Patch,
        file: usize,
        mismatch: &Mismatch,
        bytes: &Arc<[u8]>,
        direction: Direction,
    ) -> Self {
        let change = &patch.content.files[file];
        let hunk = &change.hunks[mismatch.hunk];
        let content = lines(bytes);
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
            base: quoted(hunk.before(direction)),
            ours: quoted(
                content
                    .get(mismatch.region.clone())
                    .unwrap_or_default()
                    .iter()
                    .copied(),
            ),
            theirs: quoted(hunk.after(direction)),
            blame: Vec::new(),
            seen: Some(Seen {
                bytes: Arc::clone(bytes),
                region: mismatch.region.clone(),
                made_for: change.old_blob.clone(),
            }),
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
            base: Vec::new(),
            ours: Vec::new(),
            theirs: Vec::new(),
            blame: Vec::new(),
            seen: None,
        }
    }
}

/// The three sides without the lines that begin or end all of them, but for one beside what differs.
fn without_shared(sides: [&[String]; 3]) -> [&[String]; 3] {
    let [a, b, c] = sides;
    let shortest = a.len().min(b.len()).min(c.len());
    let first = (0..shortest)
        .take_while(|&at| a[at] == b[at] && b[at] == c[at])
        .count();
    let back = |side: &[String], at: usize| side[side.len() - 1 - at].clone();
    let last = (0..shortest - first)
        .take_while(|&at| back(a, at) == back(b, at) && back(b, at) == back(c, at))
        .count();
    let (first, last) = (first.saturating_sub(1), last.saturating_sub(1));
    sides.map(|side| &side[first..side.len() - last])
}

/// How many lines of a side are shown.
const MOST_LINES: usize = 40;

fn quoted<'l>(lines: impl Iterator<Item = &'l [u8]>) -> Vec<String> {
    let text = |line: &[u8]| {
        let text = String::from_utf8_lossy(line);
        text.trim_end_matches('\n').to_owned()
    };
    lines.take(MOST_LINES).map(text).collect()
}
