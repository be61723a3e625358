//! A kill, or a write that fails, at every step in turn, and kills at random moments: the tree is exactly the base or exactly
//! the result, and what the user has elsewhere is untouched.
use crate::lab::{Lab, Snapshot};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// More steps than any command takes.
const LIMIT: u32 = 400;

struct Scene {
    start: Lab,
    base: Snapshot,
    result: Snapshot,
    form: &'static [&'static str],
}

impl Scene {
    /// A tree with dirt elsewhere, and what it is with the patches.
    fn new(form: &'static [&'static str]) -> Self {
        let start = Lab::new();
        start.write("README.md", "edited by the user\n");
        start.write("untracked.txt", "the user's own\n");
        let base = start.snapshot().contents();
        let done = start.copy();
        done.with_series(&["apply"]).args(form).assert().success();
        let result = done.snapshot().contents();
        Self {
            start,
            base,
            result,
            form,
        }
    }

    /// The next command has to lead to one of the two, whatever it is. Every way is tried after every step with
    /// `UMPATCH_TEST_THOROUGH`, else they take turns.
    fn check(&self, lab: &Lab, step: u32, what: &str) {
        let thorough = std::env::var_os("UMPATCH_TEST_THOROUGH").is_some();
        let turn = |number| thorough || step % 4 == number;
        lab.with_series(&["status"]).assert().success();
        if turn(0) {
            let lab = lab.copy();
            lab.umpatch(&["apply", "--abort"]).assert().success();
            assert_eq!(lab.snapshot().contents(), self.base, "{what}, then --abort");
        }
        if turn(1) {
            let lab = lab.copy();
            lab.umpatch(&["apply", "--continue"]).assert().success();
            let now = lab.snapshot().contents();
            let exact = now == self.base || now == self.result;
            assert!(exact, "{what}, then --continue: neither base nor result");
        }
        if turn(2) {
            let lab = lab.copy();
            lab.with_series(&["apply"])
                .args(self.form)
                .assert()
                .success();
            assert_eq!(lab.snapshot().contents(), self.result, "{what}, then apply");
        }
        if turn(3) {
            let lab = lab.copy();
            lab.umpatch(&["unapply"]).assert().success();
            assert_eq!(lab.snapshot().contents(), self.base, "{what}, then unapply");
            assert_eq!(leftovers(&lab), Vec::<String>::new(), "{what}");
        }
    }
}

/// What must not stay behind in umpatch's own folder, nor a lock of git's.
fn leftovers(lab: &Lab) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(lab.path(".git/umpatch"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name != "lock" && !name.ends_with(".json.new"))
        .collect();
    if lab.path(".git/index.lock").exists() {
        names.push("index.lock".to_owned());
    }
    names
}

fn kill_at_every_step(form: &'static [&'static str]) {
    let scene = Scene::new(form);
    for step in 1..LIMIT {
        let lab = scene.start.copy();
        let status = lab
            .with_series(&["apply"])
            .args(form)
            .env("UMPATCH_FAULT_STEP", step.to_string())
            .output()
            .unwrap()
            .status;
        if status.success() {
            assert!(step > 20, "only {step} steps: the faults are not reached");
            return;
        }
        assert_eq!(status.signal(), Some(9), "step {step}");
        scene.check(&lab, step, &format!("apply killed at step {step}"));
    }
    panic!("apply takes more than {LIMIT} steps");
}

#[test]
fn apply_survives_a_kill_at_every_step() {
    kill_at_every_step(&[]);
}

#[test]
fn a_lock_on_a_reference_that_a_kill_left_is_released() {
    let scene = Scene::new(&[]);
    let mut tried = 0;
    // every few steps suffice: what matters is that the journal was there
    for step in (1..LIMIT).step_by(5) {
        let lab = scene.start.copy();
        let status = lab
            .with_series(&["apply"])
            .env("UMPATCH_FAULT_STEP", step.to_string())
            .output()
            .unwrap()
            .status;
        if status.success() {
            break;
        }
        if !lab.path(".git/umpatch/journal.json").exists() {
            continue;
        }
        tried += 1;
        let locks = [
            lab.path(".git/HEAD.lock"),
            lab.path(".git/packed-refs.lock"),
        ];
        for lock in &locks {
            std::fs::write(lock, "").unwrap();
        }
        lab.umpatch(&["apply", "--continue"]).assert().success();
        let now = lab.snapshot().contents();
        assert!(now == scene.base || now == scene.result, "step {step}");
        assert!(locks.iter().all(|lock| !lock.exists()), "step {step}");
    }
    assert!(tried > 2, "the journal was seen only {tried} times");
}

#[test]
fn apply_to_the_work_tree_survives_a_kill_at_every_step() {
    kill_at_every_step(&["--worktree"]);
}

#[test]
fn unapply_survives_a_kill_at_every_step() {
    for form in [&[][..], &["--worktree"][..]] {
        let scene = Scene::new(form);
        let applied = scene.start.copy();
        applied
            .with_series(&["apply"])
            .args(form)
            .assert()
            .success();
        for step in 1..LIMIT {
            let lab = applied.copy();
            let mut command = lab.umpatch(&["unapply"]);
            let status = command
                .env("UMPATCH_FAULT_STEP", step.to_string())
                .output()
                .unwrap()
                .status;
            if status.success() {
                assert!(step > 10, "only {step} steps: the faults are not reached");
                break;
            }
            assert_eq!(status.signal(), Some(9), "step {step}");
            lab.umpatch(&["unapply"]).assert().success();
            assert_eq!(
                lab.snapshot().contents(),
                scene.base,
                "unapply killed at step {step}"
            );
            assert_eq!(leftovers(&lab), Vec::<String>::new(), "step {step}");
            lab.with_series(&["apply"]).args(form).assert().success();
            assert_eq!(
                lab.snapshot().contents(),
                scene.result,
                "unapply killed at step {step}, then apply"
            );
        }
    }
}

#[test]
fn a_write_that_fails_changes_nothing() {
    for form in [&[][..], &["--worktree"][..]] {
        let scene = Scene::new(form);
        for step in 1..LIMIT {
            let lab = scene.start.copy();
            let mut command = lab.with_series(&["apply"]);
            let output = command
                .args(form)
                .env("UMPATCH_FAULT_STEP", format!("{step}:fail"))
                .output()
                .unwrap();
            if output.status.success() {
                assert!(step > 20, "only {step} steps: the faults are not reached");
                break;
            }
            let message = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(4), "step {step}: {message}");
            assert!(
                message.contains("free some space") || message.contains("half changed"),
                "step {step}: {message}"
            );
            let now = lab.snapshot().contents();
            assert!(
                now == scene.base || now == scene.result,
                "step {step}: {message}"
            );
            lab.with_series(&["apply"]).args(form).assert().success();
            assert_eq!(
                lab.snapshot().contents(),
                scene.result,
                "step {step}, then apply"
            );
            lab.umpatch(&["unapply"]).assert().success();
            assert_eq!(
                lab.snapshot().contents(),
                scene.base,
                "step {step}, then unapply"
            );
        }
    }
}

/// Kills after a time that is random, but the same for a number: `UMPATCH_TEST_KILLS` says how many (1,000 for a release).
/// In turns `apply` is killed and carried on, killed and taken back, and `unapply` is killed.
#[test]
fn kills_at_random_moments_are_survived() {
    let kills: u64 = std::env::var("UMPATCH_TEST_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(40);
    let scene = Scene::new(&[]);
    let applied = scene.start.copy();
    let started = std::time::Instant::now();
    applied.with_series(&["apply"]).assert().success();
    let whole = u64::try_from(started.elapsed().as_nanos()).unwrap();
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut killed, mut between) = (0, 0);
    for round in 0..kills {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (start, command, then) = match round % 3 {
            0 => (&scene.start, "apply", "--continue"),
            1 => (&scene.start, "apply", "--abort"),
            _ => (&applied, "unapply", "--continue"),
        };
        let lab = start.copy();
        let mut process = std::process::Command::new(assert_cmd::cargo::cargo_bin("umpatch"));
        process
            .env("UMPATCH_CACHE", lab.root().join("cache"))
            .arg("-C")
            .arg(lab.tree())
            .arg(command)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        if command == "apply" {
            process.arg("--patches-from").arg(lab.series());
        }
        let mut child = process.spawn().unwrap();
        std::thread::sleep(Duration::from_nanos(random % whole));
        child.kill().unwrap();
        killed += u64::from(child.wait().unwrap().signal() == Some(9));
        between += u64::from(lab.path(".git/umpatch/journal.json").exists());
        lab.with_series(&["status"]).assert().success();
        lab.umpatch(&["apply", then]).assert().success();
        let now = lab.snapshot().contents();
        assert!(
            now == scene.base || now == scene.result,
            "round {round}, {command} killed, then {then}: neither base nor result"
        );
        lab.with_series(&["apply"]).assert().success();
        assert_eq!(lab.snapshot().contents(), scene.result, "round {round}");
        lab.umpatch(&["unapply"]).assert().success();
        assert_eq!(lab.snapshot().contents(), scene.base, "round {round}");
        assert_eq!(leftovers(&lab), Vec::<String>::new(), "round {round}");
    }
    eprintln!(
        "{kills} kills: {killed} of a running process, {between} of them between base and result"
    );
    assert!(killed > 0, "no kill hit a running process");
}
