//! `umpatch verify` from end to end, on stand-in drivers whose behaviour is known.
#![allow(clippy::unwrap_used, clippy::panic)]
mod ablation;
mod baselines;
mod pairs;
#[path = "../support/ran.rs"]
mod ran;
mod sandbox;

use ran::Ran;
use sandbox::{Sandbox, lasting, started_until};
use serde_json::Value;

fn decisive(ran: &Ran) -> String {
    let report = ran.json();
    let first = &report["reasons"][0];
    format!(
        "{}: {}",
        first["subject"].as_str().unwrap(),
        first["text"].as_str().unwrap()
    )
}

#[test]
fn two_clean_arms_pass_and_leave_a_whole_run_folder() {
    let sandbox = Sandbox::new();
    let ran = sandbox.compare("clean", "clean", &["--pairs", "3"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let report = ran.json();
    assert_eq!(report["schema"], "umpatch.verify/1");
    assert_eq!(report["verdict"], "pass");
    assert_eq!(report["exit_code"], 0);
    assert_eq!(report["trust"], "simulated");
    let scenarios = report["scenarios"].as_array().unwrap();
    assert_eq!(scenarios.len(), 2, "the quick suite leaves one out");
    let steady = &scenarios[0];
    assert_eq!(steady["patched"]["slope_bytes_per_step"], 0.0);
    assert_eq!(steady["patched"]["peak_bytes"], 64 << 20);
    assert_eq!(steady["difference"]["peak_ratio"], 1.0);
    let folder = std::path::PathBuf::from(report["run"].as_str().unwrap());
    for name in [
        "journal.ndjson",
        "report.json",
        "report.md",
        "report.html",
        "junit.xml",
        "logs",
    ] {
        assert!(folder.join(name).exists(), "{name}");
    }
    let curve = steady["curves"]["baseline"][2].as_str().unwrap();
    let curve = std::fs::read_to_string(folder.join(curve)).unwrap();
    assert_eq!(curve.lines().count(), 61);
    // what is on the disk says the same, also when it is made again from the journal
    let kept: Value =
        serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap();
    assert_eq!(kept, report);
    let again: Ran = sandbox
        .command(&["report", folder.to_str().unwrap(), "--format", "json"])
        .output()
        .unwrap()
        .into();
    assert_eq!(lasting(again.json()), lasting(report));
}

#[test]
fn each_fault_is_a_regression_with_its_figure() {
    for (behaviour, words) in [
        ("leak", "steady: driver memory grows by +26.0 MiB/step"),
        ("crash", "steady: crash 2 times (SIGSEGV)"),
        (
            "corrupt",
            "steady: corruption 2 times, 8195 bytes (step 3: late write)",
        ),
        (
            "wait",
            "steady: blocking waits that the baseline does not have, 1.00 a step",
        ),
        (
            "never-cache",
            "steady: 100.0% of allocations need a new buffer",
        ),
        (
            "mute",
            "steady: unexpected-error 2 times (error (it ended without its end event))",
        ),
    ] {
        let ran = Sandbox::new().compare("clean", behaviour, &["--scenario", "steady"]);
        assert_eq!(ran.code, Some(1), "{behaviour}: {ran}");
        assert_eq!(ran.json()["verdict"], "regression", "{behaviour}");
        let decisive = decisive(&ran);
        assert!(decisive.starts_with(words), "{behaviour}: {decisive}");
    }
}

#[test]
fn a_crash_keeps_the_last_output() {
    // kept until the end: the journal lies in it
    let sandbox = Sandbox::new();
    let ran = sandbox.compare("clean", "crash", &["--scenario", "steady", "--pairs", "1"]);
    let report = ran.json();
    assert_eq!(
        report["scenarios"][0]["patched"]["outcomes"][0],
        "crashed (SIGSEGV)"
    );
    let folder = std::path::PathBuf::from(report["run"].as_str().unwrap());
    let journal = std::fs::read_to_string(folder.join("journal.ndjson")).unwrap();
    assert!(journal.contains("about to touch what is not ours"));
}

#[test]
fn a_hang_is_ended_and_counted() {
    let more = ["--scenario", "steady", "--pairs", "1", "--limit", "2"];
    let ran = Sandbox::new().compare("clean", "hang", &more);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(decisive(&ran).contains("timed-out"), "{}", decisive(&ran));
}

#[test]
fn what_both_arms_show_is_not_held_against_the_patches() {
    let sandbox = Sandbox::new();
    let state = |ran: &Ran| ran.json()["scenarios"][0]["relative"]["state"].clone();
    let both = sandbox.compare("corrupt", "corrupt", &["--scenario", "steady"]);
    assert_eq!(
        (both.code, state(&both)),
        (Some(0), "pre-existing".into()),
        "{both}"
    );
    let fixed = sandbox.compare("corrupt", "clean", &["--scenario", "steady"]);
    assert_eq!(
        (fixed.code, state(&fixed)),
        (Some(0), "improved".into()),
        "{fixed}"
    );
    // lines that are no events are left out, and the run is none the worse
    let noise = sandbox.compare("noise", "noise", &["--scenario", "steady"]);
    assert_eq!(
        (noise.code, state(&noise)),
        (Some(0), "ok".into()),
        "{noise}"
    );
}

/// What cannot clear anyone is no pass, also where both arms show it.
#[test]
fn flawed_curves_and_runs_without_an_end_are_no_pass() {
    for (behaviour, words) in [
        ("clock-back", "ran backwards, or leapt"),
        ("clock-forward", "ran backwards, or leapt"),
        ("wrap", "ran backwards, or leapt"),
        ("gap", "a stretch without samples"),
        ("none", "left no samples"),
        ("crash", "no process of the patched arm came to its end"),
        ("mute", "no process of the patched arm came to its end"),
    ] {
        let ran = Sandbox::new().compare(behaviour, behaviour, &["--scenario", "steady"]);
        assert_eq!(ran.code, Some(3), "{behaviour}: {ran}");
        assert!(decisive(&ran).contains(words), "{behaviour}: {ran}");
    }
    let one = ["--scenario", "steady", "--steps", "1"];
    let ran = Sandbox::new().compare("clean", "clean", &one);
    assert_eq!(ran.code, Some(3), "{ran}");
    assert!(decisive(&ran).contains("only 1 usable sample"), "{ran}");
    let none = ["--scenario", "steady", "--steps", "0"];
    assert_eq!(
        Sandbox::new().compare("clean", "clean", &none).code,
        Some(2)
    );
}

/// A full disk under a redirection is no success.
#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let full = || {
        std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    for arguments in [
        &["scenarios"][..],
        &["scenarios", "--json"],
        &["completions", "bash"],
    ] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command(arguments);
        let ran = Ran::from(command.stdout(full()).output().unwrap());
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(
            ran.err.contains("cannot write the result to stdout"),
            "{ran}"
        );
    }
}

#[test]
fn recordings_without_usable_curves_calibrate_nothing() {
    let sandbox = Sandbox::new();
    let header = "process,step,current_bytes,driver_bytes,footprint_bytes\n";
    let processes = "process,scenario,seed,arm,leak_bytes_per_step\n0,s,1,a,0\n1,s,1,b,0\n2,s,2,a,0\n3,s,2,b,0\n";
    std::fs::write(sandbox.path("processes.csv"), processes).unwrap();
    let flat = |bytes: &str| -> String {
        let rows = (0..4).flat_map(|process| (0..60).map(move |step| (process, step)));
        rows.map(|(process, step)| format!("{process},{step},{bytes},{bytes},{bytes}\n"))
            .collect()
    };
    for samples in [String::new(), flat("nan"), flat("-1"), flat("1e300")] {
        std::fs::write(sandbox.path("s.csv"), format!("{header}{samples}")).unwrap();
        let more = ["--pairs", "1", "--trials", "2", "--only", "recorded"];
        let folder = sandbox.path("recorded");
        let _ = std::fs::create_dir(&folder);
        for name in ["processes.csv", "s.csv"] {
            std::fs::copy(sandbox.path(name), folder.join(name)).unwrap();
        }
        let mut command = sandbox.command(&["calibrate", "--curves", "recorded"]);
        let ran = Ran::from(command.args(more).output().unwrap());
        assert_eq!(ran.code, Some(5), "{ran}");
    }
}

#[test]
fn a_run_without_a_real_device_cannot_satisfy_one_that_needs_it() {
    let ran = Sandbox::new().compare("clean", "clean", &["--require-hardware"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    assert_eq!(ran.json()["verdict"], "inconclusive");
}

/// Kills a run in the middle, resumes it, and compares with one that nothing disturbed.
fn disturbed(signal: nix::sys::signal::Signal) {
    let sandbox = Sandbox::new();
    let baseline = sandbox.driver("baseline", "clean", "PAUSE=0.1");
    let patched = sandbox.driver("patched", "leak", "ONLY=copies PAUSE=0.1");
    let run = |folder: &str| {
        let mut command = sandbox.verify(
            &baseline,
            &patched,
            &["--json", "--workers", "1", "--pairs", "4"],
        );
        command.arg("--run-folder").arg(sandbox.path(folder));
        command
    };
    let whole: Ran = run("whole").output().unwrap().into();
    assert_eq!(whole.code, Some(1), "{whole}");

    let journal = sandbox.path("cut").join("journal.ndjson");
    let mut child = started_until(run("cut"), &journal, 3);
    let process = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(process, signal).unwrap();
    let status = child.wait().unwrap();
    if signal == nix::sys::signal::Signal::SIGINT {
        assert_eq!(status.code(), Some(130));
        let partial: Value = serde_json::from_slice(
            &std::fs::read(sandbox.path("cut").join("report.json")).unwrap(),
        )
        .unwrap();
        assert_eq!(partial["state"], "partial");
        assert_ne!(partial["verdict"], "pass");
    }
    // what a kill in the middle of a write leaves
    use std::io::Write;
    let mut file = std::fs::File::options()
        .append(true)
        .open(&journal)
        .unwrap();
    file.write_all(b"{\"at\":\"2026-01-01T00:00:00Z\",\"event\":\"job-e")
        .unwrap();
    drop(file);
    let ended = |text: &str| text.matches("\"event\":\"job-end\"").count();
    let before = ended(&std::fs::read_to_string(&journal).unwrap());
    assert!((3..16).contains(&before), "{before}");

    let resumed: Ran = run("cut").output().unwrap().into();
    assert_eq!(resumed.code, Some(1), "{resumed}");
    let after = ended(&std::fs::read_to_string(&journal).unwrap());
    assert_eq!(after, 16, "what had ended was not run again");
    let mut resumed = lasting(resumed.json());
    let notes = resumed["notes"].as_array_mut().unwrap();
    notes.retain(|note| note.as_str() != Some("journal lines left out: 1 cut in the middle"));
    assert_eq!(resumed, lasting(whole.json()));
}

#[test]
fn a_killed_run_resumes_to_the_same_report() {
    disturbed(nix::sys::signal::Signal::SIGKILL);
}

#[test]
fn an_interrupted_run_resumes_to_the_same_report() {
    disturbed(nix::sys::signal::Signal::SIGINT);
}

#[test]
fn a_run_folder_has_one_writer_and_one_run() {
    let sandbox = Sandbox::new();
    let slow = sandbox.driver("slow", "clean", "PAUSE=0.5");
    let clean = sandbox.driver("clean", "clean", "");
    let at = sandbox.path("run");
    let run = |driver: &std::path::Path| {
        let mut command = sandbox.verify(driver, driver, &[]);
        command.arg("--run-folder").arg(&at);
        command
    };
    let mut first = started_until(run(&slow), &at.join("journal.ndjson"), 1);
    let second: Ran = run(&slow).output().unwrap().into();
    assert_eq!(second.code, Some(2), "{second}");
    assert!(
        second.err.contains("another umpatch works on the run"),
        "{second}"
    );
    first.kill().unwrap();
    first.wait().unwrap();
    let other: Ran = run(&clean).output().unwrap().into();
    assert_eq!(other.code, Some(2), "{other}");
    assert!(
        other
            .err
            .contains("holds a run of something else: baseline is"),
        "{other}"
    );
}

#[test]
fn bad_input_has_its_exit_code_and_a_way_out() {
    let sandbox = Sandbox::new();
    let clean = sandbox.driver("clean", "clean", "");
    let verify = |more: &[&str]| -> Ran {
        sandbox
            .verify(&clean, &clean, more)
            .output()
            .unwrap()
            .into()
    };

    let unknown = verify(&["--scenario", "stedy"]);
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.err.contains("did you mean steady?"), "{unknown}");

    let setting = verify(&["--set", "mode"]);
    assert_eq!(setting.code, Some(2), "{setting}");

    std::fs::write(sandbox.path("file"), "").unwrap();
    let unwritable = verify(&["--run-folder", "file/run"]);
    assert_eq!(unwritable.code, Some(4), "{unwritable}");

    let missing: Ran = sandbox
        .verify(&clean, &sandbox.path("no-such-program"), &[])
        .output()
        .unwrap()
        .into();
    assert_eq!(missing.code, Some(2), "{missing}");

    let no_tree: Ran = sandbox
        .command(&["-C", sandbox.path("").to_str().unwrap(), "verify"])
        .output()
        .unwrap()
        .into();
    assert_eq!(no_tree.code, Some(2), "{no_tree}");

    let metal = verify(&["--device", "metal"]);
    assert_eq!(metal.code, Some(2), "{metal}");
}

#[test]
fn the_catalogue_needs_no_build() {
    let ran: Ran = Sandbox::new()
        .command(&["scenarios", "--json"])
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, Some(0), "{ran}");
    let document = ran.json();
    assert_eq!(document["schema"], "umpatch.scenarios/1");
    let scenarios = document["scenarios"].as_array().unwrap();
    let find = |id: &str| scenarios.iter().find(|row| row["id"] == id).unwrap();
    assert_eq!(
        find("transformer-loop")["programs"],
        serde_json::json!(["native", "training"])
    );
    assert!(
        scenarios
            .iter()
            .all(|row| !row["reproduces"].as_str().unwrap().is_empty())
    );
}
