//! Checks a bundle as a reviewer would meet it: the mails through plain `git am` on a clean base, the linters, the texts.
mod mails;
mod texts;

use super::lint::{self, Answer, Settings, Subject};
use super::manifest::{Manifest, SCHEMA};
use super::{BundleError, MANIFEST, archive, place};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// What the bundle says of itself.
    pub bundle: Manifest,
    /// Each check, in order.
    pub checks: Vec<Check>,
}

/// One check of one pull request, or of the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The patch; empty for the whole bundle.
    pub patch: String,
    /// What was checked.
    pub name: String,
    /// How it came out.
    pub state: State,
    /// In words.
    pub text: String,
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// As it should be.
    Ok,
    /// A person has to fill something.
    ForAPerson,
    /// It could not be checked: the bundle is not complete.
    Open,
    /// Wrong.
    Failed,
}

impl Checked {
    /// The worst of all checks.
    #[must_use]
    pub fn worst(&self) -> State {
        let states = self.checks.iter().map(|check| check.state);
        states.max().unwrap_or(State::Open)
    }
}

/// A bundle at hand: its files by path.
pub(super) struct Opened {
    manifest: Manifest,
    files: BTreeMap<String, Vec<u8>>,
    /// The folder that holds them.
    root: PathBuf,
    _unpacked: Option<tempfile::TempDir>,
}

/// Checks the bundle in a folder or archive against the tree whose object database has its base.
///
/// # Errors
/// When it is no bundle, git is missing, or the user interrupts. What is wrong with the bundle is part of the result.
pub fn check(bundle: &Path, tree: &Path) -> Result<Checked, BundleError> {
    let opened = open(bundle)?;
    let mut checks = vec![checksums(&opened)];
    let base = mails::Base::new(&opened.manifest, tree)?;
    let settings = Settings::read(|path| base.file(path));
    for entry in &opened.manifest.patches {
        let mut add = |name: &str, state, text: String| {
            checks.push(Check {
                patch: entry.id.clone(),
                name: name.to_owned(),
                state,
                text,
            });
        };
        let (state, text) = base.next(entry, &opened.root)?;
        add("git am", state, text);
        if state == State::Ok {
            let mail = opened.files.get(&entry.mail).map_or(&b""[..], |mail| mail);
            let files = base.touched(mail)?;
            for lint in lint::run(&Subject::of_files(mail, &files), &settings)? {
                let state = match lint.answer {
                    Answer::Clean { .. } => State::Ok,
                    Answer::Found { .. } => State::Failed,
                    Answer::NotRun { .. } => State::Open,
                };
                add(&lint.name, state, lint.line());
            }
        }
        let text = |path: &str| {
            let bytes = opened.files.get(path).map_or(&b""[..], |bytes| bytes);
            String::from_utf8_lossy(bytes).into_owned()
        };
        for (name, state, words) in texts::check(
            &entry.title,
            &text(&entry.mail),
            &text(&entry.body),
            opened.manifest.run.trust,
        ) {
            add(name, state, words);
        }
    }
    // each alone, on what it needs
    for entry in &opened.manifest.patches {
        let (state, text) = base.alone(entry, &opened.manifest, &opened.root)?;
        checks.push(Check {
            patch: entry.id.clone(),
            name: "git am on what it needs".to_owned(),
            state,
            text,
        });
    }
    Ok(Checked {
        bundle: opened.manifest,
        checks,
    })
}

fn open(bundle: &Path) -> Result<Opened, BundleError> {
    let no_bundle = |reason: String| BundleError::NoBundle {
        path: bundle.to_owned(),
        reason,
    };
    let (root, unpacked) = if bundle.is_dir() {
        (bundle.to_owned(), None)
    } else {
        let folder = tempfile::tempdir().map_err(BundleError::storage("make", "a folder"))?;
        let tops = archive::unpack(bundle, folder.path())?;
        match tops.as_slice() {
            [top] => (folder.path().join(top), Some(folder)),
            _ => return Err(no_bundle("it does not hold one folder".to_owned())),
        }
    };
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(&root).sort_by_file_name() {
        let entry = entry.map_err(|error| no_bundle(error.to_string()))?;
        let relative = entry.path().strip_prefix(&root).ok().and_then(Path::to_str);
        if let (true, Some(path)) = (entry.file_type().is_file(), relative) {
            let bytes =
                std::fs::read(entry.path()).map_err(BundleError::storage("read", entry.path()))?;
            files.insert(path.to_owned(), bytes);
        }
    }
    let text = files
        .get(MANIFEST)
        .ok_or_else(|| no_bundle(format!("it has no {MANIFEST}")))?;
    let manifest: Manifest =
        serde_json::from_slice(text).map_err(|error| no_bundle(error.to_string()))?;
    if manifest.schema != SCHEMA {
        return Err(no_bundle(format!(
            "its schema is {:?}, this version reads {SCHEMA:?}",
            manifest.schema
        )));
    }
    Ok(Opened {
        manifest,
        files,
        root,
        _unpacked: unpacked,
    })
}

/// Whether each file is what `SHA256SUMS` says. A body may differ: a person was to edit it.
fn checksums(opened: &Opened) -> Check {
    let text = opened
        .files
        .get(place::SUMS)
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .unwrap_or_default();
    let said: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(digest, path)| (path, digest))
        .collect();
    let mut edited = Vec::new();
    let mut wrong = Vec::new();
    for (path, bytes) in opened.files.iter().filter(|(path, _)| *path != place::SUMS) {
        match said.get(path.as_str()) {
            Some(digest) if *digest == hex::encode(Sha256::digest(bytes)) => {}
            Some(_) if path.ends_with("/body.md") => edited.push(path.as_str()),
            Some(_) => wrong.push(format!("{path} differs")),
            None => wrong.push(format!("{path} is not listed")),
        }
    }
    let missing = said
        .keys()
        .filter(|path| !opened.files.contains_key(**path));
    wrong.extend(missing.map(|path| format!("{path} is missing")));
    let (state, text) = match (wrong.is_empty(), edited.is_empty()) {
        (false, _) => (State::Failed, wrong.join("; ")),
        (true, true) => (State::Ok, format!("{} files", said.len())),
        (true, false) => (
            State::Ok,
            format!("edited since, as it should be: {}", edited.join(", ")),
        ),
    };
    Check {
        patch: String::new(),
        name: place::SUMS.to_owned(),
        state,
        text,
    }
}
