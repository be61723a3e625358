//! The tests of the page: counts, changes with their class and output, failures by reason, leaks.
use super::super::document::{Bearing, FailureGroup, PassRate, TestChange, Tests};
use super::super::{figures, harmless, summary};
use serde::Serialize;

/// Rows of changed tests that the page shows; the data has all of them.
const CHANGES: usize = 10_000;
/// Names listed in one place.
const NAMES: usize = 50;

#[derive(Serialize)]
pub(super) struct TestsView {
    arms: Vec<TestArm>,
    outcomes: Vec<&'static str>,
    remarks: Vec<String>,
    /// Changes that say something about the patches, and those that say nothing.
    telling: Vec<ChangeRow>,
    neutral: Vec<ChangeRow>,
    classes: Vec<ClassCount>,
    failures: Vec<FailureRow>,
    leaks: Vec<(&'static str, Vec<String>)>,
    more: usize,
}

#[derive(Serialize)]
struct FailureRow {
    reason: String,
    why: String,
    baseline: String,
    patched: String,
    examples: Vec<String>,
}

#[derive(Serialize)]
struct TestArm {
    name: &'static str,
    rate: String,
    interval: String,
    counts: Vec<String>,
}

#[derive(Serialize)]
struct ChangeRow {
    id: String,
    class: String,
    sign: &'static str,
    style: &'static str,
    baseline: String,
    patched: String,
    evidence: String,
    reason: String,
    excerpt: String,
}

#[derive(Serialize)]
struct ClassCount {
    class: String,
    number: usize,
    style: &'static str,
}

fn change_row(change: &TestChange) -> ChangeRow {
    let (_, sign, style) = summary::bearing(change.weight());
    ChangeRow {
        id: harmless::line(&change.id, harmless::NAME),
        class: harmless::line(&change.class, harmless::NAME),
        sign,
        style,
        baseline: harmless::line(&change.baseline, harmless::NAME),
        patched: harmless::line(&change.patched, harmless::NAME),
        evidence: harmless::line(&change.evidence, harmless::NAME),
        reason: harmless::line(&change.reason, harmless::NAME),
        excerpt: harmless::block(&change.excerpt, harmless::OUTPUT),
    }
}

fn class_counts(changes: &[&TestChange]) -> Vec<ClassCount> {
    let mut classes: Vec<ClassCount> = Vec::new();
    for change in changes {
        let class = harmless::line(&change.class, harmless::NAME);
        let (_, _, style) = summary::bearing(change.weight());
        let same = |known: &&mut ClassCount| known.class == class && known.style == style;
        match classes.iter_mut().find(same) {
            Some(known) => known.number += 1,
            None => classes.push(ClassCount {
                class,
                number: 1,
                style,
            }),
        }
    }
    classes
}

fn failure_rows(tests: &Tests) -> Vec<FailureRow> {
    let row = |group: &FailureGroup| FailureRow {
        reason: harmless::line(&group.reason, harmless::NAME),
        why: harmless::line(&group.why, harmless::SENTENCE),
        baseline: figures::count(group.count.baseline as f64),
        patched: figures::count(group.count.patched as f64),
        examples: names(&group.examples),
    };
    tests.failures.iter().map(row).collect()
}

fn names(names: &[String]) -> Vec<String> {
    names
        .iter()
        .take(NAMES)
        .map(|name| harmless::line(name, harmless::NAME))
        .collect()
}

pub(super) fn tests(tests: &Tests) -> TestsView {
    let arm = |name, counts, rate: &PassRate| TestArm {
        name,
        rate: figures::share(rate.rate),
        interval: format!(
            "{} … {}",
            figures::share(rate.interval[0]),
            figures::share(rate.interval[1])
        ),
        counts: summary::test_outcomes(counts)
            .into_iter()
            .map(|(_, number)| figures::count(number as f64))
            .collect(),
    };
    let mut sorted: Vec<&TestChange> = tests.changes.iter().collect();
    sorted.sort_by_key(|change| summary::change_gravity(change));
    let (neutral, telling): (Vec<&TestChange>, Vec<&TestChange>) = sorted
        .iter()
        .take(CHANGES)
        .copied()
        .partition(|change| change.weight() == Bearing::Neutral);
    let rows = |changes: &[&TestChange]| changes.iter().map(|change| change_row(change)).collect();
    let leaks = tests.leaks.as_ref().map_or_else(Vec::new, |leaks| {
        vec![
            ("stock", names(&leaks.baseline)),
            ("patched", names(&leaks.patched)),
        ]
    });
    TestsView {
        arms: vec![
            arm("stock", &tests.baseline, &tests.pass_rate.baseline),
            arm("patched", &tests.patched, &tests.pass_rate.patched),
        ],
        outcomes: summary::test_outcomes(&tests.baseline)
            .map(|(name, _)| name)
            .to_vec(),
        remarks: summary::test_remarks(tests),
        telling: rows(&telling),
        neutral: rows(&neutral),
        classes: class_counts(&sorted),
        failures: failure_rows(tests),
        leaks,
        more: sorted.len().saturating_sub(CHANGES),
    }
}
