//! Evidence in, verdict out. Pure: no clock, no file, no device. Each conclusion names the figure that decided it.
mod goals;
mod scenario;
mod tests_joined;

use crate::exit::Exit;
use crate::report::document::{Goal, Reason, Tests, Trust, Verdict};
use crate::run::job::{Definition, JobResult, Outcome};
use crate::stats::curve::Analysis;
use crate::stats::ruling::Repeats;
pub use scenario::{ScenarioJudgement, growth_budget, judge_scenario, measured_noise, needs_pairs};

/// What a run has to be worse by before it counts. Each is stated with its reason; the goals of the patch set are stricter
/// and are reported apart as met or missed.
pub mod threshold {
    /// Peak driver memory on GPU-only scenarios: the goal.
    pub const PEAK_GOAL: f64 = 1.05;
    /// Peak driver memory on GPU-only scenarios: beyond this it is a regression. Memory comes in heaps of 8 MiB and more, so
    /// that small scenarios move in large relative steps; a quarter is beyond any single heap of the suite's scenarios.
    pub const PEAK_REGRESSION: f64 = 1.25;
    /// Peak driver memory where the CPU writes or copies: staging and idle blocks cost something by design.
    pub const PEAK_REGRESSION_COPIES: f64 = 2.0;
    /// A peak that rises by less than this many bytes is one heap, not a regression.
    pub const PEAK_FLOOR_BYTES: f64 = 8.0 * 1024.0 * 1024.0;
    /// Growth matters from this many bytes per step on …
    pub const GROWTH_FLOOR_BYTES: f64 = 4096.0;
    /// … or from what would double the baseline's peak within this many steps, whichever is more.
    pub const GROWTH_HORIZON_STEPS: f64 = 10_000.0;
    /// Blocking waits beyond the baseline's, per step: a regression from here on (one wait in twenty steps).
    pub const WAITS_PER_STEP: f64 = 0.05;
    /// Share of allocations that need a new MTLBuffer: a rise by this much is a cache that does not work.
    pub const NEW_BUFFER_SHARE: f64 = 0.10;
    /// Fewer allocations than this say nothing about a cache.
    pub const FEWEST_ALLOCATIONS: f64 = 50.0;
    /// Memory left at the end beyond the baseline's.
    pub const RESIDUAL_BYTES: f64 = 1024.0 * 1024.0;
    /// Instructions per allocation and release, patched to baseline: the goal.
    pub const INSTRUCTIONS_GOAL: f64 = 1.00;
    /// Instructions per allocation and release, patched to baseline: a regression.
    pub const INSTRUCTIONS_REGRESSION: f64 = 2.0;
    /// The error level of an exact test.
    pub const ERROR_LEVEL: f64 = 0.05;
    /// Where threads decide, so many processes of one arm and none of the other are certain enough.
    pub const FEWEST_CERTAIN: u64 = 3;
    /// A fault that both arms have counts as worse when the patched arm shows it this many times as often.
    pub const FAULT_RATIO: f64 = 2.0;
    /// Data-loader loops of small tensors, in which the goal is not to wait at all.
    pub const LOADERS: [&str; 2] = ["loader-4b", "loader-64kib"];
    /// Share of eligible host-to-device copies that go by memcpy: the goal.
    pub const MEMCPY_GOAL: f64 = 0.90;
}

/// Everything that a verdict rests on.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The scenarios that were to run.
    pub scenarios: Vec<ScenarioEvidence>,
    /// The outcomes of test_mps.py, when tests were part of the run.
    pub tests: Option<Tests>,
    /// Reasons that the test runner found by itself (a wedged device, an incomplete arm).
    pub test_reasons: Vec<Reason>,
    /// What kind of device gave the figures; absent: unknown.
    pub trust: Option<Trust>,
    /// Whether a verdict needs a real device.
    pub require_hardware: bool,
    /// Whether every job that was planned has ended.
    pub complete: bool,
}

/// One scenario: its pairs of processes.
#[derive(Debug, Clone, Default)]
pub struct ScenarioEvidence {
    /// The scenario.
    pub definition: Definition,
    /// The pairs, in order; an arm is absent when its process has not run.
    pub pairs: Vec<Pair>,
    /// Steps that each process was to run; absent: its program's own choice.
    pub steps: Option<u64>,
    /// Growth in bytes per step that the user wants found; absent: what the baseline's size makes of it.
    pub detect: Option<f64>,
    /// What is known of how much equal arms differ in this scenario on this machine.
    pub repeats: Repeats,
}

/// Both arms with one seed.
#[derive(Debug, Clone, Default)]
pub struct Pair {
    /// The seed.
    pub seed: u64,
    /// The tree without the patches.
    pub baseline: Option<Process>,
    /// The tree with the patches.
    pub patched: Option<Process>,
}

/// What one process showed.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its end, its counters, its faults.
    pub result: JobResult,
    /// Its driver memory over the steps; absent when it left no samples.
    pub curve: Option<Analysis>,
    /// What its live tensors hold over the steps; absent when the device does not tell.
    pub live: Option<Analysis>,
    /// New MTLBuffers per step in the second half; absent when not known.
    pub new_buffers_per_step: Option<f64>,
    /// Whether a figure that only ever rises fell or leapt: a counter that wrapped, a clock that was set, a run that began anew.
    pub counter_ran_backwards: bool,
}

impl Process {
    /// Steps that it has come to.
    fn steps(&self) -> f64 {
        self.result.last_step.map_or(1.0, |step| step as f64 + 1.0)
    }

    /// Whether it did all that it was asked to: one that crashed, was stopped or waited for ever may have shown more.
    fn came_to_its_end(&self) -> bool {
        matches!(self.result.outcome, Outcome::Ok | Outcome::Faulted)
            && !self
                .result
                .faults
                .iter()
                .any(|fault| fault.kind == "deadlock")
    }
}

/// The conclusion.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The exit status that says it.
    pub exit: Exit,
    /// What decided, most important first.
    pub reasons: Vec<Reason>,
    /// Goals of the patch set, met or missed.
    pub goals: Vec<Goal>,
    /// One judgement for each scenario, in the order of the evidence.
    pub scenarios: Vec<ScenarioJudgement>,
}

/// Draws the conclusion.
#[must_use]
pub fn judge(evidence: &Evidence) -> Judgement {
    let scenarios: Vec<ScenarioJudgement> = evidence.scenarios.iter().map(judge_scenario).collect();
    let mut reasons: Vec<Reason> = scenarios
        .iter()
        .flat_map(|scenario| scenario.reasons.iter().cloned())
        .collect();
    reasons.extend(tests_joined::reasons(
        evidence.tests.as_ref(),
        &evidence.test_reasons,
    ));
    if evidence.require_hardware && evidence.trust != Some(Trust::Hardware) {
        reasons.push(Reason {
            verdict: Verdict::Inconclusive,
            subject: String::new(),
            text: "a real device is required, and these figures come from none".to_owned(),
        });
    }
    if evidence.trust == Some(Trust::Rehearsed) {
        reasons.push(Reason {
            verdict: Verdict::Inconclusive,
            subject: String::new(),
            text: "a rehearsal with recorded output is no evidence".to_owned(),
        });
    }
    if !evidence.complete {
        reasons.push(Reason {
            verdict: Verdict::Inconclusive,
            subject: String::new(),
            text: "the run was cut off: not every planned job has ended".to_owned(),
        });
    }
    let compared = scenarios
        .iter()
        .filter(|scenario| scenario.compared)
        .count();
    let tests_ran = evidence.tests.as_ref().is_some_and(tests_joined::ran);
    let has = |verdict| reasons.iter().any(|reason| reason.verdict == verdict);
    let verdict = if has(Verdict::Failed) {
        Verdict::Failed
    } else if has(Verdict::Regression) {
        Verdict::Regression
    } else if compared == 0 && !tests_ran {
        reasons.push(Reason {
            verdict: Verdict::NothingRan,
            subject: String::new(),
            text: "no scenario and no test ran in both arms".to_owned(),
        });
        Verdict::NothingRan
    } else if has(Verdict::Inconclusive) {
        Verdict::Inconclusive
    } else {
        Verdict::Pass
    };
    if verdict == Verdict::Pass {
        reasons.push(Reason {
            verdict: Verdict::Pass,
            subject: String::new(),
            text: passed(compared, tests_ran),
        });
    }
    // what decided comes first; the order within a verdict stays
    reasons.sort_by_key(|reason| (reason.verdict != verdict, rank(reason.verdict)));
    Judgement {
        verdict,
        exit: exit_of(verdict),
        reasons,
        goals: goals::check(evidence),
        scenarios,
    }
}

fn passed(compared: usize, tests_ran: bool) -> String {
    let plural = if compared == 1 { "" } else { "s" };
    let tests = if tests_ran { " and no test" } else { "" };
    format!("no regression in {compared} scenario{plural}{tests}")
}

fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Failed => 0,
        Verdict::Regression => 1,
        Verdict::Inconclusive => 2,
        Verdict::NothingRan => 3,
        Verdict::Pass => 4,
    }
}

/// The exit status that says a verdict.
pub fn exit_of(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Pass => Exit::Verified,
        Verdict::Regression => Exit::Regression,
        Verdict::Inconclusive => Exit::Inconclusive,
        Verdict::Failed => Exit::PatchOrBuildFailed,
        Verdict::NothingRan => Exit::NothingRan,
    }
}

#[cfg(test)]
mod tests;
