//! A patch that does not fit: what is shown of it, and how a person gets on.
use crate::lab::{ALLOCATOR, HEADER, Lab};
use predicates::prelude::*;

/// A tree on which the second patch does not fit, with a history that says why.
fn conflicting() -> Lab {
    let lab = Lab::new();
    lab.edit(HEADER, "// header 1\n", "// header one\n");
    lab.commit("upstream touches the top");
    lab.edit(HEADER, "// tail 3\n", "// tail trois\n");
    lab.commit("upstream says it in French");
    lab.edit(ALLOCATOR, "// allocator 199\n", "// allocator CXCIX\n");
    lab.commit("upstream touches another file");
    lab
}

#[test]
fn a_conflict_shows_three_sides_and_who_is_to_blame() {
    let lab = conflicting();
    let blamed = lab.git(&["rev-parse", "HEAD~1"]);
    let before = lab.snapshot();
    let output = lab
        .with_series(&["apply", "--json"])
        .assert()
        .code(4)
        .get_output()
        .clone();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let place = &document["detail"]["places"][0];
    assert_eq!(document["detail"]["patch"], "second");
    assert_eq!(place["path"], HEADER);
    assert_eq!(place["hunk"], 1);
    let holds = |side: &str, line: &str| {
        let lines = place[side].as_array().unwrap();
        assert!(lines.iter().any(|l| l == line), "{side}: {lines:?}");
    };
    holds("ours", "// tail trois");
    holds("base", "// tail 3");
    holds("theirs", "// tail three");
    let blame = place["blame"].as_array().unwrap();
    assert_eq!(blame.len(), 1, "{blame:?}");
    assert_eq!(blame[0]["commit"], blamed.as_str());
    assert_eq!(blame[0]["summary"], "upstream says it in French");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    for wanted in [
        "tree  | // tail trois",
        "patch | // tail three",
        "upstream says it in French",
        "--conflict-markers",
    ] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    assert!(!lab.read(HEADER).contains("<<<<<<<"), "no markers unasked");
    assert_eq!(lab.snapshot(), before);
    // status says the same
    let status = lab.json(lab.with_series(&["status"]));
    let place = &status["patches"][1]["conflict"]["places"][0];
    assert_eq!(place["blame"][0]["commit"], blamed.as_str());
}

#[test]
fn a_conflict_is_resolved_in_the_work_tree_and_the_rest_goes_on() {
    let lab = conflicting();
    lab.write("README.md", "edited by the user\n");
    lab.with_series(&["apply", "--conflict-markers"])
        .assert()
        .code(4)
        .stderr(predicate::str::contains("--continue"));
    let marked = lab.read(HEADER);
    let wanted = "<<<<<<< tree\n// tail trois\n||||||| what the patch was made for\n// tail 3\n=======\n// tail three\n>>>>>>> patch second\n";
    assert!(marked.contains(wanted), "{marked}");
    assert!(
        lab.read(ALLOCATOR).contains("fifty"),
        "the first is applied"
    );
    assert!(
        lab.read(ALLOCATOR).contains("52, again"),
        "what fits of the second is there"
    );
    assert_eq!(lab.git(&["log", "-1", "--format=%s"]), "[MPS] First");
    lab.with_series(&["status"])
        .assert()
        .success()
        .stdout(predicate::str::contains("waits to be resolved"));
    // nothing else is done meanwhile
    lab.with_series(&["apply"]).assert().code(2);
    lab.umpatch(&["unapply"]).assert().code(2);
    lab.umpatch(&["apply", "--continue"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("markers are still there"));
    lab.write(HEADER, &marked.replace(wanted, "// tail drei\n"));
    lab.umpatch(&["apply", "--continue"]).assert().success();
    assert_eq!(
        lab.git(&["log", "-3", "--format=%s"]),
        "[MPS] Third\n[MPS] Second\n[MPS] First"
    );
    assert!(lab.git(&["show", "HEAD~1"]).contains("+// tail drei"));
    assert_eq!(lab.git(&["status", "--porcelain"]), " M README.md");
    lab.unapply();
    assert_eq!(lab.read("README.md"), "edited by the user\n");
    assert!(lab.read(HEADER).contains("trois"));
}

#[test]
fn a_conflict_of_the_first_patch_is_given_up() {
    let lab = Lab::new();
    lab.edit(ALLOCATOR, "// allocator 50\n", "// allocator L\n");
    lab.commit("upstream says it in Latin");
    let before = lab.snapshot();
    lab.with_series(&["apply", "--conflict-markers"])
        .assert()
        .code(4);
    assert!(lab.read(ALLOCATOR).contains("<<<<<<< tree"));
    // half a resolution, staged even
    lab.edit(ALLOCATOR, "<<<<<<< tree\n", "my thoughts\n");
    lab.git(&["add", ALLOCATOR]);
    lab.umpatch(&["apply", "--abort"]).assert().success();
    assert_eq!(lab.snapshot().contents(), before.contents());
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    let kept = lab.read(&format!(".git/umpatch/set-aside/{ALLOCATOR}"));
    assert!(kept.contains("my thoughts"), "what was written is not lost");
    lab.umpatch(&["apply", "--abort"])
        .assert()
        .success()
        .stdout(predicate::str::contains("nothing to do"));
}

#[test]
fn markers_in_a_dirty_file_are_refused() {
    let lab = conflicting();
    lab.edit(HEADER, "// tail 19\n", "// mine\n");
    lab.with_series(&["apply", "--conflict-markers"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("uncommitted changes"));
    assert!(lab.read(HEADER).contains("// mine"));
    assert!(!lab.read(HEADER).contains("<<<<<<<"));
}

#[test]
fn a_branch_that_was_reset_to_its_base_is_no_dead_end() {
    let lab = Lab::new();
    let before = lab.snapshot();
    lab.apply();
    lab.git(&["reset", "-q", "--hard", "main"]);
    lab.unapply();
    assert_eq!(lab.snapshot().contents(), before.contents());
    lab.apply();
    lab.git(&["reset", "-q", "--hard", "main"]);
    lab.git(&["checkout", "-q", "main"]);
    lab.apply();
    lab.unapply();
    assert_eq!(lab.snapshot().contents(), before.contents());
}

/// Runs a command that is killed at each of its writes in turn, on copies of a lab, until it gets through; `check` looks at
/// what each kill left. Gives how many kills there were.
fn killed_at_each_step(
    start: &Lab,
    command: impl Fn(&Lab) -> assert_cmd::Command,
    ends: i32,
    mut check: impl FnMut(&Lab, u32),
) -> u32 {
    for step in 1..400 {
        let lab = start.copy();
        let status = command(&lab)
            .env("UMPATCH_FAULT_STEP", step.to_string())
            .output()
            .unwrap()
            .status;
        if std::os::unix::process::ExitStatusExt::signal(&status) != Some(9) {
            assert_eq!(status.code(), Some(ends), "step {step}");
            return step - 1;
        }
        check(&lab, step);
    }
    panic!("too many steps");
}

#[test]
fn a_stop_at_a_conflict_survives_a_kill_at_every_step() {
    let start = conflicting();
    start.write("README.md", "edited by the user\n");
    let base = start.snapshot().contents();
    let marked = ["apply", "--conflict-markers"];
    let stopped = start.copy();
    stopped.with_series(&marked).assert().code(4);
    let waiting = stopped.snapshot().contents();
    let command = |lab: &Lab| lab.with_series(&marked);
    let kills = killed_at_each_step(&start, command, 4, |lab, step| {
        let what = format!("killed at step {step}");
        if step % 2 == 0 {
            // it stops there again, or stands there already
            let code = lab.with_series(&marked).output().unwrap().status.code();
            assert!(matches!(code, Some(4 | 2)), "{what}, then again: {code:?}");
            let now = lab.snapshot().contents();
            assert!(now == waiting, "{what}, then again");
        }
        lab.umpatch(&["apply", "--abort"]).assert().success();
        let now = lab.snapshot().contents();
        assert!(now == base, "{what}, then --abort");
    });
    assert!(kills > 20, "only {kills} steps: the faults are not reached");
}

#[test]
fn a_resolved_conflict_survives_a_kill_at_every_step() {
    let start = conflicting();
    start.write("README.md", "edited by the user\n");
    let base = start.snapshot().contents();
    start
        .with_series(&["apply", "--conflict-markers"])
        .assert()
        .code(4);
    let text = start.read(HEADER);
    let (before, rest) = text.split_once("<<<<<<< tree\n").unwrap();
    let (_, after) = rest.split_once(">>>>>>> patch second\n").unwrap();
    start.write(HEADER, &format!("{before}// tail drei\n{after}"));
    let done = start.copy();
    done.umpatch(&["apply", "--continue"]).assert().success();
    let result = done.snapshot().contents();
    for (command, end) in [("--continue", &result), ("--abort", &base)] {
        let run = |lab: &Lab| lab.umpatch(&["apply", command]);
        let kills = killed_at_each_step(&start, run, 0, |lab, step| {
            let (next, end) = match step % 2 {
                0 => (command, end),
                _ => ("--abort", &base),
            };
            lab.umpatch(&["apply", next]).assert().success();
            let now = lab.snapshot().contents();
            assert!(now == *end, "{command} killed at step {step}, then {next}");
        });
        assert!(kills > 10, "{command}: only {kills} steps");
    }
}
