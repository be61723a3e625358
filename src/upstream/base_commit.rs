//! Turns a folder into a git repository with one commit, the same on every machine for the same bytes.
//!
//! Files go into the object database as they are: no filter, no line-end conversion, no configuration of the user. Author,
//! date and message are fixed, so the commit's id says what the tree holds.
use super::error::UpstreamError;
use crate::progress::Progress;
use crate::run::process::interrupted;
use git2::{
    FileMode, Index, IndexEntry, IndexTime, ObjectType, Odb, Oid, Repository,
    RepositoryInitOptions, Signature, Time,
};
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Who the base commit says wrote it.
const AUTHOR: &str = "umpatch";
/// No mailbox: the address is a name only.
const ADDRESS: &str = "umpatch@localhost";
/// 2000-01-01 00:00:00 UTC, in seconds.
const DATE: i64 = 946_684_800;
/// The branch that holds the base commit.
const BRANCH: &str = "upstream";
/// The name of a repository inside a work tree.
pub(super) const GIT: &str = ".git";

/// Makes `root` a git repository whose one commit holds every file below it, with `message`.
///
/// The repository is made beside its place and renamed, so that a cut leaves no half repository.
///
/// # Errors
/// When a file cannot be read or the repository not be written, or the user interrupts.
pub(super) fn create(
    root: &Path,
    message: &str,
    progress: &dyn Progress,
) -> Result<Oid, UpstreamError> {
    let at = || UpstreamError::repository(root);
    let staging = tempfile::Builder::new()
        .prefix(".umpatch-git-")
        .tempdir_in(root)
        .map_err(UpstreamError::storage("write to", root))?;
    let mut options = RepositoryInitOptions::new();
    options
        .bare(true)
        .external_template(false)
        .initial_head(BRANCH);
    let repository = Repository::init_opts(staging.path(), &options).map_err(at())?;
    configure(&repository).map_err(at())?;
    let tree = write_files(&repository, root, progress)?;
    let commit = commit(&repository, tree, message).map_err(at())?;
    // from now on a repository with a work tree: the folder that holds it
    repository
        .config()
        .and_then(|mut config| config.set_bool("core.bare", false))
        .map_err(at())?;
    drop(repository);
    let target = root.join(GIT);
    std::fs::rename(staging.path(), &target).map_err(UpstreamError::storage("write", target))?;
    // the folder has moved: nothing is left to clean up
    let _ = staging.keep();
    Ok(commit)
}

/// Puts every file below `root` into the repository, which lies below `root` itself, and its index. Gives the tree's id.
fn write_files(
    repository: &Repository,
    root: &Path,
    progress: &dyn Progress,
) -> Result<Oid, UpstreamError> {
    let at = || UpstreamError::repository(root);
    let git = repository.path();
    let files = files_below(root, git)?;
    let mut writer = Writer {
        root,
        odb: repository.odb().map_err(at())?,
        index: Index::open(&git.join("index")).map_err(at())?,
        done: 0,
        total: files.len() as u64,
        progress,
    };
    for (path, metadata) in &files {
        writer.add(path, metadata)?;
    }
    writer.index.write().map_err(at())?;
    writer.index.write_tree_to(repository).map_err(at())
}

/// Settings that keep the user's own configuration from changing a byte of the tree.
fn configure(repository: &Repository) -> Result<(), git2::Error> {
    let mut config = repository.config()?.open_level(git2::ConfigLevel::Local)?;
    config.set_bool("core.filemode", true)?;
    config.set_bool("core.symlinks", true)?;
    config.set_str("core.autocrlf", "false")?;
    config.set_str("core.hooksPath", "/dev/null")?;
    config.set_bool("core.logAllRefUpdates", true)?;
    // a tree is written once and read often: little is gained by compressing it hard
    config.set_i32("core.looseCompression", 1)?;
    let attributes = repository.path().join("info");
    let _ = std::fs::create_dir_all(&attributes);
    std::fs::write(attributes.join("attributes"), "* -text -filter -ident\n")
        .map_err(|error| git2::Error::from_str(&error.to_string()))
}

/// Every file and symbolic link below `root`, in the order of their paths, without repositories and `skip`.
fn files_below(root: &Path, skip: &Path) -> Result<Vec<(PathBuf, Metadata)>, UpstreamError> {
    let mut files = Vec::new();
    // the two may be spelled differently
    let is = |path: &Path| path.file_name() == skip.file_name();
    let entries = walkdir::WalkDir::new(root)
        .follow_links(false)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != GIT && !is(entry.path()));
    for entry in entries {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(root).to_owned();
            UpstreamError::storage("read", path)(error.into())
        })?;
        if entry.file_type().is_dir() {
            continue;
        }
        let metadata = entry
            .metadata()
            .map_err(|error| UpstreamError::storage("read", entry.path())(error.into()))?;
        files.push((entry.into_path(), metadata));
    }
    files.sort_by(|(one, _), (other, _)| {
        one.as_os_str().as_bytes().cmp(other.as_os_str().as_bytes())
    });
    Ok(files)
}

/// Puts files into the object database and the index.
struct Writer<'a> {
    root: &'a Path,
    odb: Odb<'a>,
    index: Index,
    done: u64,
    total: u64,
    progress: &'a dyn Progress,
}

impl Writer<'_> {
    fn add(&mut self, path: &Path, metadata: &Metadata) -> Result<(), UpstreamError> {
        if interrupted() {
            return Err(UpstreamError::Interrupted);
        }
        let kind = metadata.file_type();
        let (bytes, mode) = if kind.is_symlink() {
            let target = std::fs::read_link(path)
                .map_err(UpstreamError::storage("read", path))?
                .into_os_string();
            (OsString::into_vec(target), FileMode::Link)
        } else if kind.is_file() {
            let bytes = std::fs::read(path).map_err(UpstreamError::storage("read", path))?;
            let executable = metadata.mode() & 0o100 != 0;
            let mode = if executable {
                FileMode::BlobExecutable
            } else {
                FileMode::Blob
            };
            (bytes, mode)
        } else {
            return Err(UpstreamError::NotPyTorch {
                path: self.root.to_owned(),
                reason: format!("{} is neither a file nor a link", path.display()),
            });
        };
        let name = path.strip_prefix(self.root).unwrap_or(path);
        let entry = |id| IndexEntry {
            ctime: time(metadata.ctime(), metadata.ctime_nsec()),
            mtime: time(metadata.mtime(), metadata.mtime_nsec()),
            // git keeps the low 32 bits of each
            dev: low(metadata.dev()),
            ino: low(metadata.ino()),
            mode: u32::from(mode),
            uid: metadata.uid(),
            gid: metadata.gid(),
            file_size: low(metadata.size()),
            id,
            flags: 0,
            flags_extended: 0,
            path: name.as_os_str().as_bytes().to_vec(),
        };
        self.odb
            .write(ObjectType::Blob, &bytes)
            .and_then(|id| self.index.add(&entry(id)))
            .map_err(UpstreamError::repository(self.root))?;
        self.done += 1;
        self.progress.advance(self.done, self.total);
        Ok(())
    }
}

#[allow(clippy::cast_possible_truncation)]
fn low(number: u64) -> u32 {
    number as u32
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn time(seconds: i64, nanoseconds: i64) -> IndexTime {
    IndexTime::new(seconds as i32, nanoseconds as u32)
}

fn commit(repository: &Repository, tree: Oid, message: &str) -> Result<Oid, git2::Error> {
    let who = Signature::new(AUTHOR, ADDRESS, &Time::new(DATE, 0))?;
    let tree = repository.find_tree(tree)?;
    repository.commit(
        Some(&format!("refs/heads/{BRANCH}")),
        &who,
        &who,
        message,
        &tree,
        &[],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn sample() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir_all(root.join("empty")).unwrap();
        std::fs::write(root.join("a/b/crlf.txt"), "one\r\ntwo\r\n").unwrap();
        std::fs::write(root.join("a.b"), "sorts between a and a/b").unwrap();
        std::fs::write(root.join(".gitattributes"), "* text=auto eol=lf\n").unwrap();
        std::fs::write(root.join(".gitignore"), "*.txt\n").unwrap();
        std::fs::write(root.join("run"), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(root.join("run"), PermissionsExt::from_mode(0o755)).unwrap();
        symlink("a/b/crlf.txt", root.join("link")).unwrap();
        folder
    }

    #[test]
    fn the_same_bytes_give_the_same_commit() {
        let (one, other) = (sample(), sample());
        let first = create(one.path(), "PyTorch 2.6.0\n", &Silent).unwrap();
        let second = create(other.path(), "PyTorch 2.6.0\n", &Silent).unwrap();
        assert_eq!(first, second);
        // fixed for good: a changed id would orphan every recorded run
        assert_eq!(
            first.to_string(),
            "ca9a7b08e5a02e5d352dc78af380ef94d32c45f3"
        );
    }

    #[test]
    fn the_work_tree_is_clean_and_every_file_is_in() {
        let folder = sample();
        create(folder.path(), "base\n", &Silent).unwrap();
        let repository = Repository::open(folder.path()).unwrap();
        let statuses = repository.statuses(None).unwrap();
        assert!(statuses.is_empty(), "{} dirty", statuses.len());
        let tree = repository.head().unwrap().peel_to_tree().unwrap();
        for path in ["a/b/crlf.txt", "a.b", ".gitignore", "run", "link"] {
            assert!(tree.get_path(Path::new(path)).is_ok(), "{path}");
        }
        let blob = tree.get_path(Path::new("a/b/crlf.txt")).unwrap().id();
        assert_eq!(
            repository.find_blob(blob).unwrap().content(),
            b"one\r\ntwo\r\n"
        );
    }
}
