//! A tree from a git repository, by address or path, through the git program: only the one commit is brought.
use super::error::UpstreamError;
use crate::progress::Progress;
use crate::run::process::{Finished, Program};
use git2::Repository;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A folder on this machine.
    Path(PathBuf),
    /// Anything that git can fetch from.
    Address(String),
}

/// How much of the history comes along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The one commit.
    Shallow,
    /// Every commit, but only the files of the one: git brings others when they are asked for.
    Partial,
}

/// How long git may take to bring a tree.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How often a fetch is tried: connections break.
const TRIES: u32 = 3;

impl Location {
    /// A folder where the text is one, else an address.
    ///
    /// # Errors
    /// When the text could be taken for an option.
    pub fn parse(text: &str) -> Result<Self, UpstreamError> {
        if text.is_empty() || text.starts_with('-') {
            return Err(UpstreamError::BadAddress {
                address: text.to_owned(),
            });
        }
        let path = Path::new(text);
        if path.is_dir() {
            let absolute = path
                .canonicalize()
                .map_err(UpstreamError::storage("read", path))?;
            return Ok(Self::Path(absolute));
        }
        let looks_like_path = text.starts_with(['/', '.', '~']);
        if looks_like_path {
            return Err(UpstreamError::NoSuchPath {
                path: path.to_owned(),
            });
        }
        Ok(Self::Address(text.to_owned()))
    }

    /// As git and the record write it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Address(address) => address.clone(),
        }
    }
}

/// Brings `reference` (a branch, a tag, a commit; the repository's HEAD where absent) into the empty folder `into`.
///
/// # Errors
/// When the repository cannot be reached or has no such reference.
pub(super) fn bring(
    location: &Location,
    reference: Option<&str>,
    depth: Depth,
    into: &Path,
    log: &Path,
    progress: &dyn Progress,
) -> Result<(), UpstreamError> {
    let reference = reference.unwrap_or("HEAD");
    if reference.starts_with('-') || reference.contains([':', ' ', '*']) {
        return Err(UpstreamError::NoSuchReference {
            reference: reference.to_owned(),
            address: location.text(),
            log: None,
        });
    }
    let wanted = match location {
        Location::Path(path) => local_commit(path, reference)?,
        Location::Address(_) => reference.to_owned(),
    };
    let git = Git { folder: into, log };
    git.must(&[
        "init",
        "--quiet",
        "--template=",
        "--initial-branch=upstream",
    ])?;
    git.must(&["config", "core.autocrlf", "false"])?;
    git.must(&["remote", "add", "origin", &location.text()])?;
    progress.stage(&format!("bring {reference} through git"));
    let mut fetch = vec!["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"];
    match depth {
        Depth::Shallow => fetch.push("--depth=1"),
        Depth::Partial => fetch.push("--filter=blob:none"),
    }
    fetch.extend(["origin", &wanted]);
    let mut finished = git.run(&fetch)?;
    for _ in 1..TRIES {
        if finished.status.success() || refused(&finished) {
            break;
        }
        progress.note("the connection broke; trying again");
        finished = git.run(&fetch)?;
    }
    if !finished.status.success() {
        let address = location.text();
        return Err(if refused(&finished) {
            UpstreamError::NoSuchReference {
                reference: reference.to_owned(),
                address,
                log: Some(log.to_owned()),
            }
        } else {
            UpstreamError::Unreachable {
                address,
                log: log.to_owned(),
            }
        });
    }
    progress.stage("check the tree out");
    git.must(&["checkout", "--quiet", "-B", "upstream", "FETCH_HEAD"])
}

/// The full id of a commit in a repository on this machine.
fn local_commit(path: &Path, reference: &str) -> Result<String, UpstreamError> {
    let repository = Repository::open(path).map_err(UpstreamError::repository(path))?;
    let commit = repository
        .revparse_single(reference)
        .or_else(|_| repository.revparse_single(&format!("refs/remotes/origin/{reference}")))
        .and_then(|object| object.peel_to_commit())
        .map_err(|_| UpstreamError::NoSuchReference {
            reference: reference.to_owned(),
            address: path.display().to_string(),
            log: None,
        })?;
    Ok(commit.id().to_string())
}

/// Whether the other side answered, and has no such reference.
fn refused(finished: &Finished) -> bool {
    let text = String::from_utf8_lossy(&finished.stderr);
    [
        "couldn't find remote ref",
        "not our ref",
        "no such remote ref",
        "unadvertised object",
    ]
    .iter()
    .any(|words| text.contains(words))
}

/// The git program in one folder, with its words kept in a log.
struct Git<'a> {
    folder: &'a Path,
    log: &'a Path,
}

impl Git<'_> {
    fn run(&self, arguments: &[&str]) -> Result<Finished, UpstreamError> {
        let program = Program::new("git")
            .args(["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"])
            .args(arguments.iter().copied())
            .folder(self.folder)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .limit(PATIENCE);
        let finished = program.run()?;
        finished
            .append_to(self.log, &program)
            .map_err(UpstreamError::storage("write", self.log))?;
        Ok(finished)
    }

    fn must(&self, arguments: &[&str]) -> Result<(), UpstreamError> {
        let finished = self.run(arguments)?;
        if finished.status.success() {
            return Ok(());
        }
        Err(UpstreamError::GitFailed {
            command: arguments.first().copied().unwrap_or_default().to_owned(),
            words: finished.tail(1),
            log: self.log.to_owned(),
        })
    }
}
