//! Compares two series patch by patch, by what they change: line numbers and blob ids aside.
use super::diff::PatchFile;
use super::{Patch, PatchId, Series};
use serde::Serialize;
use similar::TextDiff;

/// How one patch of a series stands to that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// The same bytes.
    Identical,
    /// The same change, at other lines or with another message.
    SameChange,
    /// Another change.
    Changed,
    /// Only the first series has it.
    Removed,
    /// Only the second series has it.
    Added,
}

/// One patch in two series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatchDifference {
    /// Its id.
    pub id: PatchId,
    /// How the two stand to each other.
    pub relation: Relation,
    /// How the change differs, as a diff of the two patches without their line numbers.
    pub change: String,
    /// How the commit message differs.
    pub message: String,
    /// The metadata that differs, by name.
    pub metadata: Vec<String>,
}

/// Compares two series, in the order of the second, those that it lacks last.
#[must_use]
pub fn compare(first: &Series, second: &Series) -> Vec<PatchDifference> {
    let find = |series: &'_ Series, id: &PatchId| {
        let at = series.patches.iter().position(|patch| patch.id == *id);
        at.map(|at| series.patches[at].clone())
    };
    let mut differences: Vec<_> = second
        .patches
        .iter()
        .map(|patch| match find(first, &patch.id) {
            Some(old) => both(&old, patch),
            None => alone(patch, Relation::Added),
        })
        .collect();
    let gone = first
        .patches
        .iter()
        .filter(|patch| find(second, &patch.id).is_none());
    differences.extend(gone.map(|patch| alone(patch, Relation::Removed)));
    differences
}

fn alone(patch: &Patch, relation: Relation) -> PatchDifference {
    PatchDifference {
        id: patch.id.clone(),
        relation,
        change: String::new(),
        message: String::new(),
        metadata: Vec::new(),
    }
}

fn both(old: &Patch, new: &Patch) -> PatchDifference {
    let change = difference(&old.content, &new.content);
    let message = unified(&old.message.text(), &new.message.text());
    let mut metadata = Vec::new();
    let mut note = |name: &str, differs: bool| {
        if differs {
            metadata.push(name.to_owned());
        }
    };
    note("title", old.title != new.title);
    note("why", old.why != new.why);
    note("issues", old.issues != new.issues);
    note(
        "upstream_status",
        old.upstream_status != new.upstream_status,
    );
    note("depends_on", old.depends_on != new.depends_on);
    note("proven_by", old.proven_by != new.proven_by);
    note("probe", old.probes != new.probes);
    let relation = if old.digest == new.digest {
        Relation::Identical
    } else if change.is_empty() {
        Relation::SameChange
    } else {
        Relation::Changed
    };
    PatchDifference {
        id: new.id.clone(),
        relation,
        change,
        message,
        metadata,
    }
}

/// How two patches differ in what they change, without line numbers and ids; empty where they do not.
#[must_use]
pub fn difference(old: &PatchFile, new: &PatchFile) -> String {
    unified(&essence(old), &essence(new))
}

fn unified(old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(2)
        .header("before", "after")
        .to_string()
}

fn essence(patch: &PatchFile) -> String {
    let mut text = String::new();
    for file in &patch.files {
        text.push_str(&format!("{} → {}\n", file.old, file.new));
        let mode = file.new_mode.filter(|new| file.old_mode != Some(*new));
        if let Some(mode) = mode {
            text.push_str(&format!("mode {:o}\n", mode.number()));
        }
        for hunk in &file.hunks {
            text.push_str("@@\n");
            text.push_str(&String::from_utf8_lossy(&hunk.emit_lines()));
        }
    }
    text
}
