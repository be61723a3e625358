//! Brings a tree: from a source package, a git repository, an archive, or a folder that is there already.
use super::apt::Apt;
use super::archive::{self, Limits};
use super::base_commit;
use super::checksum::Checksum;
use super::error::UpstreamError;
use super::git::{self, Depth, Location};
use super::store::{self, Cached, Lock, Origin, Record};
use super::tree::Tree;
use super::version::Version;
use crate::paths;
use crate::progress::Progress;
use git2::Repository;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What to bring.
#[derive(Debug, Clone)]
pub enum Request {
    /// The upstream tarball of a source package.
    Debian {
        /// The release.
        version: Version,
        /// The only suite to ask.
        suite: Option<String>,
    },
    /// One commit of a repository.
    Git {
        /// Where the repository is.
        location: Location,
        /// A branch, a tag or a commit; the repository's HEAD where absent.
        reference: Option<String>,
        /// How much of the history comes along.
        depth: Depth,
    },
    /// An archive on this machine.
    Archive {
        /// The file.
        file: PathBuf,
        /// What it must be.
        sha256: Option<Checksum>,
    },
    /// A folder, used in place.
    Folder {
        /// The folder.
        path: PathBuf,
        /// What to do where it is no git repository.
        otherwise: NoRepository,
    },
}

/// What to do with a folder that is no git repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRepository {
    /// Say so.
    Refuse,
    /// Make it one, with one commit.
    Create,
}

/// Whether a tree had to be brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// It is new.
    Brought,
    /// It was in the cache.
    Cached,
    /// It is used where it is.
    InPlace,
}

/// A tree that is ready for use.
#[derive(Debug, Clone, Serialize)]
pub struct Fetched {
    /// The tree with its record.
    #[serde(flatten)]
    pub cached: Cached,
    /// How it came.
    pub arrival: Arrival,
}

/// The release that is brought where none is named.
pub const DEFAULT_VERSION: &str = "2.6.0";

/// Brings a tree and makes it the last fetched.
///
/// # Errors
/// When it cannot be had, is no PyTorch tree, or the cache cannot be written.
pub fn fetch(request: &Request, progress: &dyn Progress) -> Result<Fetched, UpstreamError> {
    let _lock = Lock::acquire(progress)?;
    match request {
        Request::Debian { version, suite } => debian(version, suite.as_deref(), progress),
        Request::Git {
            location,
            reference,
            depth,
        } => repository(location, reference.as_deref(), *depth, progress),
        Request::Archive { file, sha256 } => archive(file, sha256.as_ref(), progress),
        Request::Folder { path, otherwise } => folder(path, *otherwise, progress),
    }
}

/// The tree that [`super::locate`] finds, or where there is none the release `version`, brought as a source package.
///
/// # Errors
/// As [`super::locate`] and [`fetch`].
pub fn ensure(
    given: Option<&Path>,
    version: &Version,
    progress: &dyn Progress,
) -> Result<Tree, UpstreamError> {
    match super::locate(given) {
        Err(UpstreamError::NoTree) => {
            let request = Request::Debian {
                version: version.clone(),
                suite: None,
            };
            fetch(&request, progress).map(|fetched| fetched.cached.tree)
        }
        found => found,
    }
}

fn debian(
    version: &Version,
    suite: Option<&str>,
    progress: &dyn Progress,
) -> Result<Fetched, UpstreamError> {
    let there = store::cached().into_iter().find(|cached| {
        matches!(&cached.record.origin, Origin::Debian { listing, .. }
            if &listing.version == version && suite.is_none_or(|suite| suite == listing.suite))
    });
    if let Some(cached) = there {
        return from_cache(cached);
    }
    let tarball = Apt::of_machine(suite)?.tarball(version, progress)?;
    let release = Some(tarball.listing.version.clone());
    let origin = Origin::Debian {
        listing: tarball.listing,
        sha256: tarball.sha256,
    };
    unpacked(&tarball.path, origin, release, progress)
}

fn archive(
    file: &Path,
    expected: Option<&Checksum>,
    progress: &dyn Progress,
) -> Result<Fetched, UpstreamError> {
    if !file.is_file() {
        return Err(UpstreamError::NoSuchPath {
            path: file.to_owned(),
        });
    }
    progress.stage("read the archive");
    let sha256 = Checksum::of_file(file).map_err(UpstreamError::storage("read", file))?;
    if let Some(expected) = expected.filter(|expected| **expected != sha256) {
        return Err(UpstreamError::WrongChecksum {
            path: file.to_owned(),
            expected: expected.clone(),
            found: sha256,
        });
    }
    let there = store::cached().into_iter().find(
        |cached| matches!(&cached.record.origin, Origin::Archive { sha256: known, .. } if *known == sha256),
    );
    if let Some(cached) = there {
        return from_cache(cached);
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let release = Version::in_name(&name);
    let origin = Origin::Archive {
        name: name.into_owned(),
        sha256,
    };
    unpacked(file, origin, release, progress)
}

/// Unpacks an archive into the store.
fn unpacked(
    file: &Path,
    origin: Origin,
    release: Option<Version>,
    progress: &dyn Progress,
) -> Result<Fetched, UpstreamError> {
    let staging = store::staging()?;
    progress.stage("unpack");
    archive::unpack(file, staging.path(), Limits::default(), progress)?;
    let tree = Tree::read(staging.path()).map_err(|error| match error {
        // the staging folder's name says nothing to anyone
        UpstreamError::NotPyTorch { reason, .. } => UpstreamError::NotPyTorch {
            path: file.to_owned(),
            reason,
        },
        error => error,
    })?;
    progress.stage("record the base commit");
    let base = base_commit::create(staging.path(), &message(&tree), progress)?.to_string();
    let record = Record {
        origin,
        release,
        base,
    };
    let cached = store::adopt(staging, &tree, record)?;
    Ok(Fetched {
        cached,
        arrival: Arrival::Brought,
    })
}

/// The message of a base commit: of the tree's bytes alone, so that the same bytes give the same commit.
fn message(tree: &Tree) -> String {
    format!("PyTorch {}\n\nUpstream's tree as it came.\n", tree.version)
}

fn repository(
    location: &Location,
    reference: Option<&str>,
    depth: Depth,
    progress: &dyn Progress,
) -> Result<Fetched, UpstreamError> {
    let staging = store::staging()?;
    let downloads = paths::cache().join("downloads");
    std::fs::create_dir_all(&downloads).map_err(UpstreamError::storage("write", &downloads))?;
    let log = downloads.join("git.log");
    git::bring(location, reference, depth, staging.path(), &log, progress)?;
    let tree = Tree::read(staging.path()).map_err(|error| match error {
        UpstreamError::NotPyTorch { reason, .. } => UpstreamError::NotPyTorch {
            path: PathBuf::from(location.text()),
            reason,
        },
        error => error,
    })?;
    let record = Record {
        origin: Origin::Git {
            address: location.text(),
            reference: reference.unwrap_or("HEAD").to_owned(),
        },
        release: reference.and_then(|name| name.parse().ok()),
        base: tree.commit.clone().unwrap_or_default(),
    };
    let cached = store::adopt(staging, &tree, record)?;
    Ok(Fetched {
        cached,
        arrival: Arrival::Brought,
    })
}

fn folder(
    path: &Path,
    otherwise: NoRepository,
    progress: &dyn Progress,
) -> Result<Fetched, UpstreamError> {
    let tree = Tree::read(path)?;
    let base = match (Repository::open(&tree.path), &tree.commit) {
        (Ok(_), Some(commit)) => commit.clone(),
        (Ok(_), None) => {
            return Err(UpstreamError::NoCommit {
                path: tree.path.clone(),
            });
        }
        (Err(_), _) => match otherwise {
            NoRepository::Refuse => {
                return Err(UpstreamError::NoRepository {
                    path: tree.path.clone(),
                });
            }
            NoRepository::Create => {
                progress.stage("record the base commit");
                base_commit::create(&tree.path, &message(&tree), progress)?.to_string()
            }
        },
    };
    store::remember(&tree.path)?;
    let cached = Cached {
        tree: Tree::read(&tree.path)?,
        record: Record {
            origin: Origin::Folder,
            release: None,
            base,
        },
    };
    Ok(Fetched {
        cached,
        arrival: Arrival::InPlace,
    })
}

fn from_cache(cached: Cached) -> Result<Fetched, UpstreamError> {
    store::remember(&cached.tree.path)?;
    Ok(Fetched {
        cached,
        arrival: Arrival::Cached,
    })
}
