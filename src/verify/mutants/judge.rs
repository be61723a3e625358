//! Judges mutants: the scenarios that found most of a patch's mutants first, only those that come to the mutant's place, until
//! one finds it.
use super::bench::{self, Bench, Ran, Side};
use super::error::MutantsError;
use super::seeds::{self, Seeds};
use super::subject::{Numbered, Subject, write};
use super::{Finders, Wanted};
use crate::build::{self, Flavour, Target};
use crate::compare::{self, judge_pairs};
use crate::error::Failure;
use crate::explore;
use crate::mutate::score::{Fate, Means};
use crate::paths;
use crate::progress::Progress;
use crate::report::document::{Trust, Verdict};
use crate::run::catalogue::Catalogue;
use crate::run::job::{Definition, Job, JobResult, Outcome};
use crate::verify::programs::Programs;
use crate::verify::programs::from_tree::FromTree;
use crate::verify::{Request, plan};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The rules by which mutants are judged are those of this version.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("UMPATCH_COMMIT"));
/// Pairs of processes: the first decides for most mutants, the second has another seed.
const PAIRS: u32 = 2;
/// Pairs where threads decide: fewer than three say nothing.
const PAIRS_OF_THREADS: u32 = 4;

/// The fates of the chosen mutants, in their order.
pub(super) fn all(
    request: &Request,
    from: &FromTree,
    subject: &Subject,
    wanted: &Wanted,
    chosen: &[usize],
    progress: &dyn Progress,
) -> Result<Vec<Fate>, Failure> {
    let mut court = Court::open(request, from, subject, wanted, progress)?;
    progress.stage("run the series without a mutant");
    if wanted.finders != Finders::Explorer {
        parallel(request.workers, court.scenarios.len(), progress, |index| {
            court.is_sound(&court.scenarios[index], 1)
        })?;
    }
    if wanted.finders != Finders::Scenarios {
        court.seeds.look_at_the_series(request.workers)?;
    }
    let court = court;
    progress.stage("judge mutants");
    parallel(request.workers, chosen.len(), progress, |index| {
        let one = &subject.mutants[chosen[index]];
        let fate = court.fate(one)?;
        if let Fate::Survived { reached, .. } = &fate {
            let how = if *reached {
                "survived"
            } else {
                "was never reached"
            };
            progress.note(&format!("{} {how}", one.mutant.name));
        }
        Ok(fate)
    })
}

/// Does something with each number below `count`, several at a time.
fn parallel<T: Send>(
    workers: usize,
    count: usize,
    progress: &dyn Progress,
    work: impl Fn(usize) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, T>> = Mutex::new(BTreeMap::new());
    let failed: Mutex<Option<Failure>> = Mutex::new(None);
    progress.advance(0, count as u64);
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1).min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    if index >= count {
                        return;
                    }
                    match work(index) {
                        Ok(value) => {
                            results
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .insert(index, value);
                        }
                        Err(failure) => {
                            next.store(count, Ordering::SeqCst);
                            failed
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .get_or_insert(failure);
                            return;
                        }
                    }
                    let finished = done.fetch_add(1, Ordering::SeqCst) + 1;
                    progress.advance(finished as u64, count as u64);
                }
            });
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => Ok(results
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .into_values()
            .collect()),
    }
}

struct Court<'a> {
    request: &'a Request,
    trust: Trust,
    finders: Finders,
    bench: Bench,
    scenarios: Vec<Definition>,
    seeds: Seeds,
    /// Holds the fates that are known, and the files of mutants that run.
    folder: PathBuf,
    kills: Mutex<BTreeMap<(String, String), usize>>,
}

/// A fate as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    scenario: Option<String>,
    seed: Option<u64>,
    by: Option<Means>,
    reason: String,
    reached: bool,
}

impl Kept {
    const fn survived(reached: bool) -> Self {
        Self {
            scenario: None,
            seed: None,
            by: None,
            reason: String::new(),
            reached,
        }
    }
}

impl<'a> Court<'a> {
    fn open(
        request: &'a Request,
        from: &FromTree,
        subject: &Subject,
        wanted: &Wanted,
        progress: &dyn Progress,
    ) -> Result<Self, Failure> {
        let stock = build::build_arm(
            Target::Driver,
            &from.sides.stock,
            &from.torch,
            Flavour::Plain,
            "stock",
            progress,
        )?;
        let mut hasher = Sha256::new();
        for part in [
            &stock.key,
            &subject.key,
            &format!("{:?}", request.selection),
            &format!("{:?} {}", wanted.finders, wanted.seeds),
            &VERSION.to_owned(),
        ] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let folder = paths::cache()
            .join("mutants")
            .join(hex::encode(&hasher.finalize()[..12]));
        let mut bench = Bench::new(stock.program, subject.program.clone(), folder.clone())?;
        bench.find_early()?;
        let listed = Catalogue {
            native: bench.list()?,
            ..Catalogue::default()
        };
        let promises = from.promises();
        let mut scenarios: Vec<Definition> = plan::plan(&listed, &request.selection)?
            .scenarios
            .into_iter()
            .filter(|definition| !definition.positive_control && !definition.id.contains('+'))
            .collect();
        for definition in &mut scenarios {
            definition.promised_by = promises.get(&definition.id).cloned().unwrap_or_default();
        }
        Ok(Self {
            request,
            trust: from.trust(),
            finders: wanted.finders,
            seeds: Seeds::new(
                subject.explorer.clone(),
                wanted.seeds,
                explore::cases(&from.sides.promises)?,
                &folder,
            ),
            bench,
            scenarios,
            folder,
            kills: Mutex::new(BTreeMap::new()),
        })
    }

    fn job(&self, scenario: &Definition, pair: u32) -> Job {
        let selection = &self.request.selection;
        bench::job(
            scenario,
            selection.seed,
            pair,
            selection.steps,
            &selection.settings,
        )
    }

    /// The series without a mutant must not be refused by what is to refuse mutants.
    fn is_sound(&self, scenario: &Definition, pairs: u32) -> Result<(), Failure> {
        let mut series = Vec::new();
        for pair in 0..pairs {
            series.push(self.bench.side(Side::Series, &self.job(scenario, pair))?);
        }
        let series: Vec<&Ran> = series.iter().map(Arc::as_ref).collect();
        match self.refusal(scenario, &series)? {
            Some(reason) => Err(MutantsError::Unsound {
                scenario: scenario.id.clone(),
                reason,
            }
            .into()),
            None => Ok(()),
        }
    }

    /// Why a scenario refuses what these processes show beside stock; nothing when it does not.
    fn refusal(&self, scenario: &Definition, patched: &[&Ran]) -> Result<Option<String>, Failure> {
        let mut stock = Vec::new();
        for pair in 0..patched.len() {
            let pair = u32::try_from(pair).unwrap_or(u32::MAX);
            stock.push((
                pair,
                self.bench.side(Side::Stock, &self.job(scenario, pair))?,
            ));
        }
        let pairs: Vec<(u64, compare::Side<'_>, compare::Side<'_>)> = stock
            .iter()
            .zip(patched)
            .map(|((pair, stock), patched)| {
                (self.job(scenario, *pair).seed, side(stock), side(patched))
            })
            .collect();
        let steps = self.job(scenario, 0).steps;
        let judged = judge_pairs(scenario, steps, self.trust, &pairs);
        Ok(judged
            .reasons
            .into_iter()
            .find(|reason| reason.verdict == Verdict::Regression)
            .map(|reason| reason.text))
    }

    fn fate(&self, one: &Numbered) -> Result<Fate, Failure> {
        let record = self.folder.join(format!("fate-{}.json", one.number));
        let kept: Option<Kept> = std::fs::read(&record)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let kept = match kept {
            Some(kept) => kept,
            None => {
                let kept = self.judge(one)?;
                let bytes = serde_json::to_vec(&kept).unwrap_or_default();
                std::fs::write(&record, bytes).map_err(write(&record))?;
                kept
            }
        };
        Ok(match (kept.scenario, kept.by) {
            (Some(scenario), Some(by)) => {
                let mut kills = self.kills.lock().unwrap_or_else(PoisonError::into_inner);
                *kills
                    .entry((one.mutant.patch.clone(), scenario.clone()))
                    .or_default() += 1;
                Fate::Killed {
                    scenario,
                    seed: kept.seed,
                    by,
                    reason: kept.reason,
                }
            }
            _ => Fate::Survived {
                claim: None,
                reason: String::new(),
                reached: kept.reached,
            },
        })
    }

    fn judge(&self, one: &Numbered) -> Result<Kept, Failure> {
        let files = tempfile::tempdir_in(&self.folder).map_err(write(&self.folder))?;
        bench::make(files.path())?;
        let mut reached = false;
        if self.finders == Finders::Explorer {
            let found = self.explored(one, &mut reached)?;
            return Ok(found.unwrap_or(Kept::survived(reached)));
        }
        let order = self.order(&one.mutant.patch)?;
        for pairs in 1..=PAIRS {
            for scenario in order.iter().filter(|scenario| !scenario.is_chance()) {
                let found = self.trial(one, scenario, pairs, files.path(), &mut reached)?;
                if let Some(kept) = found {
                    return Ok(kept);
                }
            }
        }
        if self.finders == Finders::All
            && let Some(kept) = self.explored(one, &mut reached)?
        {
            return Ok(kept);
        }
        for scenario in order.iter().filter(|scenario| scenario.is_chance()) {
            let found = self.trial(one, scenario, PAIRS_OF_THREADS, files.path(), &mut reached)?;
            if let Some(kept) = found {
                return Ok(kept);
            }
        }
        Ok(Kept::survived(reached))
    }

    /// What the explorer found, if anything.
    fn explored(&self, one: &Numbered, reached: &mut bool) -> Result<Option<Kept>, Failure> {
        if !self.seeds.come_to(one.number) {
            return Ok(None);
        }
        *reached = true;
        Ok(self.seeds.find(one.number)?.map(|found| Kept {
            scenario: Some(seeds::ID.to_owned()),
            seed: found.seed,
            by: Some(found.by),
            reason: found.reason,
            reached: true,
        }))
    }

    /// One scenario with so many pairs; what it found, if anything.
    fn trial(
        &self,
        one: &Numbered,
        scenario: &Definition,
        pairs: u32,
        folder: &Path,
        reached: &mut bool,
    ) -> Result<Option<Kept>, Failure> {
        let mut comes_there = false;
        for pair in 0..pairs {
            let series = self.bench.side(Side::Series, &self.job(scenario, pair))?;
            comes_there |= series.reached.contains(&one.number);
        }
        if !comes_there {
            return Ok(None);
        }
        *reached = true;
        let mut ran = Vec::new();
        for pair in 0..pairs {
            ran.push(
                self.bench
                    .mutant(one.number, &self.job(scenario, pair), folder)?,
            );
        }
        let ran: Vec<&Ran> = ran.iter().collect();
        let Some(reason) = self.refusal(scenario, &ran)? else {
            return Ok(None);
        };
        self.is_sound(scenario, pairs)?;
        Ok(Some(Kept {
            scenario: Some(scenario.id.clone()),
            seed: None,
            by: Some(means(ran.iter().map(|ran| &ran.result))),
            reason,
            reached: true,
        }))
    }

    /// Those that found most mutants of the patch first, then those that are about the patch, the quick ones before the slow.
    fn order(&self, patch: &str) -> Result<Vec<&Definition>, Failure> {
        let kills = self
            .kills
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut ranked = Vec::new();
        for scenario in &self.scenarios {
            let found = kills
                .get(&(patch.to_owned(), scenario.id.clone()))
                .copied()
                .unwrap_or(0);
            let about = scenario.patches.iter().any(|id| id == patch);
            let seconds = self
                .bench
                .side(Side::Series, &self.job(scenario, 0))?
                .result
                .seconds;
            ranked.push((
                std::cmp::Reverse(found),
                !about,
                (seconds * 4.0) as u64,
                scenario,
            ));
        }
        ranked.sort_by(|one, other| {
            (one.0, one.1, one.2, &one.3.id).cmp(&(other.0, other.1, other.2, &other.3.id))
        });
        Ok(ranked.into_iter().map(|(.., scenario)| scenario).collect())
    }
}

fn side(ran: &Ran) -> compare::Side<'_> {
    compare::Side {
        folder: &ran.folder,
        result: &ran.result,
    }
}

/// What shows a fault: how the processes ended says more than what they noticed on the way.
fn means<'r>(results: impl Iterator<Item = &'r JobResult>) -> Means {
    let mut means = Means::Figures;
    for result in results {
        let has = |kinds: &[&str]| {
            result
                .faults
                .iter()
                .any(|fault| kinds.contains(&fault.kind.as_str()))
        };
        means = match &result.outcome {
            Outcome::Crashed { .. } => return Means::Crash,
            Outcome::TimedOut { .. } => return Means::Deadlock,
            _ if has(&["deadlock"]) => return Means::Deadlock,
            _ if has(&["corruption", "hazard", "wrong-data"]) => Means::Data,
            _ if has(&["accounting", "state"]) => Means::Books,
            Outcome::Error { .. } => Means::Error,
            _ if has(&["unexpected-error"]) => Means::Error,
            _ => means,
        };
    }
    means
}
