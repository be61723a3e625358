//! The report as data: the document that `verify --json` prints and every other format is rendered from.
//!
//! Sizes are bytes, slopes bytes per step, times seconds unless the name says otherwise. Fields are only ever added.
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema name of [`Report`].
pub const SCHEMA: &str = "umpatch.verify/1";

/// What a run concluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No regression, and enough power to say so.
    Pass,
    /// The patched arm is worse in at least one respect.
    Regression,
    /// The evidence does not decide.
    Inconclusive,
    /// The run itself failed (a patch did not apply, a build broke).
    Failed,
    /// Nothing comparable ran.
    NothingRan,
}

/// How far the figures can be trusted: what kind of device gave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// A real Mac's GPU.
    Hardware,
    /// A virtual machine's paravirtual GPU: functional verdicts only.
    Paravirtual,
    /// The simulated Metal.
    Simulated,
    /// A rehearsal with recorded output: never evidence.
    Rehearsed,
}

/// The two arms of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Arms<T> {
    /// The tree without the patches (or the recorded baseline).
    pub baseline: T,
    /// The tree with the patches.
    pub patched: T,
}

/// The whole report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The conclusion.
    pub verdict: Verdict,
    /// The exit status of the command.
    pub exit_code: u8,
    /// Whether the run came to its end, or this is what its journal holds so far.
    #[serde(default)]
    pub state: RunState,
    /// The lines of evidence that decided the verdict, most important first.
    pub reasons: Vec<Reason>,
    /// What was compared with what.
    #[serde(default)]
    pub compared: Arms<Compared>,
    /// The command line that repeats the whole run; empty when unknown.
    #[serde(default)]
    pub command: String,
    /// When the run began, as RFC 3339 in UTC; empty when unknown.
    #[serde(default)]
    pub started: String,
    /// What kind of device gave the figures.
    pub trust: Trust,
    /// What makes this run comparable with another.
    pub fingerprint: Fingerprint,
    /// Outcomes of test_mps.py; absent when no tests were part of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// Every scenario that ran, or that was to run and did not.
    pub scenarios: Vec<Scenario>,
    /// Goals of the patch set that were checked, met or missed.
    #[serde(default)]
    pub goals: Vec<Goal>,
    /// What becomes of the verdict when one assumption about Metal is another; empty where none was varied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_setting: Vec<SettingVerdict>,
    /// What each subset of the patches does; absent where none was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ablation: Option<Ablation>,
    /// Where the time of the run went, in seconds, by phase.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// What a reader must know before trusting a figure (mechanical rewrites, assumptions, missing stages).
    #[serde(default)]
    pub notes: Vec<String>,
    /// The run folder.
    pub run: String,
}

/// How far a run came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// It came to its end.
    #[default]
    Complete,
    /// It is in progress or was cut off: the report is rebuilt from the journal and lacks what has not run yet.
    Partial,
}

/// What one arm consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// For people: `PyTorch 2.6.0, stock`, `PyTorch 2.6.0 + classic`.
    pub name: String,
    /// The commit or tree id that the arm's sources come from.
    #[serde(default)]
    pub commit: String,
    /// Ids of the patches on top of it, in order.
    #[serde(default)]
    pub patches: Vec<String>,
    /// What each of them does, in a line; empty when unknown.
    #[serde(default)]
    pub titles: Vec<String>,
}

/// One line of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Which verdict this line argues for.
    pub verdict: Verdict,
    /// The scenario or test that it comes from; empty when it concerns the whole run.
    pub subject: String,
    /// The figure in words, with its unit.
    pub text: String,
}

/// The key of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// SHA-256 over all that follows, in hexadecimal.
    pub key: String,
    /// The parts of the key by name: upstream commit, version, patches, device, chip, OS, torch build, environment,
    /// selection, seeds.
    pub parts: BTreeMap<String, String>,
}

/// Test outcomes of both arms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tests {
    /// Counts of the baseline.
    pub baseline: TestCounts,
    /// Counts of the patched arm.
    pub patched: TestCounts,
    /// Share of tests that passed among those that ran, per arm, with a Wilson interval.
    pub pass_rate: Arms<PassRate>,
    /// Tests whose outcome differs, with their class.
    pub changes: Vec<TestChange>,
    /// Failures of both arms by their known reason; those without one come last, under an empty reason.
    #[serde(default)]
    pub failures: Vec<FailureGroup>,
    /// Selected tests that did not run.
    #[serde(default)]
    pub not_run: Arms<u64>,
    /// Worker processes that died although no test was at hand, mostly on their way out.
    #[serde(default)]
    pub exit_crashes: Arms<u64>,
    /// Tests in which upstream's own leak check found a leak; absent when the check did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaks: Option<Arms<Vec<String>>>,
    /// Sum of the tests' own times in seconds.
    #[serde(default)]
    pub seconds: Arms<f64>,
    /// Whether the baseline is a recording (a JUnit file) and was not run.
    #[serde(default)]
    pub baseline_recorded: bool,
}

/// Failures that share a reason.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureGroup {
    /// The reason's name in the list of expected failures; empty for failures that nothing explains.
    pub reason: String,
    /// It in one sentence.
    pub why: String,
    /// How many tests, per arm.
    pub count: Arms<u64>,
    /// The first few ids.
    pub examples: Vec<String>,
}

/// What a change says about the patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bearing {
    /// It counts against them.
    Against,
    /// It would, but the evidence does not decide.
    Undecided,
    /// Nothing.
    Neutral,
    /// It counts in their favour.
    InFavour,
}

/// Counts by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Passed.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
    /// Skipped.
    pub skipped: u64,
    /// Failed as expected.
    pub xfailed: u64,
    /// Passed against expectation.
    pub xpassed: u64,
    /// Ended the process.
    pub crashed: u64,
    /// Ran past its limit.
    pub timed_out: u64,
}

/// A proportion with its interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PassRate {
    /// Passed divided by all that ran (skips apart).
    pub rate: f64,
    /// Lower and upper end of the 95% Wilson interval.
    pub interval: [f64; 2],
}

/// A test that differs between the arms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TestChange {
    /// The test's id.
    pub id: String,
    /// regression, new-crash, new-timeout, fixed, same-failure, changed-failure, flaky-both, flakier, order-dependent,
    /// new-skip, missing, added, exit-crash, infrastructure.
    pub class: String,
    /// Outcome in the baseline.
    pub baseline: String,
    /// Outcome in the patched arm.
    pub patched: String,
    /// Last output of the failing arm, shortened.
    #[serde(default)]
    pub excerpt: String,
    /// Why it fails, where the list of expected failures knows it.
    #[serde(default)]
    pub reason: String,
    /// The figures behind the class, in words.
    #[serde(default)]
    pub evidence: String,
    /// What it says about the patches; absent: what its class says, see [`TestChange::weight`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearing: Option<Bearing>,
}

impl TestChange {
    /// What it says about the patches.
    #[must_use]
    pub fn weight(&self) -> Bearing {
        self.bearing.unwrap_or(match self.class.as_str() {
            // a skip or a vanished test counts against the patches
            "regression" | "new-crash" | "new-timeout" | "new-skip" | "missing" | "exit-crash"
            | "flakier" => Bearing::Against,
            "added" | "same-failure" | "changed-failure" | "flaky-both" => Bearing::Neutral,
            "fixed" => Bearing::InFavour,
            // also a class that this version does not know: it must not pass in silence
            _ => Bearing::Undecided,
        })
    }
}

/// One scenario in both arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Kebab-case id.
    pub id: String,
    /// One line for people.
    #[serde(default)]
    pub title: String,
    /// What it reproduces (a public report), or what it guards.
    pub reproduces: String,
    /// gpu-only, cpu-write, copy, stress, pressure or correctness.
    #[serde(default)]
    pub class: String,
    /// Patches that it proves.
    #[serde(default)]
    pub patches: Vec<String>,
    /// The command line that repeats this row; empty when unknown.
    #[serde(default)]
    pub command: String,
    /// The settings that it ran under.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Figures of the baseline.
    pub baseline: ArmFigures,
    /// Figures of the patched arm.
    pub patched: ArmFigures,
    /// Patched minus baseline.
    pub difference: Difference,
    /// Whether the patched arm is sound by itself.
    pub absolute: Finding,
    /// Whether the patched arm is worse than the baseline.
    pub relative: Finding,
    /// Files under the run folder with the samples, one per arm and pair.
    #[serde(default)]
    pub curves: Arms<Vec<String>>,
}

/// What one arm showed in one scenario, over all its processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmFigures {
    /// Theil–Sen slope of driver memory after warm-up.
    pub slope_bytes_per_step: Option<f64>,
    /// Its 95% interval.
    pub slope_ci: Option<[f64; 2]>,
    /// Steps at the start that the slope's fit leaves out.
    #[serde(default)]
    pub warm_up_steps: Option<u64>,
    /// Driver memory, in bytes, where the fitted line meets step 0.
    #[serde(default)]
    pub intercept_bytes: Option<f64>,
    /// Isolated steps upwards that the slope's fit leaves out.
    #[serde(default)]
    pub steps: Vec<MemoryStep>,
    /// Highest driver memory.
    pub peak_bytes: Option<u64>,
    /// Driver memory left after everything was deleted, synchronised and emptied.
    pub residual_bytes: Option<u64>,
    /// Sums over the processes of this arm.
    pub counters: BTreeMap<String, f64>,
    /// How each process ended: ok, faulted, out-of-memory, error, crashed (with the signal), timed-out.
    #[serde(default)]
    pub outcomes: Vec<String>,
    /// Faults that the scenario's checks found, shortened.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

/// A level of driver memory that was left once and for all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryStep {
    /// At which step of the scenario.
    pub at: f64,
    /// By how much memory rose.
    pub bytes: f64,
}

/// One fault that a scenario's own checks found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// corruption, hazard, accounting, deadlock, out-of-memory, wrong-data, unexpected-error, state, crash.
    pub kind: String,
    /// How often it was seen.
    pub count: u64,
    /// The first one in words.
    pub detail: String,
    /// Bytes concerned, over all.
    #[serde(default)]
    pub bytes: u64,
}

/// Patched minus baseline, paired by seed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Hodges–Lehmann estimate of the slopes' difference.
    pub slope_bytes_per_step: Option<f64>,
    /// Its exact signed-rank interval.
    pub ci: Option<[f64; 2]>,
    /// The smallest difference that this design would have found.
    pub minimal_detectable: Option<f64>,
    /// Patched peak divided by baseline peak.
    #[serde(default)]
    pub peak_ratio: Option<f64>,
}

/// A judgement on one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is.
    pub state: FindingState,
    /// The figure that decided, in words.
    pub text: String,
}

/// The kinds of judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingState {
    /// Sound.
    Ok,
    /// Better than the baseline.
    Improved,
    /// Faulty in both arms alike.
    PreExisting,
    /// Worse than the baseline, or faulty where the baseline is not.
    Regression,
    /// The evidence does not decide.
    Inconclusive,
    /// It could not be compared.
    NotComparable,
}

/// A goal of the patch set, checked on this run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The goal in words.
    pub text: String,
    /// Whether the run met it; absent when the run has no evidence for it.
    pub met: Option<bool>,
    /// The figures.
    pub evidence: String,
}

/// The verdict over the scenarios that ran under one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingVerdict {
    /// The setting, `key=value`; empty for the default ones.
    pub setting: String,
    /// The verdict.
    pub verdict: Verdict,
    /// How many scenarios it rests on.
    pub scenarios: usize,
    /// The line that decided it.
    pub reason: String,
}

/// Which patch did it: every scenario under several subsets of the patches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ablation {
    /// The subsets, as columns.
    pub subsets: Vec<Subset>,
    /// The scenarios, as rows; each has a cell for each subset.
    pub rows: Vec<AblationRow>,
    /// The verdict on each subset, in the order of the subsets: one for each setting under which it ran.
    #[serde(default)]
    pub verdicts: Vec<Vec<SettingVerdict>>,
}

/// A subset of the patches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subset {
    /// For people: `without pending-free`, `shared-default alone`.
    pub name: String,
    /// The patches that are in it, in order.
    pub patches: Vec<String>,
    /// The series that they are from; empty where it is the one that the run is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub series: String,
}

/// One scenario under each subset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AblationRow {
    /// The scenario.
    pub scenario: String,
    /// The judgement under each subset against stock; absent where it did not run.
    pub findings: Vec<Option<Finding>>,
    /// Which figure tells the subsets apart here.
    #[serde(default)]
    pub measure: Measure,
    /// The figures of stock.
    #[serde(default)]
    pub stock: CellFigures,
    /// The figures under each subset, beside the findings.
    #[serde(default)]
    pub figures: Vec<Option<CellFigures>>,
}

/// The figure of a scenario that is shown first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Faults that its checks found, and processes that did not end as they should.
    Faults,
    /// Instructions of an allocation and its release.
    Instructions,
    /// Blocking waits.
    Waits,
    /// Peak driver memory.
    #[default]
    Peak,
}

/// The main figures of one arm of a scenario: each the median over its processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CellFigures {
    /// Highest driver memory, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<f64>,
    /// Growth after warm-up, in bytes per step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope_bytes_per_step: Option<f64>,
    /// Faults in all processes, and processes that crashed, hung or gave up.
    #[serde(default)]
    pub faults: u64,
    /// Counters: blocking_waits, blocking_copy_waits, alloc_free_instructions, allocations, new_buffers, eligible_copies, memcpy_copies, commits.
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
}

/// A phase of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// preflight, build, run, compare, report, …
    pub name: String,
    /// Wall time in seconds.
    pub seconds: f64,
}
