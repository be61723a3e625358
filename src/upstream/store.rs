//! The trees in our cache: `cache/trees/VERSION-ID`, a record beside each, and a pointer to the one fetched last.
use super::error::UpstreamError;
use super::tree::Tree;
use crate::paths;
use std::path::PathBuf;

/// The folder of all fetched trees.
fn trees() -> PathBuf {
    paths::cache().join("trees")
}

/// The tree that `fetch` brought last, if there is one and it is still there.
///
/// # Errors
/// When the pointer cannot be read, or what it points to is no longer a PyTorch tree.
pub fn last_fetched() -> Result<Option<Tree>, UpstreamError> {
    let pointer = trees().join("last");
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
