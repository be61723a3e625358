//! The main job from end to end: preflight, build, run, compare, verdict, report; each phase in the journal.
pub mod ablate;
pub mod design;
pub mod fingerprint;
pub mod mutants;
pub mod plan;
pub mod programs;
pub mod test_suite;

use crate::baseline::noise;
use crate::build::pytorch::Layout;
use crate::compare;
use crate::device::{self, Host, Wanted};
use crate::error::Failure;
use crate::exit::Exit;
use crate::paths;
use crate::progress::Progress;
use crate::report;
use crate::report::document::{self, Reason, Report, RunState, Verdict};
use crate::run::catalogue::Catalogue;
use crate::run::folder::{Choice, FolderError, RunFolder, State};
use crate::run::job::{Arm, Definition, Flavour};
use crate::run::journal::{self, Event, Header, Journal, Share};
use crate::run::recorded::Recorded;
use crate::run::scenarios::{Drivers, Limits, Runner};
use crate::run::shard::{Durations, Shard};
use design::{Contest, Design};
use plan::{Assumptions, Plan, Selection, Suite};
pub use programs::harness_digest;
use programs::{Given, Programs};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What to verify, and how.
#[derive(Debug, Clone)]
pub struct Request {
    /// The tree that the user named.
    pub tree: Option<PathBuf>,
    /// The wanted device.
    pub device: Wanted,
    /// What runs.
    pub selection: Selection,
    /// How many pairs run, and of what.
    pub design: Design,
    /// Whether scenarios run.
    pub scenarios: Scenarios,
    /// Which tests run; none when absent.
    pub tests: Option<test_suite::Wanted>,
    /// Which part of all that runs; the whole when absent.
    pub shard: Option<Shard>,
    /// How long things took in an earlier run: parts are balanced by these.
    pub durations: Durations,
    /// A patch set other than ours.
    pub patches_from: Option<PathBuf>,
    /// Whether and with what it is found out which patch does what.
    pub ablate: Option<ablate::Ablate>,
    /// Programs that are built already, instead of a tree.
    pub given: Option<Given>,
    /// Which run folder.
    pub choice: Choice,
    /// Processes at a time.
    pub workers: usize,
    /// Wall time of one process; absent: the suite's.
    pub limit: Option<Duration>,
    /// How both arms of PyTorch are built where the device is a Mac's.
    pub layout: Layout,
    /// Whether a verdict needs a real device.
    pub require_hardware: bool,
    /// Whether missing packages may be installed and the tree fetched.
    pub provision: Provision,
    /// The command line that repeats the run.
    pub command: String,
    /// The command line that repeats a row, but for its scenario.
    pub row_command: String,
}

/// Whether scenarios are part of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenarios {
    /// They are.
    Run,
    /// Only tests are.
    Leave,
}

/// Whether the machine may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provision {
    /// Install what is missing.
    Install,
    /// Say what is missing.
    Ask,
}

/// Runs to a verdict and writes the reports into the run folder.
///
/// # Errors
/// Bad input, a patch that does not apply, a build that breaks, a disk that is full, or the user's interruption. What was
/// reached is in the journal, and the same command goes on from there.
pub fn run(request: &Request, progress: &dyn Progress) -> Result<Report, Failure> {
    let host = Host::current()?;
    let device = device::choose(request.device, host)?;
    let started = Instant::now();
    let programs = programs::prepare(request, device, host, progress)?;
    let preflight = started.elapsed().as_secs_f64();
    let fingerprint = fingerprint::of(request, device, &programs.parts());
    let folder = RunFolder::choose(&paths::cache().join("runs"), &request.choice, &fingerprint)?;
    progress.note(&format!("run folder: {}", folder.path().display()));
    let journal = folder.journal().map_err(FolderError::from)?;
    match folder.state() {
        State::New => {
            let header = Header {
                schema: journal::SCHEMA.to_owned(),
                umpatch: env!("CARGO_PKG_VERSION").to_owned(),
                fingerprint,
                trust: programs.trust(),
                require_hardware: request.require_hardware,
                compared: programs.compared(),
                command: request.command.clone(),
                row_command: request.row_command.clone(),
            };
            let design = journal::Design {
                detect: request.design.detect,
                noise: noise::known(&paths::data().join("noise"), &header.fingerprint),
            };
            append(&journal, Event::RunStart(Box::new(header)))?;
            append(&journal, Event::Design(Box::new(design)))?;
        }
        State::Unfinished => append(&journal, Event::Resume)?,
        State::Finished => return finish(&folder, &journal),
    }
    for text in programs.notes() {
        append(&journal, Event::Note { text })?;
    }
    append(
        &journal,
        Event::PhaseEnd {
            phase: "preflight".to_owned(),
            seconds: preflight,
        },
    )?;
    let outcome = run_all(request, &*programs, &folder, &journal, progress);
    if let Err(failure) = outcome {
        if failure.exit == Exit::Interrupted {
            append(&journal, Event::Interrupted)?;
        }
        // as far as it came: a reader finds a report that says so
        if let Ok(partial) = compare::report(folder.path()) {
            let _ = report::write_all(&partial, folder.path());
        }
        return Err(failure);
    }
    let report = finish(&folder, &journal)?;
    if request.design.arms == Contest::StockWithItself {
        keep_noise(&report, &folder, progress)?;
    }
    Ok(report)
}

/// What equal arms differ by is what later runs on this machine have to stand out from.
fn keep_noise(report: &Report, folder: &RunFolder, progress: &dyn Progress) -> Result<(), Failure> {
    let measured = compare::noise(folder.path())?;
    if measured.is_empty() {
        progress.note("too few pairs to measure what equal arms differ by: at least 8 are needed");
        return Ok(());
    }
    let count = measured.len();
    let path = noise::keep(&paths::data().join("noise"), &report.fingerprint, measured)?;
    progress.note(&format!(
        "what equal arms differ by in {count} scenarios is kept in {}",
        path.display()
    ));
    Ok(())
}

fn append(journal: &Journal, event: Event) -> Result<(), Failure> {
    journal.append(event).map_err(Failure::from)
}

/// Runs one phase between its two events.
fn phase<T>(
    journal: &Journal,
    progress: &dyn Progress,
    name: &str,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    progress.stage(name);
    append(
        journal,
        Event::PhaseStart {
            phase: name.to_owned(),
        },
    )?;
    let started = Instant::now();
    let outcome = work();
    let end = Event::PhaseEnd {
        phase: name.to_owned(),
        seconds: started.elapsed().as_secs_f64(),
    };
    // the work's own error says more than a journal that cannot be written because of it
    match (outcome, append(journal, end)) {
        (Ok(value), Ok(())) => Ok(value),
        (Err(failure), _) | (Ok(_), Err(failure)) => Err(failure),
    }
}

fn run_all(
    request: &Request,
    programs: &dyn Programs,
    folder: &RunFolder,
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    // said first, so that a run that is cut before its tests is known to lack them
    if let Some(wanted) = &request.tests {
        test_suite::announce(wanted, folder, journal)?;
    }
    match request.scenarios {
        Scenarios::Run => run_scenarios(request, programs, folder, journal, progress)?,
        Scenarios::Leave => {
            let none = own_part(request, Plan::default(), journal)?;
            append(
                journal,
                Event::Plan {
                    scenarios: none.scenarios,
                    jobs: none.jobs,
                },
            )?;
        }
    }
    let Some(wanted) = &request.tests else {
        return Ok(());
    };
    let suites = phase(journal, progress, "build the device", || {
        test_suite::suites(wanted, programs, folder, journal, progress)
    })?;
    phase(journal, progress, "tests", || {
        test_suite::run(
            wanted,
            suites,
            programs.pretence(),
            request.workers,
            folder,
            journal,
            progress,
        )
    })
}

fn run_scenarios(
    request: &Request,
    programs: &dyn Programs,
    folder: &RunFolder,
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let mut drivers = Drivers::default();
    let plan = phase(journal, progress, "build", || {
        build(programs, &mut drivers, Flavour::Plain, journal, progress)?;
        let whole = planned(request, programs, &drivers)?;
        let mut plan = own_part(request, whole, journal)?;
        for flavour in plan.flavours() {
            if flavour != Flavour::Plain
                && !build(programs, &mut drivers, flavour, journal, progress)?
            {
                drop_flavour(&mut plan, flavour, journal)?;
            }
        }
        Ok(plan)
    })?;
    if request.ablate.is_some() {
        ablate::announce(request, programs, &plan, folder, journal)?;
    }
    let started = Instant::now();
    let before = Recorded::read(folder.path())?;
    // a run that goes on keeps the pairs that were added to it
    let mut jobs = if request.design.is_sequential() && before.planned {
        before.jobs
    } else {
        plan.jobs
    };
    loop {
        append(
            journal,
            Event::Plan {
                scenarios: plan.scenarios.clone(),
                jobs: jobs.clone(),
            },
        )?;
        let missing = Recorded::read(folder.path())?.missing();
        phase(journal, progress, "run", || {
            let runner = Runner {
                folder,
                journal,
                drivers: &drivers,
                limits: limits(request),
                guard: programs.guard(),
                workers: request.workers,
                progress,
            };
            runner.run(&missing).map_err(Failure::from)
        })?;
        let more = more_jobs(request, programs, &drivers, folder, journal, started)?;
        match more {
            Some(more) => jobs = more,
            None => break,
        }
    }
    if request.ablate.is_some() {
        ablate::run(request, programs, &mut drivers, folder, journal, progress)?;
    }
    Ok(())
}

/// The jobs up to the next look, where the design allows for more pairs, a scenario needs them, and there is time.
fn more_jobs(
    request: &Request,
    programs: &dyn Programs,
    drivers: &Drivers,
    folder: &RunFolder,
    journal: &Journal,
    started: Instant,
) -> Result<Option<Vec<crate::run::job::Job>>, Failure> {
    if !request.design.is_sequential() {
        return Ok(None);
    }
    let undecided = compare::undecided(folder.path())?;
    let recorded = Recorded::read(folder.path())?;
    let Some((pairs, look)) = design::next_look(&recorded.jobs, &undecided) else {
        return Ok(None);
    };
    if let Some(budget) = request.design.budget {
        let round = design::expected(&recorded.results, &undecided, look - pairs, request.workers);
        if started.elapsed() + round > budget {
            let text = format!(
                "the time budget of {} s ends after {pairs} pairs: {} scenarios need more",
                budget.as_secs(),
                undecided.len()
            );
            append(journal, Event::Note { text })?;
            return Ok(None);
        }
    }
    let longer = planned(
        &Request {
            selection: Selection {
                pairs: u32::try_from(look).ok(),
                ..request.selection.clone()
            },
            ..request.clone()
        },
        programs,
        drivers,
    )?;
    Ok(Some(design::extended(&recorded.jobs, longer, &undecided)))
}

/// Builds both arms in one flavour; whether the flavour is to be had at all.
fn build(
    programs: &dyn Programs,
    drivers: &mut Drivers,
    flavour: Flavour,
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<bool, Failure> {
    for arm in Arm::ALL {
        let Some(built) = programs.build(arm, flavour, progress)? else {
            return Ok(false);
        };
        for text in built.notes {
            append(journal, Event::Note { text })?;
        }
        drivers.insert(arm, flavour, built.driver);
    }
    Ok(true)
}

/// What is left of the whole plan for this part of a shared run; the journal keeps the whole, so that the parts can be put
/// together.
fn own_part(request: &Request, whole: Plan, journal: &Journal) -> Result<Plan, Failure> {
    let Some(shard) = request.shard else {
        return Ok(whole);
    };
    let own = whole.part(shard, &request.durations);
    let share = Share {
        shard,
        own: own.scenarios.iter().map(|row| row.id.clone()).collect(),
        scenarios: whole.scenarios,
        jobs: whole.jobs,
    };
    append(journal, Event::Share(Box::new(share)))?;
    Ok(own)
}

fn planned(request: &Request, programs: &dyn Programs, drivers: &Drivers) -> Result<Plan, Failure> {
    let mut native: Vec<Definition> = Vec::new();
    for arm in Arm::ALL {
        if let Some(driver) = drivers.get(arm, Flavour::Plain) {
            for definition in driver.list()? {
                // an arm whose program knows more scenarios still has them in the report
                if native.iter().all(|known| known.id != definition.id) {
                    native.push(definition);
                }
            }
        }
    }
    let assumptions = match (
        request.selection.assumptions,
        drivers.get(Arm::Baseline, Flavour::Plain),
    ) {
        (Assumptions::Each, Some(driver)) => plan::alternatives(&driver.settings()?),
        _ => Vec::new(),
    };
    let catalogue = Catalogue {
        native,
        training: programs.training(),
        explorer: programs.explorer(),
        assumptions,
    };
    let mut plan = plan::plan(&catalogue, &request.selection)?;
    let promises = programs.promises();
    for definition in &mut plan.scenarios {
        let id = definition.id.split(['@', '+']).next().unwrap_or_default();
        definition.promised_by = promises.get(id).cloned().unwrap_or_default();
    }
    Ok(plan)
}

fn drop_flavour(plan: &mut Plan, flavour: Flavour, journal: &Journal) -> Result<(), Failure> {
    let dropped: Vec<String> = plan
        .scenarios
        .iter()
        .map(|scenario| scenario.id.clone())
        .filter(|id| {
            plan.jobs
                .iter()
                .any(|job| job.scenario == *id && job.flavour == flavour)
        })
        .collect();
    plan.scenarios
        .retain(|scenario| !dropped.contains(&scenario.id));
    plan.jobs.retain(|job| job.flavour != flavour);
    append(
        journal,
        Event::Note {
            text: format!(
                "not run, there is no program for them: {}",
                dropped.join(", ")
            ),
        },
    )
}

fn limits(request: &Request) -> Limits {
    let job = request.limit.unwrap_or(match request.selection.suite {
        Suite::Quick => Duration::from_secs(120),
        Suite::Full => Duration::from_secs(1200),
    });
    Limits {
        job,
        silence: job.min(Duration::from_secs(120)),
    }
}

/// Rebuilds the report from the folder, writes it, and ends the journal with its verdict.
///
/// # Errors
/// When the journal cannot be read, or the reports not be written.
pub fn finish(folder: &RunFolder, journal: &Journal) -> Result<Report, Failure> {
    let report = compare::report(folder.path())?;
    report::write_all(&report, folder.path())?;
    if folder.state() != State::Finished {
        append(
            journal,
            Event::Verdict {
                verdict: report.verdict,
                exit_code: report.exit_code,
            },
        )?;
    }
    Ok(report)
}

/// The document of a run that ended before there was anything to compare: a patch that does not apply, a build that breaks.
#[must_use]
pub fn stopped(request: &Request, failure: &Failure) -> Report {
    let verdict = match failure.exit {
        Exit::Inconclusive => Verdict::Inconclusive,
        Exit::NothingRan => Verdict::NothingRan,
        _ => Verdict::Failed,
    };
    let trust = Host::current()
        .and_then(|host| Ok(host.trust(device::choose(request.device, host)?)))
        .unwrap_or(document::Trust::Simulated);
    Report {
        schema: document::SCHEMA.to_owned(),
        verdict,
        exit_code: failure.exit.code(),
        state: RunState::Partial,
        reasons: vec![Reason {
            verdict,
            subject: String::new(),
            text: failure.chain.join(": "),
        }],
        compared: document::Arms::default(),
        command: request.command.clone(),
        started: String::new(),
        trust,
        fingerprint: document::Fingerprint::default(),
        tests: None,
        scenarios: Vec::new(),
        goals: Vec::new(),
        by_setting: Vec::new(),
        ablation: None,
        phases: Vec::new(),
        notes: failure.hints.clone(),
        run: String::new(),
    }
}
