//! The versions that patches were made for, found by the blob ids of their index lines: the bases of three-way merges.
use super::checkout::{self, blob_id};
use super::matching;
use crate::series::diff::{Direction, FileChange};
use crate::upstream;
use git2::{Oid, Repository};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where versions are looked for: object databases, and the results of earlier patches of the series.
pub(super) struct PreImages {
    own: Option<PathBuf>,
    /// Opened when the first version is asked for: most patches fit without.
    repositories: OnceCell<Vec<Repository>>,
    made: RefCell<BTreeMap<String, Arc<[u8]>>>,
    pending: RefCell<Vec<Made>>,
}

/// What a change made of a file.
struct Made {
    change: FileChange,
    before: Arc<[u8]>,
    after: Arc<[u8]>,
}

impl PreImages {
    /// Looks into the tree's own repository, where it has one, and those of all fetched trees.
    pub(super) fn new(own: Option<&Path>) -> Self {
        Self {
            own: own.map(Path::to_owned),
            repositories: OnceCell::new(),
            made: RefCell::default(),
            pending: RefCell::default(),
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
                .filter_map(|path| checkout::open(&path).ok().flatten())
                .collect()
        })
    }

    /// The content that a change was made for.
    pub(super) fn of(&self, change: &FileChange) -> Option<Arc<[u8]>> {
        self.settle();
        self.known(change)
    }

    fn known(&self, change: &FileChange) -> Option<Arc<[u8]>> {
        let id = change.old_blob.as_deref()?;
        if id.bytes().all(|byte| byte == b'0') {
            return None;
        }
        let all = self.made.borrow();
        let made = all.range(id.to_owned()..).next();
        if let Some((_, bytes)) = made.filter(|(known, _)| known.starts_with(id)) {
            return Some(Arc::clone(bytes));
        }
        self.repositories().iter().find_map(|repository| {
            let short = Oid::from_str(id).ok()?;
            let odb = repository.odb().ok()?;
            let full = odb.exists_prefix(short, id.len()).ok()?;
            Some(repository.find_blob(full).ok()?.content().into())
        })
    }

    /// Keeps what a change leads to in the version that it was made for: the next patch's version.
    pub(super) fn remember(&mut self, change: &FileChange, before: &Arc<[u8]>, after: &Arc<[u8]>) {
        if change.old_blob.is_some() {
            self.pending.borrow_mut().push(Made {
                change: change.clone(),
                before: Arc::clone(before),
                after: Arc::clone(after),
            });
        }
    }

    /// Works out the ids of what was kept: only where a version is asked for, as most patches fit without.
    fn settle(&self) {
        for Made {
            change,
            before,
            after,
        } in self.pending.take()
        {
            let Some(old) = &change.old_blob else {
                continue;
            };
            let result = if blob_id(&before).to_string().starts_with(old.as_str()) {
                after
            } else {
                let Some(base) = self.known(&change) else {
                    continue;
                };
                match matching::apply(&change, &base, Direction::Forward) {
                    Ok(matched) => matched.bytes.into(),
                    Err(_) => continue,
                }
            };
            let id = blob_id(&result).to_string();
            self.made.borrow_mut().insert(id, result);
        }
    }
}
