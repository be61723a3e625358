//! What a long operation tells its caller while it works. Libraries report; [`crate::cli`] decides how it looks.
use std::sync::Arc;

/// Receives progress. Must be cheap: it is called from inner loops and from several threads.
pub trait Progress: Send + Sync {
    /// A new stage began, for example "compile stock".
    fn stage(&self, name: &str);
    /// `done` of `total` units of the current stage; `total` 0 when unknown.
    fn advance(&self, done: u64, total: u64);
    /// One line worth keeping on screen.
    fn note(&self, line: &str);
}

/// A progress that may be shared between threads.
pub type SharedProgress = Arc<dyn Progress>;

/// Says nothing: for tests and `--quiet`.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _name: &str) {}
    fn advance(&self, _done: u64, _total: u64) {}
    fn note(&self, _line: &str) {}
}
