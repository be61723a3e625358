//! `umpatch verify`.
use super::patches::patches;
use super::{Console, Global, Outcome};
use crate::baseline::store::Store;
use crate::build::pytorch::Layout;
use crate::device::{self, Device, Host, Wanted};
use crate::error::Failure;
use crate::exit::Exit;
use crate::paths;
use crate::report::document::{Arms, Report, Verdict};
use crate::run::folder::Choice;
use crate::run::shard::{Durations, Shard};
use crate::run::tests::{LeakCheck, Selection as TestSelection, read_ids};
use crate::share;
use crate::verify::ablate::Ablate;
use crate::verify::design::{self, Contest, Design};
use crate::verify::plan::{self, Assumptions, Sanitize, Selection, Suite};
use crate::verify::programs::Given;
use crate::verify::{self, Provision, Request, Scenarios, test_suite};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Run stock and patched side by side and give a verdict
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch verify --provision                          on a bare machine: install, fetch, build, run, report
  umpatch -C pytorch verify                           this checkout; patches applied there are used as they are
  umpatch verify --scenario transformer-loop --pairs 5
  umpatch verify --scenario steady-steps --detect 64KiB --budget 20m     as many pairs as that needs
  umpatch verify --equal-arms --no-tests              what equal arms differ by on this machine
  umpatch verify --patches-from fixtures/controls/seed-004
  umpatch verify --series classic-ordered             the other design of the same set
  umpatch verify --no-tests --ablate                  which patch does what, on every quick scenario
  umpatch verify --no-tests --ablate --ablate-against classic-ordered --every-setting
  umpatch verify --mutants --sample 25                faults planted in the patches: does the proof find them?
  umpatch verify --json > verdict.json
  umpatch verify --shard 2/4 --run-folder part-2      one of four machines; then: umpatch merge part-1 part-2 part-3 part-4
A run that was cut (Ctrl-C, kill, power) goes on where it was when the same command is run again.")]
pub(super) struct Arguments {
    /// How much runs
    #[arg(long, value_enum, default_value_t)]
    suite: Suite,
    /// Only this scenario, as ID, ID@key=value,… or ID+address; may be repeated
    #[arg(long = "scenario", value_name = "ID")]
    scenarios: Vec<String>,
    /// Only these tests of test_mps.py, as pytest's -k [default: a selection in the quick suite, all in the full one]
    #[arg(long, value_name = "EXPR", conflicts_with = "no_tests")]
    tests: Option<String>,
    /// Only the tests whose ids this file lists, one a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tests", "no_tests"])]
    tests_from: Option<PathBuf>,
    /// No tests, scenarios alone
    #[arg(long)]
    no_tests: bool,
    /// Compare the tests with this JUnit file instead of running them without the patches
    #[arg(long, value_name = "FILE", conflicts_with = "no_tests")]
    tests_baseline_junit: Option<PathBuf>,
    /// Upstream's own leak check in every test (PYTORCH_TEST_MPS_MEM_LEAK_CHECK)
    #[arg(long, conflicts_with = "no_tests")]
    leak_check: bool,
    /// Time for all tests, in seconds; what has not run then makes the verdict inconclusive
    #[arg(long, value_name = "SECONDS")]
    tests_budget: Option<u64>,
    /// Most memory of one test process, in GiB
    #[arg(long, value_name = "GIB", default_value_t = 10)]
    tests_memory: u64,
    /// Find out which patch does what: run the scenarios also with each part of the series that can stand by itself
    #[arg(long, conflicts_with_all = ["detect", "budget", "equal_arms", "shard"])]
    ablate: bool,
    /// In the ablation, another patch set as a whole: a folder, or the name of a series of ours; may be repeated
    #[arg(long, value_name = "DIR|SERIES", requires = "ablate", value_parser = patches)]
    ablate_against: Vec<PathBuf>,
    /// Run every scenario that a seed decides also under each other value of each assumption about Metal
    #[arg(long)]
    every_setting: bool,
    /// Where it runs
    #[arg(long, value_enum, default_value_t)]
    device: Wanted,
    /// How both arms of PyTorch are built where the device is a Mac's
    #[arg(long, value_enum, default_value_t)]
    arms: Layout,
    /// Verify these patches instead: a folder (a series of ours, a quilt series, plain .patch/.diff files), or the name of
    /// a series that umpatch has
    #[arg(long, visible_alias = "series", value_name = "DIR|SERIES", value_parser = patches)]
    patches_from: Option<PathBuf>,
    /// Pairs of processes for each scenario [default: the suite's]
    #[arg(long, value_name = "N")]
    pairs: Option<u32>,
    /// Find growth of this many bytes per step (64KiB, 1MiB): pairs are added until that can be told, 24 at most
    #[arg(long, value_name = "BYTES", value_parser = design::parse_bytes, conflicts_with_all = ["pairs", "shard"])]
    detect: Option<f64>,
    /// Time for the scenarios (90s, 10m, 1h): pairs are added while they are needed and there is time for the next look
    #[arg(long, value_name = "TIME", value_parser = design::parse_time, conflicts_with_all = ["pairs", "shard"])]
    budget: Option<Duration>,
    /// Run stock against itself, and keep what equal arms differ by for later runs on this machine [default: 8 pairs]
    #[arg(long, conflicts_with_all = ["detect", "budget", "shard"])]
    equal_arms: bool,
    /// Steps of each process [default: the scenario's own for the suite]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    /// Seed of the first pair; the others follow
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A setting of the simulated device for all scenarios and tests, key=value; may be repeated
    #[arg(long = "set", visible_alias = "settings", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Where AddressSanitizer (with UndefinedBehaviorSanitizer) and ThreadSanitizer are used
    #[arg(long, value_enum, default_value_t)]
    sanitize: Sanitize,
    /// Processes at a time [default: the machine's processors, at most 8]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// End a process after this many seconds [default: 120 quick, 1200 full]
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// Keep the run in this folder [default: a new one in the cache]
    #[arg(long, value_name = "FOLDER")]
    run_folder: Option<PathBuf>,
    /// Start a new run even if an unfinished one of the same key could go on
    #[arg(long, conflicts_with = "resume")]
    fresh: bool,
    /// Go on with the unfinished run of the same key if there is one: the default, spelled out
    #[arg(long)]
    resume: bool,
    /// Run part i of n; `umpatch merge` puts the parts together
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Balance the parts by how long things took in this run (a run folder, a JUnit file, or the name of a
    /// baseline) [default: the JUnit file that
    /// stands for the baseline, else by count]
    #[arg(long, value_name = "RUN", requires = "shard")]
    durations: Option<PathBuf>,
    /// Without a real device, be inconclusive
    #[arg(long)]
    require_hardware: bool,
    #[command(flatten)]
    mutants: super::mutants::MutantArguments,
    /// Install what is missing through the machine's own package managers, and fetch the tree
    #[arg(long)]
    provision: bool,
    /// A program that speaks the driver contract, built already, as the baseline (no tree is needed then)
    #[arg(long, value_name = "PROGRAM", requires = "driver_patched", hide = true)]
    driver_baseline: Option<PathBuf>,
    /// The same for the patched arm
    #[arg(
        long,
        value_name = "PROGRAM",
        requires = "driver_baseline",
        hide = true
    )]
    driver_patched: Option<PathBuf>,
    /// A folder with test_mps.py, and the device in package/, for the baseline of the programs above
    #[arg(long, value_name = "FOLDER", requires = "tests_patched", hide = true)]
    tests_baseline: Option<PathBuf>,
    /// A program of a subset of the patches for the ablation, as NAME=PROGRAM
    #[arg(long, value_name = "NAME=PROGRAM", requires_all = ["driver_baseline", "ablate"], value_parser = subset_program, hide = true)]
    driver_subset: Vec<(String, PathBuf)>,
    /// The same for the patched arm
    #[arg(long, value_name = "FOLDER", requires_all = ["tests_baseline", "driver_baseline"], hide = true)]
    tests_patched: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(global: &Global, own: Arguments, console: &Console) -> Outcome {
    let mutants = own.mutants.clone();
    let request = request(global, own)?;
    if mutants.mutants {
        return super::mutants::run(&request, &mutants, console);
    }
    let progress = console.progress();
    let outcome = verify::run(&request, &*progress);
    drop(progress);
    match outcome {
        Ok(report) => {
            console.result(
                &crate::report::bounded(&report),
                &super::report::painted(&report),
            );
            Ok(exit_of(&report))
        }
        // the contract's document also for what could not be compared
        Err(failure) if console.json() && has_verdict(failure.exit) => {
            console.complain(&failure);
            console.result(&verify::stopped(&request, &failure), "");
            Ok(failure.exit)
        }
        Err(failure) => Err(failure),
    }
}

/// Whether a failure says something about the comparison, and not about how it was asked for.
const fn has_verdict(exit: Exit) -> bool {
    matches!(
        exit,
        Exit::PatchOrBuildFailed | Exit::Inconclusive | Exit::NothingRan
    )
}

pub(super) fn exit_of(report: &Report) -> Exit {
    match report.verdict {
        Verdict::Pass => Exit::Verified,
        Verdict::Regression => Exit::Regression,
        Verdict::Inconclusive => Exit::Inconclusive,
        Verdict::Failed => Exit::PatchOrBuildFailed,
        Verdict::NothingRan => Exit::NothingRan,
    }
}

fn request(global: &Global, own: Arguments) -> Result<Request, Failure> {
    let settings = plan::parse_settings(
        own.settings
            .iter()
            .flat_map(|text| text.split(','))
            .filter(|part| !part.is_empty()),
    )?;
    let durations = durations(&own)?;
    let tests = tests(&own, &durations)?;
    let scenarios = scenarios(&own);
    let row_command = row_command(global, &own);
    let command = full_command(&row_command, &own);
    let choice = match (own.run_folder, own.fresh) {
        (Some(folder), _) => Choice::At(folder),
        (None, true) => Choice::Fresh,
        (None, false) => Choice::Continue,
    };
    Ok(Request {
        tree: global.tree.clone(),
        device: own.device,
        selection: Selection {
            suite: own.suite,
            scenarios: own.scenarios,
            settings,
            pairs: own.pairs.or_else(|| own.equal_arms.then_some(8)),
            seed: own.seed,
            steps: own.steps,
            sanitize: own.sanitize,
            assumptions: if own.every_setting {
                Assumptions::Each
            } else {
                Assumptions::OfTheSuite
            },
        },
        design: Design {
            detect: own.detect,
            budget: own.budget,
            arms: if own.equal_arms {
                Contest::StockWithItself
            } else {
                Contest::PatchedWithStock
            },
        },
        scenarios,
        tests,
        shard: own.shard,
        durations,
        patches_from: own.patches_from,
        ablate: own.ablate.then_some(Ablate {
            against: own.ablate_against,
            given: own.driver_subset,
        }),
        given: own
            .driver_baseline
            .zip(own.driver_patched)
            .map(|(baseline, patched)| Given {
                baseline,
                patched,
                tests: own
                    .tests_baseline
                    .zip(own.tests_patched)
                    .map(|(baseline, patched)| Arms { baseline, patched }),
            }),
        choice,
        workers: own.workers.unwrap_or_else(|| workers(own.device)),
        layout: own.arms,
        limit: own.limit.map(Duration::from_secs),
        require_hardware: own.require_hardware,
        provision: if own.provision {
            Provision::Install
        } else {
            Provision::Ask
        },
        command,
        row_command,
    })
}

/// Reads a program of a subset.
fn subset_program(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, program)) if !name.is_empty() => Ok((name.to_owned(), program.into())),
        _ => Err(format!("{text:?} is not NAME=PROGRAM")),
    }
}

/// Naming tests alone leaves the scenarios out, as naming scenarios alone leaves the tests out.
fn scenarios(own: &Arguments) -> Scenarios {
    let names_tests = own.tests.is_some() || own.tests_from.is_some();
    if names_tests && own.scenarios.is_empty() {
        Scenarios::Leave
    } else {
        Scenarios::Run
    }
}

/// By what the parts are balanced.
fn durations(own: &Arguments) -> Result<Durations, Failure> {
    let path = own
        .durations
        .as_ref()
        .or(own.tests_baseline_junit.as_ref())
        .filter(|_| own.shard.is_some());
    Ok(match path {
        Some(path) if path.exists() => Durations::read(path, test_suite::FILE)?,
        Some(name) => kept_durations(&name.to_string_lossy())?,
        None => Durations::default(),
    })
}

/// What a kept run tells of durations.
fn kept_durations(name: &str) -> Result<Durations, Failure> {
    let kept = Store::at(paths::data().join("baselines")).get(name)?;
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for process in kept.processes {
        let seconds = all.entry(process.job.scenario).or_default();
        seconds.push(process.result.seconds);
    }
    Ok(Durations::of_scenarios(all))
}

fn tests(own: &Arguments, durations: &Durations) -> Result<Option<test_suite::Wanted>, Failure> {
    let named = own.tests.is_some() || own.tests_from.is_some();
    // programs that were given bring no tests of their own
    let to_be_had = own.driver_baseline.is_none() || own.tests_baseline.is_some();
    if own.no_tests || !named && (!own.scenarios.is_empty() || !to_be_had) {
        return Ok(None);
    }
    let ids = match &own.tests_from {
        Some(path) => Some(read_ids(path)?),
        None => None,
    };
    let expression = match (&own.tests, &ids, own.suite) {
        (Some(expression), _, _) => expression.clone(),
        (None, None, Suite::Quick) => test_suite::QUICK.to_owned(),
        _ => String::new(),
    };
    Ok(Some(test_suite::Wanted {
        selection: TestSelection { expression, ids },
        baseline: own.tests_baseline_junit.clone(),
        budget: own.tests_budget.map(Duration::from_secs),
        memory: own.tests_memory << 30,
        leak_check: if own.leak_check {
            LeakCheck::On
        } else {
            LeakCheck::Off
        },
        shard: own.shard.map(|shard| (shard, durations.clone())),
    }))
}

/// A Mac has one GPU: what runs beside each other on it disturbs each other's memory and time.
fn workers(wanted: Wanted) -> usize {
    match Host::current().and_then(|host| device::choose(wanted, host)) {
        Ok(Device::Metal) => 1,
        _ => std::thread::available_parallelism().map_or(1, |count| count.get().min(8)),
    }
}

/// The command without the choice of scenarios.
fn row_command(global: &Global, own: &Arguments) -> String {
    let mut words = vec!["umpatch".to_owned()];
    if let Some(tree) = &global.tree {
        words.extend(["-C".to_owned(), quoted(&tree.to_string_lossy())]);
    }
    words.push("verify".to_owned());
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), quoted(&value)]);
        }
    };
    let path = |path: &Option<PathBuf>| {
        path.as_ref()
            .map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()))
            .map(|path| path.to_string_lossy().into_owned())
    };
    option(
        "--device",
        match own.device {
            Wanted::Auto => None,
            Wanted::Metal => Some("metal".to_owned()),
            Wanted::Simulated => Some("simulated".to_owned()),
        },
    );
    option(
        "--arms",
        (own.arms == Layout::Separate).then(|| "separate".to_owned()),
    );
    let suite = (own.suite == Suite::Full).then(|| "full".to_owned());
    option("--suite", suite);
    option(
        "--patches-from",
        own.patches_from.as_deref().map(share::worded),
    );
    option("--tests", own.tests.clone());
    option("--tests-from", path(&own.tests_from));
    option("--tests-baseline-junit", path(&own.tests_baseline_junit));
    option(
        "--tests-budget",
        own.tests_budget.map(|seconds| seconds.to_string()),
    );
    option("--driver-baseline", path(&own.driver_baseline));
    option("--driver-patched", path(&own.driver_patched));
    option("--detect", own.detect.map(|bytes| bytes.to_string()));
    option(
        "--budget",
        own.budget.map(|time| time.as_secs_f64().to_string()),
    );
    option("--pairs", own.pairs.map(|pairs| pairs.to_string()));
    option("--steps", own.steps.map(|steps| steps.to_string()));
    option("--seed", (own.seed != 1).then(|| own.seed.to_string()));
    for setting in &own.settings {
        option("--set", Some(setting.clone()));
    }
    words.join(" ")
}

fn full_command(row_command: &str, own: &Arguments) -> String {
    let mut words = vec![row_command.to_owned()];
    for scenario in &own.scenarios {
        words.extend(["--scenario".to_owned(), quoted(scenario)]);
    }
    match own.sanitize {
        Sanitize::Races => {}
        Sanitize::All => words.push("--sanitize all".to_owned()),
        Sanitize::Never => words.push("--sanitize never".to_owned()),
    }
    if own.every_setting {
        words.push("--every-setting".to_owned());
    }
    if own.ablate {
        words.push("--ablate".to_owned());
    }
    for folder in &own.ablate_against {
        words.extend([
            "--ablate-against".to_owned(),
            quoted(&share::worded(folder)),
        ]);
    }
    if own.equal_arms {
        words.push("--equal-arms".to_owned());
    }
    if own.mutants.mutants {
        words.extend(own.mutants.words());
    }
    if own.no_tests {
        words.push("--no-tests".to_owned());
    }
    if own.leak_check {
        words.push("--leak-check".to_owned());
    }
    if own.require_hardware {
        words.push("--require-hardware".to_owned());
    }
    if let Some(shard) = own.shard {
        let durations = own
            .durations
            .as_ref()
            .map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        words.push(shard_words(shard, durations.as_deref()));
    }
    words.join(" ")
}

/// How the part is chosen, last in the command: `merge` takes it off again.
fn shard_words(shard: Shard, durations: Option<&Path>) -> String {
    let mut words = format!("--shard {shard}");
    if let Some(path) = durations {
        words.push_str(&format!(" --durations {}", quoted(&path.to_string_lossy())));
    }
    words
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./@=+,:".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("a/b-c_1.2"), "a/b-c_1.2");
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
        assert_eq!(quoted(""), "''");
    }
}
