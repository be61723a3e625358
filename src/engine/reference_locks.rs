//! Removes git's locks on references that a killed command of ours left behind.
//!
//! A reference is written through `NAME.lock`, which a kill in the middle leaves in place, and which then stops git and us for
//! good. Such a lock is ours when a command of ours was cut off after it had begun to write (the lock is no older than its
//! journal) and nobody finishes what it guards: a git command holds it for milliseconds.
use super::checkout::Checkout;
use super::{EngineError, fault};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long another program may hold a lock before it counts as left behind.
const PATIENCE: Duration = Duration::from_secs(1);

/// Removes the locks of these references, of HEAD and of the packed references, as far as a cut-off command left them.
pub(super) fn release_stale<'a>(
    checkout: &Checkout,
    journal: &Path,
    references: impl Iterator<Item = &'a str>,
) -> Result<(), EngineError> {
    let Ok(begun) = journal.metadata().and_then(|metadata| metadata.modified()) else {
        return Ok(());
    };
    let common = checkout.repository.commondir();
    let locks: Vec<(PathBuf, SystemTime)> = references
        .map(|name| common.join(format!("{name}.lock")))
        .chain([
            checkout.repository.path().join("HEAD.lock"),
            common.join("packed-refs.lock"),
        ])
        .filter_map(|lock| written(&lock).map(|when| (lock, when)))
        .filter(|(_, when)| *when >= begun)
        .collect();
    if locks.is_empty() {
        return Ok(());
    }
    std::thread::sleep(PATIENCE);
    for (lock, when) in locks {
        if written(&lock) == Some(when) {
            fault::step()
                .and_then(|()| std::fs::remove_file(&lock))
                .map_err(EngineError::storage("remove", &lock))?;
        }
    }
    Ok(())
}

fn written(path: &Path) -> Option<SystemTime> {
    path.metadata()
        .and_then(|metadata| metadata.modified())
        .ok()
}
