//! What the fuzzers of `fuzz/` need of the engine's inside; not there in an ordinary build.
use super::index::IndexFile;
use super::matching;
use crate::series::diff::{Direction, FileChange};

/// Makes a change in a content; none where it does not fit.
#[must_use]
pub fn apply(change: &FileChange, bytes: &[u8], direction: Direction) -> Option<(Vec<u8>, usize)> {
    let matched = matching::apply(change, bytes, direction).ok()?;
    Some((matched.bytes, matched.offset))
}

/// Makes a change in a content that has moved on from `base`; none where both change the same lines.
#[must_use]
pub fn merge(change: &FileChange, base: &[u8], ours: &[u8]) -> Option<Vec<u8>> {
    super::merge::three_way(change, base, ours)
}

/// Reads an index, and what it gives when it is written without an edit.
#[must_use]
pub fn index(bytes: &[u8], other_half: &[u8]) -> Option<Vec<u8>> {
    let mut shared = |_: &str| Some(other_half.to_vec());
    let index = IndexFile::parse(bytes, &mut shared).ok()?;
    index.bytes().ok()
}
