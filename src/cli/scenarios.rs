//! `umpatch scenarios`.
use super::{Console, Global, Outcome};
use crate::exit::Exit;
use crate::run::catalogue::Catalogue;
use crate::run::job::{Class, Definition};
use crate::share;
use serde::Serialize;
use std::fmt::Write;

/// List the scenarios and what each reproduces
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch scenarios
  umpatch scenarios --json | jq -r '.scenarios[] | select(.quick) | .id'
  umpatch verify --scenario transformer-loop               the native driver's, on the tree's allocator
  umpatch verify --scenario transformer-loop+training      the training script, on the simulated mps device")]
pub(super) struct Arguments {}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    scenarios: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    /// What `verify --scenario` takes; `+training` behind it chooses the training script where there are both.
    id: String,
    title: String,
    reproduces: String,
    class: Class,
    patches: Vec<String>,
    /// Whether the quick suite has it.
    quick: bool,
    positive_control: bool,
    /// `native`, `training`, `explorer`, or several.
    programs: Vec<&'static str>,
    /// Why its fault cannot show on a simulated device.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_reproducible_simulated: Option<String>,
}

/// Runs the command.
pub(super) fn run(_global: &Global, _own: Arguments, console: &Console) -> Outcome {
    let catalogue = Catalogue::read(&share::root()?.join("harness"));
    let document = Document {
        schema: "umpatch.scenarios/1",
        scenarios: rows(&catalogue),
    };
    console.result(&document, &text(&document));
    Ok(Exit::Verified)
}

fn rows(catalogue: &Catalogue) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (program, listed) in [
        ("native", &catalogue.native),
        ("training", &catalogue.training),
        ("explorer", &catalogue.explorer),
    ] {
        for definition in listed {
            match rows.iter_mut().find(|row| row.id == definition.id) {
                Some(row) => row.programs.push(program),
                None => rows.push(row(definition, program)),
            }
        }
    }
    rows.sort_by(|left, right| left.id.cmp(&right.id));
    rows
}

fn row(definition: &Definition, program: &'static str) -> Row {
    Row {
        id: definition.id.clone(),
        title: definition.title.clone(),
        reproduces: definition.reproduces.clone(),
        class: definition.class,
        patches: definition.patches.clone(),
        // training scripts belong to the full suite
        quick: definition.quick && program != "training",
        positive_control: definition.positive_control,
        programs: vec![program],
        not_reproducible_simulated: definition.not_reproducible_simulated.clone(),
    }
}

fn text(document: &Document) -> String {
    let width = document
        .scenarios
        .iter()
        .map(|row| row.id.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for row in &document.scenarios {
        let _ = writeln!(text, "{:<width$}  {}", row.id, row.title);
        let mut details = vec![
            format!("reproduces {}", row.reproduces),
            row.class.name().to_owned(),
            row.programs.join(" and "),
        ];
        if !row.quick {
            details.push("full suite only".to_owned());
        }
        let _ = writeln!(text, "{:<width$}  {}", "", details.join(" · "));
        if let Some(reason) = &row.not_reproducible_simulated {
            let _ = writeln!(text, "{:<width$}  does not show here: {reason}", "");
        }
    }
    text
}
