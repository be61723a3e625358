//! Runs the explorer's program and takes its lines.
use super::event::{Counts, End, Event, Violation};
use super::{ExploreError, Options, Shrink};
use crate::progress::Progress;
use crate::run::process::Program;
use crate::share;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// So many seeds from the first on, as long as there is time.
    Seeds {
        /// The first seed.
        first: u64,
        /// How many.
        count: u64,
        /// No seed begins after that.
        time: Option<Duration>,
    },
    /// A kept trace.
    Trace(PathBuf),
}

/// What the seeds found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explored {
    /// How much was run.
    pub counts: Counts,
    /// The seed that would have been next.
    pub next: u64,
    /// Places where threads could have switched.
    pub steps: u64,
    /// Operations of all threads.
    pub operations: u64,
    /// Operations that ran out of memory where it was limited.
    pub out_of_memory: u64,
    /// Violations by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Every violation, in the order in which they were found.
    pub violations: Vec<Violation>,
}

/// Runs the program.
///
/// # Errors
/// When it cannot be run, refuses its arguments, or ends without having told all.
pub fn run(
    program: &Path,
    what: &What,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Explored, ExploreError> {
    if let Some(folder) = &options.keep {
        std::fs::create_dir_all(folder).map_err(|source| ExploreError::File {
            path: folder.clone(),
            source,
        })?;
    }
    let scratch = tempfile::tempdir().map_err(|source| ExploreError::File {
        path: std::env::temp_dir(),
        source,
    })?;
    let mut collector = Collector::new(what);
    let mut program = Program::new(program).args(arguments(what, options));
    for (name, value) in sanitizer_environment() {
        program = program.env(name, value);
    }
    for (name, value) in &options.environment {
        program = program.env(name, value);
    }
    let finished = program.run_lines(&scratch.path().join("lines"), &mut |line| {
        collector.line(line, progress);
    })?;
    let words = String::from_utf8_lossy(&finished.stderr).trim().to_owned();
    if finished.status.code() == Some(2) {
        let words = words.lines().next().unwrap_or_default().to_owned();
        return Err(ExploreError::Refused { words });
    }
    collector.finish().ok_or(ExploreError::NoEnd {
        status: finished.status.to_string(),
        words,
    })
}

/// How programs with sanitizers run: the first finding ends a run; what the wheel's libraries keep is no leak of ours, and
/// what is listed with its reason in `harness/metal/tsan.supp` is no finding.
#[must_use]
pub fn sanitizer_environment() -> Vec<(OsString, OsString)> {
    let mut thread = OsString::from(SANITIZER_OPTIONS);
    if let Ok(root) = share::root() {
        thread.push(":suppressions=\"");
        thread.push(root.join("harness").join("metal").join("tsan.supp"));
        thread.push("\"");
    }
    vec![
        ("ASAN_OPTIONS".into(), SANITIZER_OPTIONS.into()),
        ("TSAN_OPTIONS".into(), thread),
        (
            "UBSAN_OPTIONS".into(),
            "print_stacktrace=1:halt_on_error=1".into(),
        ),
    ]
}

const SANITIZER_OPTIONS: &str = "halt_on_error=1:abort_on_error=0:exitcode=66:detect_leaks=0:report_thread_leaks=0:\
     handle_segv=1:allow_user_segv_handler=1:detect_odr_violation=0:history_size=4:die_after_fork=0:atexit_sleep_ms=0";

fn arguments(what: &What, options: &Options) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    match what {
        What::Seeds { first, count, time } => {
            option("--first", Some(first.to_string()));
            option("--seeds", Some(count.to_string()));
            let seconds = time.map(|time| time.as_secs().max(1).to_string());
            option("--time", seconds);
        }
        What::Trace(path) => option("--trace", Some(path.display().to_string())),
    }
    option("--threads", options.threads.map(|n| n.to_string()));
    let cases = (!options.cases.is_empty()).then(|| options.cases.join(","));
    option("--cases", cases);
    option("--without", options.without.clone());
    option("--jobs", options.jobs.map(|n| n.to_string()));
    option("--stop-after", options.stop_after.map(|n| n.to_string()));
    option("--limit-ms", options.limit_ms.map(|n| n.to_string()));
    let keep = options.keep.as_ref();
    option("--keep", keep.map(|path| path.display().to_string()));
    for (name, value) in &options.settings {
        option("--set", Some(format!("{name}={value}")));
    }
    if options.shrink == Shrink::Never {
        words.push("--no-shrink".to_owned());
    }
    words
}

struct Collector {
    wanted: u64,
    violations: Vec<Violation>,
    end: Option<End>,
}

impl Collector {
    fn new(what: &What) -> Self {
        Self {
            wanted: match what {
                What::Seeds { count, .. } => *count,
                What::Trace(_) => 1,
            },
            violations: Vec::new(),
            end: None,
        }
    }

    fn line(&mut self, line: &str, progress: &dyn Progress) {
        match serde_json::from_str(line) {
            Ok(Event::Progress { so_far }) => progress.advance(so_far.seeds, self.wanted),
            Ok(Event::Violation(violation)) => {
                let detail = violation.detail.lines().next().unwrap_or_default();
                if self.violations.len() < 20 {
                    progress.note(&format!(
                        "seed {}: {}: {detail}",
                        violation.seed, violation.kind
                    ));
                }
                self.violations.push(violation);
            }
            Ok(Event::End(end)) => self.end = Some(end),
            Ok(Event::Seed {}) | Err(_) => {}
        }
    }

    fn finish(self) -> Option<Explored> {
        let end = self.end?;
        Some(Explored {
            counts: end.total,
            next: end.next,
            steps: end.steps,
            operations: end.operations,
            out_of_memory: end.out_of_memory,
            kinds: end.kinds,
            violations: self.violations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn options_become_arguments() {
        let what = What::Seeds {
            first: 3,
            count: 10,
            time: Some(Duration::from_millis(10)),
        };
        let options = Options {
            threads: Some(2),
            settings: BTreeMap::from([("mode".to_owned(), "eager-retire".to_owned())]),
            shrink: Shrink::Never,
            ..Options::default()
        };
        assert_eq!(
            arguments(&what, &options).join(" "),
            "--first 3 --seeds 10 --time 1 --threads 2 --set mode=eager-retire --no-shrink"
        );
    }

    #[test]
    fn without_a_last_line_nothing_is_claimed() {
        let mut collector = Collector::new(&What::Trace(PathBuf::new()));
        collector.line("{\"event\":\"seed\"}", &Silent);
        collector.line("not of ours", &Silent);
        assert_eq!(collector.finish(), None);
    }
}
