//! A Mac's whole way on Linux, with programs that answer from recordings: to a verdict, and into each failure that a real Mac
//! is known for, with the message and the exit status that a maintainer needs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod builds;
mod doctor;
#[path = "../support/ran.rs"]
mod ran;
mod stage;

use ran::Ran;
use stage::{Stage, git, machines};

/// The exit status, and words that the message or its hints have to have.
fn ends(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran}");
    for word in words {
        assert!(ran.err.contains(word), "{word}: {ran}");
    }
}

/// Nothing is held against the patches; whether memory grows, the few pairs of the recording are too noisy to tell.
fn sound_but_undecided(report: &serde_json::Value) {
    assert_eq!(
        report["scenarios"][0]["relative"]["state"], "inconclusive",
        "{report}"
    );
    for reason in report["reasons"].as_array().unwrap() {
        assert_eq!(reason["verdict"], "inconclusive", "{report}");
        let text = reason["text"].as_str().unwrap();
        assert!(
            text.contains("more pairs") || text.contains("rehearsal"),
            "{text}"
        );
    }
}

#[test]
fn apply_and_verify_run_to_a_verdict_that_is_no_evidence() {
    let stage = Stage::on("m2-max");
    let applied = stage.run(&["apply"]);
    assert_eq!(applied.code, Some(0), "{applied}");
    let ran = stage.verify(&["--tests", "TestMemoryLeak"]);
    // nothing got worse, and nothing is proved: a rehearsal never passes
    assert_eq!(ran.code, Some(3), "{ran}");
    let report = ran.json();
    assert_eq!(report["trust"], "rehearsed");
    assert_eq!(report["verdict"], "inconclusive");
    assert_eq!(report["state"], "complete");
    sound_but_undecided(&report);
    assert!(report["tests"]["baseline"]["passed"].as_u64().unwrap() > 0);
    assert_eq!(report["tests"]["patched"]["failed"], 0);
    assert_eq!(report["fingerprint"]["parts"]["device"], "metal");
    assert_eq!(report["fingerprint"]["parts"]["chip"], "Apple M2 Max");
    let commits = ["baseline", "patched"].map(|arm| report["compared"][arm]["commit"].clone());
    assert_ne!(commits[0], commits[1]);
    let reasons = report["reasons"].as_array().unwrap();
    let said = |words: &str| {
        reasons
            .iter()
            .any(|reason| reason["text"].as_str().unwrap().contains(words))
    };
    assert!(said("rehearsal"), "{ran}");

    let required = stage.verify(&["--require-hardware"]);
    assert_eq!(required.code, Some(3), "{required}");
}

#[test]
fn a_patch_set_that_leaks_is_a_regression_also_in_a_rehearsal() {
    let ran = Stage::on("leak").verify(&[]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let report = ran.json();
    assert_eq!(report["trust"], "rehearsed");
    assert_eq!(report["verdict"], "regression");
    assert_eq!(report["reasons"][0]["subject"], "transformer-loop");
}

#[test]
fn without_a_rehearsal_a_machine_that_is_no_mac_has_no_metal() {
    let stage = Stage::on("m2-max");
    // stand-ins on the path do not make a Mac
    let path = std::env::join_paths(
        [machines().join("bin")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let ran: Ran = stage
        .command(&["verify", "--device", "metal"])
        .env_remove("UMPATCH_REHEARSAL")
        .env("PATH", path)
        .output()
        .unwrap()
        .into();
    ends(&ran, 2, &["no Mac", "--device simulated"]);
    let nowhere: Ran = stage
        .command(&["verify", "--device", "metal"])
        .env("UMPATCH_REHEARSAL", "nowhere")
        .output()
        .unwrap()
        .into();
    ends(&nowhere, 2, &["is no rehearsal"]);
}

#[test]
fn tools_that_cannot_work_are_named_before_anything_is_built() {
    for (machine, words) in [
        (
            "no-xcode-licence",
            ["licence of Xcode", "sudo xcodebuild -license accept"],
        ),
        (
            "wrong-sdk",
            ["the macOS SDK is 12.3", "xcode-select --switch"],
        ),
        (
            "no-command-line-tools",
            ["no command line tools", "xcode-select --install"],
        ),
        ("small-disk", ["8 GiB free", "UMPATCH_CACHE"]),
    ] {
        let stage = Stage::on(machine);
        ends(&stage.verify(&[]), 4, &words);
        assert!(!stage.path("cache/builds/pytorch").join("tree").exists());
    }
}

#[test]
fn settings_that_contradict_each_other_are_named() {
    let stage = Stage::on("m2-max");
    let ran: Ran = stage
        .command(&["verify", "--device", "metal"])
        .env("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.5")
        .env("PYTORCH_MPS_LOW_WATERMARK_RATIO", "0.9")
        .output()
        .unwrap()
        .into();
    ends(
        &ran,
        2,
        &["PYTORCH_MPS_LOW_WATERMARK_RATIO=0.9", "above", "unset"],
    );
}

#[test]
fn the_torch_under_test_has_to_be_the_build() {
    let stage = Stage::on("m2-max");
    assert_eq!(stage.run(&["build"]).code, Some(0));
    // the build is there and sound; what Python imports is not it
    let stage = stage.moved_to("wheel");
    ends(
        &stage.verify(&[]),
        4,
        &[
            "site-packages/torch",
            "not the stock build",
            "pip uninstall torch",
        ],
    );
    let stage = stage.moved_to("two-installs");
    ends(
        &stage.verify(&[]),
        4,
        &["3 installs of torch", "site-packages/torch"],
    );

    // someone has built the tree otherwise since: the commit tells
    let stage = stage.moved_to("m2-max");
    let builds = stage.path("cache/builds/pytorch");
    let build = std::fs::read_dir(builds)
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    let version = build.join("tree/torch/version.py");
    let sound = std::fs::read_to_string(&version).unwrap();
    std::fs::write(
        &version,
        "__version__ = '2.6.0'\ngit_version = 'deadbeef'\n",
    )
    .unwrap();
    ends(
        &stage.verify(&[]),
        4,
        &["states commit deadbeef", "umpatch build"],
    );
    std::fs::write(&version, sound).unwrap();
    // the commit is right and the library is stock's
    let stock = build.join("kept/stock/torch/lib/libtorch_cpu.dylib");
    std::fs::copy(stock, build.join("tree/torch/lib/libtorch_cpu.dylib")).unwrap();
    ends(&stage.verify(&[]), 4, &["patched", "it holds none of"]);
}

#[test]
fn a_paravirtual_gpu_gives_functional_verdicts_and_wedges() {
    let stage = Stage::on("wedged");
    ends(&stage.verify(&[]), 3, &["it is wedged", "self-hosted Mac"]);
}

#[test]
fn a_gpu_that_is_lost_ends_the_run_and_is_no_regression() {
    let stage = Stage::on("gpu-lost");
    let ran = stage.verify(&["--run-folder", "run"]);
    ends(
        &ran,
        3,
        &[
            "the GPU was lost while transformer-loop",
            "DeviceRemoved",
            "it resumes",
        ],
    );
    assert_eq!(ran.json()["verdict"], "inconclusive");
    let journal = std::fs::read_to_string(stage.path("run/journal.ndjson")).unwrap();
    assert!(
        !journal.contains("\"job-end\""),
        "what the GPU broke does not count"
    );
    // after a restart the same command goes on
    std::fs::remove_file(stage.path("cache/rehearsal/lost")).unwrap();
    let stage = stage.moved_to("m2-max");
    let again = stage.verify(&["--run-folder", "run"]);
    assert_eq!(again.code, Some(3), "{again}");
    assert_eq!(again.json()["state"], "complete");
}

#[test]
fn a_process_that_the_system_ends_runs_again_and_then_is_named() {
    let stage = Stage::on("oom-killed");
    ends(
        &stage.verify(&[]),
        3,
        &["twice (SIGKILL)", "memory runs out", "--workers 1"],
    );
    let once = Stage::on("killed-once").verify(&[]);
    assert_eq!(once.json()["state"], "complete");
    sound_but_undecided(&once.json());
}

#[test]
fn sleep_makes_the_measurement_void() {
    let stage = Stage::on("sleep");
    ends(
        &stage.verify(&[]),
        3,
        &["slept during the run", "caffeinate"],
    );
}

#[test]
fn the_checkout_of_the_user_is_not_touched() {
    let stage = Stage::on("m2-max");
    let tree = stage.path("tree");
    let before = git(&tree, &["rev-parse", "HEAD"]);
    assert_eq!(stage.verify(&[]).code, Some(3));
    assert_eq!(git(&tree, &["rev-parse", "HEAD"]), before);
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    assert_eq!(git(&tree, &["worktree", "list"]).lines().count(), 1);
}
