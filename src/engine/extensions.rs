//! Lets the git library open partial clones: it knows how to read them, but refuses their extension unless told.
use std::sync::OnceLock;

/// Tells it, once per process; true when it accepted.
#[allow(unsafe_code)]
pub(super) fn allow_partial_clones() -> bool {
    static DONE: OnceLock<bool> = OnceLock::new();
    *DONE.get_or_init(|| {
        // SAFETY: the call changes a global list of the library. It is made once, by the first opening of a repository
        // through this module; what another thread may read at that moment is the list of built-in names.
        unsafe { git2::opts::set_extensions(&["partialclone"]) }.is_ok()
    })
}
