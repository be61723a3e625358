//! `umpatch import`: a pull request's diff or mails as a rival series.
use super::{Console, Global, Outcome};
use crate::engine::{self, ImportRequest, Imported};
use crate::error::Failure;
use crate::exit::Exit;
use crate::series::SeriesName;
use serde::Serialize;
use std::io::Read;
use std::path::PathBuf;

/// Make a series of a pull request's diff or mail, to verify it against ours
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A plain diff becomes one patch; a mailbox becomes a patch for each mail, and a mail without a diff (a cover letter) is left
out. Bodies in base64 or quoted-printable are decoded. The patches keep their bytes otherwise; metadata can be added to the
new series.toml.

Examples:
  umpatch import 175818.diff --to /tmp/rival
  curl -sL URL.patch | umpatch import - --to /tmp/rival --name rival
  umpatch verify --patches-from /tmp/rival")]
pub(super) struct Arguments {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The new folder of the series
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// The series' name [default: the folder's]
    #[arg(long, value_name = "NAME")]
    name: Option<SeriesName>,
    /// The generation of the allocator that it is for, if for one alone
    #[arg(long, value_name = "NAME")]
    generation: Option<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    imported: &'a Imported,
}

/// Runs the command.
pub(super) fn run(_global: &Global, own: Arguments, console: &Console) -> Outcome {
    let mut bytes = Vec::new();
    let origin = if own.file.as_os_str() == "-" {
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
        "standard input".to_owned()
    } else {
        bytes = std::fs::read(&own.file).map_err(|error| {
            Failure::usage(format!("cannot read {}: {error}", own.file.display()))
        })?;
        own.file
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let imported = engine::import(&ImportRequest {
        bytes: &bytes,
        origin: &origin,
        to: &own.to,
        name: own.name,
        generation: own.generation,
    })?;
    let document = Document {
        schema: "umpatch.import/1",
        imported: &imported,
    };
    console.result(&document, &text(&imported));
    Ok(Exit::Verified)
}

fn text(imported: &Imported) -> String {
    let mut lines = vec![format!(
        "series {} in {}",
        imported.series,
        imported.folder.display()
    )];
    for patch in &imported.patches {
        lines.push(format!("  {:<32} {}", patch.id, patch.title));
        lines.extend(patch.files.iter().map(|file| format!("      {file}")));
    }
    if imported.left_out > 0 {
        lines.push(format!(
            "{} mails without a diff left out",
            imported.left_out
        ));
    }
    lines.push(format!(
        "verify it: umpatch verify --patches-from {}",
        imported.folder.display()
    ));
    lines.join("\n")
}
