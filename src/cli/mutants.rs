//! `umpatch verify --mutants`.
use super::{Console, Outcome};
use crate::error::Failure;
use crate::exit::Exit;
use crate::mutate::sample::Sample;
use crate::verify::Request;
use crate::verify::mutants::{self, Finders, Wanted};
use clap::ValueEnum;

/// The options that choose mutants.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct MutantArguments {
    /// Plant faults in the patched lines, one at a time, and say which of them the scenarios find
    #[arg(long, conflicts_with_all = ["tests", "tests_from", "shard", "equal_arms", "detect", "budget", "driver_baseline"])]
    pub(super) mutants: bool,
    /// Only this mutant; may be repeated
    #[arg(long = "mutant", value_name = "NAME", requires = "mutants")]
    names: Vec<String>,
    /// Only mutants of this patch
    #[arg(long, value_name = "PATCH", requires = "mutants")]
    only: Option<String>,
    /// Only so many mutants, chosen by --sample-seed
    #[arg(long, value_name = "N", requires = "mutants", value_parser = at_least_one)]
    sample: Option<usize>,
    /// Chooses the sample
    #[arg(long, value_name = "N", default_value_t = 1, requires = "sample")]
    sample_seed: u64,
    /// What looks for them
    #[arg(long, value_enum, default_value_t, requires = "mutants")]
    finders: Finders,
    /// Seeds of the explorer for each mutant
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEEDS, requires = "mutants", value_parser = clap::value_parser!(u64).range(1..))]
    mutant_seeds: u64,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("none would be judged".to_owned()),
        Ok(count) => Ok(count),
        Err(_) => Err("not a number".to_owned()),
    }
}

const DEFAULT_SEEDS: u64 = 500;

impl MutantArguments {
    /// The options as words of a command.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = vec!["--mutants".to_owned()];
        for name in &self.names {
            words.push(format!("--mutant {name}"));
        }
        if let Some(patch) = &self.only {
            words.push(format!("--only {patch}"));
        }
        if let Some(count) = self.sample {
            words.push(format!(
                "--sample {count} --sample-seed {}",
                self.sample_seed
            ));
        }
        if let Some(value) = self.finders.to_possible_value()
            && self.finders != Finders::default()
        {
            words.push(format!("--finders {}", value.get_name()));
        }
        if self.mutant_seeds != DEFAULT_SEEDS {
            words.push(format!("--mutant-seeds {}", self.mutant_seeds));
        }
        words
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            names: self.names.clone(),
            patch: self.only.clone(),
            sample: self.sample.map_or(Sample::All, |count| Sample::Some {
                count,
                seed: self.sample_seed,
            }),
            finders: self.finders,
            seeds: self.mutant_seeds,
        }
    }
}

/// Runs it.
pub(super) fn run(request: &Request, own: &MutantArguments, console: &Console) -> Outcome {
    let progress = console.progress();
    let outcome: Result<_, Failure> = mutants::run(request, &own.wanted(), &*progress);
    drop(progress);
    let document = outcome?;
    console.result(&document, &mutants::text(&document));
    Ok(if document.met {
        Exit::Verified
    } else {
        Exit::Regression
    })
}
