//! Reads tar archives, plain or compressed.
use super::entry::{EntryName, LinkTarget, Named, Refusal};
use super::{ArchiveError, Executable, Kind, Unpacker};
use std::fs::File;
use std::io::{BufReader, Read};
use tar::EntryType;
use xz2::stream::{CONCATENATED, Stream};

/// How much memory an xz stream may ask for, in bytes.
const XZ_MEMORY: u64 = 512 << 20;

pub(super) fn read(
    file: File,
    kind: Kind,
    unpacker: &mut Unpacker<'_>,
) -> Result<(), ArchiveError> {
    let file = BufReader::with_capacity(1 << 18, file);
    match kind {
        Kind::Gzip => entries(flate2::bufread::MultiGzDecoder::new(file), unpacker),
        Kind::Xz => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)
                .map_err(|error| unpacker.damaged(error.into()))?;
            entries(xz2::bufread::XzDecoder::new_stream(file, stream), unpacker)
        }
        Kind::Tar | Kind::Zip => entries(file, unpacker),
    }
}

fn entries(reader: impl Read, unpacker: &mut Unpacker<'_>) -> Result<(), ArchiveError> {
    let mut archive = tar::Archive::new(reader);
    let mut any = false;
    let all = archive
        .entries()
        .map_err(|source| unpacker.damaged(source))?;
    for entry in all {
        let mut entry = entry.map_err(|source| unpacker.damaged(source))?;
        any = true;
        unpacker.entry()?;
        let raw = entry.path_bytes().into_owned();
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XGlobalHeader) {
            continue;
        }
        let name = match EntryName::parse(&raw).map_err(|reason| unpacker.refuse(reason))? {
            Named::Entry(name) => name,
            Named::Top | Named::Repository => continue,
        };
        let target = || {
            entry
                .link_name_bytes()
                .map(std::borrow::Cow::into_owned)
                .unwrap_or_default()
        };
        match kind {
            EntryType::Directory => unpacker.folder(&name)?,
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let mode = entry.header().mode().unwrap_or(0o644);
                let executable = if mode & 0o100 == 0 {
                    Executable::No
                } else {
                    Executable::Yes
                };
                unpacker.file(&name, executable, &mut entry)?;
            }
            EntryType::Symlink => unpacker.link(name, LinkTarget::new(&target())),
            EntryType::Link => {
                let first =
                    EntryName::parse(&target()).map_err(|reason| unpacker.refuse(reason))?;
                let Named::Entry(first) = first else {
                    return Err(unpacker.refuse(Refusal::LinkToNothing {
                        name: name.to_string(),
                        target: String::from_utf8_lossy(&target()).into_owned(),
                    }));
                };
                unpacker.hard_link(&name, &first)?;
            }
            _ => {
                return Err(unpacker.refuse(Refusal::Special {
                    name: name.to_string(),
                }));
            }
        }
    }
    if !any {
        let empty = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "it holds no entry");
        return Err(unpacker.damaged(empty));
    }
    // the compressed stream's own checksum comes after the last entry
    std::io::copy(&mut archive.into_inner(), &mut std::io::sink())
        .map(|_| ())
        .map_err(|source| unpacker.damaged(source))
}
