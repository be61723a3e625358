//! Unpacks an archive into a folder, refusing all that would leave it or swamp the disk.
//!
//! Links are made last, after every file, so that no file can be written through one.
mod entry;
mod limits;
mod tarball;
mod zipped;

pub use entry::{EntryName, LinkTarget, Refusal};
pub use limits::Limits;

use crate::error::StorageError;
use crate::progress::Progress;
use crate::run::process::interrupted;
use limits::Meter;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

/// An archive could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The name does not say which kind of archive it is.
    #[error("{} is no archive that umpatch reads", path.display())]
    UnknownKind {
        /// The archive.
        path: PathBuf,
    },
    /// The archive, or what it unpacks to, cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The archive is cut or damaged.
    #[error("{} is damaged or cut short", path.display())]
    Damaged {
        /// The archive.
        path: PathBuf,
        /// Where reading stopped.
        #[source]
        source: std::io::Error,
    },
    /// One entry is refused; nothing of the archive is kept.
    #[error("{} is refused", path.display())]
    Refused {
        /// The archive.
        path: PathBuf,
        /// Why.
        #[source]
        reason: Refusal,
    },
    /// The user interrupted.
    #[error("interrupted while unpacking")]
    Interrupted,
}

/// The kinds of archives, by their name's ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `.tar`
    Tar,
    /// `.tar.gz`, `.tgz`
    Gzip,
    /// `.tar.xz`, `.txz`
    Xz,
    /// `.zip`
    Zip,
}

/// The endings that [`Kind::of`] knows.
pub const ENDINGS: [(&str, Kind); 6] = [
    (".tar", Kind::Tar),
    (".tar.gz", Kind::Gzip),
    (".tgz", Kind::Gzip),
    (".tar.xz", Kind::Xz),
    (".txz", Kind::Xz),
    (".zip", Kind::Zip),
];

impl Kind {
    /// The kind that a file name's ending tells.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        ENDINGS
            .iter()
            .find(|(ending, _)| name.ends_with(ending))
            .map(|(_, kind)| *kind)
    }
}

/// Unpacks `archive` into the folder `into`, which must exist and be empty, without the one folder that holds all else.
///
/// # Errors
/// When the archive is damaged, something in it is refused, or the disk cannot take it. What was written until then is left
/// to the caller, who unpacks into a staging folder.
pub fn unpack(
    archive: &Path,
    into: &Path,
    limits: Limits,
    progress: &dyn Progress,
) -> Result<(), ArchiveError> {
    let kind = Kind::of(archive).ok_or_else(|| ArchiveError::UnknownKind {
        path: archive.to_owned(),
    })?;
    let file = std::fs::File::open(archive).map_err(StorageError::at("read", archive))?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let mut unpacker = Unpacker {
        archive,
        into,
        meter: Meter::new(limits, size),
        links: BTreeMap::new(),
        progress,
    };
    match kind {
        Kind::Zip => zipped::read(file, &mut unpacker)?,
        Kind::Tar | Kind::Gzip | Kind::Xz => tarball::read(file, kind, &mut unpacker)?,
    }
    unpacker.finish()
}

/// Writes what a reader of one kind of archive finds.
struct Unpacker<'a> {
    archive: &'a Path,
    into: &'a Path,
    meter: Meter,
    /// Links to make at the end, with the text that they hold.
    links: BTreeMap<EntryName, LinkTarget>,
    progress: &'a dyn Progress,
}

/// Whether a file may be run, the one permission that git keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Executable {
    Yes,
    No,
}

impl Unpacker<'_> {
    fn refuse(&self, reason: Refusal) -> ArchiveError {
        ArchiveError::Refused {
            path: self.archive.to_owned(),
            reason,
        }
    }

    fn damaged(&self, source: std::io::Error) -> ArchiveError {
        ArchiveError::Damaged {
            path: self.archive.to_owned(),
            source,
        }
    }

    /// Counts one entry; called for each before anything else.
    fn entry(&mut self) -> Result<(), ArchiveError> {
        if interrupted() {
            return Err(ArchiveError::Interrupted);
        }
        self.meter.entry().map_err(|reason| self.refuse(reason))?;
        self.progress.advance(self.meter.entries(), 0);
        Ok(())
    }

    fn folder(&mut self, name: &EntryName) -> Result<(), ArchiveError> {
        let path = self.into.join(name.as_path());
        std::fs::create_dir_all(&path).map_err(StorageError::at("write", &path))?;
        Ok(())
    }

    fn file(
        &mut self,
        name: &EntryName,
        executable: Executable,
        contents: &mut dyn Read,
    ) -> Result<(), ArchiveError> {
        let path = self.into.join(name.as_path());
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(StorageError::at("write", parent))?;
        }
        let mode = match executable {
            Executable::Yes => 0o755,
            Executable::No => 0o644,
        };
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode)
            .open(&path)
            .map_err(StorageError::at("write", &path))?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = contents
                .read(&mut buffer)
                .map_err(|source| self.damaged(source))?;
            if count == 0 {
                return Ok(());
            }
            self.meter
                .bytes(name, count as u64)
                .map_err(|reason| self.refuse(reason))?;
            file.write_all(&buffer[..count])
                .map_err(StorageError::at("write", &path))?;
        }
    }

    fn link(&mut self, name: EntryName, target: LinkTarget) {
        self.links.insert(name, target);
    }

    /// A second name of a file that came before.
    fn hard_link(&mut self, name: &EntryName, first: &EntryName) -> Result<(), ArchiveError> {
        let path = self.into.join(first.as_path());
        let is_file = std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
        if !is_file {
            return Err(self.refuse(Refusal::LinkToNothing {
                name: name.to_string(),
                target: first.to_string(),
            }));
        }
        let executable = std::fs::metadata(&path).map_or(Executable::No, |metadata| {
            use std::os::unix::fs::PermissionsExt;
            if metadata.permissions().mode() & 0o100 == 0 {
                Executable::No
            } else {
                Executable::Yes
            }
        });
        let mut source = std::fs::File::open(&path).map_err(StorageError::at("read", &path))?;
        self.file(name, executable, &mut source)
    }

    /// Drops the one folder around everything, if there is one, and makes the links.
    fn finish(self) -> Result<(), ArchiveError> {
        let around = self.strip_folder_around()?;
        let mut made: Vec<PathBuf> = Vec::new();
        for (name, target) in &self.links {
            let name = match &around {
                // a link beside the folder around everything: then it is not around everything
                Some(folder) => name.below(folder),
                None => Some(name.clone()),
            };
            let Some(name) = name else { continue };
            target
                .stays_inside(&name)
                .map_err(|reason| self.refuse(reason))?;
            let path = self.into.join(name.as_path());
            let through = made.iter().any(|link| name.below(link).is_some());
            if through || std::fs::symlink_metadata(&path).is_ok() {
                return Err(self.refuse(Refusal::Twice {
                    name: name.to_string(),
                }));
            }
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(StorageError::at("write", parent))?;
            }
            made.push(name.as_path().to_owned());
            symlink(target.as_path(), &path).map_err(StorageError::at("write", &path))?;
        }
        Ok(())
    }

    /// Moves the contents of the only folder at the top one level up. Gives its name.
    fn strip_folder_around(&self) -> Result<Option<PathBuf>, ArchiveError> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.into).map_err(StorageError::at("read", self.into))? {
            names.push(
                entry
                    .map_err(StorageError::at("read", self.into))?
                    .file_name(),
            );
        }
        let [name] = names.as_slice() else {
            return Ok(None);
        };
        let folder = self.into.join(name);
        let beside = self
            .links
            .keys()
            .any(|link| link.below(Path::new(name)).is_none());
        if beside || !folder.is_dir() {
            return Ok(None);
        }
        // renamed first, for the folder may hold one of its own name
        let holder = tempfile::Builder::new()
            .prefix(".around-")
            .tempdir_in(self.into)
            .map_err(StorageError::at("write", self.into))?;
        let moved = holder.path().join("all");
        std::fs::rename(&folder, &moved).map_err(StorageError::at("write", &folder))?;
        for entry in std::fs::read_dir(&moved).map_err(StorageError::at("read", &moved))? {
            let entry = entry.map_err(StorageError::at("read", &moved))?;
            let target = self.into.join(entry.file_name());
            std::fs::rename(entry.path(), &target).map_err(StorageError::at("write", &target))?;
        }
        Ok(Some(PathBuf::from(name)))
    }
}

#[cfg(test)]
mod tests;
