//! `umpatch merge`.
use super::{Console, Global, Outcome};
use crate::merge;
use crate::report::document::Report;
use serde::Serialize;
use std::path::PathBuf;

/// Put the parts of a shared run together
///
/// The parts come from `umpatch verify --shard i/n`, on as many machines. The verdict, the tests and the scenarios are those
/// that one machine would have given. Parts of different runs are refused, by what differs; with parts missing, the run can
/// be a regression or inconclusive, but does not pass.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch merge part-1 part-2 part-3 part-4
  umpatch merge parts/* --run-folder whole --json > verdict.json

The exit status is the verdict's, as that of `umpatch verify`.")]
pub(super) struct Arguments {
    /// Run folders of the parts
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Keep the whole run in this folder [default: a new one in the cache]
    #[arg(long, value_name = "FOLDER")]
    run_folder: Option<PathBuf>,
}

/// What `--json` prints: the report of the whole run, and where it comes from.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    report: Report,
    shards: Shards,
}

#[derive(Serialize)]
struct Shards {
    count: u32,
    merged: Vec<Merged>,
    missing: Vec<u32>,
}

#[derive(Serialize)]
struct Merged {
    index: u32,
    run: PathBuf,
}

/// Runs the command.
pub(super) fn run(_global: &Global, own: Arguments, console: &Console) -> Outcome {
    let progress = console.progress();
    let merged = merge::merge(&own.runs, own.run_folder.as_deref(), &*progress)?;
    drop(progress);
    if !merged.missing.is_empty() {
        let missing: Vec<String> = merged
            .missing
            .iter()
            .map(|index| format!("{index}/{}", merged.count))
            .collect();
        console.note(&format!("missing: {}", missing.join(", ")));
    }
    let exit = super::verify::exit_of(&merged.report);
    let text = super::report::painted(&merged.report);
    let mut report = crate::report::bounded(&merged.report);
    report.schema = "umpatch.merge/1".to_owned();
    let document = Document {
        report,
        shards: Shards {
            count: merged.count,
            merged: merged
                .present
                .into_iter()
                .map(|(index, run)| Merged { index, run })
                .collect(),
            missing: merged.missing,
        },
    };
    console.result(&document, &text);
    Ok(exit)
}
