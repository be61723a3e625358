//! How much an archive of a source tree may hold, and the meter that watches it.
use super::entry::{EntryName, Refusal};

/// What an archive may unpack to. The defaults are several times what a PyTorch release with all its submodules needs.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// All files together, in bytes.
    pub total: u64,
    /// One file, in bytes.
    pub file: u64,
    /// Files, folders and links.
    pub entries: u64,
    /// Unpacked size over the archive's own; looked at from 64 MiB on, since small files of zeros are innocent.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: 8 << 30,
            file: 1 << 30,
            entries: 1_000_000,
            ratio: 200,
        }
    }
}

/// From which unpacked size on the ratio is looked at, in bytes.
const RATIO_FROM: u64 = 64 << 20;

/// Counts what was unpacked.
#[derive(Debug)]
pub(super) struct Meter {
    limits: Limits,
    archive: u64,
    total: u64,
    file: u64,
    entries: u64,
}

impl Meter {
    pub(super) fn new(limits: Limits, archive: u64) -> Self {
        Self {
            limits,
            archive,
            total: 0,
            file: 0,
            entries: 0,
        }
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// One more entry begins.
    pub(super) fn entry(&mut self) -> Result<(), Refusal> {
        self.entries += 1;
        self.file = 0;
        if self.entries > self.limits.entries {
            return Err(Refusal::TooMany {
                limit: self.limits.entries,
            });
        }
        Ok(())
    }

    /// So many more bytes of the current entry.
    pub(super) fn bytes(&mut self, name: &EntryName, count: u64) -> Result<(), Refusal> {
        self.file += count;
        self.total += count;
        if self.file > self.limits.file {
            return Err(Refusal::FileTooLarge {
                name: name.to_string(),
                limit: self.limits.file,
            });
        }
        if self.total > self.limits.total {
            return Err(Refusal::TooLarge {
                limit: self.limits.total,
            });
        }
        if self.total > RATIO_FROM && self.total / self.archive.max(1) > self.limits.ratio {
            return Err(Refusal::Bomb {
                limit: self.limits.ratio,
            });
        }
        Ok(())
    }
}
