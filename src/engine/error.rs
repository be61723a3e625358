//! Why the engine refuses or fails, and what to do then.
use super::conflict::Conflict;
use super::index::IndexError;
use super::record::Form;
use crate::error::{Explain, StorageError};
use crate::exit::Exit;
use crate::series::mailbox::MailboxError;
use crate::series::manifest::ManifestError;
use crate::series::name::NameError;
use crate::series::quilt::QuiltError;
use crate::series::{PatchId, SeriesError, TreePath};
use crate::share::ShareError;
use crate::upstream::UpstreamError;
use crate::upstream::archive::ArchiveError;
use std::path::PathBuf;

/// Why the engine refused or failed. Unless it says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The tree could not be found.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// The series or a patch cannot be used.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// A manifest cannot be used.
    #[error("cannot use {}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: ManifestError,
    },
    /// A quilt series cannot be used.
    #[error("cannot use the series file in {}", path.display())]
    Quilt {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: QuiltError,
    },
    /// A file name that gives no patch id.
    #[error("the name of {} gives no patch id", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: NameError,
    },
    /// A folder of patches without any.
    #[error("{} holds no patches: neither series.toml, nor a quilt series, nor *.patch or *.diff", .0.display())]
    NoPatches(PathBuf),
    /// A name that no series has.
    #[error("there is no series {name:?}: neither a folder nor one of ours ({})", known.join(", "))]
    NoSeries {
        /// The name.
        name: String,
        /// The names of the built-in ones.
        known: Vec<String>,
    },
    /// A mail that cannot be imported.
    #[error("cannot import {origin}")]
    Import {
        /// Where it came from.
        origin: String,
        /// Why.
        #[source]
        source: MailboxError,
    },
    /// Nothing to import.
    #[error("{0} holds no diff")]
    NothingToImport(String),
    /// An archive that cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A patch stopped at a conflict, and somebody has to resolve it.
    #[error("the patch {0} waits for its conflict to be resolved")]
    Stopped(PatchId),
    /// Conflict markers that are still there.
    #[error("conflict markers are still there: {}", list(.0))]
    Unresolved(Vec<TreePath>),
    /// A series that extends itself, directly or over others.
    #[error("the series in {} extends itself", .0.display())]
    Circle(PathBuf),
    /// umpatch's own files cannot be read.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// A tree that the set is not for.
    #[error("the patch set does not support this tree ({generation}): {reason}")]
    Unsupported {
        /// The generation of its allocator.
        generation: String,
        /// Why.
        reason: String,
    },
    /// A series for another generation.
    #[error(
        "the series {series} is for the {wanted} generation of the allocator, this tree is {found}"
    )]
    WrongGeneration {
        /// The series.
        series: String,
        /// What it is for.
        wanted: String,
        /// What the tree is.
        found: String,
    },
    /// No git repository.
    #[error("{} is no git repository", .0.display())]
    NoRepository(PathBuf),
    /// A repository without a work tree.
    #[error("{} is a bare repository: it has no work tree to patch", .0.display())]
    Bare(PathBuf),
    /// No commit yet.
    #[error("HEAD is unborn: the repository has no commit yet")]
    Unborn,
    /// git is in the middle of something.
    #[error("{operation} is in progress in this repository")]
    InProgress {
        /// What.
        operation: &'static str,
    },
    /// Conflicts in the index.
    #[error("the index holds unresolved conflicts")]
    Unmerged,
    /// A git process holds the index.
    #[error("another git process is at work: {} exists", .0.display())]
    IndexLocked(PathBuf),
    /// Another umpatch holds the tree.
    #[error("another umpatch is at work in this tree")]
    Busy,
    /// Uncommitted changes of files that the patches touch.
    #[error("files that the patches touch have uncommitted changes: {}", list(.0))]
    Dirty(Vec<TreePath>),
    /// Untracked files where the patches make new ones.
    #[error("untracked files are where the patches make new ones: {}", list(.0))]
    InTheWay(Vec<TreePath>),
    /// A new file that is another's on a file system that ignores case.
    #[error("{new} is new, and {other} is there: on this file system they are one file")]
    SameButForCase {
        /// The new file.
        new: TreePath,
        /// The one that is there.
        other: String,
    },
    /// A path that leads over a symbolic link.
    #[error("{0} lies beyond a symbolic link")]
    BeyondSymlink(TreePath),
    /// Files that a change of the work tree alone cannot reach.
    #[error("a sparse checkout leaves out files that the patches touch: {}", list(.0))]
    LeftOut(Vec<TreePath>),
    /// The repository's work tree is another folder than the one that was named (`core.worktree`).
    #[error("the repository of {} has its work tree elsewhere: {}", folder.display(), tree.display())]
    Elsewhere {
        /// What was named.
        folder: PathBuf,
        /// Where the work tree is.
        tree: PathBuf,
    },
    /// A patch does not apply.
    #[error("patch {} does not apply: {}", .0.patch, .0.headline())]
    Conflict(Box<Conflict>),
    /// Another series is applied.
    #[error("the series {applied} is applied to this tree already, with other patches")]
    OtherSeries {
        /// The series that is applied.
        applied: String,
    },
    /// A patch file was changed since it was applied.
    #[error("patch {0} is applied, but its file has changed since")]
    PatchChanged(PatchId),
    /// A folder that should be new.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// Nothing is applied as commits.
    #[error("no series is applied to this tree as commits")]
    NotApplied,
    /// A merge among the commits of the series.
    #[error("the commits since the base are not one line: {0} is a merge")]
    NotLinear(String),
    /// Commits that were added, dropped or joined.
    #[error("{patches} patches are applied, but there are {commits} commits since the base")]
    CommitCount {
        /// How many patches are applied as commits.
        patches: usize,
        /// How many commits there are.
        commits: usize,
    },
    /// The branch is somebody else's.
    #[error("the branch {0} exists and holds commits that umpatch did not make here")]
    BranchExists(String),
    /// A name that no branch can have.
    #[error("{0:?} cannot be the name of a branch")]
    BranchName(String),
    /// A branch is where the branch's folder would be, or the other way round.
    #[error("there cannot be a branch {branch}, since there is a branch {other}")]
    BranchInTheWay {
        /// The branch that is wanted.
        branch: String,
        /// The one that is there.
        other: String,
    },
    /// The branch is checked out elsewhere.
    #[error("the branch {0} is checked out in another work tree")]
    BranchElsewhere(String),
    /// The record says that patches are applied, and the files do not bear it out.
    #[error(
        "umpatch applied {}, but the files do not show {} whole any more",
        names(patches),
        if patches.len() == 1 { "it" } else { "them" }
    )]
    Absent {
        /// The patches.
        patches: Vec<PatchId>,
        /// How they were applied.
        form: Form,
    },
    /// Another branch, or a detached HEAD, stands on the patches' commits.
    #[error("{at} holds the patches' commits, up to {applied}: they cannot be taken out of it")]
    HeldBy {
        /// What HEAD is.
        at: String,
        /// Where the patches end.
        applied: String,
    },
    /// What is checked out stands for something else.
    #[error("{0} is replaced by another object (git replace): umpatch would patch the original")]
    Replaced(String),
    /// Commits on top of the patches.
    #[error(
        "there are commits on top of the patches: HEAD is {head}, the patches end at {applied}"
    )]
    CommitsOnTop {
        /// What is checked out.
        head: String,
        /// Where the patches end.
        applied: String,
    },
    /// The branch to return to has moved.
    #[error("{branch} has moved since the patches were applied: it was at {base} and is at {now}")]
    BaseMoved {
        /// The branch to return to.
        branch: String,
        /// Where it was.
        base: String,
        /// Where it is.
        now: String,
    },
    /// An interrupted command cannot be finished since a file was edited in between.
    #[error(
        "an earlier umpatch was cut off, and {0} was edited since: it holds neither the old nor the new content"
    )]
    EditedSince(TreePath),
    /// The state that umpatch keeps cannot be understood.
    #[error("cannot understand {}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// A write failed, and so did taking back what was done before it.
    #[error("the tree is half changed: taking back failed too ({rollback})")]
    HalfDone {
        /// What failed first.
        #[source]
        cause: Box<EngineError>,
        /// Why it could not be taken back.
        rollback: Box<EngineError>,
    },
    /// A file or folder cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The index cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// git cannot do something.
    #[error("cannot {action}")]
    Git {
        /// What was tried.
        action: String,
        /// What git says.
        #[source]
        source: git2::Error,
    },
}

fn names(patches: &[PatchId]) -> String {
    let names: Vec<&str> = patches.iter().map(PatchId::as_str).collect();
    names.join(", ")
}

fn list(paths: &[TreePath]) -> String {
    let shown: Vec<_> = paths.iter().take(5).map(TreePath::as_str).collect();
    match paths.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl EngineError {
    pub(super) fn storage(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let at = StorageError::at(action, path);
        move |source| at(source).into()
    }

    pub(super) fn git(action: impl Into<String>) -> impl FnOnce(git2::Error) -> Self {
        let action = action.into();
        move |source| Self::Git { action, source }
    }
}

impl Explain for EngineError {
    fn exit(&self) -> Exit {
        match self {
            Self::Upstream(error) => error.exit(),
            Self::Share(error) => error.exit(),
            Self::Archive(_) => Exit::Usage,
            Self::Series(SeriesError::Unknown { .. } | SeriesError::Incomplete { .. })
            | Self::NoPatches(_)
            | Self::NoSeries { .. }
            | Self::Import { .. }
            | Self::NothingToImport(_)
            | Self::Stopped(_)
            | Self::Unresolved(_)
            | Self::Unsupported { .. }
            | Self::WrongGeneration { .. }
            | Self::NoRepository(_)
            | Self::Bare(_)
            | Self::Unborn
            | Self::InProgress { .. }
            | Self::Unmerged
            | Self::IndexLocked(_)
            | Self::Busy
            | Self::Dirty(_)
            | Self::InTheWay(_)
            | Self::BeyondSymlink(_)
            | Self::LeftOut(_)
            | Self::Elsewhere { .. }
            | Self::SameButForCase { .. }
            | Self::OtherSeries { .. }
            | Self::PatchChanged(_)
            | Self::BranchExists(_)
            | Self::BranchName(_)
            | Self::NotApplied
            | Self::NotEmpty(_)
            | Self::NotLinear(_)
            | Self::CommitCount { .. }
            | Self::BranchElsewhere(_)
            | Self::BranchInTheWay { .. }
            | Self::CommitsOnTop { .. }
            | Self::Absent { .. }
            | Self::HeldBy { .. }
            | Self::Replaced(_)
            | Self::BaseMoved { .. }
            | Self::EditedSince(_)
            | Self::Index(IndexError::Sparse(_)) => Exit::Usage,
            _ => Exit::PatchOrBuildFailed,
        }
    }

    fn detail(&self) -> Option<serde_json::Value> {
        match self {
            Self::Conflict(conflict) => serde_json::to_value(conflict).ok(),
            _ => None,
        }
    }

    fn hints(&self) -> Vec<String> {
        let one = |text: &str| vec![text.to_owned()];
        match self {
            Self::Upstream(error) => error.hints(),
            Self::Share(error) => error.hints(),
            Self::Series(SeriesError::Incomplete { needs, .. }) => {
                vec![format!("add --only {needs}, or use --until")]
            }
            Self::Stopped(_) => vec![
                "resolve it in the files that `umpatch status` names, then `umpatch apply --continue`".to_owned(),
                "`umpatch apply --abort` goes back to the tree without the patches".to_owned(),
            ],
            Self::Unresolved(_) => one("resolve them, then `umpatch apply --continue`"),
            Self::NoRepository(path) => vec![format!(
                "`umpatch fetch dir {} --init` makes it one, with a commit of all its files; `umpatch status` works without",
                path.display()
            )],
            Self::Bare(_) => one("add a work tree: git worktree add"),
            Self::Unborn => one("commit the tree first: git add -A && git commit"),
            Self::InProgress { operation } => {
                vec![format!(
                    "finish or abort {operation} first (git status says how)"
                )]
            }
            Self::Unmerged => one("resolve them first (git status lists them)"),
            Self::IndexLocked(_) => one("wait for it; if none runs, remove the file"),
            Self::Busy => one("wait until it has ended"),
            Self::Dirty(_) => {
                one("commit or stash them first (git stash); changes elsewhere do no harm")
            }
            Self::Elsewhere { tree, .. } => vec![format!("umpatch -C {}", tree.display())],
            Self::LeftOut(_) => one(
                "bring them in (git sparse-checkout add, or disable), or apply as commits, without --worktree and --conflict-markers",
            ),
            Self::InTheWay(_) => one("move them away"),
            Self::Conflict(conflict) => {
                let mut hints = conflict.hints();
                hints.push(
                    match conflict.is_stopped {
                        true => "resolve it in the work tree, then `umpatch apply --continue`; --abort goes back to the tree without the patches",
                        false => "to resolve it in the work tree: umpatch apply --conflict-markers",
                    }
                    .to_owned(),
                );
                hints
            }
            Self::OtherSeries { .. } | Self::PatchChanged(_) => {
                one("`umpatch unapply` takes out what is applied, then apply again")
            }
            Self::BranchExists(branch) => vec![format!(
                "rename it (git branch -m {branch} OTHER), or choose another with --branch"
            )],
            Self::NotApplied => one("apply it first: umpatch apply --patches-from DIR"),
            Self::CommitCount { .. } => one(
                "each patch is one commit; for another number edit series.toml and the patch files by hand",
            ),
            Self::BranchElsewhere(_) | Self::BranchInTheWay { .. } => one("choose another with --branch"),
            Self::CommitsOnTop { applied, .. } => vec![format!(
                "move them to a branch of their own first (git branch keep), then git reset --hard {applied}"
            )],
            Self::Absent {
                form: Form::Branch, ..
            } => one(
                "take back what undid them (git revert, git restore), or `git reset --hard` the branch to where it began, `umpatch unapply`, and apply again",
            ),
            Self::Absent {
                form: Form::Worktree,
                ..
            } => one(
                "put the touched files back (git restore), and apply again; `umpatch status` says how each patch stands",
            ),
            Self::HeldBy { .. } => one(
                "go back to a branch without them first (git switch), or drop its commits (git rebase --onto)",
            ),
            Self::Replaced(id) => vec![format!(
                "drop the replacement (git replace -d {id}), or check out a commit that is what it says"
            )],
            Self::BaseMoved { branch, .. } => vec![format!(
                "git switch {} leaves the patches behind; `umpatch apply` there applies them anew",
                branch.trim_start_matches("refs/heads/")
            )],
            Self::EditedSince(_) => {
                one("move your version of the file away, and run the command again")
            }
            Self::State { .. } => one(
                "umpatch writes it whole or not at all, so something else changed it: bring it back, or move it away and see with `git status` and `umpatch status` what the tree holds",
            ),
            Self::HalfDone { .. } => one(
                "mend the cause (space, permissions); then `umpatch apply --continue` finishes the work, and --abort takes it back",
            ),
            Self::Storage(StorageError { source, .. }) => match source.kind() {
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                    one("free some space, and run the command again")
                }
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                    one("make it readable and writable, and run the command again")
                }
                _ => Vec::new(),
            },
            Self::Git { source, .. } if source.code() == git2::ErrorCode::Owner => one(
                "the repository belongs to another user; allow it: git config --global --add safe.directory PATH",
            ),
            Self::Index(IndexError::Sparse(_)) => {
                one("write it whole: git sparse-checkout reapply --no-sparse-index")
            }
            Self::Index(IndexError::Split) => {
                one("write it whole: git update-index --no-split-index")
            }
            Self::Index(_) => one("git makes a new one from HEAD: rm .git/index && git reset"),
            Self::Git { source, .. } if source.class() == git2::ErrorClass::Config => {
                one("git cannot use that configuration either: mend the file")
            }
            Self::Git { action, source } if action.starts_with("open the repository") && source.code() != git2::ErrorCode::Owner => one(
                "repositories with SHA-256 ids, or of a format newer than 1, cannot be opened; a clone with SHA-1 ids can",
            ),
            Self::Git { action, .. } if action.contains("write") || action.starts_with("set ") => {
                // git's library does not always say why a write failed
                one(
                    "is there space left, may the repository be written, and was no lock file of git's left behind?",
                )
            }
            _ => Vec::new(),
        }
    }
}
