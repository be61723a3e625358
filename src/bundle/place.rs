//! Where a bundle lies: its folder and archive appear whole or not at all, and only another bundle is ever replaced.
use super::{Bundle, BundleError, MANIFEST, archive};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file of checksums, as `sha256sum --check` reads it.
pub const SUMS: &str = "SHA256SUMS";

/// The checksums of files, a line each, sorted by path.
pub(super) fn sums(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut text = String::new();
    for (path, bytes) in files {
        text.push_str(&format!("{}  {path}\n", hex::encode(Sha256::digest(bytes))));
    }
    text.into_bytes()
}

/// Writes the bundle's folder below `parent`, and its archive beside it.
///
/// # Errors
/// When something that is no bundle is there, or the place cannot be written.
pub fn write(bundle: &Bundle, parent: &Path) -> Result<(PathBuf, PathBuf), BundleError> {
    std::fs::create_dir_all(parent).map_err(BundleError::storage("make", parent))?;
    let name = bundle.manifest.name();
    let folder = parent.join(&name);
    if folder.symlink_metadata().is_ok() && !folder.join(MANIFEST).is_file() {
        return Err(BundleError::Occupied(folder));
    }
    let staged = tempfile::Builder::new()
        .prefix(".umpatch-bundle-")
        .tempdir_in(parent)
        .map_err(BundleError::storage("write to", parent))?;
    let fresh = staged.path().join("new");
    for (path, bytes) in &bundle.files {
        let target = fresh.join(path);
        let above = target.parent().unwrap_or(&fresh);
        std::fs::create_dir_all(above).map_err(BundleError::storage("make", above))?;
        std::fs::write(&target, bytes).map_err(BundleError::storage("write", &target))?;
    }
    let packed = staged.path().join("packed");
    std::fs::write(&packed, archive::pack(&name, &bundle.files)?)
        .map_err(BundleError::storage("write", &packed))?;
    if folder.exists() {
        std::fs::rename(&folder, staged.path().join("old"))
            .map_err(BundleError::storage("replace", &folder))?;
    }
    std::fs::rename(&fresh, &folder).map_err(BundleError::storage("write", &folder))?;
    let file = parent.join(format!("{name}.tar.zst"));
    std::fs::rename(&packed, &file).map_err(BundleError::storage("write", &file))?;
    Ok((folder, file))
}
