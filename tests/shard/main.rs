//! A run shared by several machines: its parts, put together, say what one machine says.
#![allow(clippy::unwrap_used, clippy::panic)]
#[path = "../support/ran.rs"]
mod ran;
#[path = "../verify/sandbox.rs"]
#[allow(dead_code)]
mod sandbox;

use ran::Ran;
use sandbox::Sandbox;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What must not depend on how many machines shared the run.
fn lasting(mut report: Value) -> Value {
    let fields = report.as_object_mut().unwrap();
    for name in ["schema", "started", "run", "phases", "shards"] {
        fields.remove(name);
    }
    let notes = fields["notes"].as_array_mut().unwrap();
    notes.sort_by_key(ToString::to_string);
    if let Some(tests) = fields.get_mut("tests") {
        tests.as_object_mut().unwrap().remove("seconds");
        for change in tests["changes"].as_array_mut().unwrap() {
            // parts share the error level: each of their questions takes more reruns
            change.as_object_mut().unwrap().remove("evidence");
        }
    }
    report
}

struct Run {
    sandbox: Sandbox,
    baseline: PathBuf,
    patched: PathBuf,
    more: Vec<String>,
}

impl Run {
    /// Two drivers, the patched one with this behaviour in the scenario `copies`.
    fn of(behaviour: &str, more: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        Self {
            baseline: sandbox.driver("baseline", "clean", ""),
            patched: sandbox.driver("patched", behaviour, "ONLY=copies"),
            sandbox,
            more: more.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    fn verify(&self, folder: &str, more: &[&str]) -> Ran {
        let mut command = self
            .sandbox
            .verify(&self.baseline, &self.patched, &["--json"]);
        command
            .args(&self.more)
            .args(["--run-folder", folder])
            .args(more)
            .env("UMPATCH_TORCH_VENV", venv());
        command.output().unwrap().into()
    }

    fn part(&self, index: u32, count: u32, more: &[&str]) -> String {
        let folder = format!("part-{index}-of-{count}");
        let shard = format!("{index}/{count}");
        let mut all = vec!["--shard", &shard];
        all.extend(more);
        let ran = self.verify(&folder, &all);
        // a part may have nothing to run; whether that is enough is for the whole to say
        assert!(matches!(ran.code, Some(0 | 1 | 5)), "{ran}");
        folder
    }

    fn merge(&self, parts: &[String]) -> Ran {
        let mut command = self.sandbox.command(&["merge", "--json", "--quiet"]);
        command.args(parts);
        command.output().unwrap().into()
    }

    /// Compares 1 to 8 parts with one machine.
    fn equals_its_parts(&self, counts: &[u32], exit: i32) {
        let whole = self.verify("whole", &[]);
        assert_eq!(whole.code, Some(exit), "{whole}");
        for count in counts {
            let mut parts: Vec<String> = (1..=*count)
                .map(|index| self.part(index, *count, &[]))
                .collect();
            // in any order
            parts.reverse();
            let merged = self.merge(&parts);
            assert_eq!(merged.code, Some(exit), "{count} parts: {merged}");
            let report = merged.json();
            assert_eq!(report["schema"], "umpatch.merge/1");
            assert_eq!(report["shards"]["count"], *count);
            assert_eq!(report["shards"]["missing"], serde_json::json!([]));
            let folder = PathBuf::from(report["run"].as_str().unwrap());
            assert_curves(&folder, &report);
            assert_eq!(lasting(report), lasting(whole.json()), "{count} parts");
        }
    }
}

/// Every curve that the report names is in the folder.
fn assert_curves(folder: &Path, report: &Value) {
    for scenario in report["scenarios"].as_array().unwrap() {
        for arm in ["baseline", "patched"] {
            for name in scenario["curves"][arm].as_array().unwrap() {
                assert!(folder.join(name.as_str().unwrap()).is_file(), "{name}");
            }
        }
    }
}

#[test]
fn any_number_of_parts_says_what_one_machine_says() {
    let counts: Vec<u32> = (1..=8).collect();
    Run::of(
        "leak",
        &["--suite", "full", "--steps", "60", "--pairs", "1"],
    )
    .equals_its_parts(&counts, 1);
}

#[test]
fn parts_of_a_sound_run_pass_together() {
    Run::of("clean", &["--pairs", "2"]).equals_its_parts(&[2, 3], 0);
}

/// An environment whose Python has pytest: the one that is named, else the one that `umpatch doctor --provision` made.
fn venv() -> PathBuf {
    let named = std::env::var_os("UMPATCH_TORCH_VENV").map(PathBuf::from);
    let made = std::fs::read_dir(umpatch::paths::cache().join("torch"));
    let made = made
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut all = named.into_iter().chain(made);
    all.find(|venv| venv.join("bin/python").exists())
        .unwrap_or_else(|| {
            panic!("no environment with pytest: `umpatch doctor --provision` makes one")
        })
}

/// A folder of tests for an arm, with a device that is sound.
fn tests_of(run: &Run, arm: &str) -> String {
    let folder = run.sandbox.path(arm);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shard");
    std::fs::create_dir_all(folder.join("package")).unwrap();
    std::fs::copy(own.join("test_mps.py"), folder.join("test_mps.py")).unwrap();
    std::fs::copy(own.join("torch.py"), folder.join("package/torch.py")).unwrap();
    folder.to_string_lossy().into_owned()
}

#[test]
fn tests_are_shared_too() {
    let mut run = Run::of("clean", &["--pairs", "1", "--scenario", "steady"]);
    let folders = ["tests-baseline", "tests-patched"].map(|arm| tests_of(&run, arm));
    for (option, folder) in ["--tests-baseline", "--tests-patched"].iter().zip(&folders) {
        run.more.extend([(*option).to_owned(), folder.clone()]);
    }
    run.more.extend(["--tests".to_owned(), "test".to_owned()]);
    run.equals_its_parts(&[8], 1);
    let report: Value = serde_json::from_slice(
        &std::fs::read(run.sandbox.path("whole").join("report.json")).unwrap(),
    )
    .unwrap();
    let tests = &report["tests"];
    assert_eq!(tests["baseline"]["passed"], 18);
    assert_eq!(tests["patched"]["failed"], 2);
    let change = |id: &str| {
        let changes = tests["changes"].as_array().unwrap();
        let found = changes
            .iter()
            .find(|change| change["id"].as_str().unwrap().ends_with(id));
        found.map(|change| change["class"].as_str().unwrap().to_owned())
    };
    assert_eq!(
        change("test_worse_with_the_patches").as_deref(),
        Some("regression")
    );
    assert_eq!(
        change("test_that_the_patches_bring").as_deref(),
        Some("added")
    );

    // balanced by what the whole run recorded, the parts are others, and make the same whole
    let parts: Vec<String> = (1..=2)
        .map(|index| run.part(index, 2, &["--durations", "whole"]))
        .collect();
    let merged = run.merge(&parts);
    assert_eq!(merged.code, Some(1), "{merged}");
    assert_eq!(lasting(merged.json()), lasting(report));
    // and do not fit parts that are balanced otherwise
    let unlike = run.verify("unlike", &["--shard", "2/2"]);
    assert_eq!(unlike.code, Some(1), "{unlike}");
    let mixed = run.merge(&[parts[0].clone(), "unlike".to_owned()]);
    assert_eq!(mixed.code, Some(2), "{mixed}");
    assert!(mixed.err.contains("shard-balance is"), "{mixed}");
}

#[test]
fn a_missing_part_cannot_pass_and_a_fault_that_is_there_stays_one() {
    let sound = Run::of("clean", &["--pairs", "1"]);
    let part = sound.part(1, 2, &[]);
    let merged = sound.merge(&[part]);
    assert_eq!(merged.code, Some(3), "{merged}");
    let report = merged.json();
    assert_eq!(report["verdict"], "inconclusive");
    assert_eq!(report["state"], "partial");
    assert_eq!(report["shards"]["missing"], serde_json::json!([2]));
    assert!(merged.out.contains("not there: part 2/2"), "{merged}");
    assert_eq!(report["scenarios"].as_array().unwrap().len(), 2);

    let leaking = Run::of("leak", &["--pairs", "1"]);
    let parts: Vec<String> = (1..=2).map(|index| leaking.part(index, 2, &[])).collect();
    let verdicts: Vec<Option<i32>> = parts
        .iter()
        .map(|part| leaking.merge(std::slice::from_ref(part)).code)
        .collect();
    assert!(
        verdicts.contains(&Some(1)) && verdicts.contains(&Some(3)),
        "{verdicts:?}"
    );
}

#[test]
fn what_does_not_belong_together_is_refused_by_what_differs() {
    let run = Run::of("clean", &["--pairs", "1"]);
    let first = run.part(1, 2, &[]);
    let refused = |parts: &[&str], words: &[&str]| {
        let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        let ran = run.merge(&parts);
        assert_eq!(ran.code, Some(2), "{ran}");
        for word in words {
            assert!(ran.err.contains(word), "{word}: {ran}");
        }
    };
    let other = run.verify("other-seed", &["--shard", "2/2", "--seed", "7"]);
    assert_eq!(other.code, Some(0), "{other}");
    refused(
        &[&first, "other-seed"],
        &["not parts of the same run", "seed is 1 there, 7 here"],
    );
    let third = run.part(1, 3, &[]);
    refused(
        &[&first, &third],
        &["the number of parts is 2 there, 3 here"],
    );
    let again = run.verify("again", &["--shard", "1/2"]);
    assert_eq!(again.code, Some(0), "{again}");
    refused(&[&first, "again"], &["both hold part 1/2"]);
    refused(&["nowhere"], &["nowhere holds no run"]);
    let whole = run.verify("whole", &[]);
    assert_eq!(whole.code, Some(0), "{whole}");
    refused(&["whole"], &["holds no part of a shared run"]);
    for shard in ["0/2", "3/2", "two"] {
        let ran = run.verify("never", &["--shard", shard]);
        assert_eq!(ran.code, Some(2), "{ran}");
    }
}
