//! What equal arms differ by, kept for each machine and scenario: measured by a run of stock against itself.
use super::error::BaselineError;
use super::key;
use super::store::{failed, write_whole};
use crate::report::document::Fingerprint;
use crate::stats::noise::Noise;
use crate::verify::fingerprint;
use fs4::fs_std::FileExt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The schema name of a file of the store.
const SCHEMA: &str = "umpatch.noise/1";

#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    schema: String,
    /// What it was measured on.
    parts: BTreeMap<String, String>,
    /// By scenario.
    scenarios: BTreeMap<String, Noise>,
}

/// The file of a run's machine: tree, device and settings, whatever the seeds.
fn file(folder: &Path, run: &Fingerprint) -> (PathBuf, BTreeMap<String, String>) {
    let mut parts = key::split(run).0.parts;
    parts.remove("seed");
    (
        folder.join(format!("{}.json", fingerprint::key(&parts))),
        parts,
    )
}

/// What is known for the machine of a run; empty when nothing was measured, or the file is none of ours.
#[must_use]
pub fn known(folder: &Path, run: &Fingerprint) -> BTreeMap<String, Noise> {
    let (path, _) = file(folder, run);
    read(&path).map_or_else(BTreeMap::new, |measured| measured.scenarios)
}

fn read(path: &Path) -> Option<Measured> {
    let measured: Measured = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    (measured.schema == SCHEMA).then_some(measured)
}

/// Keeps what a run measured; scenarios that it did not run stay as they were.
///
/// # Errors
/// When the file cannot be written.
pub fn keep(
    folder: &Path,
    run: &Fingerprint,
    scenarios: BTreeMap<String, Noise>,
) -> Result<PathBuf, BaselineError> {
    let (path, parts) = file(folder, run);
    std::fs::create_dir_all(folder).map_err(|source| failed("make", folder, source))?;
    let lock_path = folder.join("lock");
    let lock = std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .and_then(|lock| lock.lock_exclusive().map(|()| lock))
        .map_err(|source| failed("lock", &lock_path, source))?;
    let mut all = read(&path).map_or_else(BTreeMap::new, |measured| measured.scenarios);
    all.extend(scenarios);
    let measured = Measured {
        schema: SCHEMA.to_owned(),
        parts,
        scenarios: all,
    };
    let bytes = serde_json::to_vec_pretty(&measured)
        .map_err(|error| failed("write", &path, std::io::Error::other(error)))?;
    write_whole(folder, &path, &bytes)?;
    drop(lock);
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_kept_by_machine_and_scenario_and_not_by_seed() {
        let folder = tempfile::tempdir().unwrap();
        let run = |chip: &str, seed: &str| Fingerprint {
            key: String::new(),
            parts: [("chip", chip), ("seed", seed), ("patches", seed)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        };
        let noise = |greatest: f64| Noise::of(&[greatest, -greatest]).unwrap();
        let of = |name: &str, value: f64| BTreeMap::from([(name.to_owned(), noise(value))]);
        assert!(known(folder.path(), &run("m1", "1")).is_empty());
        keep(folder.path(), &run("m1", "1"), of("a", 1.0)).unwrap();
        keep(folder.path(), &run("m1", "9"), of("b", 2.0)).unwrap();
        let both = known(folder.path(), &run("m1", "3"));
        assert_eq!(both.len(), 2);
        assert!((both["b"].greatest - 2.0).abs() < 1e-9);
        assert!(known(folder.path(), &run("m2", "1")).is_empty());
    }
}
