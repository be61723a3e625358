//! What the tests showed, as the report's data, and the lines that argue for a verdict. Pure.
use super::classify::Evidence;
use super::expected::Expected;
use super::ledger::{Id, Ledger, Row};
use super::outcome::{Outcome, Quality};
use super::question;
use super::rerun;
use super::suite::LeakCheck;
use crate::report::document::{Arms, FailureGroup, PassRate, Reason, TestCounts, Tests, Verdict};
use crate::run::job::Arm;
use crate::stats::proportion::wilson;
use std::collections::{BTreeMap, HashSet};

/// Ids that a group of failures names.
const EXAMPLES: usize = 10;

/// What the tests showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// The report's section.
    pub tests: Tests,
    /// What argues against a pass beside the rows of the section.
    pub reasons: Vec<Reason>,
    /// Whether all that was asked for has run.
    pub complete: bool,
}

/// What the ledger shows; nothing when no tests were part of the run.
pub(super) fn of(ledger: &Ledger, expected: &Expected) -> Option<Findings> {
    let asked = ledger.asked()?;
    let questions = question::all(ledger);
    let answers = rerun::known(ledger, &questions);
    let chosen = ledger.chosen();
    let evidence = Evidence {
        ledger,
        answers: &answers,
        expected,
        chosen: chosen.as_ref(),
    };
    let rows = |arm: Arm| selected(ledger, arm, evidence.chosen);
    let both = |of: &dyn Fn(Arm) -> u64| Arms {
        baseline: of(Arm::Baseline),
        patched: of(Arm::Patched),
    };
    let baseline = counts(&rows(Arm::Baseline));
    let patched = counts(&rows(Arm::Patched));
    let not_run = both(&|arm| {
        let record = ledger.arm(arm);
        let wanted = record
            .collected
            .iter()
            .filter(|id| evidence.chosen.is_none_or(|chosen| chosen.contains(id)))
            .filter(|id| {
                record
                    .rows
                    .get(id)
                    .is_none_or(|row| row.outcome == Outcome::NotRun)
            });
        wanted.count() as u64
    });
    let changes = evidence.changes();
    let tests = Tests {
        baseline,
        patched,
        pass_rate: Arms {
            baseline: rate(&baseline),
            patched: rate(&patched),
        },
        failures: groups(ledger, evidence.expected, evidence.chosen),
        not_run,
        exit_crashes: both(&|arm| ledger.arm(arm).deaths.len() as u64),
        leaks: (asked.leak_check == LeakCheck::On).then(|| Arms {
            baseline: leaks(ledger, &rows(Arm::Baseline)),
            patched: leaks(ledger, &rows(Arm::Patched)),
        }),
        seconds: Arms {
            baseline: rows(Arm::Baseline).iter().map(|(_, row)| row.seconds).sum(),
            patched: rows(Arm::Patched).iter().map(|(_, row)| row.seconds).sum(),
        },
        baseline_recorded: asked.recorded,
        changes,
    };
    Some(Findings {
        tests,
        reasons: reasons(ledger),
        complete: ledger.is_done(),
    })
}

fn selected<'a>(ledger: &'a Ledger, arm: Arm, chosen: Option<&HashSet<Id>>) -> Vec<(Id, &'a Row)> {
    let record = ledger.arm(arm);
    record
        .collected
        .iter()
        .filter(|id| chosen.is_none_or(|chosen| chosen.contains(id)))
        .filter_map(|id| record.rows.get(id).map(|row| (*id, row)))
        .collect()
}

fn counts(rows: &[(Id, &Row)]) -> TestCounts {
    let mut counts = TestCounts::default();
    for (_, row) in rows {
        let count = match row.outcome {
            Outcome::Passed => &mut counts.passed,
            Outcome::Failed | Outcome::Error => &mut counts.failed,
            Outcome::Skipped => &mut counts.skipped,
            Outcome::Xfailed => &mut counts.xfailed,
            Outcome::Xpassed => &mut counts.xpassed,
            Outcome::Crashed => &mut counts.crashed,
            Outcome::TimedOut => &mut counts.timed_out,
            Outcome::NotRun => continue,
        };
        *count += 1;
    }
    counts
}

fn rate(counts: &TestCounts) -> PassRate {
    let ran = counts.passed
        + counts.failed
        + counts.xfailed
        + counts.xpassed
        + counts.crashed
        + counts.timed_out;
    PassRate {
        rate: if ran == 0 {
            0.0
        } else {
            counts.passed as f64 / ran as f64
        },
        interval: wilson(counts.passed, ran),
    }
}

fn groups(ledger: &Ledger, expected: &Expected, chosen: Option<&HashSet<Id>>) -> Vec<FailureGroup> {
    // unexplained ones under a key that sorts last
    let mut groups: BTreeMap<(bool, String), FailureGroup> = BTreeMap::new();
    for arm in Arm::ALL {
        for (id, row) in selected(ledger, arm, chosen) {
            if row.outcome.quality() != Quality::Bad {
                continue;
            }
            let name = ledger.name(id);
            let reason = expected.reason(name, row.outcome, &row.message);
            let key = (
                reason.is_none(),
                reason.map(|reason| reason.name.clone()).unwrap_or_default(),
            );
            let group = groups.entry(key).or_insert_with(|| FailureGroup {
                reason: reason.map(|reason| reason.name.clone()).unwrap_or_default(),
                why: reason.map(|reason| reason.why.clone()).unwrap_or_default(),
                ..FailureGroup::default()
            });
            match arm {
                Arm::Baseline => group.count.baseline += 1,
                Arm::Patched => group.count.patched += 1,
            }
            if group.examples.len() < EXAMPLES && !group.examples.iter().any(|known| known == name)
            {
                group.examples.push(name.to_owned());
            }
        }
    }
    groups.into_values().collect()
}

/// Upstream's check fails a test with "MPS driver API confirmed a leak in …".
fn leaks(ledger: &Ledger, rows: &[(Id, &Row)]) -> Vec<String> {
    rows.iter()
        .filter(|(_, row)| {
            row.outcome.quality() == Quality::Bad && row.message.contains("confirmed a leak")
        })
        .map(|(id, _)| ledger.name(*id).to_owned())
        .collect()
}

/// What no row says: that the time was over. The rows themselves carry their bearing.
fn reasons(ledger: &Ledger) -> Vec<Reason> {
    Arm::ALL
        .into_iter()
        .filter(|arm| ledger.arm(*arm).out_of_time)
        .map(|arm| Reason {
            verdict: Verdict::Inconclusive,
            subject: String::new(),
            text: format!(
                "the time for the run was over before all tests of the {arm} arm had run"
            ),
        })
        .collect()
}
