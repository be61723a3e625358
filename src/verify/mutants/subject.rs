//! The series with all its mutants in one program: generated, woven, freed of what does not compile, and built.
use super::error::MutantsError;
use crate::build::{self, BuildRequest, Complaint, Flavour};
use crate::engine::{self, Selection};
use crate::error::Failure;
use crate::mutate::weave::{PRELUDE, PRELUDE_FILE, Woven, weave};
use crate::mutate::{Mutant, Stage, generate};
use crate::paths;
use crate::progress::Progress;
use crate::series::TreePath;
use crate::verify::Request;
use crate::verify::programs::from_tree::FromTree;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A mutant and the number that selects it.
#[derive(Debug)]
pub(super) struct Numbered {
    pub number: u32,
    pub mutant: Mutant,
}

/// The program.
#[derive(Debug)]
pub(super) struct Subject {
    /// Those that compile.
    pub mutants: Vec<Numbered>,
    /// How many there were before the compiler saw them.
    pub generated: usize,
    /// The names of those that do not compile.
    pub rejected: Vec<String>,
    /// The scenarios' program with all mutants.
    pub program: PathBuf,
    /// The explorer with all mutants.
    pub explorer: PathBuf,
    /// What it was made of.
    pub key: String,
}

/// The texts that mutants are planted in.
struct Files {
    texts: BTreeMap<String, String>,
    mutants: Vec<Numbered>,
}

/// After so many rounds of leaving out what does not compile, something else is wrong.
const MOST_ROUNDS: usize = 12;

impl Subject {
    /// Makes it.
    pub fn make(
        request: &Request,
        from: &FromTree,
        progress: &dyn Progress,
    ) -> Result<Self, Failure> {
        progress.stage("plant mutants");
        let mut files = read(request, from)?;
        let generated = files.mutants.len();
        let cache = paths::cache().join("mutants");
        std::fs::create_dir_all(&cache).map_err(write(&cache))?;
        let known = cache.join(format!("rejected-{}.json", digest(&files)));
        let mut rejected: BTreeSet<u32> = std::fs::read(&known)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let export = tempfile::tempdir_in(&cache).map_err(write(&cache))?;
        let harness = from.harness.join("metal");
        let explorer = from.harness.join("explore");
        for harness in [&harness, &explorer] {
            let wanted = build::tree_paths(harness)?;
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            from.sides.patched.export(&wanted, export.path())?;
        }
        let request = BuildRequest {
            harness: &harness,
            tree: export.path(),
            torch: &from.torch,
            flavour: Flavour::Plain,
            name: "the mutants",
        };
        for round in 0.. {
            let woven = files.woven(&rejected);
            put(export.path(), &woven)?;
            let complaints = build::complaints(&request, progress)?;
            if complaints.is_empty() {
                break;
            }
            let guilty: BTreeSet<u32> = complaints
                .iter()
                .filter_map(|one| culprit(&woven, one))
                .collect();
            if guilty.is_empty() || round == MOST_ROUNDS {
                let first = &complaints[0];
                return Err(MutantsError::Weave {
                    file: first.file.clone(),
                    line: first.line,
                    message: first.message.clone(),
                }
                .into());
            }
            progress.note(&format!(
                "{} mutants do not compile",
                rejected.len() + guilty.len()
            ));
            rejected.extend(guilty);
        }
        keep(&known, &rejected)?;
        let built = build::build(&request, progress)?;
        let explorer = BuildRequest {
            harness: &explorer,
            name: "the explorer with the mutants",
            ..request
        };
        let explorer = build::build(&explorer, progress)?;
        let names = files
            .mutants
            .iter()
            .filter(|one| rejected.contains(&one.number))
            .map(|one| one.mutant.name.clone())
            .collect();
        files.mutants.retain(|one| !rejected.contains(&one.number));
        Ok(Self {
            mutants: files.mutants,
            generated,
            rejected: names,
            program: built.program,
            explorer: explorer.program,
            key: format!("{} {}", built.key, explorer.key),
        })
    }
}

impl Files {
    fn woven(&self, rejected: &BTreeSet<u32>) -> BTreeMap<String, Woven> {
        self.texts
            .iter()
            .map(|(file, text)| {
                let own: Vec<(u32, &Mutant)> = self
                    .mutants
                    .iter()
                    .filter(|one| one.mutant.file == *file && !rejected.contains(&one.number))
                    .map(|one| (one.number, &one.mutant))
                    .collect();
                (file.clone(), weave(text, &own))
            })
            .collect()
    }
}

/// The patched sources, and a mutant for all that can be done to them.
fn read(request: &Request, from: &FromTree) -> Result<Files, Failure> {
    let tree = &from.sides.tree.path;
    let mut arms = Vec::new();
    for patch in &from.sides.patches {
        let until = Selection::Until(patch.clone());
        arms.push((
            patch.to_string(),
            engine::arms(tree, request.patches_from.as_deref(), &until)?,
        ));
    }
    let mut files = Files {
        texts: BTreeMap::new(),
        mutants: Vec::new(),
    };
    for path in from.sides.differing.iter().filter(|path| is_source(path)) {
        let stock = text(from.sides.stock.read(path)?);
        let mut stages = Vec::new();
        for (patch, arms) in &arms {
            stages.push(Stage {
                patch: patch.clone(),
                text: text(arms.patched.read(path)?),
            });
        }
        for mutant in generate(path.as_str(), &stock, &stages) {
            let number = u32::try_from(files.mutants.len() + 1).unwrap_or(u32::MAX);
            files.mutants.push(Numbered { number, mutant });
        }
        if let Some(last) = stages.pop() {
            files.texts.insert(path.as_str().to_owned(), last.text);
        }
    }
    Ok(files)
}

fn text(bytes: Option<Vec<u8>>) -> String {
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

fn is_source(path: &TreePath) -> bool {
    let path = path.as_str();
    path.starts_with("aten/src/ATen/")
        && Path::new(path)
            .extension()
            .is_some_and(|extension| ["mm", "cpp", "h"].iter().any(|known| extension == *known))
}

/// The mutant that the compiler complains about.
fn culprit(woven: &BTreeMap<String, Woven>, complaint: &Complaint) -> Option<u32> {
    woven
        .get(&complaint.file)?
        .blame(complaint.line, complaint.column)
}

fn put(folder: &Path, woven: &BTreeMap<String, Woven>) -> Result<(), MutantsError> {
    let prelude = [(PRELUDE_FILE, PRELUDE)];
    let texts = woven
        .iter()
        .map(|(file, woven)| (file.as_str(), woven.text.as_str()));
    for (file, text) in prelude.into_iter().chain(texts) {
        let path = folder.join(file);
        std::fs::write(&path, text).map_err(write(&path))?;
    }
    Ok(())
}

fn digest(files: &Files) -> String {
    let mut hasher = Sha256::new();
    for woven in files.woven(&BTreeSet::new()).values() {
        hasher.update((woven.text.len() as u64).to_le_bytes());
        hasher.update(&woven.text);
    }
    hex::encode(&hasher.finalize()[..12])
}

fn keep(path: &Path, rejected: &BTreeSet<u32>) -> Result<(), MutantsError> {
    let bytes = serde_json::to_vec(rejected).unwrap_or_default();
    std::fs::write(path, bytes).map_err(write(path))
}

pub(super) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> MutantsError {
    let path = path.to_owned();
    move |source| MutantsError::Write { path, source }
}
