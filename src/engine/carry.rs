//! Carries a series to another tree: what fits is kept or written for the new place, what has landed is left out, and the
//! first conflict is shown. Neither the tree nor the old series is touched.
use super::change::{Fit, Standing, standing};
use super::checkout::Checkout;
use super::conflict::Conflict;
use super::files::{Entry, Layer};
use super::load::{self, Source};
use super::plan::{held, write_commit, write_tree};
use super::preimages::PreImages;
use super::record::Form;
use super::refresh::{emit, write};
use super::{EngineError, locate};
use crate::series::compare::difference;
use crate::series::diff::PatchFile;
use crate::series::parse::parse;
use crate::series::{Patch, PatchId, Series, TreePath, manifest};
use git2::Oid;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A series on another tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Carried {
    /// The tree's folder.
    pub path: PathBuf,
    /// The commit of the tree.
    pub onto: String,
    /// The generation of its allocator.
    pub generation: String,
    /// The series.
    pub series: String,
    /// The patches up to and including the first that does not fit.
    pub patches: Vec<CarriedPatch>,
    /// The patches after it, which were not tried.
    pub untried: Vec<PatchId>,
    #[serde(skip)]
    folder: PathBuf,
    #[serde(skip)]
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// One patch on another tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CarriedPatch {
    /// The patch.
    pub id: PatchId,
    /// What became of it.
    pub state: CarriedState,
    /// How the change differs from the old one, as a diff of the two patches without their line numbers.
    pub difference: String,
    /// Where it does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
}

/// What became of a patch on another tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CarriedState {
    /// It fits as it is, on the very files that it was made for.
    Unchanged,
    /// It fits, at other lines or on files that differ elsewhere.
    Moved,
    /// It fits by a merge.
    Merged,
    /// The tree has it.
    Landed,
    /// It does not fit.
    Conflict,
}

impl Carried {
    /// Whether the series fits as it is: nothing has to be mended.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        self.untried.is_empty()
            && self
                .patches
                .iter()
                .all(|patch| patch.state == CarriedState::Unchanged)
    }

    /// Whether every patch fits or has landed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.untried.is_empty()
            && self
                .patches
                .iter()
                .all(|patch| patch.state != CarriedState::Conflict)
    }

    /// Writes the carried series into a new folder.
    ///
    /// # Errors
    /// When the folder is there and not empty, or cannot be written.
    pub fn write(&self, to: &Path) -> Result<(), EngineError> {
        if std::fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(EngineError::NotEmpty(to.to_owned()));
        }
        std::fs::create_dir_all(to).map_err(EngineError::storage("make", to))?;
        for (path, bytes) in &self.files {
            let path = to.join(path);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(EngineError::storage("make", folder))?;
            }
            write(&path, bytes)?;
        }
        let old = self.folder.join("series.toml");
        if let Ok(text) = std::fs::read_to_string(&old) {
            let left_out: Vec<&str> = self
                .patches
                .iter()
                .filter(|patch| {
                    matches!(patch.state, CarriedState::Landed | CarriedState::Conflict)
                })
                .map(|patch| patch.id.as_str())
                .chain(self.untried.iter().map(PatchId::as_str))
                .collect();
            let text = carried_manifest(&text, &self.generation, &left_out);
            write(&to.join("series.toml"), text.as_bytes())?;
        } else {
            let names: Vec<_> = self
                .files
                .iter()
                .map(|(path, _)| format!("{}\n", path.display()))
                .collect();
            write(&to.join("series"), names.concat().as_bytes())?;
        }
        Ok(())
    }
}

/// Carries a series onto the commit that a tree has checked out.
///
/// # Errors
/// When the tree or the series cannot be read. A conflict is no error: it is part of the result.
pub fn carry(root: &Path, source: &Source) -> Result<Carried, EngineError> {
    let checkout = Checkout::open(root)?;
    checkout.keep_in_memory()?;
    let onto = base_of(&checkout)?;
    let start = checkout.tree_of(onto)?;
    let generation = locate::recognise(&checkout.objects(start))
        .generation
        .to_string();
    let series = load::any(source)?.ok_or_else(|| EngineError::NoPatches(root.to_owned()))?;
    let folder = series
        .patches
        .last()
        .and_then(|patch| patch.location.parent())
        .map(Path::to_owned)
        .unwrap_or_default();
    let mut carried = Carried {
        path: checkout.root.clone(),
        onto: onto.to_string(),
        generation,
        series: series.name.to_string(),
        patches: Vec::new(),
        untried: Vec::new(),
        folder,
        files: Vec::new(),
    };
    walk(&checkout, onto, start, &series, &mut carried)?;
    Ok(carried)
}

/// The commit that is checked out; its base where umpatch applied patches.
pub(super) fn base_of(checkout: &Checkout) -> Result<Oid, EngineError> {
    let (_, head) = checkout.head()?;
    match checkout.state.record()? {
        Some(record) if record.form == Form::Branch && record.head == head.to_string() => {
            Oid::from_str(&record.base).map_err(EngineError::git("read the record"))
        }
        _ => Ok(head),
    }
}

fn walk(
    checkout: &Checkout,
    onto: Oid,
    start: Oid,
    series: &Series,
    carried: &mut Carried,
) -> Result<(), EngineError> {
    let below = checkout.objects(start);
    let all: Vec<&Patch> = series.patches.iter().collect();
    let landed = held(&all, &below)?.patches;
    let mut pre_images = PreImages::new(Some(checkout.repository.path()));
    let mut changes: BTreeMap<TreePath, Option<Entry>> = BTreeMap::new();
    let (mut head, mut tree) = (onto, start);
    let mut patches = all.into_iter();
    for patch in patches.by_ref() {
        let layer = Layer {
            below: &below,
            changes: changes.clone(),
        };
        let standing = match landed.contains_key(&patch.id) {
            true => None,
            false => Some(standing(patch, &layer, Some(&mut pre_images))?),
        };
        let made = match standing {
            None | Some(Standing::Present(_)) => {
                carried.push(patch, CarriedState::Landed, String::new(), None);
                continue;
            }
            Some(Standing::Neither(conflict)) => {
                carried.push(patch, CarriedState::Conflict, String::new(), Some(conflict));
                break;
            }
            Some(Standing::Clean(made)) => made,
        };
        tree = write_tree(checkout, tree, &made.changes)?;
        head = write_commit(checkout, head, tree, &patch.message)?;
        changes.extend(made.changes);
        let commit = checkout
            .repository
            .find_commit(head)
            .map_err(EngineError::git("read a commit"))?;
        let bytes = emit(checkout, &commit)?;
        let new = parse(&bytes).ok();
        let same_files = new
            .as_ref()
            .is_some_and(|new| blobs(new) == blobs(&patch.content));
        let (state, bytes) = match made.fit {
            Fit::Exact if same_files => (CarriedState::Unchanged, patch.content.emit()),
            Fit::Exact | Fit::Offset(_) => (CarriedState::Moved, bytes),
            Fit::ThreeWay => (CarriedState::Merged, bytes),
        };
        let difference = new.map_or(String::new(), |new| difference(&patch.content, &new));
        carried.push(patch, state, difference, None);
        // the patches of an extended series are carried with that series
        if let Ok(name) = patch.location.strip_prefix(&carried.folder) {
            carried.files.push((name.to_owned(), bytes));
        }
    }
    carried.untried = patches.map(|patch| patch.id.clone()).collect();
    Ok(())
}

impl Carried {
    fn push(
        &mut self,
        patch: &Patch,
        state: CarriedState,
        difference: String,
        conflict: Option<Conflict>,
    ) {
        self.patches.push(CarriedPatch {
            id: patch.id.clone(),
            state,
            difference,
            conflict,
        });
    }
}

/// The versions of files that a patch is made for and leads to.
fn blobs(patch: &PatchFile) -> Vec<(Option<&str>, Option<&str>)> {
    let ids = patch.files.iter();
    ids.map(|file| (file.old_blob.as_deref(), file.new_blob.as_deref()))
        .collect()
}

/// The old `series.toml` for the new place: the generation changed, some patches left out, all else verbatim.
fn carried_manifest(text: &str, generation: &str, left_out: &[&str]) -> String {
    let mut blocks: Vec<String> = vec![String::new()];
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "[[patch]]" {
            blocks.push(String::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.push_str(line);
        }
    }
    let is_left_out = |block: &str| {
        // the block by itself is a manifest's fragment
        let head = format!(
            "schema = {:?}\nname = \"x\"\n{block}",
            manifest::SERIES_SCHEMA
        );
        let parsed = manifest::SeriesFile::parse(head.as_bytes());
        parsed.is_ok_and(|file| {
            file.patch
                .iter()
                .any(|patch| left_out.contains(&patch.id.as_str()))
        })
    };
    let mut result = String::new();
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 && is_left_out(block) {
            continue;
        }
        for line in block.split_inclusive('\n') {
            let is = |key: &str| {
                line.split('=')
                    .next()
                    .is_some_and(|word| word.trim() == key)
            };
            if index == 0 && is("generation") {
                result.push_str(&format!("generation = {generation:?}\n"));
            } else if index == 0 && is("evidence") {
                result.push_str("evidence = \"carried, not verified yet\"\n");
            } else if is("depends_on") {
                result.push_str(&without(line, left_out));
            } else {
                result.push_str(line);
            }
        }
    }
    result
}

/// A list of ids without some.
fn without(line: &str, left_out: &[&str]) -> String {
    let Some((key, list)) = line.split_once('=') else {
        return line.to_owned();
    };
    let kept: Vec<&str> = list
        .trim()
        .trim_start_matches('[')
        .trim_end_matches(']')
        .split(',')
        .map(str::trim)
        .filter(|id| !id.is_empty() && !left_out.contains(&id.trim_matches('"')))
        .collect();
    format!("{key}= [{}]\n", kept.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_keeps_what_it_says_of_the_patches_that_stay() {
        let text = "# why\nschema = \"umpatch.series/1\"\ngeneration = \"classic\"\nname = \"x\"\n\n\
                    [[patch]]\nid = \"a\"\nfile = \"a.patch\"\n[[patch.probe]]\nfile = \"f\"\ncontains = \"t\"\n\n\
                    [[patch]]\nid = \"b\"\nfile = \"b.patch\"  # kept\ndepends_on = [\"a\", \"c\"]\n";
        let carried = carried_manifest(text, "unified", &["a"]);
        assert_eq!(
            carried,
            "# why\nschema = \"umpatch.series/1\"\ngeneration = \"unified\"\nname = \"x\"\n\n\
             [[patch]]\nid = \"b\"\nfile = \"b.patch\"  # kept\ndepends_on = [\"c\"]\n"
        );
    }
}
