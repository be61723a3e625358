//! `umpatch diff`: two series or generations, patch by patch.
use super::{Console, Global, Outcome};
use crate::engine;
use crate::exit::Exit;
use crate::series::compare::{PatchDifference, Relation, compare};
use serde::Serialize;

/// Compare two series or generations, patch by patch
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Patches are matched by their ids and compared by what they change: line numbers and blob ids aside. The exit code is 0
whatever differs; `identical` in the JSON document says whether anything does.

Examples:
  umpatch diff classic /tmp/carried
  umpatch diff classic ./my-patches --json")]
pub(super) struct Arguments {
    /// A folder, or a built-in series or generation
    #[arg(value_name = "SERIES")]
    first: String,
    /// Another
    #[arg(value_name = "OTHER")]
    second: String,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    first: &'a str,
    second: &'a str,
    identical: bool,
    patches: &'a [PatchDifference],
}

/// Runs the command.
pub(super) fn run(_global: &Global, own: Arguments, console: &Console) -> Outcome {
    let (first, second) = (engine::named(&own.first)?, engine::named(&own.second)?);
    let patches = compare(&first, &second);
    let document = Document {
        schema: "umpatch.diff/1",
        first: &own.first,
        second: &own.second,
        identical: patches
            .iter()
            .all(|patch| patch.relation == Relation::Identical && patch.metadata.is_empty()),
        patches: &patches,
    };
    console.result(&document, &text(&patches));
    Ok(Exit::Verified)
}

fn text(patches: &[PatchDifference]) -> String {
    let mut lines = Vec::new();
    for patch in patches {
        let word = match patch.relation {
            Relation::Identical => "identical",
            Relation::SameChange => "the same change",
            Relation::Changed => "changed",
            Relation::Removed => "only in the first",
            Relation::Added => "only in the second",
        };
        lines.push(format!("{:<20} {word}", patch.id));
        if !patch.metadata.is_empty() {
            lines.push(format!("  metadata: {}", patch.metadata.join(", ")));
        }
        for part in [&patch.message, &patch.change] {
            lines.extend(part.lines().map(|line| format!("  {line}")));
        }
    }
    lines.join("\n")
}
