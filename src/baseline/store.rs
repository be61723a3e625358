//! Where recorded runs are kept: one file each, written whole or not at all, one writer at a time.
use super::error::BaselineError;
use super::{Baseline, SCHEMA};
use fs4::fs_std::FileExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The schema name of an exported file.
const EXPORTED: &str = "umpatch.baseline-export/1";
/// Recorded runs of one key that are kept unless told otherwise.
pub const KEPT: usize = 20;

/// A folder of recorded runs.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// One recorded run as a file of its own, safe against a cut or a changed copy.
#[derive(Debug, Serialize, Deserialize)]
struct Exported {
    schema: String,
    /// Of the run's own JSON.
    sha256: String,
    baseline: Box<serde_json::value::RawValue>,
}

/// What a list shows of a recorded run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// When it was recorded.
    pub recorded: String,
    /// The start of its key.
    pub key: String,
    /// The patches of its patched arm.
    pub patches: String,
    /// How many scenarios.
    pub scenarios: usize,
    /// What it concluded.
    pub verdict: Option<crate::report::document::Verdict>,
}

impl From<&Baseline> for Entry {
    fn from(baseline: &Baseline) -> Self {
        Self {
            name: baseline.name.clone(),
            recorded: baseline.recorded.clone(),
            key: baseline.key.key.chars().take(12).collect(),
            patches: baseline.about.get("patches").cloned().unwrap_or_default(),
            scenarios: baseline.scenarios.len(),
            verdict: baseline.verdict,
        }
    }
}

/// Held while the store changes.
struct Lock(#[allow(dead_code)] File);

impl Store {
    /// The store in a folder; made when something is kept.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Keeps a run and drops the oldest of the same key beyond `keep`; the names of those that were dropped.
    ///
    /// # Errors
    /// When the name is no name or taken, or the store cannot be written.
    pub fn keep(&self, baseline: &Baseline, keep: usize) -> Result<Vec<String>, BaselineError> {
        let path = self.path(&baseline.name)?;
        let _lock = self.lock()?;
        if path.exists() {
            return Err(BaselineError::Taken {
                name: baseline.name.clone(),
            });
        }
        write_whole(&self.folder, &path, &json(baseline, &path)?)?;
        self.retain(baseline, keep.max(1))
    }

    /// All recorded runs, oldest first; what cannot be read is told by name.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> Result<(Vec<Baseline>, Vec<BaselineError>), BaselineError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok((Vec::new(), Vec::new()));
            }
            Err(source) => return Err(failed("read", &self.folder, source)),
        };
        let (mut found, mut broken) = (Vec::new(), Vec::new());
        for path in entries.flatten().map(|entry| entry.path()) {
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                match read(&path) {
                    Ok(baseline) => found.push(baseline),
                    Err(error) => broken.push(error),
                }
            }
        }
        found.sort_by(|left, right| {
            (&left.recorded, &left.name).cmp(&(&right.recorded, &right.name))
        });
        Ok((found, broken))
    }

    /// One recorded run.
    ///
    /// # Errors
    /// When there is none of this name, or its file is damaged.
    pub fn get(&self, name: &str) -> Result<Baseline, BaselineError> {
        let path = self.path(name)?;
        if !path.is_file() {
            let (known, _) = self.list()?;
            return Err(BaselineError::Unknown {
                name: name.to_owned(),
                known: known.into_iter().map(|baseline| baseline.name).collect(),
            });
        }
        read(&path)
    }

    /// Drops a recorded run.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), BaselineError> {
        let path = self.path(name)?;
        match self.get(name) {
            // one that is damaged can be dropped as well
            Ok(_) | Err(BaselineError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        let _lock = self.lock()?;
        std::fs::remove_file(&path).map_err(|source| failed("remove", &path, source))
    }

    /// Writes a recorded run into a file that can be carried elsewhere.
    ///
    /// # Errors
    /// When there is none of this name, or the file cannot be written.
    pub fn export(&self, name: &str, file: &Path) -> Result<(), BaselineError> {
        let text = String::from_utf8_lossy(&json(&self.get(name)?, file)?).into_owned();
        let exported = Exported {
            schema: EXPORTED.to_owned(),
            sha256: hex::encode(Sha256::digest(text.as_bytes())),
            baseline: serde_json::value::RawValue::from_string(text)
                .map_err(|error| damaged(file, error))?,
        };
        let bytes = serde_json::to_vec(&exported).map_err(|error| damaged(file, error))?;
        let folder = match file.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        write_whole(folder, file, &bytes)
    }

    /// Keeps a run from an exported file, under its own or another name.
    ///
    /// # Errors
    /// When the file is no export or was changed, or the name is taken.
    pub fn import(
        &self,
        file: &Path,
        name: Option<&str>,
        keep: usize,
    ) -> Result<(Baseline, Vec<String>), BaselineError> {
        let bytes = std::fs::read(file).map_err(|source| failed("read", file, source))?;
        let exported: Exported =
            serde_json::from_slice(&bytes).map_err(|error| damaged(file, error))?;
        if exported.schema != EXPORTED {
            return Err(damaged(file, format!("its schema is {}", exported.schema)));
        }
        let text = exported.baseline.get();
        if hex::encode(Sha256::digest(text.as_bytes())) != exported.sha256 {
            return Err(damaged(file, "its checksum does not match its content"));
        }
        let mut baseline = parse(file, text.as_bytes())?;
        if let Some(name) = name {
            baseline.name = name.to_owned();
        }
        let dropped = self.keep(&baseline, keep)?;
        Ok((baseline, dropped))
    }

    fn retain(&self, new: &Baseline, keep: usize) -> Result<Vec<String>, BaselineError> {
        let (all, _) = self.list()?;
        let of_key: Vec<Baseline> = all
            .into_iter()
            .filter(|known| known.key.key == new.key.key && known.name != new.name)
            .collect();
        let surplus = (of_key.len() + 1).saturating_sub(keep);
        let mut dropped = Vec::new();
        for old in of_key.into_iter().take(surplus) {
            let path = self.path(&old.name)?;
            std::fs::remove_file(&path).map_err(|source| failed("remove", &path, source))?;
            dropped.push(old.name);
        }
        Ok(dropped)
    }

    fn path(&self, name: &str) -> Result<PathBuf, BaselineError> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-+".contains(letter);
        // `last` is the newest run, and what begins with a dash is an option
        let misleads = name == "last" || name.starts_with(['.', '-']);
        if name.is_empty() || name.len() > 100 || misleads || !name.chars().all(fits) {
            return Err(BaselineError::Name {
                name: name.to_owned(),
            });
        }
        Ok(self.folder.join(format!("{name}.json")))
    }

    fn lock(&self) -> Result<Lock, BaselineError> {
        std::fs::create_dir_all(&self.folder)
            .map_err(|source| failed("make", &self.folder, source))?;
        let path = self.folder.join("lock");
        let open = || {
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)?;
            file.lock_exclusive()?;
            Ok(file)
        };
        open()
            .map(Lock)
            .map_err(|source| failed("lock", &path, source))
    }
}

pub(super) fn failed(action: &'static str, path: &Path, source: std::io::Error) -> BaselineError {
    BaselineError::Store {
        action,
        path: path.to_owned(),
        source,
    }
}

fn damaged(path: &Path, why: impl ToString) -> BaselineError {
    BaselineError::Damaged {
        path: path.to_owned(),
        why: why.to_string(),
    }
}

fn json(baseline: &Baseline, path: &Path) -> Result<Vec<u8>, BaselineError> {
    serde_json::to_vec(baseline).map_err(|error| damaged(path, error))
}

fn read(path: &Path) -> Result<Baseline, BaselineError> {
    let bytes = std::fs::read(path).map_err(|source| failed("read", path, source))?;
    parse(path, &bytes)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Baseline, BaselineError> {
    let baseline: Baseline = serde_json::from_slice(bytes).map_err(|error| damaged(path, error))?;
    if baseline.schema != SCHEMA {
        return Err(damaged(path, format!("its schema is {}", baseline.schema)));
    }
    Ok(baseline)
}

/// A reader sees the old state or the whole file, whatever happens.
pub(super) fn write_whole(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), BaselineError> {
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|source| failed("write", path, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::{Fingerprint, Trust};
    use std::collections::BTreeMap;

    fn baseline(name: &str, key: &str, recorded: &str) -> Baseline {
        Baseline {
            schema: SCHEMA.to_owned(),
            name: name.to_owned(),
            recorded: recorded.to_owned(),
            umpatch: "0.1.0".to_owned(),
            started: String::new(),
            trust: Trust::Simulated,
            verdict: None,
            key: Fingerprint {
                key: key.to_owned(),
                parts: BTreeMap::new(),
            },
            about: BTreeMap::new(),
            scenarios: Vec::new(),
            processes: Vec::new(),
        }
    }

    fn names(store: &Store) -> Vec<String> {
        let (all, broken) = store.list().unwrap();
        assert!(broken.is_empty());
        all.into_iter().map(|baseline| baseline.name).collect()
    }

    #[test]
    fn what_is_kept_comes_back_and_names_are_unique() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("runs"));
        assert!(names(&store).is_empty());
        let one = baseline("one", "k", "2026-01-01");
        store.keep(&one, KEPT).unwrap();
        assert_eq!(store.get("one").unwrap(), one);
        let taken = store.keep(&one, KEPT).unwrap_err();
        assert!(matches!(taken, BaselineError::Taken { .. }));
        let unknown = store.get("two").unwrap_err();
        assert!(matches!(unknown, BaselineError::Unknown { known, .. } if known == ["one"]));
        for bad in ["", "../x", ".x", "a b", "a/b", "last", "-x"] {
            assert!(
                matches!(store.get(bad), Err(BaselineError::Name { .. })),
                "{bad}"
            );
        }
        store.remove("one").unwrap();
        assert!(names(&store).is_empty());
        // a damaged one is in nobody's way
        store.keep(&one, KEPT).unwrap();
        std::fs::write(folder.path().join("runs/one.json"), "{").unwrap();
        assert_eq!(store.list().unwrap().1.len(), 1);
        store.remove("one").unwrap();
        assert!(names(&store).is_empty());
        let unknown = store.remove("one").unwrap_err();
        assert!(matches!(unknown, BaselineError::Unknown { .. }));
    }

    #[test]
    fn the_oldest_of_a_key_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        for (name, key, time) in [("a", "k", "1"), ("b", "k", "2"), ("x", "other", "0")] {
            assert!(
                store
                    .keep(&baseline(name, key, time), 2)
                    .unwrap()
                    .is_empty()
            );
        }
        assert_eq!(store.keep(&baseline("c", "k", "3"), 2).unwrap(), ["a"]);
        assert_eq!(names(&store), ["x", "b", "c"]);
    }

    #[test]
    fn an_export_comes_back_and_a_changed_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("here"));
        let elsewhere = Store::at(folder.path().join("there"));
        let one = baseline("one", "k", "1");
        store.keep(&one, KEPT).unwrap();
        let file = folder.path().join("one.umpatch");
        store.export("one", &file).unwrap();
        assert_eq!(elsewhere.import(&file, None, KEPT).unwrap().0, one);
        let (renamed, _) = elsewhere.import(&file, Some("two"), KEPT).unwrap();
        assert_eq!(renamed.name, "two");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("0.1.0", "0.2.0")).unwrap();
        let changed = elsewhere.import(&file, Some("three"), KEPT).unwrap_err();
        assert!(changed.to_string().contains("checksum"), "{changed}");
        std::fs::write(&file, &text[..text.len() / 2]).unwrap();
        assert!(elsewhere.import(&file, Some("three"), KEPT).is_err());
    }

    #[test]
    fn writers_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let store = store.clone();
                scope.spawn(move || {
                    for number in 0..4 {
                        let name = format!("{writer}-{number}");
                        store.keep(&baseline(&name, "k", &name), 5).unwrap();
                    }
                });
            }
        });
        assert_eq!(names(&store).len(), 5);
    }

    #[test]
    fn a_damaged_file_is_named_and_hides_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        store.keep(&baseline("good", "k", "1"), KEPT).unwrap();
        std::fs::write(folder.path().join("bad.json"), "{").unwrap();
        let (all, broken) = store.list().unwrap();
        assert_eq!(all.len(), 1);
        assert!(broken[0].to_string().contains("bad.json"));
    }
}
