//! The lines that the explorer prints.
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A line.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Event {
    /// A second has passed.
    Progress {
        /// What is done so far.
        so_far: Counts,
    },
    /// A seed, where each is told.
    Seed {},
    /// A seed violated what must hold.
    Violation(Violation),
    /// All is told.
    End(End),
}

/// How much was run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Seeds that ran.
    pub seeds: u64,
    /// Seeds that violated something.
    pub violations: u64,
    /// Wall time, in milliseconds.
    pub elapsed_ms: u64,
    /// Seeds in a second.
    pub seeds_per_second: u64,
}

/// The last line.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct End {
    pub total: Counts,
    /// The seed that would have been next.
    pub next: u64,
    /// Places where threads could have switched, over all seeds.
    pub steps: u64,
    /// Operations of all threads.
    pub operations: u64,
    /// Operations that ran out of memory where it was limited.
    pub out_of_memory: u64,
    /// Violations by kind.
    pub kinds: BTreeMap<String, u64>,
}

/// What a seed did wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The seed; with the same program and options it does the same again.
    pub seed: u64,
    /// `crash`, `deadlock`, `wrong-data`, `hazard`, `accounting`, `state`, `left-over`, `growth`, and so on.
    pub kind: String,
    /// What was seen.
    pub detail: String,
    /// Of the schedule and of the memory that was handed out: the same in each replay.
    pub fingerprint: u64,
    /// Operations of the seed's trace.
    pub operations: u64,
    /// Whether the seed, run again, did exactly the same; only of those that were made small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replays: Option<bool>,
    /// Operations that are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrunk_operations: Option<u64>,
    /// What the small trace shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrunk_detail: Option<String>,
    /// How many runs that took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrink_runs: Option<u64>,
    /// The small trace, which `--trace FILE` runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Its interleaving: a line for each operation and switch of threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The file that holds the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_program_are_understood() {
        let line = r#"{"event":"violation","seed":7,"kind":"hazard","detail":"d","fingerprint":1,"operations":9}"#;
        match serde_json::from_str(line).unwrap() {
            Event::Violation(violation) => {
                assert_eq!((violation.seed, violation.trace), (7, None));
            }
            other => panic!("{other:?}"),
        }
        let line = r#"{"event":"end","total":{"seeds":2,"violations":1,"elapsed_ms":3,"seeds_per_second":666},"first":1,"next":3,"steps":4,"operations":5,"out_of_memory":0,"kinds":{"hazard":1}}"#;
        match serde_json::from_str(line).unwrap() {
            Event::End(end) => assert_eq!((end.next, end.kinds["hazard"]), (3, 1)),
            other => panic!("{other:?}"),
        }
    }
}
