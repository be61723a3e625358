//! The schedule explorer: builds it from an arm's own sources, runs seeds, and gathers what they found.
mod again;
mod cases;
mod error;
mod event;
mod run;

pub use again::{Sources, again};
pub use cases::cases;
pub use error::ExploreError;
pub use event::{Counts, Violation};
pub use run::{Explored, What, run, sanitizer_environment};

use std::collections::BTreeMap;
use std::path::PathBuf;

/// How the explorer explores.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Threads of a trace; drawn from the seed where none is given.
    pub threads: Option<u32>,
    /// Settings of the simulated device that are not drawn.
    pub settings: BTreeMap<String, String>,
    /// Scenarios of the native driver that some seeds stand for: what the patches promise.
    pub cases: Vec<String>,
    /// Operations that no thread does, separated by commas; `cases` leaves those out.
    pub without: Option<String>,
    /// Runs at a time.
    pub jobs: Option<u32>,
    /// A folder for the traces of violations.
    pub keep: Option<PathBuf>,
    /// Stop after so many violations.
    pub stop_after: Option<u64>,
    /// Whether violations are made small.
    pub shrink: Shrink,
    /// Milliseconds after which a run counts as hung.
    pub limit_ms: Option<u64>,
    /// Variables of the program's environment.
    pub environment: Vec<(String, String)>,
}

/// Whether violations are made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shrink {
    /// The first of each kind.
    #[default]
    First,
    /// None: they are told as they were found.
    Never,
}
