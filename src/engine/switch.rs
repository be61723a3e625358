//! Brings a checkout from one state to another, so that a kill at any moment leaves it recoverable.
//!
//! Order: the journal says what is going to change; the new files are written beside the old ones; the journal is marked as
//! decided, which is one rename; then the branch and HEAD are set, the files renamed into place, the index and the record
//! written, and the journal removed. Cut off before the decision, the next command clears away what was staged; after it,
//! the next command does the rest. A failure after the decision is undone by the same steps in the other direction.
//!
//! This holds against the end of the process at any moment. Nothing is flushed to the disk: against a loss of power the tree is
//! as safe as git leaves one after a checkout.
use super::checkout::{Checkout, LineEnds};
use super::files::{Entry, Files, Found};
use super::index::{Prepared, Stamp};
use super::record::{FileVersions, HeadAt, RECORD, Record, Version};
use super::survey::ends;
use super::{EngineError, fault, index, reference_locks};
use crate::series::TreePath;
use crate::series::diff::Mode;
use git2::Oid;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The journal's file.
const JOURNAL: &str = "journal.json";

/// A value before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Step<T> {
    pub(super) before: T,
    pub(super) after: T,
}

impl<T> Step<T> {
    fn inverse(self) -> Self {
        Self {
            before: self.after,
            after: self.before,
        }
    }
}

/// How far a switch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Stage {
    Prepared,
    Decided,
}

/// Whether the index follows the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum IndexPolicy {
    /// Entries get the new content, and the times of the new files.
    Update,
    /// The index stays as it is: the changes are not committed.
    Keep,
}

/// Whether the index is written where its entries are right already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexWrite {
    /// Also then: the files' times may be new.
    Always,
    /// Only where it has to be: there may be no room for it.
    WhereItDiffers,
}

/// A file that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileMove {
    #[serde(flatten)]
    pub(super) versions: FileVersions,
    pub(super) ends: LineEnds,
    /// Left out of the work tree by a sparse checkout: only the index changes.
    pub(super) left_out: bool,
    /// What the file was like when its content was compared; a later run knows nothing of it.
    #[serde(skip)]
    pub(super) stamp: Option<Stamp>,
}

/// All that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Switch {
    stage: Stage,
    /// Why, for the log of the references.
    pub(super) why: String,
    /// The branch of the patches, by its full name.
    pub(super) branch: Option<(String, Step<Option<String>>)>,
    pub(super) head: Option<Step<HeadAt>>,
    pub(super) files: Vec<FileMove>,
    pub(super) index: Step<IndexPolicy>,
    pub(super) record: Step<Option<Record>>,
}

impl Switch {
    pub(super) fn new(
        why: &str,
        files: Vec<FileMove>,
        index: Step<IndexPolicy>,
        record: Step<Option<Record>>,
    ) -> Self {
        Self {
            stage: Stage::Prepared,
            why: why.to_owned(),
            branch: None,
            head: None,
            files,
            index,
            record,
        }
    }

    fn inverse(self) -> Self {
        Self {
            stage: self.stage,
            why: format!("{} (taken back)", self.why),
            branch: self.branch.map(|(name, step)| (name, step.inverse())),
            head: self.head.map(Step::inverse),
            files: self
                .files
                .into_iter()
                .map(|file| FileMove {
                    versions: FileVersions {
                        path: file.versions.path,
                        before: file.versions.after,
                        after: file.versions.before,
                    },
                    stamp: None,
                    ..file
                })
                .collect(),
            index: self.index.inverse(),
            record: self.record.inverse(),
        }
    }

    /// Does it. On an error everything is as it was, unless the error says that this failed too.
    pub(super) fn run(mut self, checkout: &Checkout) -> Result<(), EngineError> {
        checkout.state.write(JOURNAL, &self)?;
        let decided = self.stage(checkout).and_then(|prepared| {
            self.stage = Stage::Decided;
            checkout.state.write(JOURNAL, &self)?;
            Ok(prepared)
        });
        let prepared = match decided {
            Ok(prepared) => prepared,
            Err(error) => {
                // nothing visible has changed yet
                self.clear(checkout)?;
                return Err(error);
            }
        };
        match self.carry_out(checkout, prepared, IndexWrite::Always) {
            Ok(()) => Ok(()),
            Err(cause) => match self
                .inverse()
                .carry_out(checkout, None, IndexWrite::WhereItDiffers)
            {
                Ok(()) => Err(cause),
                Err(rollback) => Err(EngineError::HalfDone {
                    cause: Box::new(cause),
                    rollback: Box::new(rollback),
                }),
            },
        }
    }

    /// Writes the new files beside the old ones.
    fn stage(&self, checkout: &Checkout) -> Result<Option<Prepared>, EngineError> {
        for file in self.files.iter().filter(|file| !file.left_out) {
            if let Some(after) = &file.versions.after {
                write_beside(checkout, &file.versions.path, after, file.ends)?;
            }
        }
        // proves that there is room for the index, and that it can be understood
        match self.index.after {
            IndexPolicy::Update => index::prepare(checkout, &self.files).map(Some),
            IndexPolicy::Keep => Ok(None),
        }
    }

    /// Does, or does again, every step after the decision.
    fn carry_out(
        &self,
        checkout: &Checkout,
        prepared: Option<Prepared>,
        write: IndexWrite,
    ) -> Result<(), EngineError> {
        let before = self
            .files
            .iter()
            .map(|file| file.look(checkout))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some((name, step)) = &self.branch
            && let Some(after) = &step.after
        {
            set_branch(checkout, name, step.before.as_deref(), after, &self.why)?;
        }
        if let Some(step) = &self.head {
            set_head(checkout, &step.after, &self.why)?;
        }
        let untouched = before.iter().all(|seen| *seen == Seen::After);
        for (file, seen) in self.files.iter().zip(before) {
            file.carry_out(checkout, seen)?;
        }
        let needless = write == IndexWrite::WhereItDiffers
            && untouched
            && index::holds(checkout, &self.files)?;
        if self.index.after != IndexPolicy::Keep && !needless {
            index::replace(checkout, &self.files, prepared)?;
        }
        match &self.record.after {
            Some(record) => checkout.state.write(RECORD, record)?,
            None => checkout.state.remove(RECORD)?,
        }
        if let Some((
            name,
            Step {
                before: Some(before),
                after: None,
            },
        )) = &self.branch
        {
            delete_branch(checkout, name, before)?;
        }
        self.clear(checkout)
    }

    /// Releases the locks of git's that an interrupted run of this switch took.
    fn release_stale_locks(&self, checkout: &Checkout) -> Result<(), EngineError> {
        index::release_stale_lock(checkout)?;
        reference_locks::release_stale(
            checkout,
            &checkout.state.file(JOURNAL),
            self.branch.iter().map(|(name, _)| name.as_str()),
        )
    }

    /// Removes what was staged, and the journal last.
    fn clear(&self, checkout: &Checkout) -> Result<(), EngineError> {
        for file in &self.files {
            let staged = beside(checkout, &file.versions.path);
            remove(&staged)?;
            if file.versions.before.is_none() || file.versions.after.is_none() {
                prune(checkout, &file.versions.path);
            }
        }
        index::clear(checkout)?;
        checkout.state.remove(JOURNAL)
    }
}

/// What recovery did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// There was nothing to recover.
    Nothing,
    /// The interrupted command was cleared away: it had not begun to change the tree, or what it had changed was taken back.
    TakenBack,
    /// The interrupted command was carried to its end.
    Finished,
}

/// Finishes or clears away what an interrupted command left. Needs the lock.
pub(super) fn recover(checkout: &Checkout) -> Result<Recovered, EngineError> {
    let Some(switch) = checkout.state.read::<Switch>(JOURNAL)? else {
        return Ok(Recovered::Nothing);
    };
    switch.release_stale_locks(checkout)?;
    match switch.stage {
        Stage::Prepared => {
            switch.clear(checkout)?;
            Ok(Recovered::TakenBack)
        }
        Stage::Decided => {
            switch.carry_out(checkout, None, IndexWrite::Always)?;
            Ok(Recovered::Finished)
        }
    }
}

/// Takes back what an interrupted command left, even where it had begun to change the tree. Needs the lock.
pub(super) fn take_back(checkout: &Checkout) -> Result<Recovered, EngineError> {
    let Some(switch) = checkout.state.read::<Switch>(JOURNAL)? else {
        return Ok(Recovered::Nothing);
    };
    switch.release_stale_locks(checkout)?;
    match switch.stage {
        Stage::Prepared => switch.clear(checkout)?,
        Stage::Decided => switch
            .inverse()
            .carry_out(checkout, None, IndexWrite::Always)?,
    }
    Ok(Recovered::TakenBack)
}

/// Whether an interrupted command waits to be finished.
pub(super) fn is_pending(checkout: &Checkout) -> bool {
    checkout.state.file(JOURNAL).exists()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Before,
    After,
}

impl FileMove {
    /// Which of its versions is in the work tree.
    fn look(&self, checkout: &Checkout) -> Result<Seen, EngineError> {
        let path = &self.versions.path;
        if self.left_out {
            return Ok(Seen::After);
        }
        let full = path.under(&checkout.root);
        let now = full.symlink_metadata().ok().as_ref().map(Stamp::of);
        if now.is_some() && now == self.stamp {
            return Ok(Seen::Before);
        }
        let is = |version: &Option<Version>| -> Result<bool, EngineError> {
            match version {
                None => Ok(checkout.folder().find(path)? == Found::Nothing),
                Some(version) => Ok(ends(checkout, path, version)?.is_some()),
            }
        };
        if is(&self.versions.after)? {
            Ok(Seen::After)
        } else if is(&self.versions.before)? {
            Ok(Seen::Before)
        } else {
            Err(EngineError::EditedSince(path.clone()))
        }
    }

    fn carry_out(&self, checkout: &Checkout, seen: Seen) -> Result<(), EngineError> {
        if seen == Seen::After {
            return Ok(());
        }
        let path = &self.versions.path;
        let full = path.under(&checkout.root);
        match &self.versions.after {
            Some(after) => {
                let staged = beside(checkout, path);
                if staged.symlink_metadata().is_err() {
                    write_beside(checkout, path, after, self.ends)?;
                }
                let rename = || {
                    fault::step()?;
                    std::fs::rename(&staged, &full)
                };
                rename().map_err(EngineError::storage("replace", &full))
            }
            None => {
                remove(&full)?;
                prune(checkout, path);
                Ok(())
            }
        }
    }
}

pub(super) fn load(checkout: &Checkout, version: &Version) -> Result<Entry, EngineError> {
    let reading = || EngineError::git(format!("read blob {}", version.blob));
    let id = Oid::from_str(&version.blob).map_err(reading())?;
    let blob = checkout.repository.find_blob(id).map_err(reading())?;
    Ok(Entry {
        mode: version.mode,
        bytes: blob.content().into(),
    })
}

/// Where a new version waits: in the folder of the file, so that a rename brings it into place.
fn beside(checkout: &Checkout, path: &TreePath) -> PathBuf {
    let full = path.under(&checkout.root);
    let name = full.file_name().unwrap_or_default().to_string_lossy();
    full.with_file_name(format!(".{name}.umpatch-new"))
}

fn write_beside(
    checkout: &Checkout,
    path: &TreePath,
    version: &Version,
    ends: LineEnds,
) -> Result<(), EngineError> {
    let entry = load(checkout, version)?;
    let full = path.under(&checkout.root);
    let staged = beside(checkout, path);
    let write = || -> std::io::Result<()> {
        if let Some(folder) = full.parent() {
            std::fs::create_dir_all(folder)?;
        }
        match std::fs::remove_file(&staged) {
            Err(error) if !super::files::is_absent(&error) => return Err(error),
            _ => {}
        }
        fault::step()?;
        if entry.mode == Mode::Symlink {
            use std::os::unix::ffi::OsStrExt;
            let target = std::ffi::OsStr::from_bytes(&entry.bytes);
            return std::os::unix::fs::symlink(target, &staged);
        }
        let mut file = std::fs::File::create_new(&staged)?;
        file.write_all(&ends.convert(&entry.bytes))?;
        set_permissions(&file, &full, entry.mode)
    };
    let written = write();
    if written.is_err() {
        // what a full disk left of it
        let _ = std::fs::remove_file(&staged);
    }
    written.map_err(EngineError::storage("write", &staged))
}

/// Keeps the permissions of the file that is replaced, up to what the mode says of executing it.
fn set_permissions(file: &std::fs::File, replaced: &Path, mode: Mode) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let model = match replaced.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => metadata,
        _ => file.metadata()?,
    };
    let bits = model.permissions().mode() & 0o7777;
    let bits = match mode {
        Mode::Executable if bits & 0o100 == 0 => bits | ((bits & 0o444) >> 2),
        Mode::Executable => bits,
        Mode::Regular | Mode::Symlink => bits & !0o111,
    };
    file.set_permissions(std::fs::Permissions::from_mode(bits))
}

fn remove(path: &Path) -> Result<(), EngineError> {
    let remove = || {
        fault::step()?;
        std::fs::remove_file(path)
    };
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    remove().map_err(EngineError::storage("remove", path))
}

/// Removes folders that are empty now, as git does.
fn prune(checkout: &Checkout, path: &TreePath) {
    let mut folders: Vec<&str> = path.folders().collect();
    while let Some(folder) = folders.pop() {
        if std::fs::remove_dir(checkout.root.join(folder)).is_err() {
            break;
        }
    }
}

fn set_branch(
    checkout: &Checkout,
    name: &str,
    before: Option<&str>,
    after: &str,
    why: &str,
) -> Result<(), EngineError> {
    let now = checkout.reference(name)?.map(|id| id.to_string());
    if now.as_deref() == Some(after) {
        return Ok(());
    }
    if now.as_deref() != before {
        return Err(EngineError::BranchExists(name.to_owned()));
    }
    fault::step().map_err(EngineError::storage("write to", checkout.repository.path()))?;
    let writing = || EngineError::git(format!("set {name}"));
    let id = Oid::from_str(after).map_err(writing())?;
    checkout
        .repository
        .reference(name, id, true, why)
        .map_err(writing())?;
    Ok(())
}

fn set_head(checkout: &Checkout, after: &HeadAt, why: &str) -> Result<(), EngineError> {
    let writing = || EngineError::git("set HEAD");
    let head = checkout
        .repository
        .find_reference("HEAD")
        .map_err(writing())?;
    let is_there = match after {
        HeadAt::Branch(name) => head.symbolic_target() == Some(name.as_str()),
        HeadAt::Detached(id) => head
            .target()
            .is_some_and(|target| target.to_string() == *id),
    };
    if is_there {
        return Ok(());
    }
    fault::step().map_err(EngineError::storage("write to", checkout.repository.path()))?;
    match after {
        HeadAt::Branch(name) => checkout
            .repository
            .reference_symbolic("HEAD", name, true, why)
            .map(|_| ())
            .map_err(writing()),
        HeadAt::Detached(id) => {
            let id = Oid::from_str(id).map_err(writing())?;
            checkout.repository.set_head_detached(id).map_err(writing())
        }
    }
}

fn delete_branch(checkout: &Checkout, name: &str, expected: &str) -> Result<(), EngineError> {
    let deleting = || EngineError::git(format!("delete {name}"));
    match checkout.reference(name)? {
        None => Ok(()),
        Some(id) if id.to_string() == expected => {
            fault::step().map_err(EngineError::storage("write to", checkout.repository.path()))?;
            let mut reference = checkout
                .repository
                .find_reference(name)
                .map_err(deleting())?;
            reference.delete().map_err(deleting())
        }
        Some(_) => Err(EngineError::BranchExists(name.to_owned())),
    }
}
