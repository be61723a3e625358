//! Where a run lives: one folder, one writer, and which folder a command continues.
use super::journal::{self, Event, Header, Journal, JournalError};
use crate::error::Explain;
use crate::exit::Exit;
use crate::report::document::Fingerprint;
use fs4::fs_std::FileExt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Which run a command works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The newest unfinished run of the same key, else a new one.
    Continue,
    /// A new one, whatever there is.
    Fresh,
    /// This folder: a new run when it is empty, else the run in it, which must have the same key.
    At(PathBuf),
}

/// A run folder, locked for us until dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    state: State,
    /// Held for its lock.
    _lock: File,
}

/// What was in the folder when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing: the run begins.
    New,
    /// A run that was cut.
    Unfinished,
    /// A run that has its verdict.
    Finished,
}

/// A run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be made, written or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Another process works on it.
    #[error("another umpatch works on the run in {}", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// It holds another run.
    #[error("{} holds a run of something else: {difference}", path.display())]
    Different {
        /// The folder.
        path: PathBuf,
        /// Which parts of the key differ.
        difference: String,
    },
    /// It holds files but no run.
    #[error("{} is not empty and holds no run", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
}

impl Explain for FolderError {
    fn exit(&self) -> Exit {
        match self {
            Self::Journal(error) => error.exit(),
            Self::Busy { .. } | Self::Different { .. } | Self::Foreign { .. } => Exit::Usage,
        }
    }
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Journal(error) => error.hints(),
            Self::Busy { .. } => vec![
                "wait for it, or start another run with --fresh or another --run-folder".to_owned(),
            ],
            Self::Different { .. } | Self::Foreign { .. } => {
                vec!["give an empty or a new folder to --run-folder".to_owned()]
            }
        }
    }
}

impl RunFolder {
    /// Chooses, makes and locks the folder of a run with this fingerprint; new ones are made under `runs`.
    ///
    /// # Errors
    /// When the folder is in use, holds something else, or cannot be written.
    pub fn choose(
        runs: &Path,
        choice: &Choice,
        fingerprint: &Fingerprint,
    ) -> Result<Self, FolderError> {
        match choice {
            Choice::At(path) => Self::at(path, fingerprint),
            Choice::Fresh => Self::create(runs, fingerprint),
            Choice::Continue => {
                for path in candidates(runs, fingerprint) {
                    match Self::at(&path, fingerprint) {
                        Ok(folder) if folder.state == State::Unfinished => return Ok(folder),
                        // a run without its first line yet, in the hands of nobody
                        Ok(folder) if folder.state == State::New => return Ok(folder),
                        Ok(_) | Err(FolderError::Busy { .. } | FolderError::Different { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
                Self::create(runs, fingerprint)
            }
        }
    }

    fn create(runs: &Path, fingerprint: &Fingerprint) -> Result<Self, FolderError> {
        let time = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
        let short = short(fingerprint);
        let mut path = runs.join(format!("{time}-{short}"));
        let mut again = 1;
        while path.exists() {
            again += 1;
            path = runs.join(format!("{time}-{again}-{short}"));
        }
        Self::at(&path, fingerprint)
    }

    fn at(path: &Path, fingerprint: &Fingerprint) -> Result<Self, FolderError> {
        let failed = |source| JournalError::new("use", path, source);
        std::fs::create_dir_all(path).map_err(failed)?;
        let path = std::path::absolute(path).map_err(failed)?;
        let lock_path = path.join("lock");
        let known = [journal::FILE, "lock"];
        let mut entries = std::fs::read_dir(&path).map_err(failed)?;
        let foreign = !entries.by_ref().flatten().any(|entry| {
            known
                .iter()
                .any(|name| entry.file_name().to_str() == Some(name))
        }) && std::fs::read_dir(&path).map_err(failed)?.next().is_some();
        if foreign {
            return Err(FolderError::Foreign { path });
        }
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(|source| JournalError::new("open", &lock_path, source))?;
        match FileExt::try_lock_exclusive(&lock) {
            Ok(true) => {}
            Ok(false) => return Err(FolderError::Busy { path }),
            Err(source) => return Err(JournalError::new("lock", &lock_path, source).into()),
        }
        let state = state(&path, fingerprint)?;
        for sub_folder in ["curves", "logs"] {
            let sub_folder = path.join(sub_folder);
            std::fs::create_dir_all(&sub_folder)
                .map_err(|source| JournalError::new("make", &sub_folder, source))?;
        }
        Ok(Self {
            path,
            state,
            _lock: lock,
        })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was in it when it was opened.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Opens its journal.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn journal(&self) -> Result<Journal, JournalError> {
        Journal::open(&self.path)
    }
}

/// The part of a key that folder names carry.
fn short(fingerprint: &Fingerprint) -> &str {
    fingerprint.key.get(..12).unwrap_or(&fingerprint.key)
}

/// Folders under `runs` whose name ends with this key, newest first.
fn candidates(runs: &Path, fingerprint: &Fingerprint) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(runs) else {
        return Vec::new();
    };
    let suffix = format!("-{}", short(fingerprint));
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().ends_with(&suffix))
        })
        .collect();
    found.sort();
    found.reverse();
    found
}

fn state(path: &Path, fingerprint: &Fingerprint) -> Result<State, FolderError> {
    if !path.join(journal::FILE).exists() {
        return Ok(State::New);
    }
    let mut header: Option<Box<Header>> = None;
    let mut finished = false;
    journal::replay(path, |record| match record.event {
        Event::RunStart(found) => {
            header.get_or_insert(found);
        }
        Event::Verdict { .. } => finished = true,
        _ => {}
    })?;
    let Some(header) = header else {
        // killed before its first line was whole
        return Ok(State::New);
    };
    if header.fingerprint.key != fingerprint.key {
        return Err(FolderError::Different {
            path: path.to_owned(),
            difference: difference(&header.fingerprint, fingerprint),
        });
    }
    Ok(if finished {
        State::Finished
    } else {
        State::Unfinished
    })
}

/// Which parts of two keys differ, in words.
#[must_use]
pub fn difference(there: &Fingerprint, here: &Fingerprint) -> String {
    let names: std::collections::BTreeSet<&String> =
        there.parts.keys().chain(here.parts.keys()).collect();
    let parts: Vec<String> = names
        .into_iter()
        .filter(|name| there.parts.get(*name) != here.parts.get(*name))
        .map(|name| {
            let word = |fingerprint: &Fingerprint| {
                fingerprint
                    .parts
                    .get(name)
                    .cloned()
                    .unwrap_or_else(|| "nothing".to_owned())
            };
            format!("{name} is {} there, {} here", word(there), word(here))
        })
        .collect();
    if parts.is_empty() {
        "its key differs".to_owned()
    } else {
        parts.join("; ")
    }
}

/// Writes a file so that a reader sees either nothing, the old or the whole new content.
///
/// # Errors
/// When the folder cannot be written.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), JournalError> {
    let failed = |source| JournalError::new("write", path, source);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut staging = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    staging.write_all(bytes).map_err(failed)?;
    staging.as_file().sync_data().map_err(failed)?;
    staging.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::{Arms, Trust, Verdict};
    use std::collections::BTreeMap;

    fn fingerprint(key: &str) -> Fingerprint {
        Fingerprint {
            key: key.repeat(16),
            parts: BTreeMap::from([("seed".to_owned(), key.to_owned())]),
        }
    }

    fn start(folder: &RunFolder, fingerprint: &Fingerprint) -> Journal {
        let journal = folder.journal().unwrap();
        journal
            .append(Event::RunStart(Box::new(Header {
                schema: journal::SCHEMA.to_owned(),
                umpatch: "0".to_owned(),
                fingerprint: fingerprint.clone(),
                trust: Trust::Simulated,
                require_hardware: false,
                compared: Arms::default(),
                command: String::new(),
                row_command: String::new(),
            })))
            .unwrap();
        journal
    }

    #[test]
    fn an_unfinished_run_is_continued_and_a_finished_one_is_not() {
        let runs = tempfile::tempdir().unwrap();
        let key = fingerprint("a");
        let first = RunFolder::choose(runs.path(), &Choice::Continue, &key).unwrap();
        assert_eq!(first.state(), State::New);
        let journal = start(&first, &key);
        let path = first.path().to_owned();
        drop(first);
        let again = RunFolder::choose(runs.path(), &Choice::Continue, &key).unwrap();
        assert_eq!((again.path(), again.state()), (&*path, State::Unfinished));
        journal
            .append(Event::Verdict {
                verdict: Verdict::Pass,
                exit_code: 0,
            })
            .unwrap();
        drop(again);
        let next = RunFolder::choose(runs.path(), &Choice::Continue, &key).unwrap();
        assert_ne!(next.path(), path);
        assert_eq!(
            RunFolder::choose(runs.path(), &Choice::At(path), &key)
                .unwrap()
                .state(),
            State::Finished
        );
    }

    #[test]
    fn two_writers_are_kept_apart() {
        let runs = tempfile::tempdir().unwrap();
        let key = fingerprint("a");
        let first = RunFolder::choose(runs.path(), &Choice::Continue, &key).unwrap();
        start(&first, &key);
        let at = Choice::At(first.path().to_owned());
        assert!(matches!(
            RunFolder::choose(runs.path(), &at, &key),
            Err(FolderError::Busy { .. })
        ));
        let second = RunFolder::choose(runs.path(), &Choice::Continue, &key).unwrap();
        assert_ne!(second.path(), first.path());
    }

    #[test]
    fn a_run_of_something_else_is_refused_by_the_part_that_differs() {
        let runs = tempfile::tempdir().unwrap();
        let at = Choice::At(runs.path().join("here"));
        let folder = RunFolder::choose(runs.path(), &at, &fingerprint("a")).unwrap();
        start(&folder, &fingerprint("a"));
        drop(folder);
        let error = RunFolder::choose(runs.path(), &at, &fingerprint("b")).unwrap_err();
        assert!(
            error.to_string().contains("seed is a there, b here"),
            "{error}"
        );
        assert_eq!(error.exit(), Exit::Usage);
    }

    #[test]
    fn a_folder_with_other_files_is_refused() {
        let runs = tempfile::tempdir().unwrap();
        std::fs::write(runs.path().join("thesis.tex"), "").unwrap();
        let at = Choice::At(runs.path().to_owned());
        assert!(matches!(
            RunFolder::choose(runs.path(), &at, &fingerprint("a")),
            Err(FolderError::Foreign { .. })
        ));
    }
}
