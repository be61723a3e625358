//! What is known so far, rebuilt from events alone: the same code takes them from the running tests and, on resume, from
//! the journal, so that both give the same report.
//!
//! It grows with the number of tests, not with what they print or how long they run: texts are kept for failures only, up
//! to a fixed total.
use super::event::{Asked, Pass, TestEvent};
use super::outcome::{Cause, Ending, Outcome, Quality, Stage};
use crate::run::job::Arm;
use crate::run::shard::{self, Shard};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Bytes of tracebacks and output that are kept per arm; the rest stays in the journal.
const TEXT_ROOM: usize = 4 << 20;
/// Processes that died outside of a test are kept one by one up to this many.
const DEATHS_KEPT: usize = 100;

/// A test by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id(u32);

/// What a test did in the main pass of one arm.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub outcome: Outcome,
    pub seconds: f64,
    pub lane: usize,
    pub worker: u64,
    pub order: u32,
    pub message: Box<str>,
    pub text: Option<Box<str>>,
    /// The part of a shared run that it comes from.
    pub part: u32,
}

/// A process that died, not in a test.
#[derive(Debug, Clone)]
pub(super) struct Death {
    pub stage: Stage,
    pub cause: Cause,
    pub ending: Ending,
    pub id: Option<Id>,
    pub output: String,
}

/// One arm so far.
#[derive(Debug, Default)]
pub(super) struct ArmRecord {
    pub collected: Vec<Id>,
    pub listed: bool,
    pub rows: HashMap<Id, Row>,
    pub added: HashMap<Id, Row>,
    pub done: HashSet<Pass>,
    pub circuit: Option<String>,
    pub out_of_time: bool,
    pub deaths: Vec<Death>,
    pub all_deaths: u32,
    pub processes: u64,
    outside: HashMap<Id, u32>,
    pub killed: Vec<Id>,
    text_used: usize,
}

/// Outcomes of reruns of one test in one arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    counts: [u32; Outcome::ALL.len()],
}

impl Tally {
    pub(super) fn add(&mut self, outcome: Outcome) {
        self.counts[outcome as usize] += 1;
    }

    /// How many runs had an outcome of this kind.
    pub(super) fn count(&self, kind: impl Fn(Outcome) -> bool) -> u32 {
        Outcome::ALL
            .into_iter()
            .filter(|outcome| kind(*outcome))
            .map(|outcome| self.counts[outcome as usize])
            .sum()
    }

    pub(super) fn runs(&self) -> u32 {
        self.counts.iter().sum()
    }
}

/// Reruns of one test: in fresh processes, and after the tests that ran before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tallies {
    pub fresh: [Tally; 2],
    pub replay: [Tally; 2],
}

#[derive(Debug, Clone, Copy)]
struct WorkerRecord {
    arm: Arm,
    pass: Pass,
    lane: usize,
    subject: Option<Id>,
}

/// What is known so far.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    asked: Option<Asked>,
    durations: HashMap<Arc<str>, f64>,
    /// The part of a shared run that events come from, and how many there are.
    part: u32,
    parts: u32,
    done: bool,
    names: Vec<Arc<str>>,
    index: HashMap<Arc<str>, Id>,
    arms: [ArmRecord; 2],
    workers: HashMap<u64, WorkerRecord>,
    next_worker: u64,
    order: u32,
    tallies: BTreeMap<Id, Tallies>,
    rerun: HashSet<(Id, Arm, Pass)>,
}

pub(super) const fn side(arm: Arm) -> usize {
    match arm {
        Arm::Baseline => 0,
        Arm::Patched => 1,
    }
}

impl Ledger {
    pub(super) fn arm(&self, arm: Arm) -> &ArmRecord {
        &self.arms[side(arm)]
    }

    pub(super) fn name(&self, id: Id) -> &str {
        self.names.get(id.0 as usize).map_or("", |name| name)
    }

    pub(super) fn find(&self, name: &str) -> Option<Id> {
        self.index.get(name).copied()
    }

    /// The ids of all tests that were seen.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// How a test ended in an arm; for one that only the patched arm's file has, on the baseline's build.
    pub(super) fn outcome(&self, arm: Arm, name: &str) -> Option<Outcome> {
        let id = self.find(name)?;
        let record = self.arm(arm);
        let row = record.rows.get(&id).or_else(|| record.added.get(&id));
        row.map(|row| row.outcome)
    }

    pub(super) fn tallies(&self, id: Id) -> Tallies {
        self.tallies.get(&id).copied().unwrap_or_default()
    }

    /// Whether a rerun of this test has its outcome already.
    pub(super) fn has_rerun(&self, id: Id, arm: Arm, pass: Pass) -> bool {
        self.rerun.contains(&(id, arm, pass))
    }

    /// The number of the next worker process.
    pub(super) const fn next_worker(&self) -> u64 {
        self.next_worker
    }

    /// How often a process was killed from outside while this test ran.
    pub(super) fn killed_outside(&self, arm: Arm, name: &str) -> u32 {
        self.find(name)
            .and_then(|id| self.arm(arm).outside.get(&id).copied())
            .unwrap_or(0)
    }

    /// Seconds that the test took in the baseline, when it ended by itself.
    pub(super) fn baseline_seconds(&self, name: &str) -> Option<f64> {
        let row = self.arm(Arm::Baseline).rows.get(&self.find(name)?)?;
        match row.outcome {
            Outcome::TimedOut | Outcome::Crashed | Outcome::NotRun => None,
            _ => Some(row.seconds),
        }
    }

    /// A test of a recorded baseline, in place of a run.
    fn recorded(&mut self, name: &str, outcome: Outcome, seconds: f64, message: &str) {
        let id = self.intern(name);
        let order = self.order;
        self.order += 1;
        let record = &mut self.arms[side(Arm::Baseline)];
        if record.rows.contains_key(&id) {
            return;
        }
        record.collected.push(id);
        record.listed = true;
        record.done.insert(Pass::Main);
        record.rows.insert(
            id,
            Row {
                outcome,
                seconds,
                lane: usize::MAX,
                worker: u64::MAX,
                order,
                message: message.into(),
                text: None,
                part: 0,
            },
        );
    }

    /// What was asked for; absent before the run began.
    pub(super) const fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref()
    }

    /// Whether the run came to its end.
    pub(super) const fn is_done(&self) -> bool {
        self.done
    }

    /// The tests that were asked for, and are this part's where the run is shared; all when absent.
    pub(super) fn chosen(&self) -> Option<HashSet<Id>> {
        let whole = self.chosen_of_all();
        match self.asked.as_ref().and_then(|asked| asked.shard) {
            None => whole,
            Some(shard) => Some(self.share(shard, whole.as_ref())),
        }
    }

    /// The tests of one part: those of the baseline are dealt out by their durations, those that only the patched arm has by
    /// their number, so that neither arm's list has to be known for the other's part.
    fn share(&self, shard: Shard, whole: Option<&HashSet<Id>>) -> HashSet<Id> {
        let wanted = |id: &Id| whole.is_none_or(|whole| whole.contains(id));
        let baseline = &self.arm(Arm::Baseline).collected;
        let known: HashSet<Id> = baseline.iter().copied().collect();
        let (old, new): (Vec<Id>, Vec<Id>) = baseline
            .iter()
            .chain(
                self.arm(Arm::Patched)
                    .collected
                    .iter()
                    .filter(|id| !known.contains(id)),
            )
            .filter(|id| wanted(id))
            .partition(|id| known.contains(id));
        let recorded: Vec<Option<f64>> = old
            .iter()
            .map(|id| self.recorded_seconds(self.name(*id)))
            .collect();
        let dealt = shard::deal(&shard::weights(&recorded), shard.count());
        let added = shard::deal(&vec![1.0; new.len()], shard.count());
        old.into_iter()
            .zip(dealt)
            .chain(new.into_iter().zip(added))
            .filter(|(_, part)| shard.has(*part))
            .map(|(id, _)| id)
            .collect()
    }

    /// Seconds that a test took in an earlier run or in the recording that stands for the baseline.
    fn recorded_seconds(&self, name: &str) -> Option<f64> {
        let earlier = self.durations.get(name).copied();
        let recorded = self.asked.as_ref().is_some_and(|asked| asked.recorded);
        earlier.or_else(|| recorded.then(|| self.baseline_seconds(name)).flatten())
    }

    /// The probability of calling an unchanged test worse that each part has to itself, so that all parts together keep to
    /// what was asked for.
    pub(super) fn level(&self) -> f64 {
        let Some(asked) = &self.asked else { return 0.0 };
        let parts = asked.shard.map_or(self.parts, Shard::count).max(1);
        asked.level / f64::from(parts)
    }

    /// The part of a shared run that a test's outcome comes from.
    pub(super) fn part_of(&self, id: Id) -> u32 {
        self.arm(Arm::Patched)
            .rows
            .get(&id)
            .map_or(0, |row| row.part)
    }

    /// Seconds that each test took in the baseline, where it ended by itself.
    pub(super) fn seconds(&self) -> BTreeMap<String, f64> {
        self.arm(Arm::Baseline)
            .collected
            .iter()
            .map(|id| self.name(*id))
            .filter_map(|name| Some((name.to_owned(), self.baseline_seconds(name)?)))
            .collect()
    }

    fn chosen_of_all(&self) -> Option<HashSet<Id>> {
        let asked = self.asked.as_ref()?;
        if let Some(ids) = &asked.ids {
            return Some(ids.iter().filter_map(|name| self.find(name)).collect());
        }
        // a recording knows nothing of the expression: what the patched arm did not select is not missing
        let patched = self.arm(Arm::Patched);
        (asked.recorded && !asked.expression.is_empty() && patched.listed)
            .then(|| patched.collected.iter().copied().collect())
    }

    /// What stopped an earlier part of the run is tried again by the next.
    fn reopen(&mut self) {
        for record in &mut self.arms {
            record.circuit = None;
            record.out_of_time = false;
        }
        self.done = false;
    }

    fn intern(&mut self, name: &str) -> Id {
        if let Some(id) = self.index.get(name) {
            return *id;
        }
        let id = Id(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        let name: Arc<str> = name.into();
        self.names.push(name.clone());
        self.index.insert(name, id);
        id
    }

    /// Takes one event.
    pub(super) fn apply(&mut self, event: &TestEvent) {
        match event {
            TestEvent::Plan(asked) => self.asked = Some(asked.clone()),
            TestEvent::Resume => self.reopen(),
            TestEvent::Durations { seconds } => {
                let seconds = seconds.iter().map(|(id, took)| (id.as_str().into(), *took));
                self.durations.extend(seconds);
            }
            TestEvent::Part { shard } => (self.part, self.parts) = (shard.index(), shard.count()),
            TestEvent::Recorded {
                id,
                outcome,
                seconds,
                message,
            } => self.recorded(id, *outcome, *seconds, message),
            TestEvent::Done => self.done = true,
            TestEvent::Collected { arm, ids, last } => {
                let ids: Vec<Id> = ids.iter().map(|name| self.intern(name)).collect();
                let record = &mut self.arms[side(*arm)];
                // a run that was cut in the middle of the list tells it again from the start
                if !record.listed {
                    record.collected.extend(ids);
                    record.listed = *last;
                }
            }
            TestEvent::WorkerStart {
                arm,
                pass,
                lane,
                worker,
                subject,
            } => {
                let subject = subject.as_ref().map(|name| self.intern(name));
                let record = &mut self.arms[side(*arm)];
                record.processes += 1;
                if !record.listed {
                    record.collected.clear();
                }
                self.next_worker = self.next_worker.max(worker + 1);
                self.workers.insert(
                    *worker,
                    WorkerRecord {
                        arm: *arm,
                        pass: *pass,
                        lane: *lane,
                        subject,
                    },
                );
            }
            TestEvent::Start { .. } => {}
            TestEvent::Finish {
                worker,
                id,
                outcome,
                seconds,
                message,
                excerpt,
                output,
            } => {
                let text = if excerpt.is_empty() {
                    output.clone()
                } else if output.is_empty() {
                    excerpt.clone()
                } else {
                    format!("{excerpt}\n--- output ---\n{output}")
                };
                self.finish(*worker, id, *outcome, *seconds, message, text);
            }
            TestEvent::WorkerEnd {
                worker,
                ending,
                cause,
                stage,
                id,
                output,
            } => {
                let id = id.as_ref().map(|name| self.intern(name));
                let Some(known) = self.workers.remove(worker) else {
                    return;
                };
                let record = &mut self.arms[side(known.arm)];
                if ending.is_clean() && *stage == Stage::Exit || *cause == Cause::Session {
                    return;
                }
                record.all_deaths += 1;
                if *cause == Cause::Outside
                    && let Some(id) = id
                {
                    *record.outside.entry(id).or_default() += 1;
                    if *stage == Stage::Test && matches!(known.pass, Pass::Main | Pass::Added) {
                        record.killed.push(id);
                    }
                } else if *stage != Stage::Test && record.deaths.len() < DEATHS_KEPT {
                    record.deaths.push(Death {
                        stage: *stage,
                        cause: *cause,
                        ending: ending.clone(),
                        id,
                        output: output.clone(),
                    });
                }
            }
            TestEvent::Canary { .. } => {}
            TestEvent::CircuitOpen { arm, reason } => {
                self.arms[side(*arm)].circuit = Some(reason.clone());
            }
            TestEvent::BudgetSpent { arm, pass } => {
                if matches!(pass, Pass::Main | Pass::Added) {
                    self.arms[side(*arm)].out_of_time = true;
                }
            }
            TestEvent::PassEnd { arm, pass } => {
                self.arms[side(*arm)].done.insert(*pass);
            }
        }
    }

    fn finish(
        &mut self,
        worker: u64,
        name: &str,
        outcome: Outcome,
        seconds: f64,
        message: &str,
        text: String,
    ) {
        let id = self.intern(name);
        let Some(known) = self.workers.get(&worker).copied() else {
            return;
        };
        let order = self.order;
        self.order += 1;
        let part = self.part;
        let record = &mut self.arms[side(known.arm)];
        match known.pass {
            Pass::Main | Pass::Added => {
                let bad = outcome.quality() == Quality::Bad;
                let room = TEXT_ROOM.saturating_sub(record.text_used);
                let text = (bad && !text.is_empty() && text.len() <= room).then(|| {
                    record.text_used += text.len();
                    text.into_boxed_str()
                });
                let row = Row {
                    outcome,
                    seconds,
                    lane: known.lane,
                    worker,
                    order,
                    message: if bad || outcome == Outcome::Skipped {
                        message.into()
                    } else {
                        Box::default()
                    },
                    text,
                    part,
                };
                match known.pass {
                    Pass::Added => record.added.insert(id, row),
                    _ => record.rows.insert(id, row),
                };
            }
            // of a replay, only the test that it is about
            Pass::Replay(_) if known.subject != Some(id) => {}
            Pass::Fresh(_) | Pass::Replay(_) => {
                if !self.rerun.insert((id, known.arm, known.pass)) {
                    return;
                }
                let tallies = self.tallies.entry(id).or_default();
                let tally = match known.pass {
                    Pass::Fresh(_) => &mut tallies.fresh[side(known.arm)],
                    _ => &mut tallies.replay[side(known.arm)],
                };
                tally.add(outcome);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finish(worker: u64, id: &str, outcome: Outcome) -> TestEvent {
        TestEvent::Finish {
            worker,
            id: id.to_owned(),
            outcome,
            seconds: 1.0,
            message: "m".to_owned(),
            excerpt: "x".repeat(100),
            output: String::new(),
        }
    }

    fn start(worker: u64, arm: Arm, pass: Pass) -> TestEvent {
        TestEvent::WorkerStart {
            arm,
            pass,
            lane: 0,
            worker,
            subject: None,
        }
    }

    #[test]
    fn outcomes_are_kept_by_arm_and_pass() {
        let mut ledger = Ledger::default();
        for event in [
            start(0, Arm::Baseline, Pass::Main),
            finish(0, "a", Outcome::Passed),
            start(1, Arm::Patched, Pass::Main),
            finish(1, "a", Outcome::Failed),
            start(2, Arm::Patched, Pass::Fresh(0)),
            finish(2, "a", Outcome::Crashed),
            // a rerun that is told twice counts once
            finish(2, "a", Outcome::Crashed),
        ] {
            ledger.apply(&event);
        }
        let id = ledger.find("a").unwrap();
        assert_eq!(ledger.arm(Arm::Baseline).rows[&id].outcome, Outcome::Passed);
        assert_eq!(ledger.arm(Arm::Patched).rows[&id].outcome, Outcome::Failed);
        let tally = ledger.tallies(id).fresh[1];
        assert_eq!(tally.count(|outcome| outcome == Outcome::Crashed), 1);
        assert_eq!(tally.runs(), 1);
        assert_eq!(ledger.baseline_seconds("a"), Some(1.0));
        assert_eq!(ledger.next_worker(), 3);
    }

    #[test]
    fn texts_are_kept_up_to_a_total() {
        let mut ledger = Ledger::default();
        ledger.apply(&start(0, Arm::Patched, Pass::Main));
        for number in 0..60_000 {
            ledger.apply(&finish(0, &format!("t{number}"), Outcome::Failed));
        }
        let record = ledger.arm(Arm::Patched);
        assert!(record.text_used <= TEXT_ROOM);
        assert_eq!(record.rows.len(), 60_000);
    }

    #[test]
    fn a_list_that_was_cut_is_told_again() {
        let mut ledger = Ledger::default();
        let list = |ids: &[&str], last| TestEvent::Collected {
            arm: Arm::Patched,
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
            last,
        };
        ledger.apply(&start(0, Arm::Patched, Pass::Main));
        ledger.apply(&list(&["a", "b"], false));
        ledger.apply(&start(1, Arm::Patched, Pass::Main));
        ledger.apply(&list(&["a", "b"], false));
        ledger.apply(&list(&["c"], true));
        assert_eq!(ledger.arm(Arm::Patched).collected.len(), 3);
        // a worker that starts later changes nothing
        ledger.apply(&start(2, Arm::Patched, Pass::Main));
        assert_eq!(ledger.arm(Arm::Patched).collected.len(), 3);
    }
}
