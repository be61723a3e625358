//! The trees in our cache: `cache/trees/VERSION-ID`, a record of its origin in each, and a pointer to the one fetched last.
//!
//! A tree is made in a staging folder and renamed: whatever has a tree's name is complete.
use super::apt::Listing;
use super::base_commit::GIT;
use super::checksum::Checksum;
use super::error::UpstreamError;
use super::tree::Tree;
use super::version::Version;
use crate::paths;
use crate::progress::Progress;
use crate::run::process::interrupted;
use fs4::fs_std::FileExt;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The record of a tree's origin, in its repository's own folder, where no patch or build looks.
const RECORD: &str = "umpatch-origin.json";
/// How a staging folder's name begins.
const STAGING: &str = ".staging-";
/// The pointer to the tree that was fetched last.
const LAST: &str = "last";

/// Where a tree came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "provider", rename_all = "kebab-case")]
pub enum Origin {
    /// A source package.
    Debian {
        /// What was listed.
        #[serde(flatten)]
        listing: Listing,
        /// Of the upstream tarball.
        sha256: Checksum,
    },
    /// A git repository.
    Git {
        /// Its address or path.
        address: String,
        /// What was asked for.
        reference: String,
    },
    /// An archive.
    Archive {
        /// Its file name.
        name: String,
        /// Of its bytes.
        sha256: Checksum,
    },
    /// A folder that is used in place.
    Folder,
}

/// What is kept about a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Where it came from.
    pub origin: Origin,
    /// The release, where the origin says it: a tree's own `version.txt` does not tell 2.1.0 from 2.1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Version>,
    /// The commit that holds it as it came.
    pub base: String,
}

/// A tree in the cache with its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cached {
    /// The tree as it is now.
    pub tree: Tree,
    /// What was kept when it came.
    #[serde(flatten)]
    pub record: Record,
}

/// The folder of all fetched trees.
pub(super) fn trees() -> PathBuf {
    paths::cache().join("trees")
}

/// Keeps two runs from writing to the store at once; released when dropped or when the process ends.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code)] std::fs::File);

impl Lock {
    /// Waits for the lock, and clears what a run that was cut left behind.
    pub(super) fn acquire(progress: &dyn Progress) -> Result<Self, UpstreamError> {
        let folder = trees();
        std::fs::create_dir_all(&folder).map_err(UpstreamError::storage("write", &folder))?;
        let path = folder.join(".lock");
        let at = || UpstreamError::storage("lock", &path);
        let file = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(at())?;
        let mut told = false;
        while !FileExt::try_lock_exclusive(&file).map_err(at())? {
            if !told {
                progress.note("another umpatch fetches a tree; waiting for it");
                told = true;
            }
            if interrupted() {
                return Err(UpstreamError::Interrupted);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        clear_staging(&folder);
        Ok(Self(file))
    }
}

/// Removes staging folders: under the lock nobody uses one.
fn clear_staging(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(STAGING) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A new folder to make a tree in.
pub(super) fn staging() -> Result<TempDir, UpstreamError> {
    let folder = trees();
    tempfile::Builder::new()
        .prefix(STAGING)
        .tempdir_in(&folder)
        .map_err(UpstreamError::storage("write", folder))
}

/// Gives the tree in a staging folder its name, and makes it the last fetched. A tree of this name that is already there
/// and sound is kept as it is, for work may have been done in it.
pub(super) fn adopt(
    staging: TempDir,
    tree: &Tree,
    record: Record,
) -> Result<Cached, UpstreamError> {
    write_record(staging.path(), &record)?;
    let short = record.base.get(..10).unwrap_or(&record.base);
    let version = record
        .release
        .as_ref()
        .map_or_else(|| tree.version.clone(), Version::to_string);
    let name = format!("{version}-{short}");
    let target = trees().join(&name);
    if read(&target).is_some() {
        // the same bytes by another way: the newest way counts
        write_record(&target, &record)?;
        remember(Path::new(&name))?;
        return Ok(Cached {
            tree: Tree::read(&target)?,
            record,
        });
    }
    if target.exists() {
        let trash = self::staging()?;
        let moved = trash.path().join("damaged");
        std::fs::rename(&target, moved).map_err(UpstreamError::storage("replace", &target))?;
    }
    std::fs::rename(staging.path(), &target).map_err(UpstreamError::storage("write", &target))?;
    // the folder has moved: nothing is left to clean up
    let _ = staging.keep();
    remember(Path::new(&name))?;
    Ok(Cached {
        tree: Tree::read(&target)?,
        record,
    })
}

fn write_record(tree: &Path, record: &Record) -> Result<(), UpstreamError> {
    let folder = tree.join(GIT);
    let path = folder.join(RECORD);
    let written = serde_json::to_vec_pretty(record)
        .map_err(std::io::Error::other)
        .and_then(|json| {
            let mut file = tempfile::NamedTempFile::new_in(&folder)?;
            std::io::Write::write_all(&mut file, &json)?;
            file.persist(&path).map_err(|error| error.error)
        });
    written
        .map(|_| ())
        .map_err(UpstreamError::storage("write", path))
}

/// The record in a tree, if it is one that we brought.
pub(super) fn record(tree: &Path) -> Option<Record> {
    let text = std::fs::read_to_string(tree.join(GIT).join(RECORD)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Makes a tree the last fetched, by its name in the store or by its absolute path.
pub(super) fn remember(tree: &Path) -> Result<(), UpstreamError> {
    use std::io::Write;
    use std::os::unix::ffi::OsStrExt;
    let folder = trees();
    let target = folder.join(LAST);
    let written = tempfile::Builder::new()
        .prefix(STAGING)
        .tempfile_in(&folder)
        .and_then(|mut file| {
            file.write_all(tree.as_os_str().as_bytes())?;
            file.persist(&target).map_err(|error| error.error)
        });
    written
        .map(|_| ())
        .map_err(UpstreamError::storage("write", target))
}

/// The tree of that folder, if it is one of ours and sound.
fn read(path: &Path) -> Option<Cached> {
    let record = record(path)?;
    let tree = Tree::read(path).ok()?;
    tree.commit.as_ref()?;
    Some(Cached { tree, record })
}

/// Every sound tree in the cache, by name.
#[must_use]
pub fn cached() -> Vec<Cached> {
    let Ok(entries) = std::fs::read_dir(trees()) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| !name.to_string_lossy().starts_with('.'))
        })
        .filter_map(|path| read(path))
        .collect()
}

/// The tree that `fetch` brought last, if there is one and it is still there.
///
/// # Errors
/// When the pointer cannot be read, or what it points to is no longer a PyTorch tree.
pub fn last_fetched() -> Result<Option<Tree>, UpstreamError> {
    let pointer = trees().join(LAST);
    let text = match std::fs::read_to_string(&pointer) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(UpstreamError::storage("read", pointer)(source)),
    };
    let path = trees().join(text.trim_end_matches('\n'));
    if !path.is_dir() {
        return Ok(None);
    }
    Tree::read(&path).map(Some)
}
