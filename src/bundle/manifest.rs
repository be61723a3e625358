//! `bundle.json`: what a bundle holds and what it rests on, for programs.
use super::Evidence;
use crate::engine::{Branch, Proposal};
use crate::report::document::{Trust, Verdict};
use serde::{Deserialize, Serialize};

/// The schema name of [`Manifest`].
pub const SCHEMA: &str = "umpatch.pull-requests/1";
/// Its file.
pub const MANIFEST: &str = "bundle.json";

/// What a bundle holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// The PyTorch version that it is for.
    pub version: Option<String>,
    /// The series.
    pub series: String,
    /// The commit that the mails are for.
    pub base: String,
    /// Its tree.
    pub base_tree: String,
    /// The run that it rests on.
    pub run: Run,
    /// The pull requests, in order.
    pub patches: Vec<Entry>,
    /// Patches that the tree has already.
    pub landed: Vec<String>,
    /// The branch with all of them on top of each other.
    pub stack: String,
}

/// The run that a bundle rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its folder's own name.
    pub name: String,
    /// The key of its fingerprint.
    pub fingerprint: String,
    /// When it began.
    pub started: String,
    /// What kind of device gave the figures.
    pub trust: Trust,
    /// What it concluded.
    pub verdict: Verdict,
    /// The command that repeats it.
    pub command: String,
}

/// One pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The patch.
    pub id: String,
    /// The title.
    pub title: String,
    /// The mail's file.
    pub mail: String,
    /// The body's file.
    pub body: String,
    /// The branch.
    pub branch: String,
    /// The commit on all patches before it.
    pub commit: String,
    /// Its tree.
    pub tree: String,
    /// The branch's commit, on those alone that it needs.
    pub tip: String,
    /// Its tree.
    pub tip_tree: String,
    /// The patches that it needs, in order.
    pub needs: Vec<String>,
}

impl Manifest {
    /// Of a proposal and its evidence.
    pub(super) fn of(
        proposal: &Proposal,
        evidence: &Evidence,
        patches: Vec<Entry>,
        stack: &Branch,
    ) -> Self {
        let report = &evidence.report;
        Self {
            schema: SCHEMA.to_owned(),
            version: proposal.version.clone(),
            series: proposal.series.name.to_string(),
            base: proposal.base.clone(),
            base_tree: proposal.base_tree.clone(),
            run: Run {
                name: evidence.name.clone(),
                fingerprint: report.fingerprint.key.clone(),
                started: report.started.clone(),
                trust: report.trust,
                verdict: report.verdict,
                command: evidence.command(proposal),
            },
            patches,
            landed: proposal.landed.iter().map(ToString::to_string).collect(),
            stack: stack.name.clone(),
        }
    }

    /// As the file holds it.
    pub(super) fn emit(&self) -> Vec<u8> {
        // a document of texts and lists can always be written
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }

    /// The name of its folder and archive.
    #[must_use]
    pub fn name(&self) -> String {
        format!(
            "{}-{}",
            self.series,
            self.version.as_deref().unwrap_or("unknown")
        )
    }
}
