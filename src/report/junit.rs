//! The report as JUnit XML: scenarios and differing tests as test cases, as CI systems read them.
use super::document::{Bearing, FindingState, Report, Scenario, TestChange, Tests};
use super::{figures, harmless, summary};
use quick_junit::{
    NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestRerun, TestSuite,
};

/// Renders the report.
pub(super) fn render(report: &Report) -> Result<String, quick_junit::SerializeError> {
    let mut document = Document::new("umpatch verify");
    document.add_test_suite(verdict(report));
    document.add_test_suite(scenarios(report));
    if let Some(tests) = &report.tests {
        document.add_test_suite(changes(tests));
    }
    document.to_string()
}

/// One case for the verdict itself, so that a run without a failing row (a build that broke) is red all the same.
fn verdict(report: &Report) -> TestSuite {
    let mut suite = TestSuite::new("umpatch.verdict");
    let id = summary::verdict_id(report.verdict);
    suite.add_property(("verdict", id));
    suite.add_property(("trust", summary::trust(report.trust).word));
    let key = harmless::line(&report.fingerprint.key, harmless::NAME);
    suite.add_property(("fingerprint", key.as_str()));
    for (name, value) in &report.fingerprint.parts {
        suite.add_property((
            harmless::line(name, harmless::NAME).as_str(),
            harmless::line(value, harmless::SENTENCE).as_str(),
        ));
    }
    let status = if report.exit_code == 0 {
        TestCaseStatus::success()
    } else {
        let lines: Vec<String> = report.reasons.iter().map(summary::reason_line).collect();
        let decided = summary::deciding(report).map(summary::reason_line);
        failure(
            NonSuccessKind::Failure,
            id,
            &decided.unwrap_or_else(|| summary::verdict_meaning(report.verdict).to_owned()),
            &lines.join("\n"),
        )
    };
    let mut case = TestCase::new("verdict", status);
    case.set_classname("umpatch");
    suite.add_test_case(case);
    suite
}

fn scenarios(report: &Report) -> TestSuite {
    let mut suite = TestSuite::new("umpatch.scenarios");
    for scenario in &report.scenarios {
        suite.add_test_case(scenario_case(scenario));
    }
    suite
}

fn scenario_case(scenario: &Scenario) -> TestCase {
    let finding = summary::leading(scenario);
    let text = harmless::line(&finding.text, harmless::SENTENCE);
    let word = summary::finding_word(finding.state);
    let status = match finding.state {
        FindingState::Ok | FindingState::Improved | FindingState::PreExisting => {
            TestCaseStatus::success()
        }
        FindingState::Regression => {
            failure(NonSuccessKind::Failure, word, &text, &details(scenario))
        }
        FindingState::Inconclusive => {
            failure(NonSuccessKind::Error, word, &text, &details(scenario))
        }
        FindingState::NotComparable => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message(text.as_str());
            skipped
        }
    };
    let mut case = TestCase::new(harmless::line(&scenario.id, harmless::NAME), status);
    case.set_classname("umpatch.scenarios");
    if matches!(case.status, TestCaseStatus::Success { .. }) {
        case.set_system_out(details(scenario));
    }
    case
}

fn details(scenario: &Scenario) -> String {
    let measures = summary::measures(scenario);
    let mut lines = vec![format!(
        "reproduces: {}",
        summary::reproduces_text(scenario)
    )];
    for measure in [
        measures.slope,
        measures.peak,
        measures.reuse,
        measures.waits,
        measures.hazards,
    ] {
        lines.push(format!(
            "{}: stock {}, patched {}",
            measure.name, measure.values.baseline, measure.values.patched
        ));
    }
    for (arm, figures) in [
        ("stock", &scenario.baseline),
        ("patched", &scenario.patched),
    ] {
        for fault in &figures.faults {
            lines.push(format!(
                "{arm}: {} × {}: {}",
                fault.count,
                harmless::line(&fault.kind, harmless::NAME),
                harmless::line(&fault.detail, harmless::SENTENCE)
            ));
        }
    }
    lines.push(format!("repeat: {}", summary::scenario_command(scenario)));
    lines.join("\n")
}

fn changes(tests: &Tests) -> TestSuite {
    let mut suite = TestSuite::new("umpatch.tests");
    for (arm, counts, rate) in [
        ("stock", &tests.baseline, &tests.pass_rate.baseline),
        ("patched", &tests.patched, &tests.pass_rate.patched),
    ] {
        for (name, number) in summary::test_outcomes(counts) {
            let name = format!("{arm} {name}");
            suite.add_property((name.as_str(), number.to_string().as_str()));
        }
        let name = format!("{arm} pass rate");
        suite.add_property((name.as_str(), figures::share(rate.rate).as_str()));
    }
    for change in &tests.changes {
        suite.add_test_case(change_case(change));
    }
    suite
}

/// A crash or a timeout is an error, a wrong result a failure; a flaky test passes with a rerun recorded, as Surefire
/// and its readers have it; what does not count against the patches passes.
fn change_case(change: &TestChange) -> TestCase {
    let mut message = format!(
        "{}: {} in stock, {} in patched",
        harmless::line(&change.class, harmless::NAME),
        harmless::line(&change.baseline, harmless::NAME),
        harmless::line(&change.patched, harmless::NAME)
    );
    for more in [&change.evidence, &change.reason] {
        if !more.is_empty() {
            message.push_str("; ");
            message.push_str(&harmless::line(more, harmless::NAME));
        }
    }
    let excerpt = harmless::block(&change.excerpt, harmless::OUTPUT);
    let class = change.class.as_str();
    let status = match class {
        "new-crash" | "exit-crash" | "new-timeout" | "infrastructure" => {
            failure(NonSuccessKind::Error, class, &message, &excerpt)
        }
        "flaky-both" | "order-dependent" => {
            let mut success = TestCaseStatus::success();
            let mut rerun = TestRerun::new(NonSuccessKind::Failure);
            rerun
                .set_type(class)
                .set_message(message.as_str())
                .set_description(excerpt.as_str());
            success.add_rerun(rerun);
            success
        }
        "same-failure" | "changed-failure" if change.weight() != Bearing::Against => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message(message.as_str());
            skipped
        }
        _ if change.weight() == Bearing::Against => {
            failure(NonSuccessKind::Failure, class, &message, &excerpt)
        }
        _ if change.weight() == Bearing::Undecided => {
            failure(NonSuccessKind::Error, class, &message, &excerpt)
        }
        _ => TestCaseStatus::success(),
    };
    let id = harmless::line(&change.id, harmless::NAME);
    let (suite, name) = id.rsplit_once("::").unwrap_or(("test_mps", &id));
    let mut case = TestCase::new(name, status);
    case.set_classname(suite);
    case
}

fn failure(kind: NonSuccessKind, class: &str, message: &str, description: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status
        .set_type(harmless::line(class, harmless::NAME))
        .set_message(message)
        .set_description(description);
    status
}
