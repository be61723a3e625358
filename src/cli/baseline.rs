//! `umpatch baseline`.
use super::{Console, Global, Outcome};
use crate::baseline::Baseline;
use crate::baseline::against::{self, Against};
use crate::baseline::error::BaselineError;
use crate::baseline::store::{Entry, KEPT, Store};
use crate::error::Failure;
use crate::exit::Exit;
use crate::paths;
use crate::report;
use crate::verdict;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Keep runs under a name, and compare a later run with them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch baseline record last --name before      keep the newest run
  umpatch baseline list
  umpatch baseline compare before last            the newest run's patched arm against the kept one's
  umpatch baseline export before before.json      carry it to another machine, `import` there
Runs are compared only if tree, device, chip, system, torch, scenarios and settings are equal; patches may differ. They are kept \
in $UMPATCH_DATA, else in umpatch/ under the user's data folder.")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Keep a run
    Record {
        /// A run's folder, or `last` for the newest
        run: PathBuf,
        /// Its name [default: when the run began, and the start of its key]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Recorded runs of the same key that are kept, the newest
        #[arg(long, value_name = "N", default_value_t = KEPT)]
        keep: usize,
    },
    /// List the kept runs, oldest first
    List,
    /// Show a kept run: its key, and what it concluded
    Show {
        /// Its name
        name: String,
    },
    /// Compare the patched arm of the second with that of the first; both may be names, run folders or `last`
    Compare {
        /// The run to compare with
        left: String,
        /// The run that is judged
        right: String,
    },
    /// Write a kept run into one file
    Export {
        /// Its name
        name: String,
        /// The file
        file: PathBuf,
    },
    /// Keep a run from an exported file
    Import {
        /// The file
        file: PathBuf,
        /// Another name for it
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Recorded runs of the same key that are kept, the newest
        #[arg(long, value_name = "N", default_value_t = KEPT)]
        keep: usize,
    },
    /// Drop a kept run
    Remove {
        /// Its name
        name: String,
    },
}

/// Runs the command.
pub(super) fn run(_global: &Global, own: Arguments, console: &Console) -> Outcome {
    let store = Store::at(paths::data().join("baselines"));
    match own.command {
        Command::Record { run, name, keep } => {
            let baseline = of_folder(&run, name)?;
            let dropped = store.keep(&baseline, keep)?;
            kept(console, &baseline, &dropped)
        }
        Command::Import { file, name, keep } => {
            let (baseline, dropped) = store.import(&file, name.as_deref(), keep)?;
            kept(console, &baseline, &dropped)
        }
        Command::List => list(&store, console),
        Command::Show { name } => show(&store.get(&name)?, console),
        Command::Compare { left, right } => {
            let found = against::compare(&named(&store, &left)?, &named(&store, &right)?)?;
            console.result(&found, &compared(&found));
            Ok(verdict::exit_of(found.verdict))
        }
        Command::Export { name, file } => {
            store.export(&name, &file)?;
            let document = serde_json::json!({
                "schema": "umpatch.baseline/1", "name": name, "file": file,
            });
            console.result(&document, &format!("{name} is in {}\n", file.display()));
            Ok(Exit::Verified)
        }
        Command::Remove { name } => {
            store.remove(&name)?;
            let document = serde_json::json!({ "schema": "umpatch.baseline/1", "removed": name });
            console.result(&document, &format!("{name} is gone\n"));
            Ok(Exit::Verified)
        }
    }
}

fn of_folder(run: &Path, name: Option<String>) -> Result<Baseline, Failure> {
    let folder = if run.as_os_str() == "last" && !run.exists() {
        report::newest_run(&paths::cache().join("runs"))?
    } else {
        run.to_owned()
    };
    let mut baseline = Baseline::of_run(&folder, "")?;
    baseline.name = name.unwrap_or_else(|| {
        let key: String = baseline.key.key.chars().take(12).collect();
        let began: String = baseline
            .started
            .chars()
            .take(19)
            .filter(|letter| letter.is_ascii_digit() || *letter == 'T')
            .collect();
        format!("{began}-{key}")
    });
    Ok(baseline)
}

/// A kept run by its name, else a run folder.
fn named(store: &Store, name: &str) -> Result<Baseline, Failure> {
    if name == "last" || name.contains(['/', '\\']) || Path::new(name).is_dir() {
        return of_folder(Path::new(name), Some(name.to_owned()));
    }
    Ok(store.get(name)?)
}

fn kept(console: &Console, baseline: &Baseline, dropped: &[String]) -> Outcome {
    let entry = Entry::from(baseline);
    let document = serde_json::json!({
        "schema": "umpatch.baseline/1", "kept": entry, "dropped": dropped,
    });
    let mut text = format!(
        "{} is kept: {} processes of {} scenarios, key {}\n",
        entry.name,
        baseline.processes.len(),
        entry.scenarios,
        entry.key
    );
    for name in dropped {
        let _ = writeln!(text, "{name} is dropped: enough newer ones of the same key");
    }
    console.result(&document, &text);
    Ok(Exit::Verified)
}

fn list(store: &Store, console: &Console) -> Outcome {
    let (all, broken) = store.list()?;
    for error in &broken {
        console.note(&error.to_string());
    }
    let entries: Vec<Entry> = all.iter().map(Entry::from).collect();
    let mut text = String::new();
    for entry in &entries {
        let verdict = entry.verdict.map_or_else(
            || "unfinished".to_owned(),
            |verdict| format!("{verdict:?}").to_lowercase(),
        );
        let _ = writeln!(
            text,
            "{}  {}  key {}  {} scenarios  {verdict}  {}",
            entry.name, entry.recorded, entry.key, entry.scenarios, entry.patches
        );
    }
    if entries.is_empty() {
        text.push_str("no run is kept; `umpatch baseline record last` keeps the newest\n");
    }
    let document = serde_json::json!({
        "schema": "umpatch.baseline/1",
        "baselines": entries,
        "damaged": broken.iter().map(BaselineError::to_string).collect::<Vec<_>>(),
    });
    console.result(&document, &text);
    Ok(Exit::Verified)
}

fn show(baseline: &Baseline, console: &Console) -> Outcome {
    let mut text = format!(
        "{}, recorded {}, run {}\n\nkey {}\n",
        baseline.name, baseline.recorded, baseline.started, baseline.key.key
    );
    for (name, value) in &baseline.key.parts {
        let _ = writeln!(text, "  {name}: {value}");
    }
    text.push_str("\nmay differ\n");
    for (name, value) in &baseline.about {
        let _ = writeln!(text, "  {name}: {value}");
    }
    let _ = writeln!(
        text,
        "\n{} processes of {} scenarios",
        baseline.processes.len(),
        baseline.scenarios.len()
    );
    let document = serde_json::json!({
        "schema": "umpatch.baseline/1",
        "name": baseline.name,
        "recorded": baseline.recorded,
        "started": baseline.started,
        "trust": baseline.trust,
        "verdict": baseline.verdict,
        "key": baseline.key,
        "about": baseline.about,
        "scenarios": baseline.scenarios.iter().map(|known| &known.id).collect::<Vec<_>>(),
        "processes": baseline.processes.len(),
    });
    console.result(&document, &text);
    Ok(Exit::Verified)
}

fn compared(found: &Against) -> String {
    let mut text = format!(
        "{}: {} against {}\n",
        format!("{:?}", found.verdict).to_lowercase(),
        found.right,
        found.left
    );
    for reason in &found.reasons {
        let subject = if reason.subject.is_empty() {
            String::new()
        } else {
            format!("{}: ", reason.subject)
        };
        let _ = writeln!(text, "  {subject}{}", reason.text);
    }
    if !found.not_compared.is_empty() {
        let _ = writeln!(
            text,
            "  in one of them only: {}",
            found.not_compared.join(", ")
        );
    }
    text
}
