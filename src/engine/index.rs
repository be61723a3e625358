//! The index: entries of the files that changed are replaced, all others keep their bytes; written beside, then renamed.
use super::checkout::{Checkout, is_left_out};
use super::switch::FileMove;
use super::{EngineError, fault};
use git2::{Index, IndexEntry, IndexTime, Oid};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

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

/// Writes the index as it will be, beside the one in use.
pub(super) fn stage(checkout: &Checkout, files: &[FileMove]) -> Result<(), EngineError> {
    let path = staged(checkout);
    clear(checkout)?;
    let copy = || -> std::io::Result<()> {
        fault::step()?;
        match std::fs::copy(live(checkout), &path) {
            Err(error) if super::files::is_absent(&error) => Ok(()),
            other => other.map(|_| ()),
        }
    };
    copy().map_err(EngineError::storage("write", &path))?;
    let mut index = Index::open(&path).map_err(EngineError::git("read the index"))?;
    for file in files {
        let tree_path = &file.versions.path;
        let present = index.get_path(tree_path.as_path(), 0);
        match &file.versions.after {
            Some(after) => {
                let editing = || EngineError::git(format!("set the index entry of {tree_path}"));
                let id = Oid::from_str(&after.blob).map_err(editing())?;
                let entry = entry(checkout, file, id, present.as_ref());
                index.add(&entry).map_err(editing())?;
            }
            None if present.is_some() => {
                let editing = EngineError::git(format!("remove the index entry of {tree_path}"));
                index.remove(tree_path.as_path(), 0).map_err(editing)?;
            }
            None => {}
        }
    }
    fault::step().map_err(EngineError::storage("write", &path))?;
    index.write().map_err(EngineError::git("write the index"))
}

/// Whether the index in use has the content of all these files already.
pub(super) fn holds(checkout: &Checkout, files: &[FileMove]) -> Result<bool, EngineError> {
    let index = Index::open(&live(checkout)).map_err(EngineError::git("read the index"))?;
    Ok(files.iter().all(|file| {
        let entry = index.get_path(file.versions.path.as_path(), 0);
        match (&file.versions.after, entry) {
            (None, None) => true,
            (Some(after), Some(entry)) => {
                entry.id.to_string() == after.blob
                    && entry.mode == after.mode.number().cast_unsigned()
            }
            _ => false,
        }
    }))
}

/// An entry with the times of the file as it is now; of no times where the file is not there.
fn entry(
    checkout: &Checkout,
    file: &FileMove,
    id: Oid,
    present: Option<&IndexEntry>,
) -> IndexEntry {
    const ASSUME_VALID: u16 = 1 << 15;
    let path = &file.versions.path;
    let mode = file
        .versions
        .after
        .as_ref()
        .map_or(0, |after| after.mode.number().cast_unsigned());
    let name_length = u16::try_from(path.as_str().len())
        .unwrap_or(u16::MAX)
        .min(0xfff);
    let kept = present.map_or(0, |entry| entry.flags & ASSUME_VALID);
    let left_out = present.filter(|entry| is_left_out(entry));
    let mut entry = IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: name_length | kept,
        flags_extended: left_out.map_or(0, |entry| entry.flags_extended),
        path: path.as_str().as_bytes().to_vec(),
    };
    if let Ok(metadata) = path.under(&checkout.root).symlink_metadata() {
        // git stores the low 32 bits of each
        let low = |number: u64| (number & 0xffff_ffff) as u32;
        let time = |seconds: i64, nanoseconds: i64| {
            IndexTime::new(
                low(seconds.cast_unsigned()).cast_signed(),
                low(nanoseconds.cast_unsigned()),
            )
        };
        entry.ctime = time(metadata.ctime(), metadata.ctime_nsec());
        entry.mtime = time(metadata.mtime(), metadata.mtime_nsec());
        entry.dev = low(metadata.dev());
        entry.ino = low(metadata.ino());
        entry.uid = metadata.uid();
        entry.gid = metadata.gid();
        entry.file_size = low(metadata.len());
    }
    entry
}

/// Puts the staged index in the place of the one in use, under git's lock.
pub(super) fn replace(checkout: &Checkout) -> Result<(), EngineError> {
    let (staged, lock, live) = (staged(checkout), lock(checkout), live(checkout));
    let take = || {
        fault::step()?;
        // a hard link fails where the lock exists, and tells by its inode whose lock it is
        std::fs::hard_link(&staged, &lock)
    };
    match take() {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(EngineError::IndexLocked(lock));
        }
        other => other.map_err(EngineError::storage("lock", &lock))?,
    }
    let rename = || {
        fault::step()?;
        std::fs::rename(&lock, &live)
    };
    if let Err(error) = rename() {
        let _ = std::fs::remove_file(&lock);
        return Err(EngineError::storage("replace", &live)(error));
    }
    clear(checkout)
}

/// Removes what was staged.
pub(super) fn clear(checkout: &Checkout) -> Result<(), EngineError> {
    for path in [staged(checkout), checkout.state.file("index.new.lock")] {
        let remove = || {
            fault::step()?;
            std::fs::remove_file(&path)
        };
        if path.exists() {
            remove().map_err(EngineError::storage("remove", &path))?;
        }
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
        fault::step()
            .and_then(|()| std::fs::remove_file(&lock))
            .map_err(EngineError::storage("remove", &lock))?;
    }
    Ok(())
}
