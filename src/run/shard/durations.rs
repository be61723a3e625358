//! How long things took in an earlier run: what shards are balanced by.
use crate::error::Explain;
use crate::exit::Exit;
use crate::run::journal::{self, JournalError};
use crate::run::recorded::Recorded;
use crate::run::tests::{Story, TestsError, read_junit};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Seconds that scenarios and tests took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Durations {
    /// Mean seconds of one process of a scenario, by the id that its jobs use.
    pub scenarios: BTreeMap<String, f64>,
    /// Seconds of a test, by its id.
    pub tests: BTreeMap<String, f64>,
}

/// There are no durations to be had there.
#[derive(Debug, thiserror::Error)]
pub enum DurationsError {
    /// A run folder whose journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A JUnit file that cannot be read.
    #[error(transparent)]
    Tests(#[from] TestsError),
    /// Neither.
    #[error("{} records no durations", path.display())]
    None {
        /// What was given.
        path: PathBuf,
    },
}

impl Explain for DurationsError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
    fn hints(&self) -> Vec<String> {
        vec!["give the folder of a run, or a JUnit file".to_owned()]
    }
}

impl Durations {
    /// Reads them from a run folder or a JUnit file of the test file `file`.
    ///
    /// # Errors
    /// When there are none.
    pub fn read(path: &Path, file: &str) -> Result<Self, DurationsError> {
        let found = if path.is_dir() {
            if !path.join(journal::FILE).is_file() {
                return Err(DurationsError::None {
                    path: path.to_owned(),
                });
            }
            Self::of_run(path)?
        } else {
            Self {
                scenarios: BTreeMap::new(),
                tests: read_junit(path, file)?
                    .into_iter()
                    .map(|case| (case.id, case.seconds))
                    .collect(),
            }
        };
        if found == Self::default() {
            return Err(DurationsError::None {
                path: path.to_owned(),
            });
        }
        Ok(found)
    }

    fn of_run(folder: &Path) -> Result<Self, JournalError> {
        let recorded = Recorded::read(folder)?;
        let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (job, result) in &recorded.results {
            all.entry(job.scenario.clone())
                .or_default()
                .push(result.seconds);
        }
        Ok(Self {
            tests: Story::read(folder)?.seconds(),
            ..Self::of_scenarios(all)
        })
    }

    /// The means of what the processes of each scenario took.
    #[must_use]
    pub fn of_scenarios(seconds: BTreeMap<String, Vec<f64>>) -> Self {
        let means = seconds
            .into_iter()
            .filter(|(_, all)| !all.is_empty())
            .map(|(id, all)| (id, all.iter().sum::<f64>() / all.len() as f64));
        Self {
            scenarios: means.collect(),
            tests: BTreeMap::new(),
        }
    }

    /// What makes two of these the same, in short.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for part in [&self.scenarios, &self.tests] {
            hasher.update((part.len() as u64).to_le_bytes());
            for (id, seconds) in part {
                hasher.update((id.len() as u64).to_le_bytes());
                hasher.update(id.as_bytes());
                hasher.update(seconds.to_le_bytes());
            }
        }
        hex::encode(&hasher.finalize()[..8])
    }
}
