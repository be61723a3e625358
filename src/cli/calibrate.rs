//! `umpatch calibrate`.
use super::{Console, Global, Outcome};
use crate::calibrate::family::Family;
use crate::calibrate::recorded::Recording;
use crate::calibrate::source::Source;
use crate::calibrate::{self, Heard, Plan, table};
use crate::error::Failure;
use crate::exit::Exit;
use std::path::PathBuf;

/// Measure how often the verdict on memory growth cries wolf, and what it finds
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch calibrate --trials 50                            a first look, in seconds
  umpatch calibrate --curves fixtures/curves/h200          with pairs recorded on a real device
  umpatch calibrate --only white --pairs 8 --pairs 16
  umpatch calibrate --json > calibration.json
Exit status 1 when a row has more than 1% false alarms or finds less than 95% of the leaks.")]
pub(super) struct Arguments {
    /// Trials of each row, with equal arms and with a leak each
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    trials: u64,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Pairs of processes of a design; may be repeated [default: 2, 5, 8, 16 and 24]
    #[arg(long = "pairs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=400))]
    pairs: Vec<u16>,
    /// Only curves whose name contains this; may be repeated
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    /// Curves recorded on a real device, as in fixtures/curves/h200; may be repeated
    #[arg(long = "curves", value_name = "FOLDER")]
    curves: Vec<PathBuf>,
}

/// Runs the command.
pub(super) fn run(_global: &Global, own: Arguments, console: &Console) -> Outcome {
    let mut sources: Vec<Source> = Family::ALL.map(Source::Synthetic).to_vec();
    let mut injected = Vec::new();
    for folder in &own.curves {
        let recording = Recording::read(folder)?;
        let device = folder
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        sources.extend(recording.sources(&device));
        injected.extend(recording.injected());
    }
    if !own.only.is_empty() {
        let all: Vec<String> = sources.iter().map(Source::name).collect();
        sources.retain(|source| own.only.iter().any(|part| source.name().contains(part)));
        if sources.is_empty() {
            return Err(
                Failure::usage(format!("no curves are called {}", own.only.join(" or ")))
                    .hint(format!("there are: {}", all.join(", "))),
            );
        }
    }
    let pairs = if own.pairs.is_empty() {
        vec![2, 5, 8, 16, 24]
    } else {
        own.pairs.iter().map(|pairs| usize::from(*pairs)).collect()
    };
    let plan = Plan {
        sources,
        pairs,
        trials: own.trials,
        seed: own.seed,
    };
    let progress = console.progress();
    progress.stage("calibrate");
    let mut calibration = calibrate::run(&plan, &command(&own), &|heard| match heard {
        Heard::Row(row) => progress.note(&format!(
            "{}, {} pairs: {:.1}% false alarms, {:.1}% found",
            row.curves,
            row.pairs,
            100.0 * row.false_alarms.rate,
            100.0 * row.detected.rate
        )),
        Heard::LeftOut { curves, pairs } => progress.note(&format!(
            "{curves}, {pairs} pairs: left out, too few recorded pairs with usable curves"
        )),
    });
    drop(progress);
    if calibration.rows.is_empty() {
        return Err(Failure::new(
            Exit::NothingRan,
            "no recording has enough pairs with usable curves for any of the designs",
        )
        .hint("a pair is two processes of one scenario and seed, arms a and b; fewer: --pairs N"));
    }
    calibration.injected = injected;
    console.result(&calibration, &table::markdown(&calibration));
    Ok(if calibration.holds {
        Exit::Verified
    } else {
        Exit::Regression
    })
}

/// The command that makes the same table again.
fn command(own: &Arguments) -> String {
    let mut words = vec![
        "umpatch calibrate".to_owned(),
        format!("--trials {}", own.trials),
        format!("--seed {}", own.seed),
    ];
    words.extend(own.pairs.iter().map(|pairs| format!("--pairs {pairs}")));
    words.extend(own.only.iter().map(|name| format!("--only {name}")));
    words.extend(
        own.curves
            .iter()
            .map(|folder| format!("--curves {}", folder.display())),
    );
    words.join(" ")
}
