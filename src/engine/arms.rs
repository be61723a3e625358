//! The two arms of a comparison as sources: what a file holds at stock and with the patches, without touching the checkout.
use super::EngineError;
use super::change::{Standing, standing};
use super::checkout::{Checkout, LineEnds};
use super::files::{Entry, Files, Folder, Found, Layer};
use super::load::{self, Source};
use super::locate;
use super::plan::{Held, held, write_tree};
use super::preimages::PreImages;
use super::status::{Present, State};
use crate::series::manifest::Expected;
use crate::series::{Patch, PatchId, Selection, Series, SeriesName, TreePath};
use git2::{ObjectType, Oid, TreeWalkMode, TreeWalkResult};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What is compared with what.
#[derive(Debug)]
pub struct Arms {
    /// The tree that both come from.
    pub tree: Tree,
    /// The series, its patches in order.
    pub series: SeriesName,
    /// The ids of the patches that make the difference, in order.
    pub patches: Vec<PatchId>,
    /// What each of them does, in a line.
    pub titles: Vec<String>,
    /// What each of them needs of the series.
    pub needs: BTreeMap<PatchId, Vec<PatchId>>,
    /// For controls and mutants: what `verify` has to find.
    pub expected: Option<Expected>,
    /// Scenarios and tests by the patches that claim to mend what they show.
    pub promises: BTreeMap<String, Vec<PatchId>>,
    /// The tree with none of the series' patches.
    pub stock: SourceSet,
    /// The tree with the selected patches.
    pub patched: SourceSet,
    /// The files in which the arms differ.
    pub differing: Vec<TreePath>,
    /// What a reader should know, for example uncommitted changes that are part of both arms.
    pub notes: Vec<String>,
}

/// Which tree it is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Tree {
    /// Its folder.
    pub path: PathBuf,
    /// The PyTorch version that it states, for example `2.6.0`.
    pub version: Option<String>,
    /// The generation of the allocator, recognised by the code's shape.
    pub generation: Option<String>,
    /// The commit that is checked out; none where the folder is no git repository.
    pub commit: Option<String>,
}

/// All files of one arm, readable from several threads.
#[derive(Clone)]
pub struct SourceSet {
    origin: Origin,
    changed: Vec<TreePath>,
}

#[derive(Clone)]
enum Origin {
    /// A tree object, in a repository that keeps what was computed in memory.
    Objects {
        checkout: Arc<Mutex<Checkout>>,
        tree: Oid,
    },
    /// A folder with changes on top.
    Folder {
        folder: Folder,
        changes: Arc<BTreeMap<TreePath, Option<Entry>>>,
    },
}

impl std::fmt::Debug for SourceSet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("SourceSet");
        match &self.origin {
            Origin::Objects { tree, .. } => shown.field("tree", tree),
            Origin::Folder { folder, .. } => shown.field("folder", &folder.root),
        };
        shown
            .field("changed", &self.changed)
            .finish_non_exhaustive()
    }
}

impl SourceSet {
    /// What a file holds, or none where the arm has no such file.
    ///
    /// # Errors
    /// When the object database or the folder cannot be read.
    pub fn read(&self, path: &TreePath) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.entry(path)?.map(|entry| entry.bytes.to_vec()))
    }

    fn entry(&self, path: &TreePath) -> Result<Option<Entry>, EngineError> {
        match &self.origin {
            Origin::Objects { checkout, tree } => {
                let checkout = checkout.lock().unwrap_or_else(PoisonError::into_inner);
                match checkout.objects(*tree).find(path)? {
                    Found::File(entry) => Ok(Some(entry)),
                    Found::Nothing if in_submodule(&checkout, *tree, path) => {
                        Ok(checkout.folder().find(path)?.file())
                    }
                    Found::Nothing | Found::Other => Ok(None),
                }
            }
            Origin::Folder { folder, changes } => match changes.get(path) {
                Some(change) => Ok(change.clone()),
                None => Ok(folder.find(path)?.file()),
            },
        }
    }

    /// The files at or below a path, sorted; an empty `under` lists all.
    ///
    /// # Errors
    /// When the object database or the folder cannot be read.
    pub fn list(&self, under: &str) -> Result<Vec<TreePath>, EngineError> {
        let under = under.trim_end_matches('/');
        let mut paths = BTreeSet::new();
        match &self.origin {
            Origin::Objects { checkout, tree } => {
                let checkout = checkout.lock().unwrap_or_else(PoisonError::into_inner);
                list_objects(&checkout, *tree, under, &mut paths)?;
            }
            Origin::Folder { folder, changes } => {
                list_folder(&folder.root, under, &mut paths)?;
                for (path, change) in changes.iter() {
                    match change {
                        Some(_) if is_under(path, under) => {
                            paths.insert(path.clone());
                        }
                        Some(_) => {}
                        None => {
                            paths.remove(path);
                        }
                    }
                }
            }
        }
        Ok(paths.into_iter().collect())
    }

    /// Writes the files at or below each path into a folder, keeping their relative paths. A file that already holds the
    /// same bytes is left as it is, with its time.
    ///
    /// # Errors
    /// When the arm cannot be read or the folder not written.
    pub fn export(&self, paths: &[&str], folder: &Path) -> Result<(), EngineError> {
        for under in paths {
            for path in self.list(under)? {
                if let Some(entry) = self.entry(&path)? {
                    write_if_different(&path.under(folder), &entry)?;
                }
            }
        }
        Ok(())
    }

    /// The files in which this arm differs from the tree as it is checked out.
    #[must_use]
    pub fn changed(&self) -> &[TreePath] {
        &self.changed
    }

    /// An identity of all contents, for a fingerprint: the id of the git tree, or a hash over all files of a folder.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn identity(&self) -> Result<String, EngineError> {
        if let Origin::Objects { tree, .. } = &self.origin {
            return Ok(tree.to_string());
        }
        let mut hasher = Sha256::new();
        for path in self.list("")? {
            if let Some(entry) = self.entry(&path)? {
                hasher.update(path.as_str());
                hasher.update([0]);
                hasher.update(Sha256::digest(&entry.bytes));
            }
        }
        Ok(hex::encode(hasher.finalize()))
    }
}

fn is_under(path: &TreePath, under: &str) -> bool {
    let rest = path.as_str().strip_prefix(under);
    under.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn in_submodule(checkout: &Checkout, tree: Oid, path: &TreePath) -> bool {
    let Ok(tree) = checkout.repository.find_tree(tree) else {
        return false;
    };
    path.folders().any(|folder| {
        tree.get_path(Path::new(folder))
            .is_ok_and(|entry| entry.kind() == Some(ObjectType::Commit))
    })
}

fn list_objects(
    checkout: &Checkout,
    tree: Oid,
    under: &str,
    paths: &mut BTreeSet<TreePath>,
) -> Result<(), EngineError> {
    let reading = || EngineError::git("read a tree from the object database");
    let root = checkout.repository.find_tree(tree).map_err(reading())?;
    let (top, prefix) = if under.is_empty() {
        (root, String::new())
    } else {
        match root.get_path(Path::new(under)) {
            Err(error) if error.code() == git2::ErrorCode::NotFound => {
                let inside =
                    TreePath::new(under).is_ok_and(|path| in_submodule(checkout, tree, &path));
                return if inside {
                    list_folder(&checkout.root, under, paths)
                } else {
                    Ok(())
                };
            }
            Err(error) => return Err(reading()(error)),
            Ok(entry) => match entry.kind() {
                Some(ObjectType::Tree) => (
                    checkout
                        .repository
                        .find_tree(entry.id())
                        .map_err(reading())?,
                    format!("{under}/"),
                ),
                Some(ObjectType::Commit) => return list_folder(&checkout.root, under, paths),
                _ => {
                    paths.extend(TreePath::new(under).ok());
                    return Ok(());
                }
            },
        }
    };
    let mut submodules = Vec::new();
    top.walk(TreeWalkMode::PreOrder, |folder, entry| {
        if let Some(name) = entry.name() {
            let full = format!("{prefix}{folder}{name}");
            match entry.kind() {
                Some(ObjectType::Blob) => paths.extend(TreePath::new(&full).ok()),
                Some(ObjectType::Commit) => submodules.push(full),
                _ => {}
            }
        }
        TreeWalkResult::Ok
    })
    .map_err(reading())?;
    for submodule in submodules {
        list_folder(&checkout.root, &submodule, paths)?;
    }
    Ok(())
}

fn list_folder(
    root: &Path,
    under: &str,
    paths: &mut BTreeSet<TreePath>,
) -> Result<(), EngineError> {
    let top = root.join(under);
    if top.symlink_metadata().is_err() {
        return Ok(());
    }
    let walk = walkdir::WalkDir::new(&top).follow_links(false);
    for entry in walk
        .into_iter()
        .filter_entry(|entry| entry.file_name() != ".git")
    {
        let entry = entry
            .map_err(std::io::Error::from)
            .map_err(EngineError::storage("read", &top))?;
        if entry.file_type().is_dir() {
            continue;
        }
        let relative = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
        paths.extend(relative.and_then(|path| TreePath::new(path).ok()));
    }
    Ok(())
}

fn write_if_different(path: &Path, entry: &Entry) -> Result<(), EngineError> {
    let writing = || EngineError::storage("write", path);
    if entry.mode == crate::series::diff::Mode::Symlink {
        // a compiler follows links; those in a source tree that leave it have no business in an export
        return Ok(());
    }
    if std::fs::read(path).is_ok_and(|present| present == *entry.bytes) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(writing())?;
    let mut staged = tempfile::NamedTempFile::new_in(folder).map_err(writing())?;
    std::io::Write::write_all(&mut staged, &entry.bytes).map_err(writing())?;
    staged
        .persist(path)
        .map_err(|error| writing()(error.error))?;
    Ok(())
}

/// The two arms for a tree and a series (the built-in one for the tree's generation, or that of a folder).
///
/// Works whether the patches are applied as commits, are in the work tree uncommitted, or not applied at all, and on a
/// folder that is no git repository. Uncommitted changes of the allocator's own files are part of both arms.
///
/// # Errors
/// When the tree is none that the series is for, or a patch does not apply.
pub fn arms(
    tree: &Path,
    patches_from: Option<&Path>,
    selection: &Selection,
) -> Result<Arms, EngineError> {
    let source = Source::from(patches_from.map(Path::to_owned));
    let present = Present::open(tree)?;
    let recognition = locate::recognise(&present);
    let series = load::series(&source, &recognition)?;
    let mut notes = Vec::new();
    let git = present.head_tree();
    let below: Box<dyn Files + '_> = match git {
        Some((checkout, tree)) => Box::new(committed(checkout, tree, &series, &mut notes)?),
        None => Box::new(Folder {
            root: tree.to_owned(),
        }),
    };
    let computed = compute(&present, &*below, &series, selection, &mut notes)?;
    let (stock, patched) = match git {
        Some((checkout, tree)) => {
            let start = uncommitted(checkout, tree, &series)?;
            let kept = Checkout::open(&checkout.root)?;
            kept.keep_in_memory()?;
            let base = write_tree(&kept, tree, &start)?;
            let stock = write_tree(&kept, base, &computed.stock)?;
            let patched = write_tree(&kept, stock, &computed.patched)?;
            let kept = Arc::new(Mutex::new(kept));
            let set = |tree| Origin::Objects {
                checkout: Arc::clone(&kept),
                tree,
            };
            (set(stock), set(patched))
        }
        None => {
            let folder = Folder {
                root: tree.to_owned(),
            };
            let mut all = computed.stock.clone();
            all.extend(computed.patched.clone());
            let set = |changes| Origin::Folder {
                folder: folder.clone(),
                changes: Arc::new(changes),
            };
            (set(computed.stock.clone()), set(all))
        }
    };
    let (stock_layer, mut patched_layer) = (Layer::over(&*below), Layer::over(&*below));
    let stock_layer = Layer {
        changes: computed.stock.clone(),
        ..stock_layer
    };
    patched_layer.changes = computed.stock.clone();
    patched_layer.changes.extend(computed.patched.clone());
    let candidates: BTreeSet<_> = patched_layer.changes.keys().cloned().collect();
    Ok(Arms {
        tree: present.describe(&recognition),
        series: series.name.clone(),
        promises: promises(&series, &computed.patches),
        titles: titles(&series, &computed.patches),
        needs: needs(&series, &computed.patches),
        patches: computed.patches,
        expected: series.expected.clone(),
        stock: SourceSet {
            origin: stock,
            changed: differing(&stock_layer, &*below, &candidates)?,
        },
        patched: SourceSet {
            origin: patched,
            changed: differing(&patched_layer, &*below, &candidates)?,
        },
        differing: differing(&stock_layer, &patched_layer, &candidates)?,
        notes,
    })
}

fn titles(series: &Series, selected: &[PatchId]) -> Vec<String> {
    let patches = series.patches.iter();
    patches
        .filter(|patch| selected.contains(&patch.id))
        .map(|patch| patch.title.clone())
        .collect()
}

fn needs(series: &Series, selected: &[PatchId]) -> BTreeMap<PatchId, Vec<PatchId>> {
    let patches = series.patches.iter();
    patches
        .filter(|patch| selected.contains(&patch.id))
        .map(|patch| (patch.id.clone(), patch.depends_on.clone()))
        .collect()
}

fn promises(series: &Series, selected: &[PatchId]) -> BTreeMap<String, Vec<PatchId>> {
    let mut promises: BTreeMap<String, Vec<PatchId>> = BTreeMap::new();
    for patch in series
        .patches
        .iter()
        .filter(|patch| selected.contains(&patch.id))
    {
        for name in &patch.proven_by {
            promises
                .entry(name.clone())
                .or_default()
                .push(patch.id.clone());
        }
    }
    promises
}

fn differing(
    one: &dyn Files,
    other: &dyn Files,
    candidates: &BTreeSet<TreePath>,
) -> Result<Vec<TreePath>, EngineError> {
    let mut paths = Vec::new();
    for path in candidates {
        if one.find(path)? != other.find(path)? {
            paths.push(path.clone());
        }
    }
    Ok(paths)
}

/// The changes that lead from the tree as it is to stock, and from there to the patched arm.
struct Computed {
    patches: Vec<PatchId>,
    stock: BTreeMap<TreePath, Option<Entry>>,
    patched: BTreeMap<TreePath, Option<Entry>>,
}

fn compute(
    present: &Present,
    below: &dyn Files,
    series: &Series,
    selection: &Selection,
    notes: &mut Vec<String>,
) -> Result<Computed, EngineError> {
    let all: Vec<&Patch> = series.patches.iter().collect();
    let Held { patches: holds, .. } = held(&all, below)?;
    let committed = present.committed(&all)?;
    let mut ours = Vec::new();
    for patch in &all {
        let Some(fit) = holds.get(&patch.id) else {
            continue;
        };
        let (state, _) = present.whose(patch, *fit, &committed)?;
        if state == State::Landed && present.head_tree().is_some() {
            notes.push(format!(
                "{} is part of the tree itself, and so of both arms",
                patch.id
            ));
        } else {
            ours.push(*patch);
        }
    }
    // a patch that is part of the tree stays, those of ours come out
    let stock = held(&ours, below)?.undone;
    let stock_layer = Layer {
        below,
        changes: stock.clone(),
    };
    let mut layer = Layer::over(&stock_layer);
    let mut pre_images = PreImages::new(present.repository().map(git2::Repository::path));
    let mut patches = Vec::new();
    for patch in series.select(selection)? {
        if holds.contains_key(&patch.id) && !ours.iter().any(|own| own.id == patch.id) {
            continue;
        }
        match standing(patch, &layer, Some(&mut pre_images))? {
            Standing::Clean(made) => {
                layer.changes.extend(made.changes);
                patches.push(patch.id.clone());
            }
            Standing::Present(_) => {
                notes.push(format!(
                    "{} is part of the tree itself, and so of both arms",
                    patch.id
                ));
            }
            Standing::Neither(conflict) => return Err(EngineError::Conflict(Box::new(conflict))),
        }
    }
    let patched = layer.changes;
    Ok(Computed {
        patches,
        stock,
        patched,
    })
}

/// The folders whose uncommitted changes are part of both arms, beside the files that the patches touch.
const WATCHED: [&str; 2] = ["aten/src/ATen/mps", "aten/src/ATen/native/mps"];

/// The committed files with uncommitted changes of the watched ones on top.
fn committed<'c>(
    checkout: &'c Checkout,
    tree: Oid,
    series: &Series,
    notes: &mut Vec<String>,
) -> Result<Owned<'c>, EngineError> {
    let changes = uncommitted(checkout, tree, series)?;
    let recorded = checkout.state.record()?;
    let recorded = |path: &TreePath| {
        let record = recorded.as_ref();
        record.is_some_and(|record| record.files.iter().any(|file| file.path == *path))
    };
    for path in changes.keys().filter(|path| !recorded(path)) {
        notes.push(format!(
            "the uncommitted change of {path} is part of both arms"
        ));
    }
    Ok(Owned {
        objects: checkout.objects(tree),
        changes,
    })
}

/// Objects with changes on top, owning both.
struct Owned<'c> {
    objects: super::files::Objects<'c>,
    changes: BTreeMap<TreePath, Option<Entry>>,
}

impl Files for Owned<'_> {
    fn find(&self, path: &TreePath) -> Result<Found, EngineError> {
        match self.changes.get(path) {
            Some(change) => Ok(change.clone().map_or(Found::Nothing, Found::File)),
            None => self.objects.find(path),
        }
    }
}

/// The watched files whose content in the work tree is not the committed one.
fn uncommitted(
    checkout: &Checkout,
    tree: Oid,
    series: &Series,
) -> Result<BTreeMap<TreePath, Option<Entry>>, EngineError> {
    let mut watched: BTreeSet<TreePath> = series.paths().into_iter().collect();
    for folder in WATCHED {
        list_objects(checkout, tree, folder, &mut watched)?;
    }
    let (objects, folder) = (checkout.objects(tree), checkout.folder());
    let mut changes = BTreeMap::new();
    for path in watched {
        if checkout.with_index(|index| Ok(index.leaves_out(&path)))? {
            continue;
        }
        let (stored, present) = (objects.find(&path)?, folder.find(&path)?);
        match (stored.file(), present.file()) {
            (Some(stored), Some(present)) => {
                let same = LineEnds::relate(&stored.bytes, &present.bytes).is_some();
                if !same || stored.mode != present.mode {
                    changes.insert(path, Some(present.in_stored_form(Some(&stored))));
                }
            }
            (Some(_), None) => {
                changes.insert(path, None);
            }
            (None, Some(present)) => {
                changes.insert(path, Some(present));
            }
            (None, None) => {}
        }
    }
    Ok(changes)
}
