//! A job: one scenario, in one arm, in one process; and what it left behind.
use crate::report::document::Fault;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;

/// One side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// The tree without the patches.
    Baseline,
    /// The tree with the patches.
    Patched,
}

impl Arm {
    /// Both arms.
    pub const ALL: [Self; 2] = [Self::Baseline, Self::Patched];

    /// The name that journals, reports and file names use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Patched => "patched",
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How the program of a job was compiled.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// Without a sanitizer.
    #[default]
    Plain,
    /// With AddressSanitizer.
    Address,
    /// Not compiled for itself: a training script on the simulated mps device.
    Training,
    /// With ThreadSanitizer.
    Thread,
    /// The schedule explorer.
    Explorer,
    /// The schedule explorer with AddressSanitizer.
    ExplorerAddress,
    /// The schedule explorer with ThreadSanitizer.
    ExplorerThread,
}

impl Flavour {
    /// What a scenario's id carries when it runs in this flavour.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Plain | Self::Explorer => "",
            Self::Address | Self::ExplorerAddress => "+address",
            Self::Thread | Self::ExplorerThread => "+thread",
            Self::Training => "+training",
        }
    }
}

/// What a scenario needs from the device: decides which goals it is held to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// No CPU writes: memory is held to the 1.05 × goal.
    GpuOnly,
    /// The CPU writes into buffers.
    CpuWrite,
    /// Copies in either direction.
    Copy,
    /// Several threads.
    Stress,
    /// Little memory.
    Pressure,
    /// Values, not memory.
    #[default]
    #[serde(other)]
    Correctness,
}

impl Class {
    /// The name that drivers and reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GpuOnly => "gpu-only",
            Self::CpuWrite => "cpu-write",
            Self::Copy => "copy",
            Self::Stress => "stress",
            Self::Pressure => "pressure",
            Self::Correctness => "correctness",
        }
    }
}

/// A scenario as its program lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Kebab-case id.
    pub id: String,
    /// One line for people.
    #[serde(default)]
    pub title: String,
    /// What it reproduces (a public report), or what it guards.
    #[serde(default)]
    pub reproduces: String,
    /// What it needs from the device.
    #[serde(default)]
    pub class: Class,
    /// Ids of the patches that it proves.
    #[serde(default)]
    pub patches: Vec<String>,
    /// Steps of a quick run; absent: the program's own choice.
    #[serde(default)]
    pub quick_steps: Option<u64>,
    /// Steps of a full run; absent: the program's own choice.
    #[serde(default)]
    pub full_steps: Option<u64>,
    /// Whether the quick suite has it.
    #[serde(default = "yes")]
    pub quick: bool,
    /// A positive control: it must be found growing in every arm, or the design has no power.
    #[serde(default)]
    pub positive_control: bool,
    /// Whether a seed decides everything; not where real threads race.
    #[serde(default = "yes")]
    pub deterministic: bool,
    /// What it assumes about Metal by itself: it is not run under another assumption of that kind.
    #[serde(default)]
    pub fixes: Vec<String>,
    /// Why the fault that it reproduces cannot show on a simulated device; absent where it can.
    #[serde(default)]
    pub not_reproducible_simulated: Option<String>,
    /// The patches of this run that claim to mend what it shows: a fault that stays is held against them.
    #[serde(default)]
    pub promised_by: Vec<String>,
}

impl Definition {
    /// Whether threads, and so chance, decide what a run shows.
    #[must_use]
    pub fn is_chance(&self) -> bool {
        self.class == Class::Stress || !self.deterministic
    }
}

impl Default for Definition {
    fn default() -> Self {
        Self {
            id: String::new(),
            title: String::new(),
            reproduces: String::new(),
            class: Class::default(),
            patches: Vec::new(),
            quick_steps: None,
            full_steps: None,
            quick: true,
            positive_control: false,
            deterministic: true,
            fixes: Vec::new(),
            not_reproducible_simulated: None,
            promised_by: Vec::new(),
        }
    }
}

fn yes() -> bool {
    true
}

/// One process to run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Job {
    /// The scenario's id, with `@key=value` when it runs under other settings than the default ones.
    pub scenario: String,
    /// The side of the comparison.
    pub arm: Arm,
    /// Which pair of processes it belongs to, from 0.
    pub pair: u32,
    /// The seed, the same in both arms of a pair.
    pub seed: u64,
    /// How its program was compiled.
    #[serde(default)]
    pub flavour: Flavour,
    /// Steps to run; absent: the program's own choice.
    #[serde(default)]
    pub steps: Option<u64>,
    /// Settings given to the program.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The subset of the patches that its program has, by its name; absent: the arm decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subset: Option<String>,
}

impl Job {
    /// A name for files of this job, unique in its run.
    #[must_use]
    pub fn slug(&self) -> String {
        let plain = plain(&self.scenario);
        match &self.subset {
            None => format!("{plain}.{}.{}", self.arm, self.pair),
            Some(subset) => {
                // names that differ in a sign alone stay apart
                let digest = hex::encode(&Sha256::digest(subset)[..3]);
                format!("{plain}.{}-{digest}.{}", self::plain(subset), self.pair)
            }
        }
    }
}

/// The text with nothing in it that a file name cannot have everywhere.
fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' | '@' | '+' | '=' => letter,
            _ => '-',
        })
        .collect()
}

impl fmt::Display for Job {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} ({}, pair {}, seed {})",
            self.scenario,
            self.subset.as_deref().unwrap_or(self.arm.name()),
            self.pair,
            self.seed
        )
    }
}

/// How a job's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Outcome {
    /// It ran to its end and found nothing.
    Ok,
    /// It ran to its end and its checks found faults.
    Faulted,
    /// The allocator gave up.
    OutOfMemory,
    /// The scenario ended with an error of its own.
    Error {
        /// The error in words.
        detail: String,
    },
    /// A signal or a sanitizer ended it.
    Crashed {
        /// The signal's name, or what the sanitizer says.
        by: String,
    },
    /// It ran past its limit or fell silent.
    TimedOut {
        /// Which limit, in words.
        detail: String,
    },
    /// The program does not have this scenario or does not understand the settings.
    Unsupported {
        /// What it says.
        detail: String,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => formatter.write_str("ok"),
            Self::Faulted => formatter.write_str("faulted"),
            Self::OutOfMemory => formatter.write_str("out-of-memory"),
            Self::Error { detail } => write!(formatter, "error ({detail})"),
            Self::Crashed { by } => write!(formatter, "crashed ({by})"),
            Self::TimedOut { detail } => write!(formatter, "timed-out ({detail})"),
            Self::Unsupported { detail } => write!(formatter, "unsupported ({detail})"),
        }
    }
}

/// What a job left behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// How its process ended.
    pub outcome: Outcome,
    /// Highest driver memory, in bytes.
    #[serde(default)]
    pub peak_driver_bytes: Option<u64>,
    /// Highest memory held by live allocations, in bytes.
    #[serde(default)]
    pub peak_current_bytes: Option<u64>,
    /// Most bytes that waited for the device, at one time.
    #[serde(default)]
    pub peak_pending_bytes: Option<u64>,
    /// Driver memory left at the end, in bytes.
    #[serde(default)]
    pub residual_driver_bytes: Option<u64>,
    /// Live memory left at the end, in bytes.
    #[serde(default)]
    pub residual_current_bytes: Option<u64>,
    /// The program's counters, cumulative over the run.
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
    /// Faults by kind.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Steps that were sampled last.
    #[serde(default)]
    pub last_step: Option<u64>,
    /// The file with the samples, relative to the run folder.
    #[serde(default)]
    pub curve: Option<String>,
    /// The last lines of output of a process that did not end well.
    #[serde(default)]
    pub last_output: String,
    /// Lines of output that were no event of the contract.
    #[serde(default)]
    pub foreign_lines: u64,
    /// Wall time in seconds.
    pub seconds: f64,
}

impl JobResult {
    /// A result without figures.
    #[must_use]
    pub fn empty(outcome: Outcome) -> Self {
        Self {
            outcome,
            peak_driver_bytes: None,
            peak_current_bytes: None,
            peak_pending_bytes: None,
            residual_driver_bytes: None,
            residual_current_bytes: None,
            counters: BTreeMap::new(),
            faults: Vec::new(),
            last_step: None,
            curve: None,
            last_output: String::new(),
            foreign_lines: 0,
            seconds: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_a_file_name() {
        let job = Job {
            scenario: "steady@drop_order=after/../handlers".to_owned(),
            arm: Arm::Patched,
            pair: 2,
            seed: 7,
            flavour: Flavour::Plain,
            steps: None,
            settings: BTreeMap::new(),
            subset: None,
        };
        assert_eq!(job.slug(), "steady@drop_order=after-..-handlers.patched.2");
    }

    #[test]
    fn an_unknown_class_is_held_to_values_only() {
        let definition: Definition =
            serde_json::from_str(r#"{"id":"x","class":"quantum"}"#).unwrap();
        assert_eq!(definition.class, Class::Correctness);
        assert!(definition.quick);
    }
}
