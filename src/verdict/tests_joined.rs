//! What the outcomes of test_mps.py add to a verdict.
use crate::report::document::{Bearing, Reason, TestChange, Tests, Verdict};

/// At most this many tests are named one by one.
const NAMED: usize = 20;

/// What a change argues for; nothing when it is no reason.
fn argues_for(change: &TestChange) -> Option<Verdict> {
    match change.weight() {
        Bearing::Against => Some(Verdict::Regression),
        Bearing::Undecided => Some(Verdict::Inconclusive),
        Bearing::Neutral | Bearing::InFavour => None,
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
        .filter_map(|change| Some((change, argues_for(change)?)))
        .collect();
    let mut reasons: Vec<Reason> = against
        .iter()
        .take(NAMED)
        .map(|(change, verdict)| Reason {
            verdict: *verdict,
            subject: change.id.clone(),
            text: format!(
                "{}: {} in the baseline, {} with the patches{}{}",
                change.class,
                change.baseline,
                change.patched,
                if change.evidence.is_empty() { "" } else { "; " },
                change.evidence
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
