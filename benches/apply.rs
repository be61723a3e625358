//! `umpatch apply` and `unapply` against `git am -3`, `quilt push -a` and `stg import`, with the built-in series on the real
//! tree of 2.6.0, in turns in one run, each in a clone of its own. Prints one table: medians, ratios, and how many files a
//! build would find newer; fails where umpatch is slower than any, or rewrites a file more than it must.
//!
//! `cargo bench --bench apply`; the tree is `UMPATCH_TEST_TREE`, else the one in the cache; `UMPATCH_BENCH_ROUNDS` rounds
//! (10); `UMPATCH_BENCH_COLD=1` removes the objects of the patches before each round, so that every tool writes them anew.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// A clone for one tool.
struct Bench {
    tree: PathBuf,
    base: String,
    /// A folder with the patch files and a quilt series.
    patches: PathBuf,
    names: Vec<String>,
}

/// A way to apply the series and to take it out again.
struct Tool {
    name: &'static str,
    /// The program, and the Debian package that brings it.
    needs: Option<(&'static str, &'static str)>,
    prepare: fn(&Bench),
    apply: fn(&Bench),
    unapply: fn(&Bench),
    /// What is left to clear away for the next round.
    clear: fn(&Bench),
}

const TOOLS: [Tool; 4] = [
    Tool {
        name: "umpatch",
        needs: None,
        prepare: |_| {},
        apply: |bench| bench.umpatch("apply"),
        unapply: |bench| bench.umpatch("unapply"),
        clear: |_| {},
    },
    Tool {
        name: "git am -3",
        needs: Some(("git", "git")),
        prepare: |_| {},
        apply: |bench| {
            let files = bench.names.iter().map(|name| bench.patches.join(name));
            bench.run(
                Command::new("git")
                    .args(["am", "-3", "-q", "--keep-non-patch"])
                    .args(files),
            );
        },
        unapply: |bench| {
            bench.run(Command::new("git").args(["reset", "-q", "--hard", &bench.base]));
        },
        clear: |_| {},
    },
    Tool {
        name: "quilt push -a",
        needs: Some(("quilt", "quilt")),
        prepare: |_| {},
        apply: |bench| bench.quilt("push"),
        unapply: |bench| bench.quilt("pop"),
        clear: |_| {},
    },
    Tool {
        name: "stg import",
        needs: Some(("stg", "stgit")),
        prepare: |bench| bench.run(Command::new("stg").arg("init")),
        apply: |bench| {
            let series = bench.patches.join("series");
            bench.run(Command::new("stg").args(["import", "--series"]).arg(series));
        },
        unapply: |bench| bench.run(Command::new("stg").args(["pop", "--all"])),
        clear: |bench| {
            let output = Command::new("stg")
                .args(["series", "--noprefix", "--unapplied"])
                .current_dir(&bench.tree)
                .output()
                .unwrap();
            let names = String::from_utf8(output.stdout).unwrap();
            bench.run(
                Command::new("stg")
                    .arg("delete")
                    .args(names.split_whitespace()),
            );
        },
    },
];

impl Bench {
    fn run(&self, command: &mut Command) {
        let output = command
            .current_dir(&self.tree)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_NAME", "bench")
            .env("GIT_AUTHOR_EMAIL", "bench@example.org")
            .env("GIT_COMMITTER_NAME", "bench")
            .env("GIT_COMMITTER_EMAIL", "bench@example.org")
            .output()
            .expect("the program starts");
        let message =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success(), "{command:?}: {}", message.concat());
    }

    fn umpatch(&self, command: &str) {
        self.run(Command::new(env!("CARGO_BIN_EXE_umpatch")).args(["--quiet", command]));
    }

    fn quilt(&self, command: &str) {
        let beside = self.tree.with_file_name("quilt-state");
        self.run(
            Command::new("quilt")
                .args(["--quiltrc", "-", command, "-a", "-q"])
                .env("QUILT_PATCHES", &self.patches)
                .env("QUILT_PC", beside),
        );
    }

    fn times(&self) -> BTreeMap<PathBuf, SystemTime> {
        walkdir::WalkDir::new(&self.tree)
            .into_iter()
            .filter_entry(|entry| entry.file_name() != ".git")
            .flatten()
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| {
                let time = entry.metadata().unwrap().modified().unwrap();
                (
                    entry.path().strip_prefix(&self.tree).unwrap().to_owned(),
                    time,
                )
            })
            .collect()
    }

    /// The contents of the files that the series touches.
    fn contents(&self, files: &[PathBuf]) -> Vec<Vec<u8>> {
        let read = |file: &PathBuf| std::fs::read(self.tree.join(file)).unwrap_or_default();
        files.iter().map(read).collect()
    }
}

/// Ends the run with what to install: a comparison without one side would say nothing.
fn require(tool: &Tool) {
    let Some((program, package)) = tool.needs else {
        return;
    };
    if Command::new(program).arg("--version").output().is_err() {
        println!(
            "{} is not installed: sudo apt-get install {package}",
            tool.name
        );
        std::process::exit(2);
    }
}

fn newer(before: &BTreeMap<PathBuf, SystemTime>, after: &BTreeMap<PathBuf, SystemTime>) -> usize {
    let changed = after
        .iter()
        .filter(|(path, time)| before.get(*path) != Some(time));
    changed.count()
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted[sorted.len() / 2]
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn source() -> PathBuf {
    std::env::var_os("UMPATCH_TEST_TREE")
        .map(PathBuf::from)
        .or_else(|| {
            let mut trees = umpatch::upstream::cached()
                .into_iter()
                .map(|cached| cached.tree);
            trees
                .find(|tree| tree.version == "2.6.0")
                .map(|tree| tree.path)
        })
        .expect("no tree: run `umpatch fetch 2.6.0` first, or set UMPATCH_TEST_TREE")
}

/// What one tool took, and how many files it rewrote.
#[derive(Default)]
struct Result {
    apply: Vec<Duration>,
    unapply: Vec<Duration>,
    rewritten: (usize, usize),
}

fn main() {
    let tools: Vec<&Tool> = TOOLS.iter().collect();
    tools.iter().for_each(|tool| require(tool));
    let source = source();
    let rounds: usize = std::env::var("UMPATCH_BENCH_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(10);
    let cold = std::env::var_os("UMPATCH_BENCH_COLD").is_some();
    let share = umpatch::share::root().unwrap().join("patches/classic");
    let series = umpatch::engine::folder_series(&share).unwrap();
    let names: Vec<String> = series
        .patches
        .iter()
        .map(|patch| patch.file.rsplit('/').next().unwrap().to_owned())
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let patches = folder.path().join("patches");
    std::fs::create_dir(&patches).unwrap();
    for name in &names {
        std::fs::copy(share.join(name), patches.join(name)).unwrap();
    }
    std::fs::write(patches.join("series"), names.join("\n") + "\n").unwrap();
    let base = git(&source, &["rev-list", "--max-parents=0", "HEAD"]);
    let benches: Vec<Bench> = tools
        .iter()
        .map(|tool| {
            let beside = folder.path().join(tool.name.split(' ').next().unwrap());
            std::fs::create_dir(&beside).unwrap();
            let from = format!("file://{}", source.display());
            git(&beside, &["clone", "-q", "--no-checkout", &from, "tree"]);
            let tree = beside.join("tree");
            git(&tree, &["checkout", "-q", "-B", "main", &base]);
            git(&tree, &["config", "gc.auto", "0"]);
            let bench = Bench {
                tree,
                base: base.clone(),
                patches: patches.clone(),
                names: names.clone(),
            };
            (tool.prepare)(&bench);
            bench
        })
        .collect();
    let touched: Vec<PathBuf> = series
        .paths()
        .iter()
        .map(|path| PathBuf::from(path.as_str()))
        .collect();
    let files = git(&benches[0].tree, &["ls-files"]).lines().count();
    println!(
        "{} patches of {} files on a tree of {files}, {rounds} rounds in turns{}",
        names.len(),
        touched.len(),
        if cold { ", objects written anew" } else { "" }
    );
    let mut results: Vec<Result> = tools.iter().map(|_| Result::default()).collect();
    let mut wanted = None;
    for round in 0..=rounds {
        for ((tool, bench), result) in tools.iter().zip(&benches).zip(&mut results) {
            if cold {
                git(&bench.tree, &["reflog", "expire", "--expire=now", "--all"]);
                git(&bench.tree, &["prune", "--expire=now"]);
            }
            let start = bench.times();
            let applied = timed(|| (tool.apply)(bench));
            let between = bench.times();
            let contents = bench.contents(&touched);
            assert_eq!(
                *wanted.get_or_insert_with(|| contents.clone()),
                contents,
                "{}",
                tool.name
            );
            let undone = timed(|| (tool.unapply)(bench));
            let end = bench.times();
            assert_eq!(
                git(&bench.tree, &["status", "--porcelain"]),
                "",
                "{}",
                tool.name
            );
            (tool.clear)(bench);
            // the first round warms the caches of the file system
            if round > 0 {
                result.apply.push(applied);
                result.unapply.push(undone);
                result.rewritten = (newer(&start, &between), newer(&between, &end));
            }
        }
    }
    report(&tools, &results, touched.len());
}

/// The table; ends the run as failed where umpatch is not the best.
fn report(tools: &[&Tool], results: &[Result], minimum: usize) {
    let ours = (median(&results[0].apply), median(&results[0].unapply));
    println!(
        "{:<14} {:>10} {:>7} {:>10} {:>7} {:>17}",
        "", "apply", "ratio", "unapply", "ratio", "files newer"
    );
    let mut worst = f64::INFINITY;
    for (tool, result) in tools.iter().zip(results) {
        let (apply, unapply) = (median(&result.apply), median(&result.unapply));
        let ratios = [
            apply.as_secs_f64() / ours.0.as_secs_f64(),
            unapply.as_secs_f64() / ours.1.as_secs_f64(),
        ];
        if tool.name != "umpatch" {
            worst = ratios.into_iter().fold(worst, f64::min);
        }
        println!(
            "{:<14} {:>7.1} ms {:>7.2} {:>7.1} ms {:>7.2} {:>8} / {:<6}",
            tool.name,
            apply.as_secs_f64() * 1e3,
            ratios[0],
            unapply.as_secs_f64() * 1e3,
            ratios[1],
            result.rewritten.0,
            result.rewritten.1
        );
    }
    println!("the minimum of files that a build has to find newer: {minimum} / {minimum}");
    assert_eq!(
        results[0].rewritten,
        (minimum, minimum),
        "umpatch rewrites more than it must"
    );
    assert!(worst > 1.0, "umpatch is slower than another tool");
}
