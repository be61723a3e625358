//! A report larger than any that a run has made so far.
use std::fs;
use std::path::Path;
use umpatch::report::document::{Fault, Report, TestChange};

/// A report of 10,000 tests that differ and 30 scenarios, with curves of 5 processes per arm in `folder`.
pub fn large(mut report: Report, folder: &Path, excerpt: &str) -> Report {
    let one = report.scenarios[1].clone();
    fs::create_dir_all(folder.join("curves")).unwrap();
    for arm in ["stock", "patched"] {
        for process in 1..=5 {
            let name = format!("curves/steady-steps.{arm}.{process}.csv");
            let mut text = String::from("step,current_bytes,driver_bytes\n");
            for step in 0..500_u64 {
                let size = (step * 7919 * process) % 1000 * 1_048_576;
                text.push_str(&format!("{},{size},{size}\n", step * 4));
            }
            fs::write(folder.join(name), text).unwrap();
        }
    }
    report.scenarios = (0..30)
        .map(|index| {
            let mut scenario = one.clone();
            scenario.id = format!("scenario-number-{index}");
            scenario.patched.faults = vec![Fault {
                kind: "corruption".to_owned(),
                count: 7,
                detail: excerpt.to_owned(),
                bytes: 4096,
            }];
            scenario
        })
        .collect();
    report.tests.as_mut().unwrap().changes = (0..10_000)
        .map(|index| TestChange {
            id: format!("test/test_mps.py::TestConsistencyCPU::test_output_match_operator_{index}_cpu_float32"),
            class: ["fixed", "regression", "same-failure", "flaky-both"][index % 4].to_owned(),
            baseline: "passed".to_owned(),
            patched: "failed".to_owned(),
            excerpt: excerpt.to_owned(),
            reason: String::new(),
            evidence: "fails 8 of 8 times with the patches, 0 of 8 without".to_owned(),
            bearing: None,
        })
        .collect();
    report
}
