//! What the outcomes of test_mps.py add to a verdict.
use crate::report::document::{Reason, TestChange, Tests, Verdict};

/// At most this many tests are named one by one.
const NAMED: usize = 20;

/// What a class of change argues for; nothing for classes that are no reason.
fn argues_for(class: &str) -> Option<Verdict> {
    match class {
        // a skip or a vanished test counts against the patch
        "regression" | "new-crash" | "new-timeout" | "new-skip" | "missing" | "exit-crash"
        | "flakier" => Some(Verdict::Regression),
        "infrastructure" | "order-dependent" => Some(Verdict::Inconclusive),
        "fixed" | "added" | "same-failure" | "changed-failure" | "flaky-both" => None,
        // a class that this version does not know must not pass in silence
        _ => Some(Verdict::Inconclusive),
    }
}

/// Whether tests ran in both arms.
pub(super) fn ran(tests: &Tests) -> bool {
    let total = |counts: &crate::report::document::TestCounts| {
        counts.passed
            + counts.failed
            + counts.xfailed
            + counts.xpassed
            + counts.crashed
            + counts.timed_out
    };
    total(&tests.baseline) > 0 && total(&tests.patched) > 0
}

/// One reason for each test that argues against the patch.
pub(super) fn reasons(tests: Option<&Tests>) -> Vec<Reason> {
    let Some(tests) = tests else {
        return Vec::new();
    };
    let against: Vec<(&TestChange, Verdict)> = tests
        .changes
        .iter()
        .filter_map(|change| Some((change, argues_for(&change.class)?)))
        .collect();
    let mut reasons: Vec<Reason> = against
        .iter()
        .take(NAMED)
        .map(|(change, verdict)| Reason {
            verdict: *verdict,
            subject: change.id.clone(),
            text: format!(
                "{}: {} in the baseline, {} with the patches",
                change.class, change.baseline, change.patched
            ),
        })
        .collect();
    if let Some((_, verdict)) = against.get(NAMED) {
        reasons.push(Reason {
            verdict: *verdict,
            subject: String::new(),
            text: format!("and {} more tests", against.len() - NAMED),
        });
    }
    reasons
}
