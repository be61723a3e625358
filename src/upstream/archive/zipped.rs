//! Reads zip archives.
use super::entry::{EntryName, LinkTarget, Named};
use super::{ArchiveError, Executable, Unpacker};
use std::fs::File;
use std::io::{BufReader, Read};
use zip::ZipArchive;
use zip::result::ZipError;

/// The longest text of a link that is read, in bytes: what the system allows for a path.
const LONGEST_LINK: u64 = 4096;

pub(super) fn read(file: File, unpacker: &mut Unpacker<'_>) -> Result<(), ArchiveError> {
    let mut archive = ZipArchive::new(BufReader::with_capacity(1 << 18, file))
        .map_err(|error| unpacker.damaged(into_io(error)))?;
    for index in 0..archive.len() {
        unpacker.entry()?;
        let mut entry = archive
            .by_index(index)
            .map_err(|error| unpacker.damaged(into_io(error)))?;
        let name =
            match EntryName::parse(entry.name_raw()).map_err(|reason| unpacker.refuse(reason))? {
                Named::Entry(name) => name,
                Named::Top | Named::Repository => continue,
            };
        if entry.is_dir() {
            unpacker.folder(&name)?;
        } else if entry.is_symlink() {
            let mut target = Vec::new();
            entry
                .by_ref()
                .take(LONGEST_LINK)
                .read_to_end(&mut target)
                .map_err(|source| unpacker.damaged(source))?;
            unpacker.link(name, LinkTarget::new(&target));
        } else {
            let executable = match entry.unix_mode() {
                Some(mode) if mode & 0o100 != 0 => Executable::Yes,
                _ => Executable::No,
            };
            unpacker.file(&name, executable, &mut entry)?;
        }
    }
    Ok(())
}

fn into_io(error: ZipError) -> std::io::Error {
    match error {
        ZipError::Io(error) => error,
        other => std::io::Error::new(std::io::ErrorKind::InvalidData, other),
    }
}
