//! A work tree with its repository: opened, locked, and refused when its state is not one to patch.
use super::files::{Entry, Folder, Objects};
use super::index::Index;
use super::record::{HeadAt, StateFolder};
use super::{EngineError, fault};
use crate::series::diff::Mode;
use fs4::fs_std::FileExt;
use git2::{ErrorCode, Oid, Repository, RepositoryState};
use sha1::{Digest, Sha1};
use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A work tree and its repository.
pub(super) struct Checkout {
    pub(super) repository: Repository,
    /// The top of the work tree.
    pub(super) root: PathBuf,
    pub(super) state: StateFolder,
    /// The index, once it was read.
    pub(super) index: RefCell<Option<Index>>,
}

/// Keeps other runs of umpatch away; given back when dropped, also by a kill.
pub(super) struct Lock(#[allow(dead_code)] File);

/// How the lines of a file in the work tree relate to those of its blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LineEnds {
    /// The bytes are equal.
    AsStored,
    /// Each line feed has got a carriage return, as `core.autocrlf` does.
    CarriageReturn,
}

impl LineEnds {
    /// The bytes as they are in the work tree.
    pub(super) fn convert(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::AsStored => bytes.to_vec(),
            Self::CarriageReturn => {
                let mut converted = Vec::with_capacity(bytes.len() + bytes.len() / 32);
                for &byte in bytes {
                    if byte == b'\n' && converted.last() != Some(&b'\r') {
                        converted.push(b'\r');
                    }
                    converted.push(byte);
                }
                converted
            }
        }
    }

    /// The bytes of the work tree as git would store them, where line ends were converted for it; none where nothing has
    /// to be taken off. What is `stored` now says whether carriage returns belong to the file; where that is not known,
    /// they do unless every line has one.
    pub(super) fn as_stored(stored: Option<&[u8]>, present: &[u8]) -> Option<Vec<u8>> {
        let has_returns = |bytes: &[u8]| bytes.windows(2).any(|pair| pair == b"\r\n");
        let mut lines = present.split_inclusive(|&byte| byte == b'\n');
        let is_converted = match stored {
            Some(stored) => !has_returns(stored),
            None => lines.all(|line| line.ends_with(b"\r\n") || !line.ends_with(b"\n")),
        };
        if !is_converted || !has_returns(present) || present.contains(&0) {
            return None;
        }
        let mut bytes = Vec::with_capacity(present.len());
        for (at, &byte) in present.iter().enumerate() {
            if byte != b'\r' || present.get(at + 1) != Some(&b'\n') {
                bytes.push(byte);
            }
        }
        Some(bytes)
    }

    /// In which form `present` holds `stored`, if in any.
    pub(super) fn relate(stored: &[u8], present: &[u8]) -> Option<Self> {
        [Self::AsStored, Self::CarriageReturn]
            .into_iter()
            .find(|form| form.convert(stored) == present)
    }
}

/// Opens the repository whose work tree's top is this folder; none when there is no repository.
pub(super) fn open(root: &Path) -> Result<Option<Repository>, EngineError> {
    let extensions = super::extensions::allow_partial_clones();
    debug_assert!(extensions);
    match Repository::open(root) {
        Ok(repository) => {
            // a linked work tree may have been moved or copied: it is where its `.git` is, as it is to git
            if repository.is_worktree() {
                repository
                    .set_workdir(root, false)
                    .map_err(EngineError::git(format!(
                        "use the work tree {}",
                        root.display()
                    )))?;
            }
            Ok(Some(repository))
        }
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(EngineError::git(format!(
            "open the repository {}",
            root.display()
        ))(error)),
    }
}

impl Checkout {
    pub(super) fn open(root: &Path) -> Result<Self, EngineError> {
        let repository = open(root)?.ok_or_else(|| EngineError::NoRepository(root.to_owned()))?;
        let Some(top) = repository.workdir() else {
            return Err(EngineError::Bare(root.to_owned()));
        };
        let real = |path: &Path| {
            path.canonicalize()
                .map_err(EngineError::storage("read", path))
        };
        let (asked, root) = (real(root)?, real(top)?);
        if asked != root {
            return Err(EngineError::Elsewhere {
                folder: asked,
                tree: root,
            });
        }
        let state = StateFolder::of(repository.path());
        Ok(Self {
            repository,
            root,
            state,
            index: RefCell::new(None),
        })
    }

    /// Takes the lock.
    pub(super) fn lock(&self) -> Result<Lock, EngineError> {
        self.state.create()?;
        let path = self.state.file("lock");
        let file = File::create(&path).map_err(EngineError::storage("write", &path))?;
        match FileExt::try_lock_exclusive(&file) {
            Ok(true) => Ok(Lock(file)),
            Ok(false) => Err(EngineError::Busy),
            Err(source) => Err(EngineError::storage("lock", path)(source)),
        }
    }

    /// What the index says; it is read once.
    pub(super) fn with_index<T>(
        &self,
        look: impl FnOnce(&Index) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let index = match self.index.take() {
            Some(index) => index,
            None => Index::read(self.repository.path())?,
        };
        let seen = look(&index);
        self.index.replace(Some(index));
        seen
    }

    pub(super) fn folder(&self) -> Folder {
        Folder {
            root: self.root.clone(),
        }
    }

    pub(super) fn objects(&self, tree: Oid) -> Objects<'_> {
        Objects::new(&self.repository, tree)
    }

    /// Where HEAD points, and the commit there.
    pub(super) fn head(&self) -> Result<(HeadAt, Oid), EngineError> {
        let reading = || EngineError::git("read HEAD");
        let head = self.repository.find_reference("HEAD").map_err(reading())?;
        let commit = match self.repository.head() {
            Ok(resolved) => resolved.peel_to_commit().map_err(reading())?.id(),
            Err(error) if error.code() == ErrorCode::UnbornBranch => {
                return Err(EngineError::Unborn);
            }
            Err(error) => return Err(reading()(error)),
        };
        self.refuse_replaced(commit)?;
        let at = match head.symbolic_target() {
            Some(branch) => HeadAt::Branch(branch.to_owned()),
            None => HeadAt::Detached(commit.to_string()),
        };
        Ok((at, commit))
    }

    /// Refuses a commit that git shows as another one: what git takes for the tree is not what this would patch.
    fn refuse_replaced(&self, commit: Oid) -> Result<(), EngineError> {
        let replacement = format!("refs/replace/{commit}");
        match self.reference(&replacement)? {
            None => Ok(()),
            Some(_) => Err(EngineError::Replaced(commit.to_string())),
        }
    }

    /// The tree of a commit.
    pub(super) fn tree_of(&self, commit: Oid) -> Result<Oid, EngineError> {
        let commit = self.repository.find_commit(commit);
        Ok(commit.map_err(EngineError::git("read a commit"))?.tree_id())
    }

    /// The commit of a reference; none where there is none.
    pub(super) fn reference(&self, name: &str) -> Result<Option<Oid>, EngineError> {
        match self.repository.refname_to_id(name) {
            Ok(id) => Ok(Some(id)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(EngineError::git(format!("read {name}"))(error)),
        }
    }

    /// Refuses while git is in the middle of something.
    pub(super) fn refuse_operations(&self) -> Result<(), EngineError> {
        let operation = match self.repository.state() {
            RepositoryState::Clean => None,
            RepositoryState::Merge => Some("a merge"),
            RepositoryState::Revert | RepositoryState::RevertSequence => Some("a revert"),
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
                Some("a cherry-pick")
            }
            RepositoryState::Bisect => Some("a bisect"),
            RepositoryState::Rebase
            | RepositoryState::RebaseInteractive
            | RepositoryState::RebaseMerge => Some("a rebase"),
            RepositoryState::ApplyMailbox => Some("git am"),
            RepositoryState::ApplyMailboxOrRebase => Some("git am or a rebase"),
        };
        if let Some(operation) = operation {
            return Err(EngineError::InProgress { operation });
        }
        let lock = self.repository.path().join("index.lock");
        if lock.exists() {
            return Err(EngineError::IndexLocked(lock));
        }
        Ok(())
    }

    /// Lets everything that is written to the object database through this handle stay in memory.
    pub(super) fn keep_in_memory(&self) -> Result<(), EngineError> {
        const BEFORE_ALL_OTHERS: i32 = 1_000;
        let action = || EngineError::git("open the object database");
        let odb = self.repository.odb().map_err(action())?;
        odb.add_new_mempack_backend(BEFORE_ALL_OTHERS)
            .map_err(action())?;
        Ok(())
    }

    /// Writes a blob.
    pub(super) fn write_blob(&self, bytes: &[u8]) -> Result<Oid, EngineError> {
        fault::step().map_err(EngineError::storage("write to", self.repository.path()))?;
        self.repository
            .blob(bytes)
            .map_err(EngineError::git("write to the object database"))
    }
}

impl Entry {
    /// A file of the work tree as git would store it.
    pub(super) fn in_stored_form(self, stored: Option<&Self>) -> Self {
        if self.mode == Mode::Symlink {
            return self;
        }
        match LineEnds::as_stored(stored.map(|entry| &*entry.bytes), &self.bytes) {
            Some(bytes) => Self {
                bytes: bytes.into(),
                ..self
            },
            None => self,
        }
    }
}

/// The id that bytes have as a blob.
pub(super) fn blob_id(bytes: &[u8]) -> Oid {
    let mut hasher = Sha1::new_with_prefix(format!("blob {}\0", bytes.len()));
    hasher.update(bytes);
    Oid::from_bytes(&hasher.finalize()).unwrap_or_else(|_| Oid::zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converted_line_ends_are_taken_off_and_a_files_own_stay() {
        let taken_off = |stored: Option<&str>, present: &str| {
            let bytes = LineEnds::as_stored(stored.map(str::as_bytes), present.as_bytes());
            bytes.map(|bytes| String::from_utf8(bytes).unwrap())
        };
        assert_eq!(taken_off(Some("a\nb"), "a\r\nb").as_deref(), Some("a\nb"));
        assert_eq!(
            taken_off(Some("a\n"), "a\r\nnew\n").as_deref(),
            Some("a\nnew\n")
        );
        assert_eq!(taken_off(Some("a\r\nb\n"), "a\r\nb\r\n"), None);
        assert_eq!(taken_off(Some("a\n"), "a\n"), None);
        assert_eq!(taken_off(None, "a\r\nb\r\nc").as_deref(), Some("a\nb\nc"));
        assert_eq!(taken_off(None, "a\r\nb\n"), None);
        assert_eq!(taken_off(None, "a\r\n\0\r\n"), None);
    }

    proptest::proptest! {
        #[test]
        fn what_was_converted_comes_back(text in "[ab\n]{0,20}") {
            let converted = LineEnds::CarriageReturn.convert(text.as_bytes());
            let back = LineEnds::as_stored(Some(text.as_bytes()), &converted);
            proptest::prop_assert_eq!(back.unwrap_or(converted), text.as_bytes());
        }
    }
}
