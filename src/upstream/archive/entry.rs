//! Names and link targets in an archive, as values that cannot leave the folder that they are unpacked into.
use super::super::base_commit::GIT;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Why an entry of an archive is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An absolute path.
    #[error("the entry {name:?} has an absolute path")]
    Absolute {
        /// The entry.
        name: String,
    },
    /// A path with `..`.
    #[error("the entry {name:?} leaves the folder")]
    Leaves {
        /// The entry.
        name: String,
    },
    /// An empty path, or one with a zero byte.
    #[error("the entry {name:?} has no usable name")]
    BadName {
        /// The entry.
        name: String,
    },
    /// A link that points outside, or takes a detour that could.
    #[error("the link {name:?} to {target:?} leaves the folder")]
    LinkLeaves {
        /// The link.
        name: String,
        /// What it points to.
        target: String,
    },
    /// A hard link to a file that the archive does not hold.
    #[error("the link {name:?} names {target:?}, which the archive does not hold before it")]
    LinkToNothing {
        /// The link.
        name: String,
        /// What it names.
        target: String,
    },
    /// A link where something else was unpacked.
    #[error("the archive holds {name:?} twice")]
    Twice {
        /// The entry.
        name: String,
    },
    /// A device, a pipe, or something unknown.
    #[error("the entry {name:?} is neither a file nor a folder nor a link")]
    Special {
        /// The entry.
        name: String,
    },
    /// One file is larger than a source tree's may be.
    #[error("the entry {name:?} is larger than {limit} bytes")]
    FileTooLarge {
        /// The entry.
        name: String,
        /// The limit, in bytes.
        limit: u64,
    },
    /// All files together are too large.
    #[error("it unpacks to more than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// It unpacks to far more than it is.
    #[error("it unpacks to more than {limit} times its own size")]
    Bomb {
        /// The limit, a factor.
        limit: u64,
    },
    /// Too many entries.
    #[error("it holds more than {limit} entries")]
    TooMany {
        /// The limit.
        limit: u64,
    },
}

/// A relative path below the folder, without `..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryName(PathBuf);

/// What the name of an entry leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// The top folder itself.
    Top,
    /// Part of a git repository inside the archive: never unpacked, for it could hold hooks and settings.
    Repository,
    /// Something to unpack.
    Entry(EntryName),
}

impl EntryName {
    /// Parses a name as an archive holds it.
    ///
    /// # Errors
    /// When it is absolute, leaves the folder, or is no usable name.
    pub fn parse(raw: &[u8]) -> Result<Named, Refusal> {
        let name = || String::from_utf8_lossy(raw).into_owned();
        if raw.is_empty() || raw.contains(&0) {
            return Err(Refusal::BadName { name: name() });
        }
        let mut path = PathBuf::new();
        for component in Path::new(OsStr::from_bytes(raw)).components() {
            match component {
                Component::Normal(part) if part.eq_ignore_ascii_case(GIT) => {
                    return Ok(Named::Repository);
                }
                Component::Normal(part) => path.push(part),
                Component::CurDir => {}
                Component::ParentDir => return Err(Refusal::Leaves { name: name() }),
                Component::RootDir | Component::Prefix(_) => {
                    return Err(Refusal::Absolute { name: name() });
                }
            }
        }
        if path.as_os_str().is_empty() {
            return Ok(Named::Top);
        }
        Ok(Named::Entry(Self(path)))
    }

    /// The path, relative to the folder.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The same entry as seen from the folder `around`, if it is inside.
    #[must_use]
    pub fn below(&self, around: &Path) -> Option<Self> {
        let rest = self.0.strip_prefix(around).ok()?;
        (!rest.as_os_str().is_empty()).then(|| Self(rest.to_owned()))
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(formatter)
    }
}

/// The text that a symbolic link holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTarget(PathBuf);

impl LinkTarget {
    /// The target as an archive holds it; checked by [`LinkTarget::stays_inside`].
    #[must_use]
    pub fn new(raw: &[u8]) -> Self {
        Self(PathBuf::from(OsStr::from_bytes(raw)))
    }

    /// The text.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Checks that the link `name` with this target cannot leave the folder: relative, first up and then down, and never up
    /// further than the folder. (Up after down could leave by way of another link.)
    ///
    /// # Errors
    /// When it could leave.
    pub fn stays_inside(&self, name: &EntryName) -> Result<(), Refusal> {
        let leaves = || Refusal::LinkLeaves {
            name: name.to_string(),
            target: self.0.display().to_string(),
        };
        let raw = self.0.as_os_str().as_bytes();
        if raw.is_empty() || raw.contains(&0) {
            return Err(leaves());
        }
        let mut depth = name.as_path().components().count() - 1;
        let mut down = false;
        for component in self.0.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(part) if part.eq_ignore_ascii_case(GIT) => return Err(leaves()),
                Component::Normal(_) => down = true,
                Component::ParentDir if down || depth == 0 => return Err(leaves()),
                Component::ParentDir => depth -= 1,
                Component::RootDir | Component::Prefix(_) => return Err(leaves()),
            }
        }
        Ok(())
    }
}
