//! The files that travel inside the binary: the harness, the patches, the controls and the mutants.
//!
//! They are written once into the cache, in a folder named by their content, so that an installed binary works without a
//! checkout. `UMPATCH_SHARE=CHECKOUT` uses a checkout's own folders instead.
use crate::error::Explain;
use crate::exit::Exit;
use crate::paths;
use include_dir::{Dir, DirEntry, include_dir};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static EMBEDDED: [(&str, Dir<'_>); 4] = [
    ("harness", include_dir!("$CARGO_MANIFEST_DIR/harness")),
    ("patches", include_dir!("$CARGO_MANIFEST_DIR/patches")),
    (
        "fixtures/controls",
        include_dir!("$CARGO_MANIFEST_DIR/fixtures/controls"),
    ),
    (
        "fixtures/mutants",
        include_dir!("$CARGO_MANIFEST_DIR/fixtures/mutants"),
    ),
];

/// The embedded files could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write umpatch's own files to {}", path.display())]
pub struct ShareError {
    /// The folder or file.
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

impl Explain for ShareError {
    fn exit(&self) -> Exit {
        Exit::PatchOrBuildFailed
    }
    fn hints(&self) -> Vec<String> {
        vec![format!(
            "make {} writable, free some space there, or set UMPATCH_CACHE to another folder",
            paths::cache().display()
        )]
    }
}

/// The folder that holds `harness/`, `patches/`, `fixtures/controls/` and `fixtures/mutants/`.
///
/// # Errors
/// When the cache cannot be written.
pub fn root() -> Result<PathBuf, ShareError> {
    if let Some(checkout) = std::env::var_os("UMPATCH_SHARE").filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(checkout));
    }
    let folder = paths::cache().join("share").join(digest());
    if !folder.is_dir() {
        write_all(&folder)?;
    }
    Ok(folder)
}

/// How the files are written; a change here makes the folders of older binaries stale.
const LAYOUT: &[u8] = b"scripts are executable";

/// SHA-256 of all embedded paths and bytes, shortened.
fn digest() -> &'static str {
    static DIGEST: OnceLock<String> = OnceLock::new();
    DIGEST.get_or_init(|| {
        let mut hasher = Sha256::new();
        hasher.update(LAYOUT);
        for (name, folder) in &EMBEDDED {
            hasher.update(name.as_bytes());
            each_file(folder, &mut |path, bytes| {
                hasher.update(path.to_string_lossy().as_bytes());
                hasher.update([0]);
                hasher.update((bytes.len() as u64).to_le_bytes());
                hasher.update(bytes);
            });
        }
        hex::encode(&hasher.finalize()[..12])
    })
}

fn each_file<'a>(folder: &'a Dir<'a>, visit: &mut dyn FnMut(&'a Path, &'a [u8])) {
    for entry in folder.entries() {
        match entry {
            DirEntry::Dir(inner) => each_file(inner, visit),
            DirEntry::File(file) => visit(file.path(), file.contents()),
        }
    }
}

fn write_all(folder: &Path) -> Result<(), ShareError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| ShareError { path, source }
    };
    let parent = folder.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).map_err(at(parent))?;
    // written beside and renamed: a kill in the middle leaves nothing that looks complete
    let staging = tempfile::tempdir_in(parent).map_err(at(parent))?;
    for (name, embedded) in &EMBEDDED {
        let mut failed = None;
        each_file(embedded, &mut |path, bytes| {
            let target = staging.path().join(name).join(path);
            let written = target
                .parent()
                .map_or(Ok(()), std::fs::create_dir_all)
                .and_then(|()| write(&target, bytes));
            if let Err(source) = written {
                failed.get_or_insert(ShareError {
                    path: target,
                    source,
                });
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
    }
    match std::fs::rename(staging.path(), folder) {
        Ok(()) => {
            // the folder has moved: nothing is left to clean up
            let _ = staging.keep();
            Ok(())
        }
        Err(_) if folder.is_dir() => Ok(()),
        Err(source) => Err(ShareError {
            path: folder.to_owned(),
            source,
        }),
    }
}

/// Writes one file; what is embedded has no mode, so scripts are told by their first line.
fn write(target: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(target, bytes)?;
    if bytes.starts_with(b"#!") {
        std::fs::set_permissions(target, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// A patch set's folder as a command line names it anywhere: a series of ours by its name, another by its full path.
#[must_use]
pub fn worded(folder: &Path) -> String {
    let full = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let ours = root().is_ok_and(|root| full.parent() == Some(&*root.join("patches")));
    match full.file_name() {
        Some(name) if ours => name.to_string_lossy().into_owned(),
        _ => full.to_string_lossy().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_file_is_written_and_scripts_can_be_run() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("share");
        write_all(&folder).unwrap();
        let mut scripts = 0;
        for (name, embedded) in &EMBEDDED {
            each_file(embedded, &mut |path, bytes| {
                let written = folder.join(name).join(path);
                assert_eq!(std::fs::read(&written).unwrap(), bytes);
                let mode = written.metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o111 != 0, bytes.starts_with(b"#!"), "{written:?}");
                scripts += usize::from(bytes.starts_with(b"#!"));
            });
        }
        assert!(scripts > 0);
    }
}
