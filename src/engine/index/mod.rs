//! The index of a checkout: what it says of files, and the next one, written beside it and renamed into its place.
mod cache_tree;
mod file;
mod split;

pub use file::IndexError;
pub(super) use file::{IndexEntry, IndexFile};

use super::checkout::{Checkout, blob_id};
use super::files::{Folder, is_absent};
use super::switch::FileMove;
use super::{EngineError, fault};
use crate::series::TreePath;
use file::{Edit, MODE, MTIME, Numbers, SIZE, Written};
use git2::Oid;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An index, and which file it was read from.
pub(super) struct Index {
    file: IndexFile,
    /// None where there is no index yet.
    source: Option<Stamp>,
}

/// What a file was like when it was read: another content has another stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    size: u64,
    mode: u32,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            size: metadata.len(),
            mode: metadata.mode(),
        }
    }
}

impl Index {
    /// Reads the index of a git directory.
    pub(super) fn read(git: &Path) -> Result<Self, EngineError> {
        let path = git.join("index");
        let reading = || EngineError::storage("read", &path);
        let mut open = match std::fs::File::open(&path) {
            Ok(open) => open,
            Err(error) if is_absent(&error) => {
                return Ok(Self {
                    file: IndexFile::empty(),
                    source: None,
                });
            }
            Err(error) => return Err(reading()(error)),
        };
        let stamp = Stamp::of(&open.metadata().map_err(reading())?);
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0) + 1);
        std::io::Read::read_to_end(&mut open, &mut bytes).map_err(reading())?;
        let mut shared = |id: &str| std::fs::read(git.join(format!("sharedindex.{id}"))).ok();
        let file = IndexFile::parse(&bytes, &mut shared)?;
        Ok(Self {
            file,
            source: Some(stamp),
        })
    }

    /// Whether it is still what was read.
    fn is_current(&self, checkout: &Checkout) -> bool {
        live(checkout).metadata().ok().as_ref().map(Stamp::of) == self.source
    }

    pub(super) fn find(&self, path: &TreePath) -> Option<&IndexEntry> {
        self.file.find(path.as_str())
    }

    /// The paths of all entries.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let names = self.file.entries();
        names.map(|(name, _)| String::from_utf8_lossy(name).into_owned())
    }

    pub(super) fn has_conflicts(&self) -> bool {
        self.file.has_conflicts()
    }

    /// Whether a sparse checkout leaves the file out of the work tree.
    pub(super) fn leaves_out(&self, path: &TreePath) -> bool {
        self.find(path).is_some_and(IndexEntry::is_left_out)
            || self.file.is_in_folder_entry(path.as_str().as_bytes())
    }

    /// Refuses a file of which the index holds no more than a folder above it.
    pub(super) fn refuse_folder_entry(&self, path: &TreePath) -> Result<(), EngineError> {
        match self.file.is_in_folder_entry(path.as_str().as_bytes()) {
            true => Err(IndexError::Sparse(path.to_string()).into()),
            false => Ok(()),
        }
    }

    /// Whether a file is surely what the entry says, as its times tell. False says nothing.
    pub(super) fn is_unchanged(&self, entry: &IndexEntry, metadata: &Metadata) -> bool {
        // neither the device's number nor the mode's permissions are compared, as git does
        const COMPARED: [usize; 8] = [0, 1, MTIME, MTIME + 1, 5, 7, 8, SIZE];
        let now = numbers(metadata, entry.mode());
        COMPARED.iter().all(|&at| entry.numbers[at] == now[at]) && !self.is_racy(entry)
    }

    /// Whether a file could have been edited after its entry was written without a change of its times.
    fn is_racy(&self, entry: &IndexEntry) -> bool {
        let written = self.source.map_or((0, 0), |stamp| stamp.modified);
        let seconds = i64::from(entry.numbers[MTIME]);
        let nanoseconds = i64::from(entry.numbers[MTIME + 1]);
        (seconds, nanoseconds) >= (low(written.0.cast_unsigned()).into(), written.1)
    }

    /// Entries that a newer index would vouch for although their files may have been edited in the moment in which the old
    /// one was written: git has to compare them anew.
    fn distrust_racy(&mut self, root: &Path) {
        const MOST_READ: usize = 200;
        const SUBMODULE: u32 = 0o160_000;
        let mut read = 0;
        let folder = Folder {
            root: root.to_owned(),
        };
        let racy: Vec<_> = self
            .file
            .entries()
            // a submodule's entry is compared by its commit
            .filter(|(_, entry)| entry.mode() != SUBMODULE)
            .filter(|(_, entry)| self.is_racy(entry) && entry.numbers[SIZE] != 0)
            .map(|(name, entry)| (name.to_vec(), entry.id()))
            .collect();
        let doubtful: Vec<Vec<u8>> = racy
            .into_iter()
            .filter(|(name, id)| {
                read += 1;
                read > MOST_READ || !holds_blob(&folder, name, *id)
            })
            .map(|(name, _)| name)
            .collect();
        self.file.distrust(|name, _| {
            doubtful
                .binary_search_by(|other| other.as_slice().cmp(name))
                .is_ok()
        });
    }
}

fn holds_blob(folder: &Folder, name: &[u8], id: [u8; 20]) -> bool {
    use super::files::Files;
    let path = std::str::from_utf8(name)
        .ok()
        .and_then(|name| TreePath::new(name).ok());
    let found = path.and_then(|path| folder.find(&path).ok());
    let bytes = found.and_then(super::files::Found::file);
    bytes.is_some_and(|file| blob_id(&file.bytes).as_bytes() == id)
}

/// git stores the low 32 bits of each number.
fn low(number: u64) -> u32 {
    (number & 0xffff_ffff) as u32
}

fn numbers(metadata: &Metadata, mode: u32) -> Numbers {
    let mut numbers = [
        low(metadata.ctime().cast_unsigned()),
        low(metadata.ctime_nsec().cast_unsigned()),
        low(metadata.mtime().cast_unsigned()),
        low(metadata.mtime_nsec().cast_unsigned()),
        low(metadata.dev()),
        low(metadata.ino()),
        0,
        metadata.uid(),
        metadata.gid(),
        low(metadata.len()),
    ];
    numbers[MODE] = mode;
    numbers
}

/// The numbers of a file as it is now; none but the mode where it is not there.
fn numbers_of(checkout: &Checkout, file: &FileMove, mode: u32) -> Numbers {
    let path = file.versions.path.under(&checkout.root);
    let mut nothing = Numbers::default();
    nothing[MODE] = mode;
    path.symlink_metadata()
        .map_or(nothing, |metadata| numbers(&metadata, mode))
}

/// The next index, computed and with room on the disk, before anything else has changed.
pub(super) struct Prepared {
    written: Written,
    source: Option<Stamp>,
}

/// Where the next index waits.
fn staged(checkout: &Checkout) -> PathBuf {
    checkout.state.file("index.new")
}

fn live(checkout: &Checkout) -> PathBuf {
    checkout.repository.path().join("index")
}

/// git's own lock on the index.
fn lock(checkout: &Checkout) -> PathBuf {
    checkout.repository.path().join("index.lock")
}

/// Computes the next index and writes it beside the one in use. What a file will be like is not known yet.
pub(super) fn prepare(checkout: &Checkout, files: &[FileMove]) -> Result<Prepared, EngineError> {
    let path = staged(checkout);
    clear(checkout)?;
    let mut index = match checkout.index.take() {
        Some(index) if index.is_current(checkout) => index,
        _ => Index::read(checkout.repository.path())?,
    };
    index.distrust_racy(&checkout.root);
    let mut edits = BTreeMap::new();
    for file in files {
        let edit = match &file.versions.after {
            None => Edit::Remove,
            Some(after) => {
                let mode = after.mode.number().cast_unsigned();
                let id = Oid::from_str(&after.blob)
                    .map_err(EngineError::git("set an entry of the index"))?;
                let mut bytes = [0; file::ID];
                bytes.copy_from_slice(id.as_bytes());
                Edit::Set {
                    numbers: numbers_of(checkout, file, mode),
                    id: bytes,
                }
            }
        };
        edits.insert(file.versions.path.as_str().as_bytes().to_vec(), edit);
    }
    let written = index.file.write(&edits)?;
    let write = || -> std::io::Result<()> {
        fault::step()?;
        let mut open = std::fs::File::create_new(&path)?;
        // git's index is as private as the one that it replaces
        if let Ok(present) = live(checkout).metadata() {
            open.set_permissions(present.permissions())?;
        }
        open.write_all(&written.bytes)?;
        open.write_all(&[0; file::ID])
    };
    write().map_err(EngineError::storage("write", &path))?;
    Ok(Prepared {
        written,
        source: index.source,
    })
}

/// Whether the index in use has the content of all these files already.
pub(super) fn holds(checkout: &Checkout, files: &[FileMove]) -> Result<bool, EngineError> {
    let index = Index::read(checkout.repository.path())?;
    Ok(files.iter().all(
        |file| match (&file.versions.after, index.find(&file.versions.path)) {
            (None, None) => true,
            (Some(after), Some(entry)) => {
                hex::encode(entry.id()) == after.blob
                    && entry.mode() == after.mode.number().cast_unsigned()
            }
            _ => false,
        },
    ))
}

/// Puts the next index in the place of the one in use, under git's lock.
pub(super) fn replace(
    checkout: &Checkout,
    files: &[FileMove],
    prepared: Option<Prepared>,
) -> Result<(), EngineError> {
    let (staged, lock, live) = (staged(checkout), lock(checkout), live(checkout));
    let mut prepared = match prepared {
        Some(prepared) if staged.exists() => prepared,
        _ => prepare(checkout, files)?,
    };
    loop {
        take_lock(&staged, &lock)?;
        if live.metadata().ok().as_ref().map(Stamp::of) == prepared.source {
            break;
        }
        // git wrote the index in between: begin again from what it holds now
        release(&lock)?;
        prepared = prepare(checkout, files)?;
    }
    let finish = |prepared: &mut Prepared| -> std::io::Result<()> {
        for file in files {
            if let Some(after) = &file.versions.after {
                let mode = after.mode.number().cast_unsigned();
                let numbers = numbers_of(checkout, file, mode);
                let path = file.versions.path.as_str().as_bytes();
                prepared.written.renew(path, numbers);
            }
        }
        fault::step()?;
        write_again(&staged, &prepared.written)?;
        fault::step()?;
        std::fs::rename(&lock, &live)
    };
    if let Err(error) = finish(&mut prepared) {
        let _ = std::fs::remove_file(&lock);
        return Err(EngineError::storage("replace", &live)(error));
    }
    clear(checkout)
}

/// A hard link fails where the lock exists, and tells by its inode whose lock it is.
fn take_lock(staged: &Path, lock: &Path) -> Result<(), EngineError> {
    match fault::step().and_then(|()| std::fs::hard_link(staged, lock)) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(EngineError::IndexLocked(lock.to_owned()))
        }
        other => other.map_err(EngineError::storage("lock", lock)),
    }
}

fn release(lock: &Path) -> Result<(), EngineError> {
    fault::step()
        .and_then(|()| std::fs::remove_file(lock))
        .map_err(EngineError::storage("remove", lock))
}

/// Writes the numbers that have become known, and the checksum, into the file that was staged: it takes no more room.
fn write_again(staged: &Path, written: &Written) -> std::io::Result<()> {
    let mut open = std::fs::OpenOptions::new().write(true).open(staged)?;
    for &at in written.places.values() {
        open.seek(SeekFrom::Start(at as u64))?;
        open.write_all(&written.bytes[at..at + 40])?;
    }
    open.seek(SeekFrom::Start(written.bytes.len() as u64))?;
    open.write_all(&written.checksum())
}

/// Removes what was staged.
pub(super) fn clear(checkout: &Checkout) -> Result<(), EngineError> {
    let path = staged(checkout);
    if path.exists() {
        fault::step()
            .and_then(|()| std::fs::remove_file(&path))
            .map_err(EngineError::storage("remove", &path))?;
    }
    Ok(())
}

/// Releases git's lock if it is one that an interrupted run of ours took.
pub(super) fn release_stale_lock(checkout: &Checkout) -> Result<(), EngineError> {
    let (lock, staged) = (lock(checkout), staged(checkout));
    let (Ok(locked), Ok(ours)) = (lock.metadata(), staged.metadata()) else {
        return Ok(());
    };
    if (locked.dev(), locked.ino()) == (ours.dev(), ours.ino()) {
        release(&lock)?;
    }
    Ok(())
}
