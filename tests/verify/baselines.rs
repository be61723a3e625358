//! `umpatch baseline` from end to end: runs are kept, listed, carried, compared, and refused where they are not comparable.
use crate::ran::Ran;
use crate::sandbox::Sandbox;
use std::process::Stdio;

fn command(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let mut all = vec!["--json", "baseline"];
    all.extend(arguments);
    sandbox.command(&all).output().unwrap().into()
}

/// A run of two behaviours, by the folder it is kept in.
fn run(sandbox: &Sandbox, patched: &str, more: &[&str]) -> String {
    let mut all = vec!["--scenario", "steady"];
    all.extend(more);
    let ran = sandbox.compare("clean", patched, &all);
    ran.json()["run"].as_str().unwrap().to_owned()
}

fn names(sandbox: &Sandbox) -> Vec<String> {
    let listed = command(sandbox, &["list"]);
    assert_eq!(listed.code, Some(0), "{listed}");
    listed.json()["baselines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_run_is_kept_shown_compared_and_dropped() {
    let sandbox = Sandbox::new();
    assert!(names(&sandbox).is_empty());
    let before = run(&sandbox, "clean", &[]);
    let kept = command(&sandbox, &["record", &before, "--name", "before"]);
    assert_eq!(kept.code, Some(0), "{kept}");
    assert_eq!(kept.json()["schema"], "umpatch.baseline/1");
    assert_eq!(names(&sandbox), ["before"]);
    // the same name twice would lose the first
    let again = command(&sandbox, &["record", "last", "--name", "before"]);
    assert_eq!(again.code, Some(2), "{again}");
    assert!(again.err.contains("before"), "{again}");

    let shown = command(&sandbox, &["show", "before"]);
    assert_eq!(shown.json()["verdict"], "pass");
    assert_eq!(shown.json()["processes"], 4);

    let same = command(&sandbox, &["compare", "before", &before]);
    assert_eq!(
        (same.code, &same.json()["verdict"]),
        (Some(0), &"pass".into()),
        "{same}"
    );
    // the run folder may be gone: what is kept is whole
    std::fs::remove_dir_all(&before).unwrap();
    let leak = run(&sandbox, "leak", &[]);
    let worse = command(&sandbox, &["compare", "before", &leak]);
    assert_eq!(worse.code, Some(1), "{worse}");
    assert!(
        worse.out.contains("driver memory grows by +26.0 MiB/step"),
        "{worse}"
    );

    assert_eq!(command(&sandbox, &["remove", "before"]).code, Some(0));
    assert!(names(&sandbox).is_empty());
    let gone = command(&sandbox, &["show", "before"]);
    assert_eq!(gone.code, Some(2), "{gone}");
}

#[test]
fn what_differs_is_named_and_not_compared() {
    let sandbox = Sandbox::new();
    let left = run(&sandbox, "clean", &[]);
    command(&sandbox, &["record", &left, "--name", "left"]);
    for (more, part) in [
        (["--set", "heap_alignment=4096"], "heap_alignment"),
        (["--seed", "7"], "seed"),
        (["--steps", "40"], "steps"),
    ] {
        let right = run(&sandbox, "clean", &more);
        let refused = command(&sandbox, &["compare", "left", &right]);
        assert_eq!(refused.code, Some(5), "{part}: {refused}");
        assert!(refused.err.contains(part), "{part}: {refused}");
    }
}

#[test]
fn an_exported_run_is_the_same_elsewhere_and_a_changed_one_is_refused() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let folder = run(&here, "clean", &[]);
    command(&here, &["record", &folder, "--name", "mine"]);
    let file = here.path("mine.json");
    let path = file.to_str().unwrap();
    assert_eq!(command(&here, &["export", "mine", path]).code, Some(0));
    let taken = command(&there, &["import", path]);
    assert_eq!(taken.code, Some(0), "{taken}");
    let shown = |sandbox: &Sandbox| command(sandbox, &["show", "mine"]).json();
    assert_eq!(shown(&here), shown(&there));
    // a figure that somebody made nicer, a cut, and something else
    let whole = std::fs::read_to_string(&file).unwrap();
    for (what, text) in [
        ("changed", whole.replacen("67108864", "57108864", 1)),
        ("cut", whole[..whole.len() / 2].to_owned()),
        ("empty", String::new()),
        ("other", "{\"schema\": \"something/1\"}".to_owned()),
    ] {
        assert_ne!(text, whole, "{what}");
        std::fs::write(&file, text).unwrap();
        let refused = command(&there, &["import", path, "--name", what]);
        assert_eq!(refused.code, Some(2), "{what}: {refused}");
        assert!(refused.err.contains("mine.json"), "{what}: {refused}");
    }
    assert_eq!(names(&there), ["mine"]);
}

#[test]
fn processes_that_record_at_the_same_time_lose_nothing() {
    let sandbox = Sandbox::new();
    let folder = run(&sandbox, "clean", &[]);
    let children: Vec<_> = (0..8)
        .map(|number| {
            let name = format!("run-{number}");
            sandbox
                .command(&[
                    "baseline", "record", &folder, "--name", &name, "--keep", "5",
                ])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    // retention holds whoever came last, and every file is whole
    assert_eq!(names(&sandbox).len(), 5);
    let listed = command(&sandbox, &["list"]).json();
    assert_eq!(listed["damaged"].as_array().unwrap().len(), 0, "{listed}");
}

#[test]
fn names_that_leave_the_store_are_refused() {
    let sandbox = Sandbox::new();
    let folder = run(&sandbox, "clean", &[]);
    for name in ["../escape", ".hidden", "", "a/b", "a\nb"] {
        let refused = command(&sandbox, &["record", &folder, "--name", name]);
        assert_eq!(refused.code, Some(2), "{name:?}: {refused}");
    }
    assert!(names(&sandbox).is_empty());
}

#[test]
fn parts_are_balanced_by_a_kept_run_as_by_its_folder() {
    let sandbox = Sandbox::new();
    let folder = run(&sandbox, "clean", &["--scenario", "copies"]);
    command(&sandbox, &["record", &folder, "--name", "known"]);
    let part = |durations: &str, place: &str| {
        let place = sandbox.path(place);
        let ran = sandbox.compare(
            "clean",
            "clean",
            &[
                "--shard",
                "1/2",
                "--durations",
                durations,
                "--run-folder",
                place.to_str().unwrap(),
            ],
        );
        assert_eq!(ran.code, Some(0), "{ran}");
        let scenarios = ran.json()["scenarios"].clone();
        scenarios
            .as_array()
            .unwrap()
            .iter()
            .map(|scenario| scenario["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let by_folder = part(&folder, "by-folder");
    assert_eq!(by_folder.len(), 1);
    assert_eq!(part("known", "by-name"), by_folder);
    let unknown = sandbox.compare(
        "clean",
        "clean",
        &["--shard", "1/2", "--durations", "nobody"],
    );
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.err.contains("nobody"), "{unknown}");
}
