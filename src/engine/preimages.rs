//! The versions that patches were made for, found by the blob ids of their index lines: the bases of three-way merges.
use super::matching;
use crate::series::diff::{Direction, FileChange};
use crate::upstream;
use git2::{ObjectType, Oid, Repository};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where versions are looked for: object databases, and the results of earlier patches of the series.
pub(super) struct PreImages {
    own: Option<PathBuf>,
    /// Opened when the first version is asked for: most patches fit without.
    repositories: OnceCell<Vec<Repository>>,
    made: BTreeMap<String, Vec<u8>>,
}

impl PreImages {
    /// Looks into the tree's own repository, where it has one, and those of all fetched trees.
    pub(super) fn new(own: Option<&Path>) -> Self {
        Self {
            own: own.map(Path::to_owned),
            repositories: OnceCell::new(),
            made: BTreeMap::new(),
        }
    }

    fn repositories(&self) -> &[Repository] {
        self.repositories.get_or_init(|| {
            let fetched = upstream::cached()
                .into_iter()
                .map(|cached| cached.tree.path);
            self.own
                .iter()
                .cloned()
                .chain(fetched)
                .filter_map(|path| Repository::open(path).ok())
                .collect()
        })
    }

    /// The content that a change was made for.
    pub(super) fn of(&self, change: &FileChange) -> Option<Vec<u8>> {
        let id = change.old_blob.as_deref()?;
        if id.bytes().all(|byte| byte == b'0') {
            return None;
        }
        let made = self.made.range(id.to_owned()..).next();
        if let Some((_, bytes)) = made.filter(|(known, _)| known.starts_with(id)) {
            return Some(bytes.clone());
        }
        self.repositories().iter().find_map(|repository| {
            let short = Oid::from_str(id).ok()?;
            let odb = repository.odb().ok()?;
            let full = odb.exists_prefix(short, id.len()).ok()?;
            Some(repository.find_blob(full).ok()?.content().to_vec())
        })
    }

    /// Keeps what a change leads to in the version that it was made for: the next patch's version.
    pub(super) fn remember(&mut self, change: &FileChange, before: &[u8], after: &[u8]) {
        let Some(old) = &change.old_blob else { return };
        let result = if id(before).is_some_and(|id| id.starts_with(old.as_str())) {
            after.to_vec()
        } else {
            let Some(base) = self.of(change) else { return };
            match matching::apply(change, &base, Direction::Forward) {
                Ok(matched) => matched.bytes,
                Err(_) => return,
            }
        };
        if let Some(id) = id(&result) {
            self.made.insert(id, result);
        }
    }
}

fn id(bytes: &[u8]) -> Option<String> {
    Some(Oid::hash_object(ObjectType::Blob, bytes).ok()?.to_string())
}
