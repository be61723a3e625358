//! Whether the proof finds faults that nobody thought of: mutants of the series on the real 2.6.0 tree.
//!
//! Needs what the test command provides: `UMPATCH_TEST_TREE`, the compiler and the torch wheel in the cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#[path = "support/real.rs"]
mod real;

use real::{alone, umpatch};
use serde_json::Value;

/// `verify --mutants --json`: the exit code and the document.
fn verify_mutants(arguments: &[&str]) -> (i32, Value) {
    let mut words = vec!["--mutants"];
    words.extend(arguments);
    umpatch("verify", &words)
}

/// A sample, the same one each time; `umpatch verify --mutants` judges all.
#[test]
fn the_proof_finds_the_mutants_of_a_sample() {
    let _alone = alone();
    let (code, document) = verify_mutants(&["--sample", "25", "--sample-seed", "8"]);
    assert_eq!(document["schema"], "umpatch.mutants/1", "{document}");
    // a generator that overlooks half of a file would score as well
    let by_patch = document["compiling_by_patch"].as_object().unwrap();
    for (patch, least) in [
        ("release-race", 10),
        ("empty-cache", 5),
        ("pending-free", 150),
        ("shared-default", 5),
        ("copy-values", 80),
        ("memcpy-copy", 150),
        ("release-empty-heaps", 15),
        ("memory-figures", 2),
    ] {
        let count = by_patch.get(patch).and_then(Value::as_u64).unwrap_or(0);
        assert!(count >= least, "{patch}: {count} of at least {least}");
    }
    let score = &document["score"];
    assert_eq!(score["all"]["mutants"], 25);
    assert!(score["all"]["score"].as_f64().unwrap() >= 0.95, "{score}");
    assert_eq!(score["unlisted"], serde_json::json!([]));
    assert_eq!(score["refuted"], serde_json::json!([]));
    assert_eq!((code, &document["met"]), (0, &Value::Bool(true)), "{score}");
}

/// A mutant that is found is not passed over: its scenario and what it showed are told.
#[test]
fn a_mutant_that_is_not_there_is_an_error() {
    let _alone = alone();
    let (code, document) = verify_mutants(&["--mutant", "pending-free/no-such/thing"]);
    assert_eq!(code, 2, "{document}");
    assert!(
        document["error"][0].as_str().unwrap().contains("no mutant"),
        "{document}"
    );
}
