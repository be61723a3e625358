//! Programs on this machine's path.
use crate::run::rehearsal;
use std::path::{Path, PathBuf};

/// Where a program is, looked up on the path as the system does.
#[must_use]
pub fn on_path(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &Path| {
        std::fs::metadata(path)
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        let path = PathBuf::from(name);
        return runs(&path).then_some(path);
    }
    std::env::split_paths(&rehearsal::search_path()?)
        .map(|folder| folder.join(name))
        .find(|path| runs(path))
}
