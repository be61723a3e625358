//! Which patch does what: the scenarios in programs that have some of the patches, each against the stock of the same run.
use super::plan::{Plan, Selection, Suite};
use super::programs::Programs;
use super::{Request, append, limits, phase};
use crate::error::Failure;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::report::document::Subset;
use crate::run::folder::RunFolder;
use crate::run::job::{Arm, Flavour, Job};
use crate::run::journal::{AblationPlan, Event, Journal};
use crate::run::recorded::Recorded;
use crate::run::scenarios::{Drivers, Runner};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What is tried beside the whole series.
#[derive(Debug, Clone, Default)]
pub struct Ablate {
    /// Folders of other patch sets, each as a whole.
    pub against: Vec<PathBuf>,
    /// Programs that are built already, by the name of their subset.
    pub given: Vec<(String, PathBuf)>,
}

/// The jobs of the subsets: in the order of the scenarios, so that a run that is cut has whole rows.
///
/// A seed gives the same counters each time, so that one pair tells, but for threads. Under other assumptions about Metal a
/// part of a series proves nothing that the whole does not; whole series are tried there too.
#[must_use]
pub fn jobs(plan: &Plan, subsets: &[Subset], selection: &Selection) -> Vec<Job> {
    let mut jobs = Vec::new();
    for definition in &plan.scenarios {
        let named = selection.scenarios.contains(&definition.id);
        let varied = definition.id.contains('@') && !named;
        let pairs = match selection.pairs {
            Some(pairs) => pairs,
            None if definition.is_chance() => u32::MAX,
            None => 1,
        };
        let wanted = |job: &&Job| {
            job.arm == Arm::Patched
                && job.scenario == definition.id
                && job.pair < pairs
                && match job.flavour {
                    Flavour::Plain => true,
                    // a build of its own for each subset
                    Flavour::Address => named || selection.suite == Suite::Full,
                    _ => false,
                }
        };
        if definition.positive_control {
            continue;
        }
        for subset in subsets {
            if varied && subset.series.is_empty() {
                continue;
            }
            jobs.extend(plan.jobs.iter().filter(wanted).map(|job| Job {
                subset: Some(subset.name.clone()),
                ..job.clone()
            }));
        }
    }
    jobs
}

/// Writes into the journal what is to run, before anything of it does: a run that is cut is known to lack it.
pub(super) fn announce(
    request: &Request,
    programs: &dyn Programs,
    plan: &Plan,
    folder: &RunFolder,
    journal: &Journal,
) -> Result<(), Failure> {
    if Recorded::read(folder.path())?.ablation.is_some() {
        return Ok(());
    }
    let subsets = programs.subsets();
    let jobs = jobs(plan, &subsets, &request.selection);
    append(
        journal,
        Event::Ablation(Box::new(AblationPlan { subsets, jobs })),
    )
}

/// Builds the programs of the subsets and runs their jobs.
pub(super) fn run(
    request: &Request,
    programs: &dyn Programs,
    drivers: &mut Drivers,
    folder: &RunFolder,
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let recorded = Recorded::read(folder.path())?;
    let missing = recorded.missing_of_ablation();
    let Some(mut plan) = recorded.ablation else {
        return Ok(());
    };
    let built = phase(journal, progress, "build the subsets", || {
        build(
            programs,
            drivers,
            &plan.subsets,
            &missing,
            journal,
            progress,
        )
    })?;
    let is_to_be_had =
        |job: &Job| built.contains(&(job.subset.clone().unwrap_or_default(), job.flavour));
    if !missing.iter().all(is_to_be_had) {
        // what cannot be built is not missing
        plan.jobs
            .retain(|job| !missing.contains(job) || is_to_be_had(job));
        append(journal, Event::Ablation(Box::new(plan)))?;
    }
    let jobs: Vec<Job> = missing.into_iter().filter(is_to_be_had).collect();
    phase(journal, progress, "ablate", || {
        let runner = Runner {
            folder,
            journal,
            drivers,
            limits: limits(request),
            guard: programs.guard(),
            workers: request.workers,
            progress,
        };
        runner.run(&jobs).map_err(Failure::from)
    })
}

/// Builds what the jobs need; gives what was to be had.
fn build(
    programs: &dyn Programs,
    drivers: &mut Drivers,
    subsets: &[Subset],
    jobs: &[Job],
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<BTreeSet<(String, Flavour)>, Failure> {
    let mut had = BTreeSet::new();
    for subset in subsets {
        let flavours: BTreeSet<Flavour> = jobs
            .iter()
            .filter(|job| job.subset.as_ref() == Some(&subset.name))
            .map(|job| job.flavour)
            .collect();
        for flavour in flavours {
            let text = match programs.build_subset(subset, flavour, progress) {
                Ok(Some(built)) => {
                    drivers.insert_subset(&subset.name, flavour, built.driver);
                    had.insert((subset.name.clone(), flavour));
                    continue;
                }
                Ok(None) => format!("{}: there is no program for it", subset.name),
                // the verdict is about the whole series: a part of it that does not compile is told, and no more
                Err(failure) if failure.exit == Exit::PatchOrBuildFailed => {
                    let why = failure.chain.join(": ");
                    format!(
                        "{} does not build, so it is not in the ablation: {why}",
                        subset.name
                    )
                }
                Err(failure) => return Err(failure),
            };
            append(journal, Event::Note { text })?;
        }
    }
    Ok(had)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::catalogue::Catalogue;
    use crate::run::job::{Class, Definition};
    use crate::verify::plan::{Assumptions, plan};

    fn catalogue() -> Catalogue {
        let definition = |id: &str, class| Definition {
            id: id.to_owned(),
            class,
            ..Definition::default()
        };
        Catalogue {
            explorer: Vec::new(),
            native: vec![
                definition("steady", Class::GpuOnly),
                definition("race", Class::Stress),
                Definition {
                    positive_control: true,
                    ..definition("leak", Class::GpuOnly)
                },
            ],
            training: Vec::new(),
            assumptions: vec!["mode=eager".to_owned()],
        }
    }

    fn planned(selection: &Selection) -> Vec<(String, String)> {
        let subset = |name: &str, series: &str| Subset {
            name: name.to_owned(),
            patches: Vec::new(),
            series: series.to_owned(),
        };
        let plan = plan(&catalogue(), selection).unwrap();
        let subsets = [subset("one alone", ""), subset("rival", "rival")];
        jobs(&plan, &subsets, selection)
            .into_iter()
            .map(|job| (job.scenario.clone(), job.subset.unwrap()))
            .collect()
    }

    fn times(found: &[(String, String)], scenario: &str, subset: &str) -> usize {
        let wanted = (scenario.to_owned(), subset.to_owned());
        found.iter().filter(|pair| **pair == wanted).count()
    }

    #[test]
    fn a_seed_needs_one_process_and_threads_more() {
        let found = planned(&Selection::default());
        assert_eq!(times(&found, "steady", "one alone"), 1);
        assert_eq!(times(&found, "race", "one alone"), 2);
        assert_eq!(times(&found, "race+address", "one alone"), 0);
        assert!(found.iter().all(|(scenario, _)| scenario != "leak"));
        let named = Selection {
            scenarios: vec!["race+address".to_owned()],
            ..Selection::default()
        };
        assert_eq!(times(&planned(&named), "race+address", "rival"), 6);
    }

    #[test]
    fn under_other_assumptions_whole_series_are_tried() {
        let found = planned(&Selection {
            assumptions: Assumptions::Each,
            ..Selection::default()
        });
        assert_eq!(times(&found, "steady@mode=eager", "one alone"), 0);
        assert_eq!(times(&found, "steady@mode=eager", "rival"), 1);
    }
}
