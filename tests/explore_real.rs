//! The schedule explorer on the real 2.6.0 tree: our series is clean, stock's faults and a planted one are found, a seed does
//! the same again, and a trace that was made small still shows its fault.
//!
//! Needs what the test command provides: `UMPATCH_TEST_TREE`, the compiler and the torch wheel in the cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#[path = "support/real.rs"]
mod real;

use real::{alone, umpatch};
use serde_json::Value;
use std::path::Path;

/// `explore --json` on the tree: the exit code and the document.
fn explore(arguments: &[&str]) -> (i32, Value) {
    umpatch("explore", arguments)
}

/// `verify` of the explorer's scenario with so many seeds.
fn verify(seeds: &str, arguments: &[&str]) -> (i32, Value) {
    let runs = tempfile::tempdir().unwrap();
    let folder = runs.path().join("run");
    let mut words = vec!["--no-tests", "--scenario", "schedules", "--steps", seeds];
    words.extend(["--run-folder", folder.to_str().unwrap()]);
    words.extend(arguments);
    umpatch("verify", &words)
}

#[test]
fn our_series_violates_nothing() {
    let _alone = alone();
    let (code, document) = explore(&["--seeds", "4000"]);
    assert_eq!(code, 0, "{}", document["violations"]);
    assert_eq!(document["schema"], "umpatch.explore/1");
    assert_eq!(document["seeds"], 4000);
    assert_eq!(document["next"], 4001);
}

#[test]
fn stock_violates_and_its_small_trace_does_the_same() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let keep = folder.path().to_str().unwrap();
    let without = "from-host-async,to-device-async,to-host-dropped";
    let (code, document) = explore(&[
        "--arm",
        "stock",
        "--seeds",
        "400",
        "--without",
        without,
        "--keep",
        keep,
    ]);
    assert_eq!(code, 1);
    // memory that command buffers hold is given to the CPU to write
    assert!(document["kinds"]["hazard"].as_u64().unwrap() > 0);
    let first = document["violations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|violation| violation["kind"] == "hazard")
        .unwrap();
    assert_eq!(first["replays"], true);
    assert!(first["shrunk_operations"].as_u64().unwrap() <= 6, "{first}");
    let kept = first["kept"].as_str().unwrap();
    let (code, again) = explore(&["--arm", "stock", "--trace", kept, "--no-shrink"]);
    assert_eq!((code, &again["violations"][0]["kind"]), (1, &first["kind"]));
    // what it shows is mended in the series
    let (code, _) = explore(&["--trace", kept]);
    assert_eq!(code, 0);
}

#[test]
fn kept_traces_fail_on_stock_and_pass_with_the_series() {
    let _alone = alone();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/traces");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "trace")
        {
            continue;
        }
        let trace = path.to_str().unwrap();
        let said = std::fs::read_to_string(&path).unwrap();
        let kind = said.trim_start_matches("# ").split(':').next().unwrap();
        let (code, document) = explore(&["--arm", "stock", "--trace", trace, "--no-shrink"]);
        // whether a race of threads does harm depends on where memory lies
        if kind != "crash" {
            assert_eq!(code, 1, "{trace}");
            assert_eq!(document["violations"][0]["kind"], kind, "{trace}");
        }
        let (code, document) = explore(&["--trace", trace, "--no-shrink"]);
        assert_eq!(code, 0, "{trace}: {}", document["violations"]);
        seen += 1;
    }
    assert!(seen >= 4);
}

#[test]
fn a_seed_does_exactly_the_same_again() {
    let _alone = alone();
    let run = || {
        let (code, document) = explore(&["--arm", "stock", "--seeds", "60", "--no-shrink"]);
        assert_eq!(code, 1);
        let violations = document["violations"].as_array().unwrap().clone();
        let mut seen: Vec<(u64, u64)> = violations
            .iter()
            .map(|violation| {
                let number = |name: &str| violation[name].as_u64().unwrap();
                (number("seed"), number("fingerprint"))
            })
            .collect();
        seen.sort_unstable();
        (seen, document["steps"].as_u64().unwrap())
    };
    assert_eq!(run(), run());
}

#[test]
fn a_planted_fault_is_found() {
    let _alone = alone();
    let mutant = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/mutants/lose-a-block");
    let (code, document) = explore(&[
        "--patches-from",
        mutant.to_str().unwrap(),
        "--seeds",
        "1000",
        "--stop-after",
        "1",
        "--no-shrink",
    ]);
    assert_eq!(code, 1, "{document}");
}

#[test]
fn a_data_race_is_found() {
    let _alone = alone();
    let planted = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/planted");
    let folder = planted.join("no-lock-in-is-shared");
    let (code, document) = explore(&[
        "--patches-from",
        folder.to_str().unwrap(),
        "--sanitizer",
        "tsan",
        "--seeds",
        "300",
        "--stop-after",
        "1",
        "--no-shrink",
    ]);
    assert_eq!(code, 1, "{document}");
    let violation = &document["violations"][0];
    assert_eq!(violation["kind"], "race", "{violation}");
    let said = violation["detail"].as_str().unwrap();
    assert!(said.contains("HeapAllocator"), "{said}");
}

#[test]
fn verify_passes_our_series_by_what_it_mends() {
    let _alone = alone();
    for series in ["classic", "classic-ordered"] {
        let (code, report) = verify("300", &["--series", series]);
        assert_eq!(code, 0, "{}", report["reasons"]);
        let row = &report["scenarios"][0];
        assert_eq!(row["relative"]["state"], "improved", "{row}");
        let said = row["relative"]["text"].as_str().unwrap();
        assert!(said.starts_with("mended by release-race, "), "{said}");
        assert!(
            said.contains("umpatch explore --arm stock --seed "),
            "{said}"
        );
        assert_eq!(row["patched"]["counters"]["seeds"], 300.0);
        assert_eq!(row["baseline"]["counters"]["seeds"], 300.0);
    }
}

#[test]
fn verify_refuses_patches_that_violate_and_says_how_to_see_it_again() {
    let _alone = alone();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/mutants/pending-to-cpu");
    let (code, report) = verify("300", &["--patches-from", folder.to_str().unwrap()]);
    assert_eq!((code, &report["verdict"]), (1, &"regression".into()));
    let faults = report["scenarios"][0]["patched"]["faults"].as_array();
    let hazard = faults
        .unwrap()
        .iter()
        .find(|fault| fault["kind"] == "hazard");
    let said = hazard.unwrap()["detail"].as_str().unwrap();
    let reasons = report["reasons"].to_string();
    assert!(
        reasons.contains("hazard ") && reasons.contains(" --seed "),
        "{reasons}"
    );
    // the command that it names shows the same
    let command = said.split(": ").next().unwrap();
    let words: Vec<&str> = command.split(' ').skip(2).collect();
    assert_eq!(words[0], "--patches-from", "{said}");
    let (code, document) = explore(&[&words[..], &["--no-shrink"]].concat());
    assert_eq!(code, 1, "{said}");
    assert_eq!(document["violations"][0]["kind"], "hazard", "{said}");
}

#[test]
fn traces_and_settings_that_are_none_are_refused() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, contents: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, contents).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let slot = path("slot", b"umpatch.trace/1\nthread 1\n  tensor t9z 12\n");
    let noise = path("noise", b"\x1b[2Jumpatch\xff\n");
    let setting = path(
        "set",
        b"umpatch.trace/1\nset foo=bar\nthread 1\n  empty-cache\n",
    );
    let case = path("case", b"umpatch.trace/1\ncase no-such 1 1\n");
    let threads = path("threads", b"umpatch.trace/1\ncase four-threads 1 1\n");
    let both = path(
        "both",
        b"umpatch.trace/1\ncase routing 1 1\nthread 1\n  empty-cache\n",
    );
    let missing = folder.path().join("missing");
    for (words, expected) in [
        (["--trace", &slot], "line 3"),
        (["--trace", &noise], "line 1 is not understood: ?[2Jumpatch"),
        (["--trace", &setting], "'foo=bar' is no setting"),
        (["--trace", &case], "'no-such' is no scenario"),
        (
            ["--trace", &threads],
            "'four-threads' is no scenario, or not one",
        ),
        (["--trace", &both], "a case has no operations"),
        (["--trace", missing.to_str().unwrap()], "cannot be read"),
        (["--set", "foo=bar"], "'foo=bar' is no setting"),
        (["--set", "mode=sideways"], "'mode=sideways' is no setting"),
    ] {
        let (code, document) = explore(&words);
        assert_eq!(code, 2, "{words:?}: {document}");
        let said = document["error"][0].as_str().unwrap_or_default();
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}
