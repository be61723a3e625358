//! The bundle as one compressed file: sorted, with one fixed time, owner and mode, so that the same files give the same bytes.
use super::BundleError;
use std::collections::BTreeMap;
use std::path::Path;

/// zstd's level: the files are small, and the same level everywhere gives the same bytes.
const LEVEL: i32 = 19;

/// The archive of these files below a folder `name`.
///
/// # Errors
/// When a path is too long for an archive.
pub(super) fn pack(name: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, BundleError> {
    let packing = || BundleError::storage("pack", name);
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_entry_type(tar::EntryType::Regular);
        builder
            .append_data(&mut header, format!("{name}/{path}"), bytes.as_slice())
            .map_err(packing())?;
    }
    let bytes = builder.into_inner().map_err(packing())?;
    zstd::encode_all(bytes.as_slice(), LEVEL).map_err(packing())
}

/// Unpacks an archive into a folder; gives the names of the folders at its top.
///
/// # Errors
/// When it cannot be read, or an entry would leave the folder.
pub(super) fn unpack(archive: &Path, folder: &Path) -> Result<Vec<String>, BundleError> {
    let reading = || BundleError::storage("read", archive);
    let file = std::fs::File::open(archive).map_err(reading())?;
    let decoder = zstd::Decoder::new(file).map_err(reading())?;
    let mut tar = tar::Archive::new(std::io::Read::take(decoder, LIMIT));
    tar.set_preserve_permissions(false);
    tar.set_preserve_mtime(false);
    for entry in tar.entries().map_err(reading())? {
        let mut entry = entry.map_err(reading())?;
        let is_file = entry.header().entry_type().is_file();
        // links and devices have no place in a bundle; the library refuses paths that leave the folder
        if !is_file || !entry.unpack_in(folder).map_err(reading())? {
            return Err(BundleError::NoBundle {
                path: archive.to_owned(),
                reason: "it holds an entry that is no plain file below one folder".to_owned(),
            });
        }
    }
    let entries = std::fs::read_dir(folder).map_err(reading())?;
    Ok(entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect())
}

/// No bundle is larger when it is unpacked.
const LIMIT: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_bytes_and_come_out_again() {
        let files = BTreeMap::from([
            ("b.txt".to_owned(), b"two".to_vec()),
            ("a/c.txt".to_owned(), b"one\n".repeat(1000)),
        ]);
        let packed = pack("x-1", &files).unwrap();
        assert_eq!(packed, pack("x-1", &files.clone()).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.tar.zst");
        std::fs::write(&file, &packed).unwrap();
        let out = tempfile::tempdir().unwrap();
        assert_eq!(unpack(&file, out.path()).unwrap(), ["x-1"]);
        assert_eq!(std::fs::read(out.path().join("x-1/b.txt")).unwrap(), b"two");
        std::fs::write(&file, &packed[..packed.len() / 2]).unwrap();
        assert!(unpack(&file, tempfile::tempdir().unwrap().path()).is_err());
    }

    #[test]
    fn an_entry_that_is_no_plain_file_is_refused() {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        builder
            .append_link(&mut header, "x/link", "/etc/passwd")
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.tar.zst");
        let bytes = builder.into_inner().unwrap();
        std::fs::write(&file, zstd::encode_all(bytes.as_slice(), 1).unwrap()).unwrap();
        let out = tempfile::tempdir().unwrap();
        assert!(unpack(&file, out.path()).is_err());
        assert!(!out.path().join("x/link").exists());
    }
}
