//! The explorer as a finder of mutants: seeds one after the other until one violates what must hold.
use super::bench::{CHOSEN, REACHED, marked};
use super::error::MutantsError;
use crate::explore::{self, ExploreError, Explored, Options, Shrink, What};
use crate::mutate::score::Means;
use crate::progress::Silent;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What is named as the finder.
pub(super) const ID: &str = "schedules";

/// Runs seeds with a mutant awake.
pub(super) struct Seeds {
    program: PathBuf,
    count: u64,
    cases: Vec<String>,
    /// Where the marks of what was reached go.
    marks: PathBuf,
    /// The numbers of the mutants whose places the seeds come to.
    reached: BTreeSet<u32>,
}

/// A seed that violates something.
#[derive(Debug)]
pub(super) struct Found {
    /// Nothing where the program itself did not come to its end.
    pub seed: Option<u64>,
    pub by: Means,
    pub reason: String,
}

impl Seeds {
    pub fn new(program: PathBuf, count: u64, cases: Vec<String>, folder: &Path) -> Self {
        Self {
            program,
            count,
            cases,
            marks: folder.join("seeds.reached"),
            reached: BTreeSet::new(),
        }
    }

    /// The series itself must not violate anything in these seeds; what they come to is known after that.
    pub fn look_at_the_series(&mut self, workers: usize) -> Result<(), MutantsError> {
        // what an earlier program reached must not count for this one
        let _ = std::fs::remove_file(&self.marks);
        let marks = self.marks.display().to_string();
        let explored = self.run(workers, (REACHED, marks))?;
        self.reached = marked(&self.marks);
        match explored.violations.first() {
            None => Ok(()),
            Some(violation) => Err(MutantsError::Unsound {
                scenario: ID.to_owned(),
                reason: format!(
                    "seed {}: {}: {}",
                    violation.seed, violation.kind, violation.detail
                ),
            }),
        }
    }

    /// Whether any seed comes to the mutant's place.
    pub fn come_to(&self, number: u32) -> bool {
        self.reached.contains(&number)
    }

    /// The first violation with the mutant awake.
    pub fn find(&self, number: u32) -> Result<Option<Found>, ExploreError> {
        let ask = || self.run(1, (CHOSEN, number.to_string()));
        let explored = match ask() {
            // once more, as a signal from outside is no finding
            Err(ExploreError::NoEnd { .. }) => match ask() {
                Err(ExploreError::NoEnd { status, .. }) => {
                    return Ok(Some(Found {
                        seed: None,
                        by: Means::Crash,
                        reason: format!("the explorer itself ended ({status})"),
                    }));
                }
                other => other?,
            },
            other => other?,
        };
        Ok(explored.violations.first().map(|violation| Found {
            seed: Some(violation.seed),
            by: means(&violation.kind),
            reason: format!(
                "seed {}: {}: {}",
                violation.seed, violation.kind, violation.detail
            ),
        }))
    }

    fn run(&self, jobs: usize, variable: (&str, String)) -> Result<Explored, ExploreError> {
        let what = What::Seeds {
            first: 1,
            count: self.count,
            time: None,
        };
        let options = Options {
            jobs: Some(u32::try_from(jobs.max(1)).unwrap_or(1)),
            stop_after: Some(1),
            cases: self.cases.clone(),
            shrink: Shrink::Never,
            environment: vec![(variable.0.to_owned(), variable.1)],
            ..Options::default()
        };
        explore::run(&self.program, &what, &options, &Silent)
    }
}

fn means(kind: &str) -> Means {
    match kind {
        "crash" | "race" => Means::Crash,
        "deadlock" | "endless" | "hang" => Means::Deadlock,
        "accounting" | "state" | "left-over" => Means::Books,
        "growth" | "needless-wait" => Means::Figures,
        "unexpected-error" => Means::Error,
        _ => Means::Data,
    }
}
