//! The files of a tree, wherever they are: a commit, a folder, or either with changes on top that exist in memory only.
use super::EngineError;
use crate::series::TreePath;
use crate::series::diff::Mode;
use git2::{ObjectType, Oid, Repository};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file's mode and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: Mode,
    pub(super) bytes: Arc<[u8]>,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    File(Entry),
    /// A folder, a submodule, or something else that no patch can change.
    Other,
}

impl Found {
    pub(super) fn file(self) -> Option<Entry> {
        match self {
            Self::File(entry) => Some(entry),
            Self::Nothing | Self::Other => None,
        }
    }
}

/// Something that can be asked for files.
pub(super) trait Files {
    fn find(&self, path: &TreePath) -> Result<Found, EngineError>;

    /// The text of a file, invalid bytes replaced.
    fn text(&self, path: &TreePath) -> Result<Option<String>, EngineError> {
        let entry = self.find(path)?.file();
        Ok(entry.map(|entry| String::from_utf8_lossy(&entry.bytes).into_owned()))
    }
}

/// The files of a git tree object; what was read once is kept.
pub(super) struct Objects<'r> {
    repository: &'r Repository,
    tree: Oid,
    seen: RefCell<BTreeMap<TreePath, Found>>,
}

impl<'r> Objects<'r> {
    pub(super) fn new(repository: &'r Repository, tree: Oid) -> Self {
        Self {
            repository,
            tree,
            seen: RefCell::default(),
        }
    }
}

impl Files for Objects<'_> {
    fn find(&self, path: &TreePath) -> Result<Found, EngineError> {
        if let Some(found) = self.seen.borrow().get(path) {
            return Ok(found.clone());
        }
        let found = self.read(path)?;
        self.seen.borrow_mut().insert(path.clone(), found.clone());
        Ok(found)
    }
}

impl Objects<'_> {
    fn read(&self, path: &TreePath) -> Result<Found, EngineError> {
        let reading = |source| EngineError::Git {
            action: format!("read {path} from the object database"),
            source,
        };
        let tree = self.repository.find_tree(self.tree).map_err(reading)?;
        let entry = match tree.get_path(path.as_path()) {
            Ok(entry) => entry,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(Found::Nothing),
            Err(error) => return Err(reading(error)),
        };
        let mode = u32::try_from(entry.filemode())
            .ok()
            .and_then(Mode::from_number);
        match (entry.kind(), mode) {
            (Some(ObjectType::Blob), Some(mode)) => {
                let blob = self.repository.find_blob(entry.id()).map_err(reading)?;
                Ok(Found::File(Entry {
                    mode,
                    bytes: blob.content().into(),
                }))
            }
            _ => Ok(Found::Other),
        }
    }
}

/// The files of a folder.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    pub(super) root: PathBuf,
}

impl Files for Folder {
    fn find(&self, path: &TreePath) -> Result<Found, EngineError> {
        if beyond_symlink(&self.root, path) {
            return Ok(Found::Other);
        }
        let full = path.under(&self.root);
        let reading = |source| EngineError::storage("read", &full)(source);
        let metadata = match full.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(Found::Nothing),
            Err(error) => return Err(reading(error)),
        };
        if metadata.is_symlink() {
            use std::os::unix::ffi::OsStrExt;
            let target = full.read_link().map_err(reading)?;
            return Ok(Found::File(Entry {
                mode: Mode::Symlink,
                bytes: target.as_os_str().as_bytes().into(),
            }));
        }
        if !metadata.is_file() {
            return Ok(Found::Other);
        }
        let bytes = std::fs::read(&full).map_err(reading)?;
        Ok(Found::File(Entry {
            mode: mode_of(&metadata),
            bytes: bytes.into(),
        }))
    }
}

/// The mode that git would record for a file.
pub(super) fn mode_of(metadata: &std::fs::Metadata) -> Mode {
    use std::os::unix::fs::PermissionsExt;
    if metadata.is_symlink() {
        Mode::Symlink
    } else if metadata.permissions().mode() & 0o100 != 0 {
        Mode::Executable
    } else {
        Mode::Regular
    }
}

/// Whether a folder on the way is a symbolic link, which might lead out of the tree.
pub(super) fn beyond_symlink(root: &Path, path: &TreePath) -> bool {
    path.folders().any(|folder| {
        root.join(folder)
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_symlink())
    })
}

/// Whether an error says that nothing is at a path.
pub(super) fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}

/// Changes in memory on top of other files; nothing at a path means that the file is gone.
pub(super) struct Layer<'f> {
    pub(super) below: &'f dyn Files,
    pub(super) changes: BTreeMap<TreePath, Option<Entry>>,
}

impl<'f> Layer<'f> {
    pub(super) fn over(below: &'f dyn Files) -> Self {
        Self {
            below,
            changes: BTreeMap::new(),
        }
    }
}

impl Files for Layer<'_> {
    fn find(&self, path: &TreePath) -> Result<Found, EngineError> {
        if let Some(change) = self.changes.get(path) {
            return Ok(change.clone().map_or(Found::Nothing, Found::File));
        }
        // a file that was made below the path makes it a folder
        let inside = format!("{path}/");
        let folder_made = self
            .changes
            .range::<str, _>((Bound::Included(inside.as_str()), Bound::Unbounded))
            .take_while(|(other, _)| other.as_str().starts_with(&inside))
            .any(|(_, change)| change.is_some());
        if folder_made {
            return Ok(Found::Other);
        }
        self.below.find(path)
    }
}
