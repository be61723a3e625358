//! The metadata of the patch set: `series.toml` of each series, `manifest.toml` of all generations.
use super::{PatchId, SeriesName, TreePath};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The schema name of a `series.toml`.
pub const SERIES_SCHEMA: &str = "umpatch.series/1";

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not what a manifest looks like.
    #[error(transparent)]
    Syntax(#[from] toml::de::Error),
    /// Not UTF-8.
    #[error("it is not UTF-8")]
    Encoding,
    /// Another schema.
    #[error("its schema is {0:?}, this program reads {SERIES_SCHEMA:?}")]
    Schema(String),
}

/// `series.toml`: the patches of one series, in order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SeriesFile {
    /// [`SERIES_SCHEMA`].
    pub schema: String,
    /// The series' name.
    pub name: SeriesName,
    /// The generation of the allocator that it is for.
    pub generation: Option<String>,
    /// A built-in series, or a relative folder, whose patches come first.
    pub extends: Option<String>,
    /// On what evidence the claim rests that the series fits.
    pub evidence: Option<String>,
    /// For controls and mutants: what `verify` has to find.
    pub expected: Option<Expected>,
    /// The patches.
    #[serde(default)]
    pub patch: Vec<PatchEntry>,
}

impl SeriesFile {
    /// Parses a `series.toml`.
    ///
    /// # Errors
    /// With the place and the reason.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ManifestError::Encoding)?;
        let series: Self = toml::from_str(text)?;
        if series.schema != SERIES_SCHEMA {
            return Err(ManifestError::Schema(series.schema));
        }
        Ok(series)
    }
}

/// What a series is known to lead to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The verdict.
    pub verdict: String,
    /// The scenario that finds it.
    pub scenario: Option<String>,
}

/// One patch in a `series.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PatchEntry {
    /// Its id.
    pub id: PatchId,
    /// Its file, beside the `series.toml`.
    pub file: TreePath,
    /// A line for people.
    pub title: Option<String>,
    /// A paragraph for people.
    pub why: Option<String>,
    /// The issues that it closes or touches.
    #[serde(default)]
    pub issues: Vec<String>,
    /// How it stands upstream.
    #[serde(default)]
    pub upstream_status: UpstreamStatus,
    /// The patches that have to come before it.
    #[serde(default)]
    pub depends_on: Vec<PatchId>,
    /// The scenarios and tests that prove it.
    #[serde(default)]
    pub proven_by: Vec<String>,
    /// Checks on the code's shape.
    #[serde(default)]
    pub probe: Vec<Probe>,
    /// What its pull request says.
    pub pull_request: Option<PullRequestText>,
}

/// What the pull request of a patch says beside the commit message. What was measured is not part of it: that comes from
/// a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PullRequestText {
    /// Issues that merging it closes, as `owner/name#number`. Empty where none is known.
    #[serde(default)]
    pub fixes: Vec<String>,
    /// Issues that it touches without closing them.
    #[serde(default)]
    pub related: Vec<String>,
    /// Why, in one paragraph; absent: that of the patch.
    pub why: Option<String>,
    /// A minimal program that shows what it mends.
    pub reproducer: String,
    /// Its language, as Markdown names it; Python when absent.
    pub language: Option<String>,
    /// The scenarios and tests whose recorded outcomes are the reproducer's output before and after.
    pub shown_by: Vec<String>,
    /// The scenarios whose figures stand in the table.
    pub measured_by: Vec<String>,
    /// What a user of the public interface notices.
    pub backward_compatibility: String,
}

/// How a patch stands upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum UpstreamStatus {
    /// Not sent yet.
    #[default]
    Pending,
    /// Sent: where.
    Submitted(String),
    /// Merged: as which commit or pull request.
    Landed(String),
    /// Made needless by something else.
    SupersededBy(String),
}

/// A status that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no upstream status: pending, submitted URL, landed SHA or superseded-by WHAT is expected"
)]
pub struct StatusError(String);

impl TryFrom<String> for UpstreamStatus {
    type Error = StatusError;
    fn try_from(text: String) -> Result<Self, StatusError> {
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        let rest = rest.trim().to_owned();
        match (word, rest.is_empty()) {
            ("pending", true) => Ok(Self::Pending),
            ("submitted", false) => Ok(Self::Submitted(rest)),
            ("landed", false) => Ok(Self::Landed(rest)),
            ("superseded-by", false) => Ok(Self::SupersededBy(rest)),
            _ => Err(StatusError(text)),
        }
    }
}

impl From<UpstreamStatus> for String {
    fn from(status: UpstreamStatus) -> Self {
        status.to_string()
    }
}

impl fmt::Display for UpstreamStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending => formatter.write_str("pending"),
            Self::Submitted(url) => write!(formatter, "submitted {url}"),
            Self::Landed(commit) => write!(formatter, "landed {commit}"),
            Self::SupersededBy(what) => write!(formatter, "superseded-by {what}"),
        }
    }
}

/// A check on the code's shape: a text that a file holds, or lacks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Probe {
    /// The file.
    pub file: TreePath,
    /// A text that it has to hold.
    pub contains: Option<String>,
    /// A text that it must not hold.
    pub absent: Option<String>,
    /// What it means for a patch when the check holds.
    pub state: Option<ProbeState>,
}

/// What a probe that holds says of its patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeState {
    /// Upstream has it.
    Landed,
    /// Upstream has a part of it.
    PartlyLanded,
    /// Upstream has something else in its place.
    Superseded,
    /// It cannot be applied to such code.
    Unsupported,
}

impl Probe {
    /// Whether the check holds for the text of its file; a missing file holds nothing, and fails any check.
    #[must_use]
    pub fn holds(&self, text: Option<&str>) -> bool {
        let Some(text) = text else { return false };
        let contains = self
            .contains
            .as_ref()
            .is_none_or(|wanted| text.contains(wanted));
        let absent = self
            .absent
            .as_ref()
            .is_none_or(|unwanted| !text.contains(unwanted));
        contains && absent && (self.contains.is_some() || self.absent.is_some())
    }
}

/// `manifest.toml`: the generations and their series.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Manifest {
    /// The generations.
    #[serde(default)]
    pub generation: Vec<GenerationEntry>,
}

/// One generation of the allocator's code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GenerationEntry {
    /// Its name.
    pub name: String,
    /// The upstream versions in which it was seen, for people.
    #[serde(default)]
    pub versions: Versions,
    /// The folder of its series beside the manifest; absent where the set does not apply.
    pub series: Option<TreePath>,
    /// Other series for the same code, taken only when they are named.
    #[serde(default)]
    pub alternatives: Vec<TreePath>,
    /// Why the set does not apply.
    pub reason: Option<String>,
    /// On what evidence each claim about a version rests.
    #[serde(default)]
    pub target: Vec<Target>,
    /// What became of single patches in this generation.
    #[serde(default)]
    pub patch: Vec<GenerationPatch>,
}

/// Versions of upstream, and what is known of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The versions, each as `MAJOR.MINOR`.
    pub versions: Vec<String>,
    /// How far it was looked at.
    pub evidence: Basis,
    /// What was looked at, and what was seen.
    pub basis: String,
}

/// How far a version was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The series is applied to its sources and run on them by the project's tests.
    TreeVerified,
    /// The allocator's headers in the released wheels were compared.
    HeadersChecked,
    /// Its code or history was read.
    ReadOnly,
}

impl Basis {
    /// The word, as the manifest has it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::TreeVerified => "tree-verified",
            Self::HeadersChecked => "headers-checked",
            Self::ReadOnly => "read-only",
        }
    }
}

/// What became of a patch in a generation that has no series.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GenerationPatch {
    /// The patch of the first series.
    pub id: PatchId,
    /// How it stands where all probes hold.
    pub state: ProbeState,
    /// Why.
    pub reason: String,
    /// Checks on the code's shape.
    #[serde(default)]
    pub probe: Vec<Probe>,
}

impl GenerationEntry {
    /// What is known of a version, written as `2.6.0` or `2.6`.
    #[must_use]
    pub fn target(&self, version: &str) -> Option<&Target> {
        let short = |text: &str| text.split('.').take(2).collect::<Vec<_>>().join(".");
        let wanted = short(version);
        self.target
            .iter()
            .find(|target| target.versions.iter().any(|known| short(known) == wanted))
    }
}

impl Manifest {
    /// Parses a `manifest.toml`.
    ///
    /// # Errors
    /// With the place and the reason.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ManifestError::Encoding)?;
        Ok(toml::from_str(text)?)
    }
}

/// Versions as the manifest writes them: one text, or a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Versions {
    /// One text.
    One(String),
    /// A list.
    Several(Vec<String>),
}

impl Default for Versions {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_read_with_its_metadata() {
        let series = SeriesFile::parse(
            br#"
schema = "umpatch.series/1"
generation = "classic"
name = "classic"
[[patch]]
id = "pending-free"
file = "0003-pending-free.patch"
upstream_status = "submitted https://example.org/1"
depends_on = ["empty-cache"]
[[patch.probe]]
file = "aten/src/ATen/mps/MPSAllocator.mm"
contains = "x"
state = "landed"
"#,
        )
        .unwrap();
        assert_eq!(series.patch[0].probe[0].state, Some(ProbeState::Landed));
        assert_eq!(
            series.patch[0].upstream_status.to_string(),
            "submitted https://example.org/1"
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let with = |line: &str| {
            SeriesFile::parse(
                format!("schema = \"umpatch.series/1\"\nname = \"x\"\n[[patch]]\n{line}")
                    .as_bytes(),
            )
        };
        assert!(with("id = \"a\"\nfile = \"a.patch\"").is_ok());
        assert!(with("id = \"a b\"\nfile = \"a.patch\"").is_err());
        assert!(with("id = \"a\"\nfile = \"../a.patch\"").is_err());
        assert!(with("id = \"a\"\nfile = \"a.patch\"\nupstream_status = \"maybe\"").is_err());
        assert!(SeriesFile::parse(b"schema = \"other/9\"\nname = \"x\"").is_err());
        assert!(SeriesFile::parse(b"\xff").is_err());
    }

    #[test]
    fn a_probe_without_a_check_never_holds() {
        let probe = |contains: Option<&str>, absent: Option<&str>| Probe {
            file: TreePath::new("x").unwrap(),
            contains: contains.map(str::to_owned),
            absent: absent.map(str::to_owned),
            state: None,
        };
        assert!(probe(Some("a"), Some("b")).holds(Some("a c")));
        assert!(!probe(Some("a"), Some("b")).holds(Some("a b")));
        assert!(!probe(None, Some("b")).holds(None));
        assert!(!probe(None, None).holds(Some("a")));
    }
}
