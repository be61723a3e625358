//! `umpatch explore`.
use super::patches::patches;
use super::{Console, Global, Outcome};
use crate::build::{self, Flavour, Target};
use crate::engine::{self, Arms};
use crate::error::Failure;
use crate::exit::Exit;
use crate::explore::{self, Counts, Explored, Options, Shrink, Violation, What};
use crate::provision;
use crate::series::Selection;
use crate::share;
use crate::upstream::{self, DEFAULT_VERSION, Version};
use crate::verify::{design, plan};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Try many schedules of threads and GPU on the tree's own sources
///
/// A seed decides all: a random program of up to four threads, when each command buffer starts, completes and lets go,
/// where threads switch, which allocations fail, and what is assumed about Metal. One seed in twelve is a run of a scenario that
/// the patches promise to mend, under settings that it draws. The books, the bytes, the locks and what
/// is left are checked throughout. A seed that fails is run again exactly, made small, and printed as a program.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch explore                                the series, 10,000 seeds
  umpatch explore --seeds 100000 --time 10m
  umpatch explore --arm stock --keep found       what upstream's own code does wrong, with a trace of each kind
  umpatch explore --seed 4711                    one seed, exactly as before
  umpatch explore --trace found/crash-17.trace   a kept trace
  umpatch explore --series classic-ordered       the other design of the same set
  umpatch explore --patches-from fixtures/mutants/lose-a-block --stop-after 1
  umpatch explore --sanitizer tsan --seeds 500

Exit status: 0 nothing found, 1 a violation, 5 nothing ran.")]
pub(super) struct Arguments {
    /// How many seeds [default: 10000, or as many as there is time for]
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// No seed begins after this time (90s, 10m, 1h)
    #[arg(long, value_name = "TIME", value_parser = design::parse_time)]
    time: Option<Duration>,
    /// The first seed
    #[arg(
        long,
        value_name = "SEED",
        default_value_t = 1,
        conflicts_with = "seed"
    )]
    first: u64,
    /// This seed alone, exactly as before
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seeds", "time"])]
    seed: Option<u64>,
    /// A kept trace instead of seeds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "time", "seed", "first"])]
    trace: Option<PathBuf>,
    /// Which sources
    #[arg(long, value_enum, default_value_t, conflicts_with = "patches_from")]
    arm: Arm,
    /// These patches instead: a folder (a series of ours, a quilt series, plain .patch/.diff files), or the name of a
    /// series that umpatch has
    #[arg(long, visible_alias = "series", value_name = "DIR|SERIES", value_parser = patches)]
    patches_from: Option<PathBuf>,
    /// Threads of each program [default: drawn]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4))]
    threads: Option<u32>,
    /// A setting of the simulated device for all seeds, key=value; may be repeated [default: drawn]
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Operations that no thread does, so that a fault of theirs does not hide others (from-host-async,pinned,…); `cases`
    /// leaves out the seeds that stand for a scenario which the patches promise to mend
    #[arg(long, value_name = "OPERATIONS")]
    without: Option<String>,
    /// With a sanitizer: its findings are violations, and seeds take ten times as long
    #[arg(long, value_enum)]
    sanitizer: Option<Sanitizer>,
    /// Keep the small trace of each kind of violation in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Stop after so many violations
    #[arg(long, value_name = "N")]
    stop_after: Option<u64>,
    /// Tell violations as they were found
    #[arg(long, conflicts_with = "keep")]
    no_shrink: bool,
    /// Seeds at a time [default: the machine's processors]
    #[arg(long, value_name = "N")]
    jobs: Option<u32>,
}

/// Which sources are explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Arm {
    /// The tree without the patches
    Stock,
    /// The tree with them
    #[default]
    Series,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Sanitizer {
    /// AddressSanitizer and UndefinedBehaviorSanitizer
    Asan,
    /// ThreadSanitizer
    Tsan,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    arm: &'a str,
    sanitizer: Option<&'static str>,
    /// The program that ran, for runs by hand.
    program: &'a std::path::Path,
    seeds: u64,
    /// The seed to go on with.
    next: u64,
    elapsed_ms: u64,
    seeds_per_second: u64,
    steps: u64,
    operations: u64,
    out_of_memory: u64,
    kinds: &'a BTreeMap<String, u64>,
    violations: &'a [Violation],
    exit_code: u8,
}

/// Runs the command.
pub(super) fn run(global: &Global, own: Arguments, console: &Console) -> Outcome {
    let settings = plan::parse_settings(own.settings.iter().map(String::as_str))?;
    let progress = console.progress();
    let version: Version = DEFAULT_VERSION
        .parse()
        .map_err(|error: upstream::BadVersion| Failure::usage(error.to_string()))?;
    let root = match engine::root(global.tree.as_deref()) {
        Ok(root) => root,
        Err(engine::EngineError::Upstream(upstream::UpstreamError::NoTree)) => {
            upstream::ensure(None, &version, &*progress)?.path
        }
        Err(error) => return Err(error.into()),
    };
    let sides = engine::arms(&root, own.patches_from.as_deref(), &Selection::All)?;
    let (name, sources) = match (own.arm, &own.patches_from) {
        (_, Some(folder)) => (share::worded(folder), &sides.patched),
        (Arm::Series, None) => (sides.series.to_string(), &sides.patched),
        (Arm::Stock, None) => ("stock".to_owned(), &sides.stock),
    };
    let torch = provision::torch::find(&version_of(&sides, &version)).ok_or_else(|| {
        Failure::new(
            Exit::PatchOrBuildFailed,
            format!("this machine lacks torch {version}"),
        )
        .hint("`umpatch doctor` says what to run")
    })?;
    let flavour = match own.sanitizer {
        None => Flavour::Plain,
        Some(Sanitizer::Asan) => Flavour::Address,
        Some(Sanitizer::Tsan) => Flavour::Thread,
    };
    let built = build::build_arm(
        Target::Explorer,
        sources,
        &torch,
        flavour,
        &name,
        &*progress,
    )?;
    let what = what(&own);
    progress.stage(&format!("explore {name}"));
    let options = Options {
        cases: cases(&own, &sides)?,
        ..options(&own, settings)
    };
    let explored = explore::run(&built.program, &what, &options, &*progress)?;
    drop(progress);
    let exit = exit_of(&explored);
    let document = Document {
        schema: "umpatch.explore/1",
        arm: &name,
        sanitizer: own.sanitizer.map(Sanitizer::name),
        program: &built.program,
        seeds: explored.counts.seeds,
        next: explored.next,
        elapsed_ms: explored.counts.elapsed_ms,
        seeds_per_second: explored.counts.seeds_per_second,
        steps: explored.steps,
        operations: explored.operations,
        out_of_memory: explored.out_of_memory,
        kinds: &explored.kinds,
        violations: &explored.violations,
        exit_code: exit.code(),
    };
    console.result(&document, &text(&name, &explored));
    Ok(exit)
}

impl Sanitizer {
    const fn name(self) -> &'static str {
        match self {
            Self::Asan => "asan",
            Self::Tsan => "tsan",
        }
    }
}

/// The release whose torch headers fit the tree.
fn version_of(sides: &Arms, default: &Version) -> Version {
    let stated = sides.tree.version.as_deref();
    stated
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| default.clone())
}

fn what(own: &Arguments) -> What {
    const DEFAULT_SEEDS: u64 = 10_000;
    if let Some(path) = &own.trace {
        return What::Trace(path.clone());
    }
    let default = if own.time.is_some() {
        u64::from(u32::MAX)
    } else {
        DEFAULT_SEEDS
    };
    What::Seeds {
        first: own.seed.unwrap_or(own.first),
        count: own.seed.map_or(own.seeds.unwrap_or(default), |_| 1),
        time: own.time,
    }
}

/// What the patches promise holds for them alone.
fn cases(own: &Arguments, sides: &Arms) -> Result<Vec<String>, Failure> {
    if own.arm == Arm::Stock {
        return Ok(Vec::new());
    }
    Ok(explore::cases(&sides.promises)?)
}

fn options(own: &Arguments, settings: BTreeMap<String, String>) -> Options {
    Options {
        threads: own.threads,
        without: own.without.clone(),
        settings,
        jobs: own.jobs,
        keep: own.keep.clone(),
        stop_after: own.stop_after,
        shrink: if own.no_shrink {
            Shrink::Never
        } else {
            Shrink::First
        },
        limit_ms: own.sanitizer.map(|_| 120_000),
        ..Options::default()
    }
}

fn exit_of(explored: &Explored) -> Exit {
    if explored.counts.seeds == 0 {
        Exit::NothingRan
    } else if explored.violations.is_empty() {
        Exit::Verified
    } else {
        Exit::Regression
    }
}

fn text(name: &str, explored: &Explored) -> String {
    let Counts {
        seeds,
        violations,
        elapsed_ms,
        seeds_per_second,
    } = explored.counts;
    let mut text = format!(
        "{name}: {seeds} seeds, {violations} violations, {:.1} s, {seeds_per_second} seeds/s, {} operations, {} places to \
         switch threads\n",
        elapsed_ms as f64 / 1000.0,
        explored.operations,
        explored.steps,
    );
    for (kind, count) in &explored.kinds {
        let seeds: Vec<String> = explored
            .violations
            .iter()
            .filter(|violation| violation.kind == *kind)
            .take(8)
            .map(|violation| violation.seed.to_string())
            .collect();
        let _ = writeln!(text, "  {kind}: {count} (seeds {})", seeds.join(", "));
    }
    for violation in &explored.violations {
        if let Some(trace) = &violation.trace {
            shrunk(&mut text, violation, trace);
        }
    }
    text
}

fn shrunk(text: &mut String, violation: &Violation, trace: &str) {
    let replays = match violation.replays {
        Some(true) => "run again, it did exactly the same",
        _ => "run again, it did NOT do exactly the same",
    };
    let _ = writeln!(
        text,
        "\n{} (seed {}; {replays}; {} operations made {}):\n  {}\n",
        violation.kind,
        violation.seed,
        violation.operations,
        violation.shrunk_operations.unwrap_or_default(),
        violation.shrunk_detail.as_deref().unwrap_or_default(),
    );
    for line in trace.lines() {
        let _ = writeln!(text, "    {line}");
    }
    if let Some(log) = &violation.log {
        let _ = writeln!(text, "\n  as it went (place, thread, what):");
        for line in log.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    if let Some(kept) = &violation.kept {
        let _ = writeln!(text, "\n  again: umpatch explore --trace {kept}");
    }
}
