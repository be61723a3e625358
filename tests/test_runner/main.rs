//! The test runner against tests that crash, hang, eat memory, flake, skip and end the interpreter.
// clippy's own exception for tests does not reach their helper functions
#![allow(clippy::unwrap_used)]
mod support;

use std::path::Path;
use support::{Kept, Stage, change, classes, comparable, weighing};
use umpatch::report::document::{Bearing, Verdict};
use umpatch::run::tests::event::TestEvent;
use umpatch::run::tests::{Baseline, Expected, Findings, Pretence, TestsError, read_junit};

fn bearing(findings: &Findings, name: &str) -> (String, Bearing) {
    change(&findings.tests, name)
        .map(|change| (change.class.clone(), change.weight()))
        .unwrap_or_else(|| panic!("no row for {name}: {:#?}", findings.tests.changes))
}

const HEAD: &str = "
import os, signal, sys, time, unittest, atexit
import pytest
patched = os.environ['ARM'] == 'patched'
marks = os.environ['MARKS']
def first_time(name):
    path = os.path.join(marks, name)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
";

fn file(body: &str) -> String {
    format!("{HEAD}{body}")
}

#[test]
fn nothing_changes_where_nothing_differs() {
    let stage = Stage::new(&file(
        "
def test_pass(): pass
def test_fail(): assert 1 == 2
def test_skip(): pytest.skip('no')
class TestOld(unittest.TestCase):
    def test_method(self): pass
    @unittest.expectedFailure
    def test_expected(self): assert 0
@pytest.mark.parametrize('n', range(30))
def test_many(n): pass
",
    ));
    let findings = stage.run();
    let counts = findings.tests.patched;
    assert_eq!(counts, findings.tests.baseline);
    assert_eq!(
        (counts.passed, counts.failed, counts.skipped, counts.xfailed),
        (32, 1, 1, 1)
    );
    assert_eq!(
        classes(&findings.tests),
        [("test_fail".to_owned(), "same-failure".to_owned())]
    );
    assert_eq!(weighing(&findings, Bearing::Against), 0);
    assert_eq!(weighing(&findings, Bearing::Undecided), 0);
    assert_eq!(findings.tests.failures.len(), 1);
    let written = read_junit(
        &stage.plan.settings.folder.join("patched.xml"),
        "test_it.py",
    )
    .unwrap();
    assert_eq!(written.len(), 35);
}

#[test]
fn every_way_to_go_wrong_has_its_class_and_the_run_goes_on() {
    let mut stage = Stage::new(&file(
        "
def test_a(): pass
def test_crash():
    if patched: print('last words', flush=True); os.kill(os.getpid(), signal.SIGSEGV)
def test_b(): pass
def test_hang():
    if patched: time.sleep(60)
def test_c(): pass
def test_eats():
    if patched: bytearray(4 << 30)
def test_d(): pass
def test_os_exit():
    if patched: os._exit(0)
def test_e(): pass
def test_sys_exit():
    if patched: sys.exit(0)
def test_f(): pass
def test_pytest_exit():
    if patched: pytest.exit('enough')
def test_g(): pass
def test_interrupt():
    if patched: raise KeyboardInterrupt
def test_h(): pass
def test_skips():
    if patched: pytest.skip('not today')
def test_fails():
    assert not patched, 'worse'
def test_mended():
    assert patched, 'was broken'
def test_other_failure():
    assert 0, 'this way' if patched else 'that way'
def test_always_crashes(): os.abort()
def test_z(): pass
",
    ));
    stage.plan.settings.limits.least = std::time::Duration::from_secs(4);
    stage.plan.settings.limits.most = std::time::Duration::from_secs(4);
    let findings = stage.run();
    let tests = &findings.tests;
    let wanted = [
        ("test_crash", "new-crash", Bearing::Against),
        ("test_hang", "new-timeout", Bearing::Against),
        ("test_eats", "regression", Bearing::Against),
        ("test_os_exit", "new-crash", Bearing::Against),
        ("test_sys_exit", "regression", Bearing::Against),
        ("test_pytest_exit", "regression", Bearing::Against),
        ("test_interrupt", "regression", Bearing::Against),
        ("test_skips", "new-skip", Bearing::Against),
        ("test_fails", "regression", Bearing::Against),
        ("test_mended", "fixed", Bearing::InFavour),
        ("test_other_failure", "changed-failure", Bearing::Neutral),
        ("test_always_crashes", "same-failure", Bearing::Neutral),
    ];
    for (name, class, weight) in wanted {
        assert_eq!(
            bearing(&findings, name),
            (class.to_owned(), weight),
            "{name}"
        );
    }
    assert_eq!(tests.changes.len(), wanted.len(), "{:#?}", classes(tests));
    assert_eq!((tests.baseline.passed, tests.baseline.crashed), (18, 1));
    assert_eq!((tests.patched.passed, tests.patched.crashed), (10, 3));
    assert_eq!((tests.patched.timed_out, tests.patched.skipped), (1, 1));
    let crash = change(tests, "test_crash").unwrap();
    assert!(crash.excerpt.contains("SIGSEGV") && crash.excerpt.contains("last words"));
    // faulthandler's stack names the line
    assert!(crash.excerpt.contains("in test_crash"), "{}", crash.excerpt);
    let hang = change(tests, "test_hang").unwrap();
    assert!(hang.excerpt.contains("in test_hang"), "{}", hang.excerpt);
    assert!(
        change(tests, "test_os_exit")
            .unwrap()
            .excerpt
            .contains("exit status 0")
    );
    assert_eq!(weighing(&findings, Bearing::Against), 9);
    assert_eq!(weighing(&findings, Bearing::Undecided), 0);
}

#[test]
fn a_failure_that_does_not_come_back_is_no_regression() {
    let stage = Stage::new(&file(
        "
def test_a(): pass
def test_once():
    assert not (patched and first_time('once'))
def test_b(): pass
",
    ));
    let findings = stage.run();
    assert_eq!(
        bearing(&findings, "test_once"),
        ("flaky-both".to_owned(), Bearing::Neutral)
    );
    assert_eq!(weighing(&findings, Bearing::Against), 0);
    assert_eq!(weighing(&findings, Bearing::Undecided), 0);
}

#[test]
fn a_failure_that_needs_the_tests_before_it_is_found() {
    let mut stage = Stage::new(&file(
        "
state = []
def test_a(): state.append(1)
def test_b(): assert not (patched and state)
",
    ));
    stage.plan.settings.workers = 1;
    let findings = stage.run();
    assert_eq!(
        bearing(&findings, "test_b"),
        ("order-dependent".to_owned(), Bearing::Against)
    );
    assert_eq!(weighing(&findings, Bearing::Against), 1);
}

#[test]
fn a_crash_on_the_way_out_is_told_apart() {
    let stage = Stage::new(&file(
        "
if patched: atexit.register(os.abort)
def test_a(): pass
def test_b(): pass
",
    ));
    let findings = stage.run();
    assert_eq!(findings.tests.patched.passed, 2);
    assert_eq!(findings.tests.exit_crashes.baseline, 0);
    assert_eq!(findings.tests.exit_crashes.patched, 2);
    let row = &findings.tests.changes[0];
    assert_eq!(
        (row.class.as_str(), row.weight()),
        ("exit-crash", Bearing::Against)
    );
    assert!(row.evidence.contains("SIGABRT"), "{}", row.evidence);
}

#[test]
fn a_worker_killed_from_outside_costs_one_row() {
    let body = "
def test_a(): pass
def test_victim():
    if patched and first_time('kill'): os.kill(os.getpid(), signal.SIGKILL)
def test_b(): pass
";
    let disturbed = Stage::new(&file(body)).run();
    let calm = Stage::new(&file(&body.replace("if patched and", "if False and"))).run();
    assert_eq!(
        bearing(&disturbed, "test_victim"),
        ("infrastructure".to_owned(), Bearing::Neutral)
    );
    let mut without = comparable(&disturbed);
    without.tests.changes.clear();
    assert_eq!(without, comparable(&calm));
}

#[test]
fn a_test_that_kills_its_process_every_time_is_a_crash() {
    let stage = Stage::new(&file(
        "
def test_a(): pass
def test_killer():
    if patched: os.kill(os.getpid(), signal.SIGKILL)
",
    ));
    assert_eq!(
        bearing(&stage.run(), "test_killer"),
        ("new-crash".to_owned(), Bearing::Against)
    );
}

#[test]
fn memory_beyond_the_limit_in_a_child_is_ended_too() {
    // a child without the limit of its parent: only the look from outside sees it
    let stage = Stage::new(&file(
        "
import subprocess, resource
def test_a(): pass
def test_child():
    if patched:
        code = 'import time; a = bytearray(3 << 30)\\nfor i in range(0, len(a), 4096): a[i] = 1\\ntime.sleep(60)'
        free = lambda: resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY,) * 2)
        subprocess.run([sys.executable, '-c', code], preexec_fn=free)
",
    ));
    let findings = stage.run();
    let row = change(&findings.tests, "test_child").unwrap();
    assert_eq!(row.class, "new-crash");
    assert!(row.excerpt.contains("more memory"), "{}", row.excerpt);
}

#[test]
fn tests_that_come_and_go_are_told() {
    let baseline = file(
        "
def test_stays(): pass
def test_goes(): pass
",
    );
    let patched = file(
        "
def test_stays(): pass
def test_proof(): assert patched
def test_no_proof(): pass
def test_bad(): assert 0
",
    );
    let stage = Stage::with_files(&baseline, &patched);
    let findings = stage.run();
    let row = |name: &str| {
        let row = change(&findings.tests, name).unwrap();
        (
            row.class.as_str(),
            row.baseline.as_str(),
            row.patched.as_str(),
            row.weight(),
        )
    };
    assert_eq!(
        row("test_goes"),
        ("missing", "passed", "missing", Bearing::Against)
    );
    assert_eq!(
        row("test_proof"),
        ("added", "failed", "passed", Bearing::InFavour)
    );
    assert_eq!(
        row("test_no_proof"),
        ("added", "passed", "passed", Bearing::Neutral)
    );
    assert_eq!(
        row("test_bad"),
        ("added", "failed", "failed", Bearing::Against)
    );
}

#[test]
fn a_file_that_cannot_be_collected_with_the_patches_is_a_regression() {
    let stage = Stage::new(&file(
        "
if patched: raise RuntimeError('broken build')
def test_a(): pass
",
    ));
    let findings = stage.run();
    let row = change(&findings.tests, "(all tests)").unwrap();
    assert_eq!(
        (row.class.as_str(), row.weight()),
        ("new-crash", Bearing::Against)
    );
    assert!(row.evidence.contains("broken build"), "{}", row.evidence);
}

#[test]
fn a_file_that_crashes_at_import_is_given_up_after_three_tries() {
    let stage = Stage::new(&file(
        "
if not patched: os.abort()
def test_a(): pass
",
    ));
    let error = stage.run_into(&mut Kept::default()).unwrap_err();
    assert!(error.to_string().contains("SIGABRT"), "{error}");
}

#[test]
fn a_selection_is_by_expression_or_by_id() {
    let text = file(
        "
class TestA(unittest.TestCase):
    def test_one(self): pass
    def test_two(self): pass
def test_three(): pass
",
    );
    let mut stage = Stage::new(&text);
    stage.plan.settings.selection.expression = "TestA and not two".to_owned();
    assert_eq!(stage.run().tests.patched.passed, 1);
    let mut stage = Stage::new(&text);
    stage.plan.settings.selection.ids = Some(vec![
        "test_it.py::test_three".to_owned(),
        "test_it.py::TestA::test_two".to_owned(),
    ]);
    assert_eq!(stage.run().tests.patched.passed, 2);
    stage.plan.settings.selection.ids = Some(vec!["test_it.py::test_two".to_owned()]);
    let error = stage.run_into(&mut Kept::default()).unwrap_err();
    assert!(
        matches!(error, TestsError::Unknown { ref alike, .. } if alike == &["test_it.py::TestA::test_two"]),
        "{error}"
    );
}

#[test]
fn a_recorded_baseline_is_compared_with() {
    let text = file(
        "
def test_same(): pass
def test_worse(): assert not patched
def test_fail(): assert 0
",
    );
    let mut stage = Stage::new(&text);
    let first = stage.run();
    assert_eq!(bearing(&first, "test_worse").0, "regression");
    let recorded = read_junit(
        &stage.plan.settings.folder.join("baseline.xml"),
        "test_it.py",
    )
    .unwrap();
    stage.plan.baseline = Baseline::Recorded(recorded);
    let second = stage.run();
    assert!(second.tests.baseline_recorded);
    assert_eq!(classes(&first.tests), classes(&second.tests));
    assert_eq!(
        bearing(&second, "test_worse"),
        ("regression".to_owned(), Bearing::Against)
    );
    assert_eq!(second.tests.baseline, first.tests.baseline);
}

#[test]
fn a_run_that_is_cut_anywhere_and_resumed_ends_alike() {
    let text = file(
        "
@pytest.mark.parametrize('n', range(6))
def test_many(n): pass
def test_worse(): assert not patched
def test_crash():
    if patched: os.abort()
",
    );
    let undisturbed = Stage::new(&text);
    let mut whole = Kept::default();
    let calm = undisturbed.run_into(&mut whole).unwrap();
    let stage = Stage::new(&text);
    // every event is a place to be cut; a few, spread over the run, and the last
    let places = [1, 3, 8, 15, 23, 31, 38, 47, 60, whole.events.len() - 1];
    let mut kept = Kept::default();
    for place in places {
        kept.fails_after = Some(place.max(kept.events.len()));
        let cut = stage.run_into(&mut kept);
        assert!(matches!(cut, Err(TestsError::Interrupted)), "{place}");
    }
    kept.fails_after = None;
    let resumed = stage.run_into(&mut kept).unwrap();
    assert_eq!(comparable(&resumed), comparable(&calm));
    // and the journal alone gives the same
    let rebuilt = kept.story().findings(&Expected::default());
    assert_eq!(rebuilt, Some(resumed));
    // what had its outcome did not run again
    let finished = |events: &[TestEvent]| {
        events
            .iter()
            .filter(|event| matches!(event, TestEvent::Finish { .. }))
            .count()
    };
    assert_eq!(finished(&kept.events), finished(&whole.events));
}

/// A harness whose canary answers as a file says.
fn with_canary(stage: &mut Stage, script: &str) {
    let harness = stage.folder.path().join("harness");
    std::fs::create_dir_all(&harness).unwrap();
    std::fs::create_dir_all(harness.join("bin")).unwrap();
    for name in ["worker.py", "pytest.ini", "bin/sysctl"] {
        std::fs::copy(support::harness().join(name), harness.join(name)).unwrap();
    }
    std::fs::write(harness.join("canary.py"), script).unwrap();
    stage.plan.settings.harness = harness;
    stage.plan.settings.canary = Some("mps".to_owned());
}

const SOUND: &str = "print('{\"sound\": true}')\n";

#[test]
fn a_device_that_is_not_sound_opens_the_circuit() {
    let text = file(
        "
def test_a(): pass
def test_crash():
    if not patched: open(marks + '/wedged', 'w'); os.abort()
@pytest.mark.parametrize('n', range(40))
def test_many(n): pass
",
    );
    let mut stage = Stage::new(&text);
    with_canary(
        &mut stage,
        "import os\nif os.path.exists(os.environ['MARKS'] + '/wedged'): print('{\"sound\": false, \"detail\": \"wedged\"}')\nelse: print('{\"sound\": true}')\n",
    );
    let findings = stage.run();
    let row = change(&findings.tests, "(all tests)").unwrap();
    assert_eq!(
        (row.class.as_str(), row.weight()),
        ("infrastructure", Bearing::Undecided)
    );
    assert!(row.evidence.contains("wedged"));
    assert_eq!(weighing(&findings, Bearing::Against), 0);
}

#[test]
fn a_build_that_breaks_a_sound_device_is_a_regression() {
    let mut stage = Stage::new(&file("\ndef test_a(): pass\n"));
    with_canary(
        &mut stage,
        "import os\nif os.environ['ARM'] == 'patched': os.abort()\nprint('{\"sound\": true}')\n",
    );
    let findings = stage.run();
    let row = change(&findings.tests, "(all tests)").unwrap();
    assert_eq!(
        (row.class.as_str(), row.weight()),
        ("new-crash", Bearing::Against)
    );
}

#[test]
fn a_sound_device_is_checked_before_the_run_and_after_a_death() {
    let mut stage = Stage::new(&file(
        "
def test_a(): pass
def test_crash(): os.abort()
",
    ));
    with_canary(&mut stage, SOUND);
    let mut kept = Kept::default();
    stage.run_into(&mut kept).unwrap();
    let checks = kept
        .events
        .iter()
        .filter(|event| matches!(event, TestEvent::Canary { sound: true, .. }))
        .count();
    assert_eq!(checks, 4);
}

#[test]
fn a_spent_budget_is_no_pass() {
    let mut stage = Stage::new(&file(
        "
@pytest.mark.parametrize('n', range(100))
def test_slow(n): time.sleep(0.2)
",
    ));
    stage.plan.settings.limits.budget = Some(std::time::Duration::from_secs(3));
    let findings = stage.run();
    assert!(findings.tests.patched.passed < 100);
    assert!(
        findings
            .reasons
            .iter()
            .any(|reason| reason.verdict == Verdict::Inconclusive)
    );
}

#[test]
fn a_test_that_prints_without_end_is_ended() {
    let stage = Stage::new(&file(
        "
def test_a(): pass
def test_talks():
    while patched: sys.stdout.write('x' * 100000)
",
    ));
    let findings = stage.run();
    let row = change(&findings.tests, "test_talks").unwrap();
    assert_eq!(row.class, "new-crash");
    assert!(row.excerpt.contains("printed more"));
}

/// As the embedded files come out of the binary: readable, not executable.
#[test]
fn tests_are_told_about_a_mac_by_files_that_are_not_executable() {
    use std::os::unix::fs::PermissionsExt;
    let mut stage = Stage::new(&file(
        "
import platform, subprocess
def test_mac():
    assert int(subprocess.check_output(['sysctl', '-n', 'hw.memsize'])) == 24 << 30
    assert platform.mac_ver()[0] == '15.1'
",
    ));
    with_canary(&mut stage, SOUND);
    let sysctl = stage.plan.settings.harness.join("bin/sysctl");
    std::fs::set_permissions(&sysctl, std::fs::Permissions::from_mode(0o644)).unwrap();
    stage.plan.settings.pretence = Some(Pretence::default());
    assert_eq!(stage.run().tests.patched.passed, 1);
}

#[test]
fn nothing_is_written_beside_the_tests() {
    let stage = Stage::new(&file("\ndef test_a(): pass\n"));
    stage.run();
    let names = |folder: &Path| -> Vec<String> {
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect()
    };
    assert_eq!(names(&stage.plan.patched.root), ["test_it.py"]);
}
