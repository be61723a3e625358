//! The verdict as a table: one deviation from a clean pair a row.
use super::*;
use crate::report::document::{Bearing, Fault, FindingState, TestChange, TestCounts};
use crate::run::job::{Class, Outcome};
use crate::stats::curve::analyse;

const MIB: u64 = 1 << 20;

fn curve(level: impl Fn(f64) -> f64) -> Option<Analysis> {
    let samples: Vec<(f64, f64)> = (0..300)
        .map(|x| (f64::from(x), level(f64::from(x))))
        .collect();
    Some(analyse(&samples, threshold::GROWTH_FLOOR_BYTES))
}

fn clean() -> Process {
    let counters = [
        ("allocations", 6000.0),
        ("new_buffers", 20.0),
        ("blocking_waits", 10.0),
        ("eligible_copies", 100.0),
        ("memcpy_copies", 95.0),
        ("alloc_free_instructions", 1000.0),
    ];
    Process {
        result: JobResult {
            peak_driver_bytes: Some(64 * MIB),
            residual_driver_bytes: Some(0),
            residual_current_bytes: Some(0),
            last_step: Some(299),
            counters: counters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            ..JobResult::empty(Outcome::Ok)
        },
        curve: curve(|_| 64.0 * MIB as f64),
        live: None,
        new_buffers_per_step: Some(0.0),
        counter_ran_backwards: false,
    }
}

fn leaking() -> Process {
    Process {
        curve: curve(|step| (64.0 + 26.0 * step) * MIB as f64),
        new_buffers_per_step: Some(20.0),
        ..clean()
    }
}

/// Keeps 64 KiB each step, of which the driver's heaps of 8 MiB show nothing yet.
fn live() -> Process {
    Process {
        live: curve(|step| 32.0 * MIB as f64 + 65_536.0 * step),
        ..clean()
    }
}

/// Leaks until the allocator's own limit takes everything back.
fn limited() -> Process {
    Process {
        curve: curve(|step| (64.0 + 26.0 * (step % 200.0)) * MIB as f64),
        ..leaking()
    }
}

fn with(change: impl FnOnce(&mut Process)) -> Process {
    let mut process = clean();
    change(&mut process);
    process
}

fn fault(kind: &str, count: u64, bytes: u64) -> Fault {
    Fault {
        kind: kind.to_owned(),
        count,
        detail: "step 3".to_owned(),
        bytes,
    }
}

fn faulted(kind: &str, count: u64) -> Process {
    with(|process| {
        process.result.outcome = Outcome::Faulted;
        process.result.faults = vec![fault(kind, count, 64)];
    })
}

fn ended(outcome: Outcome) -> Process {
    with(|process| process.result.outcome = outcome)
}

fn scenario(class: Class, pairs: Vec<(Process, Process)>) -> ScenarioEvidence {
    ScenarioEvidence {
        definition: Definition {
            id: "transformer-loop".to_owned(),
            class,
            ..Definition::default()
        },
        pairs: pairs
            .into_iter()
            .enumerate()
            .map(|(seed, (baseline, patched))| Pair {
                seed: seed as u64,
                baseline: Some(baseline),
                patched: Some(patched),
            })
            .collect(),
        ..ScenarioEvidence::default()
    }
}

fn evidence(scenarios: Vec<ScenarioEvidence>) -> Evidence {
    Evidence {
        scenarios,
        trust: Some(Trust::Simulated),
        complete: true,
        ..Evidence::default()
    }
}

#[test]
fn one_pair_of_processes() {
    let crash = || {
        with(|process| {
            process.result.outcome = Outcome::Crashed {
                by: "SIGSEGV".to_owned(),
            };
            process.result.faults = vec![fault("crash", 1, 0)];
        })
    };
    let late = || {
        ended(Outcome::TimedOut {
            detail: "60 s".to_owned(),
        })
    };
    let peak = |mib: u64| with(|process| process.result.peak_driver_bytes = Some(mib * MIB));
    let counter = |name: &'static str, value: f64| {
        with(|process| {
            process.result.counters.insert(name.to_owned(), value);
        })
    };
    let residual =
        |mib: u64| with(|process| process.result.residual_driver_bytes = Some(mib * MIB));
    let unsampled = || with(|process| process.curve = None);
    let nan = || with(|process| process.curve = Some(analyse(&[(0.0, f64::NAN); 40], 1.0)));
    let unsupported = || {
        ended(Outcome::Unsupported {
            detail: "no such scenario".to_owned(),
        })
    };
    use Class::{Copy, Correctness, GpuOnly, Stress};
    use FindingState::{Improved, Inconclusive, NotComparable, Ok, PreExisting, Regression};
    use Verdict as V;
    type Row = (
        &'static str,
        Class,
        Process,
        Process,
        V,
        FindingState,
        &'static str,
    );
    let rows: Vec<Row> = vec![
        (
            "nothing",
            GpuOnly,
            clean(),
            clean(),
            V::Pass,
            Ok,
            "no difference",
        ),
        (
            "corruption",
            Copy,
            clean(),
            faulted("corruption", 3),
            V::Regression,
            Regression,
            "64 bytes",
        ),
        (
            "hazard",
            Copy,
            clean(),
            faulted("hazard", 1),
            V::Regression,
            Regression,
            "baseline has none",
        ),
        (
            "deadlock",
            GpuOnly,
            clean(),
            faulted("deadlock", 1),
            V::Regression,
            Regression,
            "deadlock",
        ),
        (
            "crash",
            GpuOnly,
            clean(),
            crash(),
            V::Regression,
            Regression,
            "crash",
        ),
        (
            "hang",
            GpuOnly,
            clean(),
            late(),
            V::Regression,
            Regression,
            "timed-out",
        ),
        (
            "out of memory",
            GpuOnly,
            clean(),
            ended(Outcome::OutOfMemory),
            V::Regression,
            Regression,
            "out-of-memory",
        ),
        (
            "accounting",
            GpuOnly,
            clean(),
            faulted("accounting", 1),
            V::Regression,
            Regression,
            "accounting",
        ),
        (
            "same fault",
            Copy,
            faulted("corruption", 3),
            faulted("corruption", 3),
            V::Pass,
            PreExisting,
            "both arms",
        ),
        (
            "the same crash",
            GpuOnly,
            crash(),
            crash(),
            V::Inconclusive,
            Inconclusive,
            "no process of the patched arm came to its end",
        ),
        (
            "out of memory in both arms",
            GpuOnly,
            ended(Outcome::OutOfMemory),
            ended(Outcome::OutOfMemory),
            V::Inconclusive,
            Inconclusive,
            "no process of the patched arm came to its end",
        ),
        (
            "more of a fault",
            Copy,
            faulted("corruption", 3),
            faulted("corruption", 30),
            V::Regression,
            Regression,
            "30 times",
        ),
        (
            "fixed fault",
            Copy,
            faulted("corruption", 3),
            clean(),
            V::Pass,
            Improved,
            "fixed",
        ),
        (
            "fixed crash",
            Stress,
            crash(),
            clean(),
            V::Pass,
            Improved,
            "fixed",
        ),
        (
            "growth",
            GpuOnly,
            clean(),
            leaking(),
            V::Regression,
            Regression,
            "+26.0 MiB/step",
        ),
        (
            "growth in both",
            GpuOnly,
            leaking(),
            leaking(),
            V::Pass,
            PreExisting,
            "both arms",
        ),
        (
            "fixed growth",
            GpuOnly,
            leaking(),
            clean(),
            V::Pass,
            Improved,
            "fixed",
        ),
        (
            "a heap more",
            GpuOnly,
            peak(64),
            peak(72),
            V::Pass,
            Ok,
            "no difference",
        ),
        (
            "a peak",
            GpuOnly,
            peak(64),
            peak(120),
            V::Regression,
            Regression,
            "1.88 ×",
        ),
        (
            "a peak of copies",
            Copy,
            peak(64),
            peak(120),
            V::Pass,
            Ok,
            "no difference",
        ),
        (
            "waits",
            Copy,
            clean(),
            counter("blocking_waits", 310.0),
            V::Regression,
            Regression,
            "310 in all against 10",
        ),
        (
            "fewer waits",
            Copy,
            clean(),
            counter("blocking_waits", 0.0),
            V::Pass,
            Ok,
            "no difference",
        ),
        (
            "never caches",
            GpuOnly,
            clean(),
            Process {
                new_buffers_per_step: Some(20.0),
                ..counter("new_buffers", 6000.0)
            },
            V::Regression,
            Regression,
            "100.0% of allocations",
        ),
        (
            "fills its cache for longer",
            GpuOnly,
            clean(),
            counter("new_buffers", 900.0),
            V::Pass,
            Ok,
            "no difference",
        ),
        (
            "residue",
            GpuOnly,
            residual(0),
            residual(30),
            V::Regression,
            Regression,
            "30.0 MiB more",
        ),
        (
            "the same residue",
            GpuOnly,
            residual(30),
            residual(30),
            V::Pass,
            Ok,
            "no difference",
        ),
        (
            "slow",
            GpuOnly,
            clean(),
            counter("alloc_free_instructions", 9000.0),
            V::Regression,
            Regression,
            "9.00 ×",
        ),
        (
            "no samples",
            GpuOnly,
            clean(),
            unsampled(),
            V::Inconclusive,
            Inconclusive,
            "no samples",
        ),
        (
            "values alone",
            Correctness,
            unsampled(),
            unsampled(),
            V::Pass,
            Ok,
            "no difference",
        ),
        (
            "NaN",
            GpuOnly,
            clean(),
            nan(),
            V::Inconclusive,
            Inconclusive,
            "only 0 usable samples",
        ),
        (
            "neither supports it",
            GpuOnly,
            unsupported(),
            unsupported(),
            V::NothingRan,
            NotComparable,
            "no such scenario",
        ),
        (
            "only one supports it",
            GpuOnly,
            clean(),
            unsupported(),
            V::Regression,
            Regression,
            "no such scenario",
        ),
    ];
    for (name, class, baseline, patched, verdict, state, text) in rows {
        let judgement = judge(&evidence(vec![scenario(class, vec![(baseline, patched)])]));
        assert_eq!(
            judgement.verdict, verdict,
            "{name}: {:?}",
            judgement.reasons
        );
        assert_eq!(judgement.exit, exit_of(verdict), "{name}");
        let relative = &judgement.scenarios[0].relative;
        assert_eq!(relative.state, state, "{name}: {relative:?}");
        assert!(relative.text.contains(text), "{name}: {relative:?}");
        if verdict == Verdict::Regression {
            let first = &judgement.reasons[0];
            assert_eq!(first.subject, "transformer-loop", "{name}");
            assert!(first.text.contains(text), "{name}: {first:?}");
        }
    }
}

#[test]
fn growth_that_a_limit_hides_is_seen() {
    let verdict = |baseline, patched| {
        judge(&evidence(vec![scenario(
            Class::Copy,
            vec![(baseline, patched)],
        )]))
    };
    let judgement = verdict(clean(), limited());
    assert_eq!(judgement.verdict, Verdict::Regression);
    let text = &judgement.reasons[0].text;
    assert!(text.contains("rises by +26.0 MiB/step"), "{text}");
    assert_eq!(verdict(limited(), limited()).verdict, Verdict::Pass);
}

#[test]
fn a_leak_of_live_memory_below_the_drivers_pieces_is_seen() {
    let still = || Process {
        live: curve(|_| 32.0 * MIB as f64),
        ..clean()
    };
    let judgement = |baseline, patched| {
        let pairs = vec![(baseline, patched)];
        judge(&evidence(vec![scenario(Class::GpuOnly, pairs)]))
    };
    let found = judgement(still(), live());
    assert_eq!(found.verdict, Verdict::Regression);
    let text = &found.reasons[0].text;
    assert!(
        text.contains("live tensors grows by +64.0 KiB/step"),
        "{text}"
    );
    let found = judgement(live(), live());
    assert_eq!(found.verdict, Verdict::Pass);
    assert_eq!(found.scenarios[0].relative.state, FindingState::PreExisting);
}

/// A curve that is not whole clears nobody, also where both arms share the flaw.
#[test]
fn a_flaw_in_both_arms_is_no_pass() {
    let samples = |change: &dyn Fn(usize, f64) -> (f64, f64)| -> Vec<(f64, f64)> {
        (0..300)
            .map(|step| change(step, 64.0 * MIB as f64))
            .collect()
    };
    /// What the curve has, its samples, and the words that say so.
    type Row = (&'static str, Vec<(f64, f64)>, &'static str);
    let rows: Vec<Row> = vec![
        ("nothing", Vec::new(), "only 0 usable"),
        ("one sample", vec![(0.0, 64.0)], "only 1 usable"),
        (
            "a hole",
            samples(&|step, level| (step as f64, if step == 40 { f64::NAN } else { level })),
            "without a usable value",
        ),
        (
            "a clock that jumps back",
            samples(&|step, level| (if step == 200 { 3.0 } else { step as f64 }, level)),
            "not after the one before",
        ),
        (
            "a gap",
            samples(&|step, level| (step as f64 + if step > 150 { 900.0 } else { 0.0 }, level)),
            "a stretch without samples",
        ),
    ];
    for (name, samples, text) in rows {
        let process = || Process {
            curve: Some(analyse(&samples, threshold::GROWTH_FLOOR_BYTES)),
            ..clean()
        };
        let pairs = vec![(process(), process())];
        let judgement = judge(&evidence(vec![scenario(Class::GpuOnly, pairs)]));
        assert_eq!(judgement.verdict, Verdict::Inconclusive, "{name}");
        assert!(
            judgement.reasons[0].text.contains(text),
            "{name}: {:?}",
            judgement.reasons
        );
    }
    let wrapped = || Process {
        counter_ran_backwards: true,
        ..clean()
    };
    let pairs = vec![(wrapped(), wrapped())];
    let judgement = judge(&evidence(vec![scenario(Class::GpuOnly, pairs)]));
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    assert!(judgement.reasons[0].text.contains("ran backwards"));
}

/// A scenario of a few steps is not asked for growth; one that somebody made short is, and cannot tell.
#[test]
fn only_a_scenario_that_is_short_by_itself_may_be_short() {
    let short = |own: Option<u64>| {
        let process = || Process {
            curve: Some(analyse(&[(0.0, 64.0)], 1.0)),
            ..clean()
        };
        let mut evidence = evidence(vec![scenario(Class::GpuOnly, vec![(process(), process())])]);
        evidence.scenarios[0].steps = Some(1);
        evidence.scenarios[0].definition.quick_steps = own;
        judge(&evidence).verdict
    };
    assert_eq!(short(Some(1)), Verdict::Pass);
    assert_eq!(short(Some(200)), Verdict::Inconclusive);
    assert_eq!(short(None), Verdict::Inconclusive);
}

/// Noise above the budget is no pass, whatever the arms look like.
#[test]
fn too_little_power_is_no_pass() {
    let noisy = |seed: u32| Process {
        curve: curve(|step| {
            let noise = ((step + f64::from(seed)) * 12.9898).sin() * 43_758.545_3;
            64.0 * MIB as f64 + noise.fract() * 8.0 * MIB as f64
        }),
        new_buffers_per_step: None,
        ..clean()
    };
    let pairs = vec![(noisy(1), noisy(500)), (noisy(900), noisy(1300))];
    let judgement = judge(&evidence(vec![scenario(Class::GpuOnly, pairs)]));
    assert_eq!(
        judgement.verdict,
        Verdict::Inconclusive,
        "{:?}",
        judgement.reasons
    );
    assert!(judgement.scenarios[0].difference.minimal_detectable > Some(4096.0));
}

#[test]
fn several_pairs_have_to_agree() {
    let pairs = |leaks: usize| {
        (0..3)
            .map(|pair| (clean(), if pair < leaks { leaking() } else { clean() }))
            .collect()
    };
    let verdict = |leaks| judge(&evidence(vec![scenario(Class::GpuOnly, pairs(leaks))])).verdict;
    assert_eq!(verdict(0), Verdict::Pass);
    assert_eq!(verdict(1), Verdict::Inconclusive);
    assert_eq!(verdict(2), Verdict::Regression);
    assert_eq!(verdict(3), Verdict::Regression);
}

#[test]
fn how_often_is_not_compared_with_a_baseline_that_was_cut_short() {
    let state = |baseline: Process| {
        let pairs = vec![(baseline, faulted("state", 50))];
        judge(&evidence(vec![scenario(Class::Copy, pairs)])).scenarios[0]
            .relative
            .state
    };
    assert_eq!(state(faulted("state", 5)), FindingState::Regression);
    let cut_short = || {
        let mut process = faulted("state", 5);
        process.result.outcome = Outcome::Crashed {
            by: "SIGABRT".to_owned(),
        };
        process
    };
    assert_eq!(state(cut_short()), FindingState::Improved, "the crash");
    let stuck = with(|process| {
        process.result.outcome = Outcome::Faulted;
        process.result.faults = vec![fault("state", 5, 64), fault("deadlock", 1, 0)];
    });
    assert_eq!(state(stuck), FindingState::Improved, "the deadlock");
    // what it has not shown at all is new all the same
    let mut other = cut_short();
    other.result.faults.clear();
    assert_eq!(state(other), FindingState::Regression);
}

/// Where threads decide, one process proves nothing.
#[test]
fn threads_need_several_processes() {
    let state = |baseline: usize, patched: usize, all: usize| {
        let process = |faulty| if faulty { faulted("crash", 1) } else { clean() };
        let pairs = (0..all)
            .map(|pair| (process(pair < baseline), process(pair < patched)))
            .collect();
        judge(&evidence(vec![scenario(Class::Stress, pairs)])).scenarios[0]
            .relative
            .state
    };
    assert_eq!(state(0, 3, 3), FindingState::Regression);
    assert_eq!(state(0, 6, 8), FindingState::Regression);
    assert_eq!(state(0, 2, 3), FindingState::Inconclusive);
    assert_eq!(state(0, 1, 1), FindingState::Inconclusive);
    assert_eq!(state(1, 2, 3), FindingState::PreExisting);
    assert_eq!(state(2, 0, 3), FindingState::Improved);
}

#[test]
fn a_promise_that_is_not_kept_is_a_regression() {
    let mut promised = scenario(
        Class::Copy,
        vec![(faulted("corruption", 3), faulted("corruption", 3))],
    );
    promised.definition.promised_by = vec!["memcpy-copy".to_owned()];
    let judgement = judge(&evidence(vec![promised]));
    assert_eq!(judgement.verdict, Verdict::Regression);
    let text = &judgement.reasons[0].text;
    assert!(
        text.starts_with("memcpy-copy should have mended it"),
        "{text}"
    );
}

#[test]
fn a_loader_that_still_waits_breaks_a_promise() {
    let waiting = || {
        with(|process| {
            process
                .result
                .counters
                .insert("blocking_waits".to_owned(), 600.0);
        })
    };
    let verdict = |promised: bool, patched| {
        let mut loader = scenario(Class::Copy, vec![(waiting(), patched)]);
        loader.definition.id = "loader-64kib".to_owned();
        if promised {
            loader.definition.promised_by = vec!["memcpy-copy".to_owned()];
        }
        judge(&evidence(vec![loader])).verdict
    };
    assert_eq!(verdict(true, clean()), Verdict::Pass);
    assert_eq!(verdict(true, waiting()), Verdict::Regression);
    assert_eq!(verdict(false, waiting()), Verdict::Pass);
}

#[test]
fn an_operation_that_the_baseline_refuses_may_wait_once_it_is_carried_out() {
    let waits = |count: f64, mut process: Process| {
        let counters = &mut process.result.counters;
        counters.insert("blocking_waits".to_owned(), count);
        process
    };
    let verdict = |refused, patched| {
        let baseline = waits(0.0, faulted("unexpected-error", refused));
        let copies = scenario(Class::Copy, vec![(baseline, waits(patched, clean()))]);
        judge(&evidence(vec![copies])).verdict
    };
    assert_eq!(verdict(300, 300.0), Verdict::Pass);
    // more waits than there are operations that it could not do
    assert_eq!(verdict(300, 600.0), Verdict::Regression);
    assert_eq!(verdict(20, 300.0), Verdict::Regression);
}

#[test]
fn threads_may_hit_a_fault_on_another_seed() {
    let pairs = || {
        vec![
            (faulted("crash", 1), clean()),
            (clean(), faulted("crash", 1)),
        ]
    };
    let state = |class| {
        judge(&evidence(vec![scenario(class, pairs())])).scenarios[0]
            .relative
            .state
    };
    assert_eq!(state(Class::Stress), FindingState::PreExisting);
    assert_eq!(state(Class::Copy), FindingState::Regression);
}

#[test]
fn a_control_that_is_missed_takes_the_power_away() {
    let control = |baseline, patched| {
        let mut control = scenario(Class::GpuOnly, vec![(baseline, patched)]);
        control.definition.positive_control = true;
        judge(&evidence(vec![
            control,
            scenario(Class::GpuOnly, vec![(clean(), clean())]),
        ]))
        .verdict
    };
    assert_eq!(control(leaking(), leaking()), Verdict::Pass);
    // seen in what live tensors hold, below the pieces that the driver takes
    assert_eq!(control(live(), live()), Verdict::Pass);
    assert_eq!(control(live(), clean()), Verdict::Inconclusive);
    assert_eq!(control(leaking(), clean()), Verdict::Inconclusive);
}

#[test]
fn the_whole_run() {
    let one = || vec![scenario(Class::GpuOnly, vec![(clean(), clean())])];
    let verdict = |evidence: &Evidence| judge(evidence).verdict;
    assert_eq!(verdict(&evidence(Vec::new())), Verdict::NothingRan);
    assert_eq!(
        verdict(&Evidence {
            complete: false,
            ..evidence(one())
        }),
        Verdict::Inconclusive
    );
    assert_eq!(
        verdict(&Evidence {
            require_hardware: true,
            ..evidence(one())
        }),
        Verdict::Inconclusive
    );
    assert_eq!(
        verdict(&Evidence {
            require_hardware: true,
            trust: Some(Trust::Hardware),
            ..evidence(one())
        }),
        Verdict::Pass
    );
    assert_eq!(
        verdict(&Evidence {
            trust: Some(Trust::Rehearsed),
            ..evidence(one())
        }),
        Verdict::Inconclusive
    );
    // an arm that has not run is no success
    let mut half = one();
    half[0].pairs[0].patched = None;
    assert_eq!(verdict(&evidence(half)), Verdict::NothingRan);
}

#[test]
fn what_a_test_says_about_the_patches() {
    let with = |bearing: Bearing| {
        let counts = TestCounts {
            passed: 10,
            ..TestCounts::default()
        };
        judge(&Evidence {
            tests: Some(Tests {
                baseline: counts,
                patched: counts,
                changes: vec![TestChange {
                    id: "TestMPS::test_add".to_owned(),
                    class: "a class of the future".to_owned(),
                    baseline: "passed".to_owned(),
                    patched: "skipped".to_owned(),
                    excerpt: String::new(),
                    reason: String::new(),
                    evidence: String::new(),
                    bearing: Some(bearing),
                }],
                ..Tests::default()
            }),
            ..evidence(Vec::new())
        })
        .verdict
    };
    assert_eq!(with(Bearing::Against), Verdict::Regression);
    assert_eq!(with(Bearing::Undecided), Verdict::Inconclusive);
    assert_eq!(with(Bearing::Neutral), Verdict::Pass);
    assert_eq!(with(Bearing::InFavour), Verdict::Pass);
}

#[test]
fn goals_are_met_missed_or_unknown() {
    let heavier = with(|process| process.result.peak_driver_bytes = Some(72 * MIB));
    let judgement = judge(&evidence(vec![scenario(
        Class::GpuOnly,
        vec![(clean(), heavier)],
    )]));
    assert_eq!(judgement.verdict, Verdict::Pass);
    let goal = |part: &str| {
        judgement
            .goals
            .iter()
            .find(|goal| goal.text.contains(part))
            .unwrap()
    };
    assert_eq!(goal("1.05 ×").met, Some(false));
    assert!(goal("1.05 ×").evidence.contains("transformer-loop 1.12 ×"));
    assert_eq!(goal("blocking wait").met, Some(true));
    assert_eq!(goal("memcpy").met, None);
}

/// A loader may wait once for what it checks in the end, and never for a copy.
#[test]
fn a_loader_waits_for_no_copy() {
    let met = |counters: &[(&str, f64)]| {
        let patched = with(|process| {
            for (name, value) in counters {
                process.result.counters.insert((*name).to_owned(), *value);
            }
        });
        let mut loader = scenario(Class::Copy, vec![(clean(), patched)]);
        loader.definition.id = "loader-4b".to_owned();
        let goals = judge(&evidence(vec![loader])).goals;
        let goal = goals
            .iter()
            .find(|goal| goal.text.contains("copy wait"))
            .unwrap();
        goal.met
    };
    let all = |waits| ("blocking_waits", waits);
    let copies = |waits| ("blocking_copy_waits", waits);
    assert_eq!(met(&[all(1.0), copies(0.0)]), Some(true));
    assert_eq!(met(&[all(1.0), copies(1.0)]), Some(false));
    assert_eq!(
        met(&[all(300.0), copies(0.0)]),
        Some(false),
        "others' waits"
    );
    assert_eq!(met(&[all(1.0)]), Some(true), "not told apart");
    assert_eq!(met(&[all(300.0)]), Some(false));
}

/// One that was stopped in its first step has waited once; what the other did in three hundred steps is no more than that.
#[test]
fn waits_are_compared_over_the_same_steps() {
    let waiting = |last_step, waits| {
        with(|process| {
            process.result.last_step = Some(last_step);
            process
                .result
                .counters
                .insert("blocking_waits".to_owned(), waits);
        })
    };
    let judged = |baseline: Process, patched: Process| {
        let judgement = judge(&evidence(vec![scenario(
            Class::Copy,
            vec![(baseline, patched)],
        )]));
        let goal = judgement
            .goals
            .iter()
            .find(|goal| goal.text.starts_with("no blocking wait that"))
            .unwrap()
            .met;
        (judgement.verdict, goal)
    };
    let stuck = || {
        let mut process = waiting(0, 1.0);
        process.result.outcome = Outcome::Faulted;
        process.result.faults = vec![fault("deadlock", 1, 0)];
        process
    };
    assert_eq!(
        judged(waiting(299, 1.0), waiting(299, 300.0)),
        (Verdict::Regression, Some(false))
    );
    assert_eq!(
        judged(stuck(), waiting(299, 300.0)),
        (Verdict::Pass, None),
        "nothing to compare with"
    );
}
