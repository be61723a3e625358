//! `umpatch show`: a series, or one patch of it, as it is kept.
use super::{Console, Global, Outcome};
use crate::engine::{self, EngineError};
use crate::exit::Exit;
use crate::series::diff::{FileChange, LineKind};
use crate::series::manifest::UpstreamStatus;
use crate::series::{Patch, PatchId, Series, TreePath};
use serde::Serialize;

/// Show a series, or one patch with its reasons, its message and its diff
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch show                         the built-in series
  umpatch show pending-free            one patch: why, dependencies, proof, message, diff
  umpatch show pending-free --mail     the patch file alone, as `git am` takes it
  umpatch show --series ./rival --json")]
pub(super) struct Arguments {
    /// The patch; all of them in short when left out
    #[arg(value_name = "ID")]
    patch: Option<PatchId>,
    /// A folder, or a built-in series or generation
    #[arg(
        long,
        value_name = "SERIES",
        default_value = "classic",
        alias = "patches-from"
    )]
    series: String,
    /// Print the patch file byte for byte, and nothing else
    #[arg(long, requires = "patch")]
    mail: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    series: &'a str,
    generation: Option<&'a str>,
    evidence: Option<&'a str>,
    patches: Vec<Shown<'a>>,
}

#[derive(Serialize)]
struct Shown<'a> {
    id: &'a PatchId,
    title: &'a str,
    why: &'a str,
    issues: &'a [String],
    upstream_status: &'a UpstreamStatus,
    depends_on: &'a [PatchId],
    proven_by: &'a [String],
    file: &'a str,
    digest: &'a str,
    author: String,
    message: String,
    files: Vec<Touched<'a>>,
    diff: String,
}

#[derive(Serialize)]
struct Touched<'a> {
    path: &'a TreePath,
    added: usize,
    removed: usize,
}

/// Runs the command.
pub(super) fn run(_global: &Global, own: Arguments, console: &Console) -> Outcome {
    let series = engine::named(&own.series)?;
    let patches: Vec<&Patch> = match &own.patch {
        Some(id) => vec![series.patch(id).map_err(EngineError::from)?],
        None => series.patches.iter().collect(),
    };
    if own.mail {
        let bytes: Vec<u8> = patches
            .iter()
            .flat_map(|patch| patch.content.emit())
            .collect();
        console.bytes(&bytes);
        return Ok(Exit::Verified);
    }
    let document = Document {
        schema: "umpatch.show/1",
        series: series.name.as_str(),
        generation: series.generation.as_deref(),
        evidence: series.evidence.as_deref(),
        patches: patches.iter().map(|patch| shown(patch)).collect(),
    };
    let text = match own.patch {
        Some(_) => patches.iter().map(|patch| whole(patch)).collect(),
        None => overview(&series, &patches),
    };
    console.result(&document, &text);
    Ok(Exit::Verified)
}

fn shown(patch: &Patch) -> Shown<'_> {
    Shown {
        id: &patch.id,
        title: &patch.title,
        why: &patch.why,
        issues: &patch.issues,
        upstream_status: &patch.upstream_status,
        depends_on: &patch.depends_on,
        proven_by: &patch.proven_by,
        file: &patch.file,
        digest: &patch.digest,
        author: format!("{} <{}>", patch.message.name, patch.message.email),
        message: patch.message.text(),
        files: patch.content.files.iter().map(touched).collect(),
        diff: diff(patch),
    }
}

fn touched(change: &FileChange) -> Touched<'_> {
    let count = |kind| {
        let lines = change.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.filter(|line| line.kind == kind).count()
    };
    Touched {
        path: &change.new,
        added: count(LineKind::Added),
        removed: count(LineKind::Removed),
    }
}

fn diff(patch: &Patch) -> String {
    let mut bare = patch.content.clone();
    bare.preamble.clear();
    bare.trailer.clear();
    String::from_utf8_lossy(&bare.emit()).into_owned()
}

fn overview(series: &Series, patches: &[&Patch]) -> String {
    let mut lines = vec![format!("series {}", series.name)];
    if let Some(generation) = &series.generation {
        lines.push(format!("for the {generation} generation of the allocator"));
    }
    if let Some(evidence) = &series.evidence {
        lines.push(format!("evidence: {evidence}"));
    }
    for patch in patches {
        lines.push(format!("  {:<20} {}", patch.id, patch.title));
        let needs: Vec<&str> = patch.depends_on.iter().map(PatchId::as_str).collect();
        if !needs.is_empty() {
            lines.push(format!("{:<23}after {}", "", needs.join(", ")));
        }
        for file in patch.content.files.iter().map(touched) {
            lines.push(format!(
                "{:<23}{} +{} -{}",
                "", file.path, file.added, file.removed
            ));
        }
    }
    lines.join("\n")
}

fn whole(patch: &Patch) -> String {
    let mut lines = vec![
        format!("{}: {}", patch.id, patch.title),
        format!("upstream: {}", patch.upstream_status),
    ];
    let mut list = |name: &str, values: Vec<&str>| {
        if !values.is_empty() {
            lines.push(format!("{name}: {}", values.join(", ")));
        }
    };
    list("issues", patch.issues.iter().map(String::as_str).collect());
    list(
        "depends on",
        patch.depends_on.iter().map(PatchId::as_str).collect(),
    );
    list(
        "proven by",
        patch.proven_by.iter().map(String::as_str).collect(),
    );
    if !patch.why.is_empty() {
        lines.push(String::new());
        lines.push(patch.why.clone());
    }
    lines.push(String::new());
    lines.push(patch.message.text());
    lines.push(diff(patch));
    lines.join("\n")
}
