//! How many pairs run: `--detect`, `--budget` and `--equal-arms`, on stand-in drivers with known noise.
use crate::ran::Ran;
use crate::sandbox::Sandbox;
use std::time::Duration;

/// Two arms whose memory wanders by a MiB a step, each in its own way.
fn wandering(sandbox: &Sandbox, more: &[&str]) -> Ran {
    let arms = ["SALT=left", "SALT=right"].map(|salt| sandbox.driver(salt, "drift", salt));
    let mut all = vec!["--json", "--scenario", "steady"];
    all.extend(more);
    sandbox
        .verify(&arms[0], &arms[1], &all)
        .output()
        .unwrap()
        .into()
}

fn pairs(ran: &Ran) -> usize {
    let report = ran.json();
    let [baseline, patched] = ["baseline", "patched"].map(|arm| {
        report["scenarios"][0][arm]["outcomes"]
            .as_array()
            .unwrap()
            .len()
    });
    assert_eq!(baseline, patched, "{ran}");
    patched
}

#[test]
fn pairs_are_added_until_the_wanted_growth_can_be_told() {
    let sandbox = Sandbox::new();
    // enough from the start
    let coarse = wandering(&sandbox, &["--detect", "8MiB"]);
    assert_eq!((coarse.code, pairs(&coarse)), (Some(0), 2), "{coarse}");
    // no number of pairs is enough: the last look, and no pass
    let fine = wandering(&sandbox, &["--detect", "16KiB"]);
    assert_eq!((fine.code, pairs(&fine)), (Some(3), 24), "{fine}");
    // between: more than it began with, and the stated size is below the wanted one
    let middle = wandering(&sandbox, &["--detect", "384KiB"]);
    assert!((8..=24).contains(&pairs(&middle)), "{middle}");
}

#[test]
fn pairs_end_when_the_next_look_has_no_time() {
    let sandbox = Sandbox::new();
    let none = wandering(&sandbox, &["--budget", "0.01s"]);
    assert_eq!((none.code, pairs(&none)), (Some(3), 2), "{none}");
    let plenty = wandering(&sandbox, &["--budget", "1h"]);
    assert!(pairs(&plenty) > 2, "{plenty}");
    // what is decided needs no more, whatever the time
    let leak = Sandbox::new().compare("clean", "leak", &["--scenario", "steady", "--budget", "1h"]);
    assert_eq!((leak.code, pairs(&leak)), (Some(1), 2), "{leak}");
}

#[test]
fn what_was_run_at_a_look_is_not_run_again_after_a_cut() {
    let sandbox = Sandbox::new();
    let arms = ["SALT=left", "SALT=right"]
        .map(|salt| sandbox.driver(salt, "drift", &format!("{salt} PAUSE=0.05")));
    let folder = sandbox.path("run");
    let more = [
        "--json",
        "--scenario",
        "steady",
        "--detect",
        "16KiB",
        "--workers",
        "1",
        "--run-folder",
        folder.to_str().unwrap(),
    ];
    let journal = folder.join("journal.ndjson");
    // in the middle of the second round
    let mut child =
        crate::sandbox::started_until(sandbox.verify(&arms[0], &arms[1], &more), &journal, 9);
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let ran: Ran = sandbox
        .verify(&arms[0], &arms[1], &more)
        .output()
        .unwrap()
        .into();
    assert_eq!((ran.code, pairs(&ran)), (Some(3), 24), "{ran}");
    let ended = std::fs::read_to_string(&journal)
        .unwrap()
        .matches("\"job-end\"")
        .count();
    assert_eq!(ended, 48, "each process of 24 pairs ends once");
}

#[test]
fn equal_arms_measure_the_machine_and_later_runs_use_it() {
    let sandbox = Sandbox::new();
    let few = ["--pairs", "8"];
    let before = wandering(&sandbox, &few);
    let equal = wandering(&sandbox, &["--equal-arms"]);
    assert_eq!((equal.code, pairs(&equal)), (Some(0), 8), "{equal}");
    assert!(equal.to_string().contains("both arms are stock"), "{equal}");
    let kept = std::fs::read_dir(sandbox.path("data").join("noise"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "json"))
        .count();
    assert_eq!(kept, 1);
    // equal arms of a program that repeats itself are silent; that does not silence what other arms show
    let after = wandering(&sandbox, &few);
    assert_eq!(after.code, before.code, "{after}");
    let detectable =
        |ran: &Ran| ran.json()["scenarios"][0]["difference"]["minimal_detectable"].as_f64();
    assert_eq!(detectable(&after), detectable(&before));
    assert!(detectable(&after) > Some(65_536.0), "{after}");
}

#[test]
fn nonsense_is_refused_before_anything_runs() {
    let sandbox = Sandbox::new();
    for (option, value) in [
        ("--detect", "0"),
        ("--detect", "4 parsecs"),
        ("--budget", "-3s"),
        ("--budget", "soon"),
    ] {
        let ran = wandering(&sandbox, &[&format!("{option}={value}")]);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(ran.err.contains(value), "{ran}");
    }
    for both in [
        ["--detect=1MiB", "--pairs=4"],
        ["--equal-arms", "--budget=1m"],
    ] {
        let ran = wandering(&sandbox, &both);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(ran.err.contains("cannot be used with"), "{ran}");
    }
}
