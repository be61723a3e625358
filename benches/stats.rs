//! What the statistics cost: a curve of a million samples, and the outcomes of ten thousand tests in both arms.
//! `cargo bench --bench stats`; the goals are a second and a tenth of one.
#![allow(clippy::unwrap_used, missing_docs)]
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use umpatch::run::job::Arm;
use umpatch::run::tests::Story;
use umpatch::run::tests::event::TestEvent;
use umpatch::stats::curve::analyse;

const SAMPLES: u32 = 1_000_000;
const TESTS: u32 = 10_000;

fn a_million_samples(criterion: &mut Criterion) {
    let samples: Vec<(f64, f64)> = (0..SAMPLES)
        .map(|step| {
            let x = f64::from(step);
            (x, 3.3e7 + 1e6 * (x * 12.9898).sin() + 0.5 * x)
        })
        .collect();
    criterion.bench_function("a curve of 1,000,000 samples", |bencher| {
        bencher.iter(|| analyse(black_box(&samples), 4096.0));
    });
}

/// The events of a whole run: one test in a hundred fails with the patches alone, one in a hundred in both arms.
fn events() -> Vec<TestEvent> {
    let ids: Vec<String> = (0..TESTS)
        .map(|number| format!("test_mps.py::TestConsistency::test_output_match_{number:05}"))
        .collect();
    let event = |value: serde_json::Value| serde_json::from_value(value).unwrap();
    let mut events: Vec<TestEvent> = vec![event(serde_json::json!({
        "test": "plan", "level": 0.05, "leak_check": "off", "recorded": false,
    }))];
    for (worker, arm) in [(1, Arm::Baseline), (2, Arm::Patched)] {
        events.push(TestEvent::Collected {
            arm,
            ids: ids.clone(),
            last: true,
        });
        events.push(event(serde_json::json!({
            "test": "worker-start", "arm": arm, "pass": "main", "lane": 0, "worker": worker,
        })));
        for (number, id) in ids.iter().enumerate() {
            let fails = number % 100 == 7 || number % 100 == 9 && arm == Arm::Patched;
            events.push(event(serde_json::json!({
                "test": "finish", "worker": worker, "id": id, "seconds": 0.05,
                "outcome": if fails { "failed" } else { "passed" },
                "message": if fails { "AssertionError: Tensor-likes are not close!" } else { "" },
            })));
        }
    }
    events
}

fn ten_thousand_tests(criterion: &mut Criterion) {
    let events = events();
    let expected = umpatch::run::tests::known_failures();
    let findings = |events: &[TestEvent]| {
        let mut story = Story::default();
        for event in events {
            story.take(event);
        }
        story.findings(&expected)
    };
    let found = findings(&events).unwrap();
    assert_eq!(found.tests.patched.failed, u64::from(TESTS) / 50);
    criterion.bench_function("10,000 tests in 2 arms", |bencher| {
        bencher.iter(|| findings(black_box(&events)));
    });
}

criterion_group!(benches, a_million_samples, ten_thousand_tests);
criterion_main!(benches);
