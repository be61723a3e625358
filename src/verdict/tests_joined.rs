//! What the outcomes of test_mps.py add to a verdict.
use crate::report::document::{Bearing, Reason, TestCounts, Tests, Verdict};

/// At most this many tests are named one by one.
const NAMED: usize = 20;

/// Whether tests ran in both arms.
pub(super) fn ran(tests: &Tests) -> bool {
    let total = |counts: &TestCounts| {
        counts.passed
            + counts.failed
            + counts.xfailed
            + counts.xpassed
            + counts.crashed
            + counts.timed_out
    };
    total(&tests.baseline) > 0 && total(&tests.patched) > 0
}

/// One reason for each test that argues against the patches. The runner's own reasons, where it gave some, say the same in
/// fewer lines.
pub(super) fn reasons(tests: Option<&Tests>, from_the_runner: &[Reason]) -> Vec<Reason> {
    let Some(tests) = tests.filter(|_| from_the_runner.is_empty()) else {
        return from_the_runner.to_vec();
    };
    let against = |bearing: Bearing, verdict: Verdict| {
        let changes: Vec<_> = tests
            .changes
            .iter()
            .filter(|change| change.weight() == bearing)
            .collect();
        let mut reasons: Vec<Reason> = changes
            .iter()
            .take(NAMED)
            .map(|change| Reason {
                verdict,
                subject: change.id.clone(),
                text: format!(
                    "{}: {} in the baseline, {} with the patches",
                    change.class, change.baseline, change.patched
                ),
            })
            .collect();
        if changes.len() > NAMED {
            reasons.push(Reason {
                verdict,
                subject: String::new(),
                text: format!("and {} more tests", changes.len() - NAMED),
            });
        }
        reasons
    };
    let mut reasons = against(Bearing::Against, Verdict::Regression);
    reasons.extend(against(Bearing::Undecided, Verdict::Inconclusive));
    reasons
}
