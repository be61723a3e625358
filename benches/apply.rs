//! `umpatch apply` and `unapply` against `git am` and `git reset --hard`, with the built-in series on the real tree of 2.6.0,
//! in turns in one run; against `quilt` and `stg` too where they are installed. Prints medians and ratios, and how many files
//! a build would find newer.
//!
//! `cargo bench --bench apply`; the tree is `UMPATCH_TEST_TREE`, else the one in the cache; `UMPATCH_BENCH_ROUNDS` rounds
//! (10).
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

struct Bench {
    tree: PathBuf,
    base: String,
    patches: Vec<PathBuf>,
}

/// A way to apply the series and to take it out again.
struct Tool {
    name: &'static str,
    apply: fn(&Bench),
    unapply: fn(&Bench),
}

const TOOLS: [Tool; 4] = [
    Tool {
        name: "umpatch",
        apply: |bench| bench.umpatch("apply"),
        unapply: |bench| bench.umpatch("unapply"),
    },
    Tool {
        name: "git am",
        apply: |bench| bench.with_patches(&["git", "am", "-q", "--keep-non-patch"]),
        unapply: |bench| {
            bench.run(Command::new("git").args(["reset", "-q", "--hard", &bench.base]))
        },
    },
    Tool {
        name: "git am -3",
        apply: |bench| bench.with_patches(&["git", "am", "-3", "-q", "--keep-non-patch"]),
        unapply: |bench| {
            bench.run(Command::new("git").args(["reset", "-q", "--hard", &bench.base]))
        },
    },
    Tool {
        name: "stg",
        apply: |bench| bench.with_patches(&["stg", "import", "-M"]),
        unapply: |bench| bench.run(Command::new("stg").args(["delete", "--all"])),
    },
];

impl Bench {
    fn run(&self, command: &mut Command) {
        let output = command
            .current_dir(&self.tree)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_COMMITTER_NAME", "bench")
            .env("GIT_COMMITTER_EMAIL", "bench@example.org")
            .output()
            .expect("the program starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {message}");
    }

    fn with_patches(&self, words: &[&str]) {
        self.run(Command::new(words[0]).args(&words[1..]).args(&self.patches));
    }

    fn umpatch(&self, command: &str) {
        self.run(Command::new(env!("CARGO_BIN_EXE_umpatch")).args(["--quiet", command]));
    }

    fn times(&self) -> BTreeMap<PathBuf, SystemTime> {
        walkdir::WalkDir::new(&self.tree)
            .into_iter()
            .filter_entry(|entry| entry.file_name() != ".git")
            .flatten()
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| {
                (
                    entry.path().to_owned(),
                    entry.metadata().unwrap().modified().unwrap(),
                )
            })
            .collect()
    }
}

fn is_installed(name: &str) -> bool {
    let program = name.split(' ').next().unwrap_or(name);
    program == "umpatch" || Command::new(program).arg("--version").output().is_ok()
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

fn main() {
    let source = std::env::var_os("UMPATCH_TEST_TREE")
        .map(PathBuf::from)
        .or_else(|| {
            let mut trees = umpatch::upstream::cached()
                .into_iter()
                .map(|cached| cached.tree);
            trees
                .find(|tree| tree.version == "2.6.0")
                .map(|tree| tree.path)
        })
        .expect("no tree: run `umpatch fetch 2.6.0` first, or set UMPATCH_TEST_TREE");
    let rounds: usize = std::env::var("UMPATCH_BENCH_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(10);
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    git(
        folder.path(),
        &[
            "clone",
            "-q",
            "--local",
            "--no-checkout",
            source.to_str().unwrap(),
            "tree",
        ],
    );
    let base = git(&source, &["rev-list", "--max-parents=0", "HEAD"]);
    git(&tree, &["checkout", "-q", "-B", "main", &base]);
    let share = umpatch::share::root().unwrap().join("patches/classic");
    let series = umpatch::engine::folder_series(&share).unwrap();
    let patches = series
        .patches
        .iter()
        .map(|patch| share.join(patch.file.rsplit('/').next().unwrap()))
        .collect();
    let bench = Bench {
        tree,
        base,
        patches,
    };
    let files = git(&bench.tree, &["ls-files"]).lines().count();
    println!(
        "{} patches on {files} files, {rounds} rounds in turns",
        series.patches.len()
    );

    let tools: Vec<&Tool> = TOOLS
        .iter()
        .filter(|tool| is_installed(tool.name))
        .collect();
    let mut results = vec![(Vec::new(), Vec::new(), 0); tools.len()];
    for round in 0..=rounds {
        for (tool, result) in tools.iter().zip(&mut results) {
            let before = bench.times();
            let applied = timed(|| (tool.apply)(&bench));
            let after = bench.times();
            let undone = timed(|| (tool.unapply)(&bench));
            // the first round warms the caches of the file system
            if round > 0 {
                result.0.push(applied);
                result.1.push(undone);
                result.2 = after
                    .iter()
                    .filter(|(path, time)| before.get(*path) != Some(time))
                    .count();
            }
        }
    }
    println!(
        "{:<12} {:>12} {:>12} {:>16}",
        "", "apply", "unapply", "files rewritten"
    );
    for (tool, (applied, undone, rewritten)) in tools.iter().zip(&results) {
        let milliseconds =
            |times: &[Duration]| format!("{:.1} ms", median(times).as_secs_f64() * 1e3);
        println!(
            "{:<12} {:>12} {:>12} {rewritten:>16}",
            tool.name,
            milliseconds(applied),
            milliseconds(undone)
        );
    }
    let ours = median(&results[0].0).as_secs_f64();
    let mut slower = false;
    for (tool, (applied, _, _)) in tools.iter().zip(&results).skip(1) {
        let ratio = median(applied).as_secs_f64() / ours;
        slower |= ratio < 1.0;
        println!(
            "apply: {} takes {ratio:.2} times as long as umpatch",
            tool.name
        );
    }
    assert!(!slower, "umpatch apply is slower than another tool");
}
