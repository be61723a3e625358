//! JUnit: a recorded baseline in, the outcomes of each arm out.
use super::error::TestsError;
use super::ledger::{Ledger, Row};
use super::outcome::{Outcome, Quality};
use crate::run::job::Arm;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

/// One test of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its id, as pytest writes it.
    pub id: String,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
    /// Why it failed.
    pub message: String,
}

/// Reads the JUnit file of pytest or of another tool. `file` is the test file that ids begin with; cases of other files
/// are left out when any case names this one.
///
/// # Errors
/// When it cannot be read or holds no test case.
pub fn read(path: &Path, file: &str) -> Result<Vec<Case>, TestsError> {
    let wrong = |detail: String| TestsError::Input {
        what: "JUnit file",
        path: path.to_owned(),
        detail,
    };
    let reader = BufReader::new(std::fs::File::open(path).map_err(TestsError::file("read", path))?);
    let report = Report::deserialize(reader).map_err(|error| wrong(error.to_string()))?;
    let module = file.trim_end_matches(".py").replace('/', ".");
    let cases: Vec<Case> = report
        .test_suites
        .iter()
        .flat_map(|suite| &suite.test_cases)
        .map(|case| understood(case, file, &module))
        .collect();
    if cases.is_empty() {
        return Err(wrong("it holds no test case".to_owned()));
    }
    let mut latest: Vec<Case> = Vec::with_capacity(cases.len());
    let mut index = std::collections::HashMap::new();
    for case in cases {
        // pytest writes a test that fails and whose tear-down fails too as two cases: the worse one counts
        match index.get(&case.id) {
            Some(at) => {
                let known: &mut Case = &mut latest[*at];
                if known.outcome.quality() != Quality::Bad {
                    *known = case;
                }
            }
            None => {
                index.insert(case.id.clone(), latest.len());
                latest.push(case);
            }
        }
    }
    Ok(latest)
}

fn understood(case: &TestCase, file: &str, module: &str) -> Case {
    let class = case.classname.as_deref().unwrap_or_default();
    // pytest: classname="test_mps.TestMPS", name="test_add"; ours: classname="test_mps.py::TestMPS"
    let inner = class
        .strip_prefix(file)
        .or_else(|| class.strip_prefix(module))
        .unwrap_or(class)
        .trim_start_matches(['.', ':']);
    let id = if inner.is_empty() {
        format!("{file}::{}", case.name.as_str())
    } else {
        format!(
            "{file}::{}::{}",
            inner.replace('.', "::"),
            case.name.as_str()
        )
    };
    let (outcome, message) = match &case.status {
        TestCaseStatus::Success { .. } => (Outcome::Passed, String::new()),
        TestCaseStatus::NonSuccess {
            kind,
            message,
            ty,
            description,
            ..
        } => {
            let message = message
                .as_deref()
                .or(description.as_deref())
                .unwrap_or_default()
                .to_owned();
            let outcome = match (kind, ty.as_deref()) {
                (_, Some("crashed")) => Outcome::Crashed,
                (_, Some("timed-out")) => Outcome::TimedOut,
                (NonSuccessKind::Error, _) => Outcome::Error,
                (NonSuccessKind::Failure, _) => Outcome::Failed,
            };
            (outcome, message)
        }
        TestCaseStatus::Skipped { ty, message, .. } => {
            let outcome = match ty.as_deref() {
                Some("pytest.xfail" | "xfailed") => Outcome::Xfailed,
                _ => Outcome::Skipped,
            };
            (outcome, message.as_deref().unwrap_or_default().to_owned())
        }
    };
    Case {
        id,
        outcome,
        seconds: case.time.map_or(0.0, |time| time.as_secs_f64()),
        message,
    }
}

/// Writes the outcomes of one arm, every test of it, in the file's order.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(ledger: &Ledger, arm: Arm, path: &Path) -> Result<(), TestsError> {
    let mut suite = TestSuite::new(arm.name());
    let record = ledger.arm(arm);
    for id in &record.collected {
        if let Some(row) = record.rows.get(id) {
            suite.add_test_case(case(ledger.name(*id), row));
        }
    }
    let mut report = Report::new(format!("umpatch {arm}"));
    report.add_test_suite(suite);
    // written beside and renamed: a reader never sees half of it
    let beside = path.with_extension("xml.part");
    let file = std::fs::File::create(&beside).map_err(TestsError::file("write", &beside))?;
    report
        .serialize(std::io::BufWriter::new(file))
        .map_err(|error| std::io::Error::other(error.to_string()))
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(TestsError::file("write", path))
}

fn case(id: &str, row: &Row) -> TestCase {
    let bad = |kind: NonSuccessKind| {
        let mut status = TestCaseStatus::non_success(kind);
        status
            .set_type(row.outcome.name())
            .set_message(visible(&row.message));
        if let Some(text) = &row.text {
            status.set_description(visible(text));
        }
        status
    };
    let status = match row.outcome {
        Outcome::Passed | Outcome::Xpassed => TestCaseStatus::success(),
        Outcome::Failed => bad(NonSuccessKind::Failure),
        Outcome::Error | Outcome::Crashed | Outcome::TimedOut => bad(NonSuccessKind::Error),
        Outcome::Xfailed | Outcome::Skipped | Outcome::NotRun => {
            let mut status = TestCaseStatus::skipped();
            status.set_type(row.outcome.name());
            if !row.message.is_empty() {
                status.set_message(visible(&row.message));
            }
            status
        }
    };
    let (class, name) = id.rsplit_once("::").unwrap_or(("", id));
    let mut case = TestCase::new(name, status);
    case.set_classname(class);
    case.set_time(Duration::try_from_secs_f64(row.seconds).unwrap_or_default());
    case
}

/// Without the control characters that XML cannot hold.
fn visible(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTEST: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="0" failures="1" skipped="2" tests="5" time="0.04" timestamp="2024-01-01T00:00:00.000000+00:00" hostname="h">
<testcase classname="test_mps.TestMPS" name="test_pass" time="0.5" />
<testcase classname="test_mps.TestMPS" name="test_fail" time="0.001"><failure message="assert 1 == 2">trace</failure></testcase>
<testcase classname="test_mps.TestMPS" name="test_skip" time="0.0"><skipped type="pytest.skip" message="why">where</skipped></testcase>
<testcase classname="test_mps.TestMPS" name="test_xf" time="0.0"><skipped type="pytest.xfail" message="" /></testcase>
<testcase classname="test_mps" name="test_alone" time="0.0"><error message="failed on setup">trace</error></testcase>
</testsuite></testsuites>"#;

    #[test]
    fn a_file_of_pytest_is_understood() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.xml");
        std::fs::write(&path, PYTEST).unwrap();
        let cases = read(&path, "test_mps.py").unwrap();
        let short: Vec<(&str, Outcome)> = cases
            .iter()
            .map(|case| (case.id.as_str(), case.outcome))
            .collect();
        assert_eq!(
            short,
            [
                ("test_mps.py::TestMPS::test_pass", Outcome::Passed),
                ("test_mps.py::TestMPS::test_fail", Outcome::Failed),
                ("test_mps.py::TestMPS::test_skip", Outcome::Skipped),
                ("test_mps.py::TestMPS::test_xf", Outcome::Xfailed),
                ("test_mps.py::test_alone", Outcome::Error),
            ]
        );
        assert!((cases[0].seconds - 0.5).abs() < 1e-9);
        assert_eq!(cases[1].message, "assert 1 == 2");
    }

    #[test]
    fn what_is_no_junit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.xml");
        for text in ["", "hello", "<testsuites name=\"x\"></testsuites>"] {
            std::fs::write(&path, text).unwrap();
            assert!(read(&path, "a.py").is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        use crate::run::tests::event::{Pass, TestEvent};
        let mut ledger = Ledger::default();
        ledger.apply(&TestEvent::WorkerStart {
            arm: Arm::Baseline,
            pass: Pass::Main,
            lane: 0,
            worker: 0,
            subject: None,
        });
        let ids: Vec<String> = Outcome::ALL
            .iter()
            .map(|outcome| format!("a.py::C::test_{outcome}"))
            .collect();
        ledger.apply(&TestEvent::Collected {
            arm: Arm::Baseline,
            ids: ids.clone(),
            last: true,
        });
        for (id, outcome) in ids.iter().zip(Outcome::ALL) {
            ledger.apply(&TestEvent::Finish {
                worker: 0,
                id: id.clone(),
                outcome,
                seconds: 0.25,
                message: "a <b> \u{1b}[31m".to_owned(),
                excerpt: "line\u{0}".to_owned(),
                output: String::new(),
            });
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.xml");
        write(&ledger, Arm::Baseline, &path).unwrap();
        let cases = read(&path, "a.py").unwrap();
        assert_eq!(
            cases.iter().map(|case| &case.id).collect::<Vec<_>>(),
            ids.iter().collect::<Vec<_>>()
        );
        for (case, outcome) in cases.iter().zip(Outcome::ALL) {
            let wanted = match outcome {
                Outcome::Xpassed => Outcome::Passed,
                Outcome::NotRun => Outcome::Skipped,
                other => other,
            };
            assert_eq!(case.outcome, wanted);
        }
    }
}
