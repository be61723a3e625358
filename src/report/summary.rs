//! What every format says alike: the words for a verdict, a finding and a kind of device, and the figures of a row.
use super::document::{
    ArmFigures, Arms, Bearing, Compared, Finding, FindingState, Reason, Report, RunState, Scenario,
    TestChange, TestCounts, Tests, Trust, Verdict,
};
use super::{figures, harmless};

/// The verdict as one word for people.
pub(crate) const fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Regression => "REGRESSION",
        Verdict::Inconclusive => "INCONCLUSIVE",
        Verdict::Failed => "FAILED",
        Verdict::NothingRan => "NOTHING RAN",
    }
}

/// The verdict as it is written in documents, and as a class in style sheets.
pub(crate) const fn verdict_id(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Regression => "regression",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Failed => "failed",
        Verdict::NothingRan => "nothing-ran",
    }
}

/// A sign that tells verdicts apart without colour.
pub(crate) const fn verdict_sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✔",
        Verdict::Regression | Verdict::Failed => "✘",
        Verdict::Inconclusive | Verdict::NothingRan => "?",
    }
}

/// What the verdict means for somebody who wants to merge the patches.
pub(crate) const fn verdict_meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "The patched tree is not worse than stock in anything that was measured.",
        Verdict::Regression => "The patched tree is worse than stock in at least one respect.",
        Verdict::Inconclusive => {
            "The evidence does not decide: neither safe nor unsafe follows from this run."
        }
        Verdict::Failed => "The run itself failed before the two trees could be compared.",
        Verdict::NothingRan => "Nothing comparable ran in both trees.",
    }
}

/// What a kind of device can show.
pub(crate) struct TrustStatement {
    pub(crate) word: &'static str,
    /// In a few words, for somebody who reads no further.
    pub(crate) in_short: &'static str,
    pub(crate) proves: &'static str,
    pub(crate) does_not_prove: &'static str,
}

/// What the figures of a run rest on.
pub(crate) const fn trust(trust: Trust) -> TrustStatement {
    match trust {
        Trust::Hardware => TrustStatement {
            word: "hardware",
            in_short: "Measured on the GPU of a real Mac.",
            proves: "The figures were measured on the GPU of a real Mac.",
            does_not_prove: "They hold for this chip and this version of macOS; others may differ.",
        },
        Trust::Paravirtual => TrustStatement {
            word: "paravirtual",
            in_short: "No memory or timing figure here is a real Mac's.",
            proves: "The code ran on the paravirtual GPU of a virtual machine: what it computed can be trusted.",
            does_not_prove: "This does not prove memory use, timing or driver behaviour on a real Mac.",
        },
        Trust::Simulated => TrustStatement {
            word: "simulated",
            in_short: "No figure here was measured on a Mac.",
            proves: "The real, patched sources ran against a model of Metal: allocation decisions, accounting, \
                     retain counts, lock order, copy paths and data hazards were exercised.",
            does_not_prove: "This does not prove kernel numerics, driver behaviour (purgeable memory, heap rounding), \
                             timing, or MPSGraph's own caches. No figure here was measured on a Mac.",
        },
        Trust::Rehearsed => TrustStatement {
            word: "rehearsed",
            in_short: "This is no evidence about the patches.",
            proves: "Recorded output was played back to check the machinery of the report.",
            does_not_prove: "This is no evidence about the patches.",
        },
    }
}

/// A finding's state in words.
pub(crate) const fn finding_word(state: FindingState) -> &'static str {
    match state {
        FindingState::Ok => "ok",
        FindingState::Improved => "improved",
        FindingState::PreExisting => "pre-existing",
        FindingState::Regression => "regression",
        FindingState::Inconclusive => "inconclusive",
        FindingState::NotComparable => "not comparable",
    }
}

/// A finding's state as it is written in documents, and as a class in style sheets.
pub(crate) const fn finding_id(state: FindingState) -> &'static str {
    match state {
        FindingState::NotComparable => "not-comparable",
        _ => finding_word(state),
    }
}

/// A sign that tells findings apart without colour.
pub(crate) const fn finding_sign(state: FindingState) -> &'static str {
    match state {
        FindingState::Ok => "✔",
        FindingState::Improved => "▼",
        FindingState::PreExisting => "=",
        FindingState::Regression => "✘",
        FindingState::Inconclusive | FindingState::NotComparable => "?",
    }
}

const fn gravity(state: FindingState) -> u8 {
    match state {
        FindingState::Regression => 0,
        FindingState::Inconclusive => 1,
        FindingState::NotComparable => 2,
        FindingState::PreExisting => 3,
        FindingState::Improved => 4,
        FindingState::Ok => 5,
    }
}

/// The finding that says most about a scenario: the graver of the comparison and the patched arm by itself.
///
/// What is wrong in both arms alike is no news about the patches, so the comparison wins a draw.
pub(crate) fn leading(scenario: &Scenario) -> &Finding {
    if gravity(scenario.absolute.state) < gravity(scenario.relative.state) {
        &scenario.absolute
    } else {
        &scenario.relative
    }
}

/// Positions of the scenarios, gravest first, else in the order of the report.
pub(crate) fn gravest_first(report: &Report) -> Vec<usize> {
    let mut order: Vec<usize> = (0..report.scenarios.len()).collect();
    order.sort_by_key(|&index| gravity(leading(&report.scenarios[index]).state));
    order
}

/// The reason that decided: the first that argues for the verdict reached.
pub(crate) fn deciding(report: &Report) -> Option<&Reason> {
    let decides = |reason: &&Reason| reason.verdict == report.verdict;
    report
        .reasons
        .iter()
        .find(decides)
        .or_else(|| report.reasons.first())
}

/// A reason as one line: `transformer-loop: +26.1 MiB per step`.
pub(crate) fn reason_line(reason: &Reason) -> String {
    let text = harmless::line(&reason.text, harmless::SENTENCE);
    if reason.subject.is_empty() || text.starts_with(&reason.subject) {
        text
    } else {
        let subject = harmless::line(&reason.subject, harmless::NAME);
        format!("{subject}: {text}")
    }
}

/// How many scenarios have each leading finding, gravest first: `1 regression, 11 ok`.
pub(crate) fn scenario_counts(report: &Report) -> String {
    use FindingState::{Improved, Inconclusive, NotComparable, Ok, PreExisting, Regression};
    let mut parts = Vec::new();
    for state in [
        Regression,
        Inconclusive,
        NotComparable,
        PreExisting,
        Improved,
        Ok,
    ] {
        let number = report
            .scenarios
            .iter()
            .filter(|scenario| leading(scenario).state == state)
            .count();
        if number > 0 {
            let plural = if state == Regression && number > 1 {
                "s"
            } else {
                ""
            };
            parts.push(format!("{number} {}{plural}", finding_word(state)));
        }
    }
    parts.join(", ")
}

/// `simulated` or `hardware (Apple M4 Pro, macOS 15.1)`: the kind of device and what the fingerprint says about it.
pub(crate) fn machine(report: &Report) -> String {
    let parts: Vec<String> = ["device", "chip", "os"]
        .iter()
        .filter_map(|name| report.fingerprint.parts.get(*name))
        .filter(|value| !value.is_empty())
        .map(|value| harmless::line(value, harmless::NAME))
        .collect();
    parts.join(", ")
}

/// What an arm is called in a sentence.
pub(crate) fn arm_name(compared: &Compared, otherwise: &str) -> String {
    if compared.name.is_empty() {
        otherwise.to_owned()
    } else {
        harmless::line(&compared.name, harmless::NAME)
    }
}

/// Both arms' names.
pub(crate) fn arm_names(report: &Report) -> Arms<String> {
    Arms {
        baseline: arm_name(&report.compared.baseline, "stock"),
        patched: arm_name(&report.compared.patched, "patched"),
    }
}

/// What a run in progress or cut off has to say of itself.
pub(crate) const fn partial_warning(report: &Report) -> Option<&'static str> {
    match report.state {
        RunState::Complete => None,
        RunState::Partial => Some(
            "This run is in progress or was cut off: the report holds what its journal has so far. The same command \
             resumes it.",
        ),
    }
}

/// The smallest change of slope that the least sensitive scenario would have found.
pub(crate) fn sensitivity(report: &Report) -> Option<f64> {
    report
        .scenarios
        .iter()
        .filter_map(|scenario| scenario.difference.minimal_detectable)
        .filter(|value| value.is_finite())
        .reduce(f64::max)
}

/// The most processes that one arm of a scenario ran in.
pub(crate) fn replicates(report: &Report) -> usize {
    let arms = |scenario: &Scenario| {
        scenario
            .baseline
            .outcomes
            .len()
            .max(scenario.patched.outcomes.len())
    };
    report.scenarios.iter().map(arms).max().unwrap_or(0)
}

/// The command that repeats a scenario.
pub(crate) fn scenario_command(scenario: &Scenario) -> String {
    if scenario.command.is_empty() {
        format!(
            "umpatch verify --scenario {}",
            harmless::line(&scenario.id, harmless::NAME)
        )
    } else {
        harmless::line(&scenario.command, harmless::SENTENCE)
    }
}

/// The command that repeats the run.
pub(crate) fn run_command(report: &Report) -> String {
    if report.command.is_empty() {
        "umpatch verify".to_owned()
    } else {
        harmless::line(&report.command, harmless::SENTENCE)
    }
}

/// A measured quantity of a scenario, in both arms.
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    pub(crate) values: Arms<String>,
    /// Patched against baseline, in words; empty where the two values say it.
    pub(crate) difference: String,
}

/// The quantities that every format shows of a scenario, in their order.
pub(crate) struct Measures {
    pub(crate) slope: Measure,
    pub(crate) peak: Measure,
    pub(crate) reuse: Measure,
    pub(crate) waits: Measure,
    pub(crate) hazards: Measure,
}

/// The main quantities of a scenario.
pub(crate) fn measures(scenario: &Scenario) -> Measures {
    let both = |of: &dyn Fn(&ArmFigures) -> String| Arms {
        baseline: of(&scenario.baseline),
        patched: of(&scenario.patched),
    };
    let counter = |name: &'static str| {
        both(&|arm: &ArmFigures| {
            arm.counters
                .get(name)
                .map_or_else(|| figures::NONE.to_owned(), |value| figures::count(*value))
        })
    };
    Measures {
        slope: Measure {
            name: "Slope of driver memory",
            values: both(&|arm| figures::slope(arm.slope_bytes_per_step)),
            difference: figures::slope(scenario.difference.slope_bytes_per_step),
        },
        peak: Measure {
            name: "Peak driver memory",
            values: both(&|arm| figures::bytes_option(arm.peak_bytes)),
            difference: peak_ratio(scenario).map_or_else(String::new, figures::ratio),
        },
        reuse: Measure {
            name: "Allocations served by reuse",
            values: both(&|arm| {
                reuse(arm).map_or_else(|| figures::NONE.to_owned(), figures::share)
            }),
            difference: String::new(),
        },
        waits: Measure {
            name: "Blocking waits",
            values: both(&waits),
            difference: String::new(),
        },
        hazards: Measure {
            name: "Data hazards",
            values: counter("hazards"),
            difference: String::new(),
        },
    }
}

impl Measure {
    /// `stock → patched`, or one value where both are the same; without the unit's "per step".
    pub(crate) fn pair(&self) -> String {
        let short = |value: &str| value.trim_end_matches("/step").to_owned();
        let (baseline, patched) = (short(&self.values.baseline), short(&self.values.patched));
        if baseline == patched {
            baseline
        } else {
            format!("{baseline} → {patched}")
        }
    }
}

fn peak_ratio(scenario: &Scenario) -> Option<f64> {
    scenario.difference.peak_ratio.or_else(|| {
        let (baseline, patched) = (scenario.baseline.peak_bytes?, scenario.patched.peak_bytes?);
        (baseline > 0).then(|| patched as f64 / baseline as f64)
    })
}

/// How often the CPU waited, and how many of those waits were copies'.
fn waits(arm: &ArmFigures) -> String {
    let of = |name: &str| arm.counters.get(name).copied();
    let Some(all) = of("blocking_waits") else {
        return figures::NONE.to_owned();
    };
    match (of("eligible_copies"), of("blocking_copy_waits")) {
        (Some(copies), Some(waits)) if copies > 0.0 => {
            format!(
                "{} ({} in copies)",
                figures::count(all),
                figures::count(waits)
            )
        }
        _ => figures::count(all),
    }
}

/// The share of allocations that needed no new Metal buffer.
pub(crate) fn reuse(arm: &ArmFigures) -> Option<f64> {
    let allocations = *arm.counters.get("allocations")?;
    if allocations <= 0.0 {
        return None;
    }
    match arm.counters.get("new_buffers") {
        Some(new) => Some((1.0 - new / allocations).clamp(0.0, 1.0)),
        None => arm
            .counters
            .get("reused")
            .map(|reused| reused / allocations),
    }
}

/// The share of host-to-device copies that could be a plain memcpy and were.
pub(crate) fn memcpy_share(arm: &ArmFigures) -> Option<f64> {
    let eligible = *arm.counters.get("eligible_copies")?;
    (eligible > 0.0).then(|| {
        arm.counters
            .get("memcpy_copies")
            .map(|done| done / eligible)
    })?
}

/// The cost of one allocation and its free: instructions where they were counted, else time.
pub(crate) fn allocation_cost(arm: &ArmFigures) -> String {
    let cost = |name: &str| arm.counters.get(name).filter(|value| value.is_finite());
    match (cost("alloc_free_instructions"), cost("alloc_free_ns")) {
        (Some(instructions), _) => format!("{} instructions", figures::count(instructions.round())),
        (None, Some(time)) => format!("{} ns", figures::count(time.round())),
        (None, None) => figures::NONE.to_owned(),
    }
}

/// How the processes of an arm ended: `5 ok` or `4 ok, 1 crashed (signal 11)`.
pub(crate) fn outcomes(arm: &ArmFigures) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for outcome in &arm.outcomes {
        match counted.iter_mut().find(|(name, _)| name == outcome) {
            Some((_, number)) => *number += 1,
            None => counted.push((outcome, 1)),
        }
    }
    if counted.is_empty() {
        return figures::NONE.to_owned();
    }
    let parts: Vec<String> = counted
        .iter()
        .map(|(name, number)| format!("{number} {}", harmless::line(name, harmless::NAME)))
        .collect();
    parts.join(", ")
}

/// Counts of test outcomes: `5,134 passed, 314 failed`, what is zero left out.
pub(crate) fn test_counts(counts: &TestCounts) -> String {
    let parts: Vec<String> = test_outcomes(counts)
        .into_iter()
        .filter(|(_, number)| *number > 0)
        .map(|(name, number)| format!("{} {name}", figures::count(number as f64)))
        .collect();
    if parts.is_empty() {
        "none ran".to_owned()
    } else {
        parts.join(", ")
    }
}

/// What else a reader must know of the tests, one sentence each: tests that did not run, processes that died, leaks.
pub(crate) fn test_remarks(tests: &Tests) -> Vec<String> {
    let mut remarks = Vec::new();
    let both = |counts: &Arms<u64>| {
        let figure = |number: u64| figures::count(number as f64);
        format!(
            "{} in stock, {} in patched",
            figure(counts.baseline),
            figure(counts.patched)
        )
    };
    let any = |counts: &Arms<u64>| counts.baseline + counts.patched > 0;
    if tests.baseline_recorded {
        remarks.push("The stock arm is a recording: it was not run.".to_owned());
    }
    if any(&tests.not_run) {
        remarks.push(format!(
            "Selected tests that did not run: {}.",
            both(&tests.not_run)
        ));
    }
    if any(&tests.exit_crashes) {
        remarks.push(format!(
            "Worker processes that died with no test at hand: {}.",
            both(&tests.exit_crashes)
        ));
    }
    if let Some(leaks) = &tests.leaks {
        let counts = Arms {
            baseline: leaks.baseline.len() as u64,
            patched: leaks.patched.len() as u64,
        };
        remarks.push(format!(
            "Tests in which upstream's own leak check found a leak: {}.",
            both(&counts)
        ));
    }
    if tests.seconds.baseline + tests.seconds.patched > 0.0 {
        remarks.push(format!(
            "The tests' own time: {} in stock, {} in patched.",
            figures::seconds(tests.seconds.baseline),
            figures::seconds(tests.seconds.patched)
        ));
    }
    remarks
}

/// Counts of test outcomes by name.
pub(crate) fn test_outcomes(counts: &TestCounts) -> [(&'static str, u64); 7] {
    [
        ("passed", counts.passed),
        ("failed", counts.failed),
        ("skipped", counts.skipped),
        ("xfailed", counts.xfailed),
        ("xpassed", counts.xpassed),
        ("crashed", counts.crashed),
        ("timed out", counts.timed_out),
    ]
}

/// What a change of a test says about the patches: words, sign, and a class in style sheets.
pub(crate) const fn bearing(bearing: Bearing) -> (&'static str, &'static str, &'static str) {
    match bearing {
        Bearing::Against => ("counts against the patches", "✘", "regression"),
        Bearing::Undecided => ("undecided", "?", "inconclusive"),
        Bearing::Neutral => ("says nothing about the patches", "=", "not-comparable"),
        Bearing::InFavour => ("counts in their favour", "▼", "improved"),
    }
}

/// The order of the rows of changed tests: by what they say about the patches, then by class.
pub(crate) fn change_gravity(change: &TestChange) -> (u8, u8) {
    let bearing = match change.weight() {
        Bearing::Against => 0,
        Bearing::Undecided => 1,
        Bearing::InFavour => 2,
        Bearing::Neutral => 3,
    };
    (bearing, class_gravity(&change.class))
}

/// How grave a class of test change is.
fn class_gravity(class: &str) -> u8 {
    const ORDER: [&str; 14] = [
        "new-crash",
        "regression",
        "new-timeout",
        "exit-crash",
        "missing",
        "new-skip",
        "flakier",
        "changed-failure",
        "order-dependent",
        "infrastructure",
        "flaky-both",
        "same-failure",
        "added",
        "fixed",
    ];
    ORDER
        .iter()
        .position(|known| *known == class)
        .unwrap_or(ORDER.len()) as u8
}

/// A part of a sentence: plain text, or a public report that it names.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Mention {
    pub(crate) text: String,
    /// The number of the issue or pull request of pytorch/pytorch.
    pub(crate) issue: Option<u64>,
}

/// Finds the public reports that a text names, as `P:123` or `pytorch/pytorch#123`.
pub(crate) fn mentions(text: &str) -> Vec<Mention> {
    const FORMS: [&str; 2] = ["P:", "pytorch/pytorch#"];
    let mut found = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let starts_word = plain
            .chars()
            .last()
            .is_none_or(|last| !last.is_alphanumeric());
        let form = FORMS
            .iter()
            .find(|form| starts_word && rest.starts_with(**form));
        let number = form.map(|form| {
            let digits = rest[form.len()..]
                .bytes()
                .take_while(u8::is_ascii_digit)
                .count();
            &rest[form.len()..form.len() + digits]
        });
        match (form, number.and_then(|number| number.parse::<u64>().ok())) {
            (Some(form), Some(issue)) => {
                if !plain.is_empty() {
                    found.push(Mention {
                        text: std::mem::take(&mut plain),
                        issue: None,
                    });
                }
                found.push(Mention {
                    text: format!("pytorch/pytorch#{issue}"),
                    issue: Some(issue),
                });
                rest = &rest[form.len() + number.map_or(0, str::len)..];
            }
            _ => {
                plain.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    if !plain.is_empty() {
        found.push(Mention {
            text: plain,
            issue: None,
        });
    }
    found
}

/// What a scenario reproduces, with the public reports that it names.
pub(crate) fn reproduces(scenario: &Scenario) -> Vec<Mention> {
    match scenario.reproduces.trim() {
        "" | "ours" => mentions("no public report: a check of our own"),
        text => mentions(&harmless::line(text, harmless::SENTENCE)),
    }
}

/// The same as one text, with the public reports written out.
pub(crate) fn reproduces_text(scenario: &Scenario) -> String {
    reproduces(scenario)
        .into_iter()
        .map(|part| part.text)
        .collect()
}

/// A scenario's judgements with what each is about; one line where both say the same.
pub(crate) fn judgements(scenario: &Scenario) -> Vec<(&'static str, &Finding)> {
    if scenario.relative == scenario.absolute {
        vec![("Against stock and by itself", &scenario.relative)]
    } else {
        vec![
            ("Against stock", &scenario.relative),
            ("By itself", &scenario.absolute),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_reports_are_found_in_a_text() {
        let found = mentions("seed 004, P:167940 and pytorch/pytorch#12; MAP:3, P:x");
        let shown: Vec<(&str, Option<u64>)> = found
            .iter()
            .map(|part| (part.text.as_str(), part.issue))
            .collect();
        assert_eq!(
            shown,
            [
                ("seed 004, ", None),
                ("pytorch/pytorch#167940", Some(167_940)),
                (" and ", None),
                ("pytorch/pytorch#12", Some(12)),
                ("; MAP:3, P:x", None)
            ]
        );
    }
}
