//! What the test runner costs over plain pytest on the same tests: prints both times and their ratio, and fails when the
//! runner takes more than 3% longer. Run it on a quiet machine: `cargo bench --bench runner [-- TESTS MILLISECONDS]`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
#[path = "../tests/test_runner/support.rs"]
#[allow(dead_code)]
mod support;

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use support::{Kept, Stage};

/// Upper bound of the goal.
const MOST: f64 = 1.03;
/// Measurements of each; the medians are compared.
const REPETITIONS: usize = 5;

fn main() -> ExitCode {
    let mut numbers = std::env::args().filter_map(|word| word.parse::<u32>().ok());
    // test_mps.py has 6,867 tests of 50 to 100 ms on the simulated device: a smaller file of such tests
    let tests = numbers.next().unwrap_or(200);
    let milliseconds = numbers.next().unwrap_or(50);
    let mut stage = Stage::new(&file(tests, milliseconds));
    stage.plan.settings.workers = 1;
    let mut plain = Vec::new();
    let mut ours = Vec::new();
    for _ in 0..REPETITIONS {
        plain.push(of_pytest(&stage));
        ours.push(of_runner(&stage, tests));
    }
    let plain = median(plain);
    // the runner runs both arms
    let ours = median(ours) / 2;
    let ratio = ours.as_secs_f64() / plain.as_secs_f64();
    println!("{tests} tests of {milliseconds} ms, one worker, medians of {REPETITIONS}");
    println!("plain pytest {:8.3} s", plain.as_secs_f64());
    println!("runner       {:8.3} s an arm", ours.as_secs_f64());
    println!("ratio        {ratio:8.4}  (goal: at most {MOST})");
    if ratio <= MOST {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Tests that compute, as those of test_mps.py do: sleeping would hide what the runner costs the same core.
fn file(tests: u32, milliseconds: u32) -> String {
    format!(
        "
import time, unittest
def work():
    end = time.process_time() + {milliseconds} / 1000
    while time.process_time() < end: sum(range(1000))
class TestWork(unittest.TestCase): pass
for number in range({tests}):
    setattr(TestWork, f'test_{{number:05}}', lambda self: work())
"
    )
}

fn of_pytest(stage: &Stage) -> Duration {
    let suite = &stage.plan.patched;
    let started = Instant::now();
    let status = Command::new(&suite.python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(&suite.file)
        .current_dir(&suite.root)
        .env("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        .env("PYTHONPYCACHEPREFIX", stage.folder.path().join("plain"))
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    started.elapsed()
}

fn of_runner(stage: &Stage, tests: u32) -> Duration {
    let started = Instant::now();
    let findings = stage.run_into(&mut Kept::default()).unwrap();
    assert_eq!(findings.tests.patched.passed, u64::from(tests));
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
