//! The mails through plain `git am`: on a repository of their own that borrows the tree's objects, free of any configuration.
use super::State;
use crate::bundle::BundleError;
use crate::bundle::manifest::{Entry, Manifest};
use crate::run::process::{Finished, ProcessError, Program};
use crate::series::TreePath;
use crate::series::parse::parse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No git command on a few files takes longer.
const LIMIT: Duration = Duration::from_secs(120);

/// A clean base, on which mails are applied.
pub(super) struct Base {
    folder: tempfile::TempDir,
    commit: String,
}

impl Base {
    /// A repository with the bundle's base checked out, as far as the mails touch it.
    pub(super) fn new(manifest: &Manifest, tree: &Path) -> Result<Self, BundleError> {
        let folder = tempfile::tempdir().map_err(BundleError::storage("make", "a folder"))?;
        let base = Self {
            folder,
            commit: manifest.base.clone(),
        };
        base.must(&["init", "--quiet", "."])?;
        let objects = git(tree, &["rev-parse", "--git-path", "objects"])?.text();
        // relative to the tree when it is its own
        let objects = tree.join(objects.trim());
        let objects = objects
            .canonicalize()
            .map_err(BundleError::storage("read", &objects))?;
        let info = base.folder.path().join(".git/objects/info");
        let write = |path: PathBuf, text: String| {
            std::fs::write(&path, text).map_err(BundleError::storage("write", path))
        };
        std::fs::create_dir_all(&info).map_err(BundleError::storage("make", &info))?;
        write(info.join("alternates"), format!("{}\n", objects.display()))?;
        let found = base.git(&["cat-file", "-e", &format!("{}^{{commit}}", manifest.base)])?;
        if !found.status.success() {
            return Err(BundleError::NoBundle {
                path: tree.to_owned(),
                reason: format!(
                    "the tree does not have the commit {} that the bundle is for",
                    manifest.base
                ),
            });
        }
        base.must(&["update-ref", "refs/heads/check", &manifest.base])?;
        base.must(&["symbolic-ref", "HEAD", "refs/heads/check"])?;
        Ok(base)
    }

    /// A file of the base.
    pub(super) fn file(&self, path: &str) -> Option<Vec<u8>> {
        let found = self
            .git(&["cat-file", "blob", &format!("{}:{path}", self.commit)])
            .ok()?;
        found.status.success().then_some(found.stdout)
    }

    /// Applies a mail on those before it and compares the tree.
    pub(super) fn next(
        &self,
        entry: &Entry,
        bundle: &Path,
    ) -> Result<(State, String), BundleError> {
        let mail = bundle.join(&entry.mail);
        self.show(&mail)?;
        self.apply(&[mail], &entry.tree)
    }

    /// Applies a mail on the base and the mails alone that it needs, and compares the tree.
    pub(super) fn alone(
        &self,
        entry: &Entry,
        manifest: &Manifest,
        bundle: &Path,
    ) -> Result<(State, String), BundleError> {
        let wanted = manifest
            .patches
            .iter()
            .filter(|other| entry.needs.contains(&other.id) || other.id == entry.id);
        let mails: Vec<PathBuf> = wanted.map(|other| bundle.join(&other.mail)).collect();
        self.must(&["checkout", "--quiet", "-B", "alone", &self.commit])?;
        for mail in &mails {
            self.show(mail)?;
        }
        self.apply(&mails, &entry.tip_tree)
    }

    /// The files of a mail as they are now.
    pub(super) fn touched(
        &self,
        mail: &[u8],
    ) -> Result<BTreeMap<TreePath, Option<Vec<u8>>>, BundleError> {
        let paths = parse(mail).map_or_else(|_| Vec::new(), |parsed| parsed.paths());
        paths
            .into_iter()
            .map(|path| {
                let place = path.under(self.folder.path());
                match std::fs::read(&place) {
                    Ok(bytes) => Ok((path, Some(bytes))),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((path, None)),
                    Err(error) => Err(BundleError::storage("read", place)(error)),
                }
            })
            .collect()
    }

    /// Has git put the files that a mail touches into the work tree: the others stay out of it.
    fn show(&self, mail: &Path) -> Result<(), BundleError> {
        let bytes = std::fs::read(mail).map_err(BundleError::storage("read", mail))?;
        let list = self.folder.path().join(".git/info/sparse-checkout");
        let mut text = std::fs::read_to_string(&list).unwrap_or_default();
        for path in parse(&bytes).map_or_else(|_| Vec::new(), |parsed| parsed.paths()) {
            text.push_str(&format!("/{path}\n"));
        }
        let above = list.parent().unwrap_or(&list);
        std::fs::create_dir_all(above).map_err(BundleError::storage("make", above))?;
        std::fs::write(&list, text).map_err(BundleError::storage("write", &list))?;
        self.must(&["config", "core.sparseCheckout", "true"])?;
        self.must(&["read-tree", "-mu", "HEAD"]).map(|_| ())
    }

    fn apply(&self, mails: &[PathBuf], tree: &str) -> Result<(State, String), BundleError> {
        for mail in mails {
            let mail = mail
                .canonicalize()
                .map_err(BundleError::storage("read", mail))?;
            let applied = self.program(&["am", "--quiet"]).arg(mail).run()?;
            if !applied.status.success() {
                let why = applied.tail(3);
                self.git(&["am", "--abort"])?;
                return Ok((State::Failed, format!("git am refuses it: {why}")));
            }
        }
        let found = self.must(&["rev-parse", "HEAD^{tree}"])?.text();
        let found = found.trim();
        if found == tree {
            Ok((State::Ok, format!("applies; tree {tree}")))
        } else {
            Ok((
                State::Failed,
                format!("applies, but the tree is {found} and should be {tree}"),
            ))
        }
    }

    fn program(&self, arguments: &[&str]) -> Program {
        program(self.folder.path(), arguments)
    }

    fn git(&self, arguments: &[&str]) -> Result<Finished, ProcessError> {
        git(self.folder.path(), arguments)
    }

    fn must(&self, arguments: &[&str]) -> Result<Finished, BundleError> {
        let finished = self.git(arguments)?;
        if finished.status.success() {
            return Ok(finished);
        }
        Err(BundleError::Git {
            command: arguments.join(" "),
            said: finished.tail(3),
        })
    }
}

/// git in a folder, without the user's or the system's configuration, as somebody fixed at a fixed time.
fn program(folder: &Path, arguments: &[&str]) -> Program {
    let mut program = Program::new("git")
        .args(arguments.iter().copied())
        .folder(folder)
        .limit(LIMIT);
    for (key, value) in [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_COMMITTER_NAME", "umpatch"),
        ("GIT_COMMITTER_EMAIL", "umpatch@localhost"),
        ("GIT_COMMITTER_DATE", "@946684800 +0000"),
        ("LC_ALL", "C"),
    ] {
        program = program.env(key, value);
    }
    program
}

fn git(folder: &Path, arguments: &[&str]) -> Result<Finished, ProcessError> {
    program(folder, arguments).run()
}
