//! A full build of PyTorch for both arms, on a Mac: planned, run, and gone on with where it was cut.
mod error;
mod machine;
mod output;
mod plan;
mod run;

pub use error::{Failed, PyTorchError};
pub use machine::{Begun, BuildMachine, Lacking};
pub use output::Complaint;
pub use plan::{Command, Installer, Layout, Places, Purpose, Side, Submodules};

use crate::engine::{Arms, SourceSet};
use crate::error::StorageError;
use crate::paths;
use crate::progress::Progress;
use crate::run::process::Program;
use crate::upstream::Version;
use plan::Question;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Beside a built package: the commit that it was built from.
const NOTE: &str = "umpatch-commit.txt";

/// A build that can be run.
#[derive(Debug)]
pub struct PyTorch<'a> {
    arms: &'a Arms,
    version: Version,
    commit: String,
    places: Places,
    machine: BuildMachine,
    submodules: Submodules,
    differing: Vec<String>,
}

/// One arm, built.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Built {
    /// Which.
    pub side: Side,
    /// The interpreter that imports it.
    pub python: PathBuf,
    /// The folder that holds its `torch` package: first on the interpreter's path.
    pub package: PathBuf,
    /// The folder with its sources and tests.
    pub tree: PathBuf,
    /// The commit that its torch states.
    pub commit: String,
    /// Objects that were compiled now; absent where it was built before.
    pub objects: Option<u64>,
    /// How long it took.
    pub seconds: f64,
}

impl<'a> PyTorch<'a> {
    /// A build of both arms.
    ///
    /// # Errors
    /// When the tree is no git checkout.
    pub fn new(arms: &'a Arms, version: Version, layout: Layout) -> Result<Self, PyTorchError> {
        let commit = arms
            .tree
            .commit
            .clone()
            .ok_or_else(|| PyTorchError::NoCommit {
                path: arms.tree.path.clone(),
            })?;
        let root = root(&arms.tree.path, layout);
        let machine = BuildMachine::probe(&root);
        let differing: BTreeSet<String> = arms
            .differing
            .iter()
            .chain(arms.stock.changed())
            .chain(arms.patched.changed())
            .map(ToString::to_string)
            .collect();
        Ok(Self {
            version,
            commit,
            places: Places { root, layout },
            machine,
            submodules: if arms.tree.path.join(".gitmodules").is_file() {
                Submodules::Present
            } else {
                Submodules::Absent
            },
            differing: differing.into_iter().collect(),
            arms,
        })
    }

    /// The machine, as far as the build cares.
    #[must_use]
    pub const fn machine(&self) -> &BuildMachine {
        &self.machine
    }

    /// Where it is built.
    #[must_use]
    pub const fn places(&self) -> &Places {
        &self.places
    }

    /// The files that differ between the arms.
    #[must_use]
    pub fn differing(&self) -> &[String] {
        &self.differing
    }

    /// The exact commands, in order. After `git reset` of [`Purpose::Sources`], the arm's differing files are written.
    #[must_use]
    pub fn commands(&self) -> Vec<Command> {
        plan::plan(&Question {
            tree: &self.arms.tree.path,
            commit: &self.commit,
            version: &self.version,
            differing: &self.differing,
            submodules: self.submodules,
            places: &self.places,
            machine: &self.machine,
        })
    }

    /// That the machine has room and memory.
    ///
    /// # Errors
    /// When it lacks one.
    pub fn check(&self) -> Result<(), PyTorchError> {
        let folders = match self.places.layout {
            Layout::Incremental => 1,
            Layout::Separate => 2,
        };
        let begun = if run::Done::read(&self.places.root).has_begun() {
            Begun::GoesOn
        } else {
            Begun::Fresh
        };
        match self.machine.lacks(folders, begun) {
            Some(lacking) => Err(PyTorchError::Machine(lacking)),
            None => Ok(()),
        }
    }

    /// Builds both arms, or what is left of them.
    ///
    /// # Errors
    /// When the machine lacks room, a command fails or falls silent, or the user interrupts.
    pub fn build(&self, progress: &dyn Progress) -> Result<[Built; 2], PyTorchError> {
        self.check()?;
        let logs = self.places.root.join("logs");
        std::fs::create_dir_all(&logs).map_err(StorageError::at("make", &logs))?;
        let commands = self.commands();
        let mut done = run::Done::read(&self.places.root);
        let stock = self.arm(Side::Stock, &commands, &mut done, progress)?;
        let patched = self.arm(Side::Patched, &commands, &mut done, progress)?;
        Ok([stock, patched])
    }

    fn arm(
        &self,
        side: Side,
        commands: &[Command],
        done: &mut run::Done,
        progress: &dyn Progress,
    ) -> Result<Built, PyTorchError> {
        let started = Instant::now();
        let key = self.key(side)?;
        let package = self.places.package(side);
        let mut built = Built {
            side,
            python: self.places.python(side),
            tree: self.places.tree(side),
            commit: String::new(),
            objects: None,
            seconds: 0.0,
            package,
        };
        if done.is_built(side, &key)
            && let Ok(commit) = std::fs::read_to_string(built.package.join("torch").join(NOTE))
        {
            progress.note(&format!("{}: built before, nothing to do", side.name()));
            built.commit = commit.trim().to_owned();
            return Ok(built);
        }
        done.unbuilt(side)?;
        if self.places.layout == Layout::Incremental {
            // the folder is about to hold this arm, no longer the other one
            done.unbuilt(Side::Patched)?;
        }
        let logs = self.places.root.join("logs");
        for command in commands.iter().filter(|command| command.side == side) {
            let output = run::run(command, &logs, done, progress)?;
            match command.purpose {
                Purpose::Sources if command.words.iter().any(|word| word == "reset") => {
                    self.write_sources(side)?;
                }
                Purpose::Sources => built.commit = head(&built.tree)?,
                Purpose::Compile => {
                    let objects = output.objects();
                    let (_, steps) = output.progress();
                    progress.note(&format!(
                        "{}: {objects} objects compiled, in {steps} steps",
                        side.name()
                    ));
                    built.objects = Some(objects);
                    self.note(side, &built.commit)?;
                }
                _ => {}
            }
        }
        done.built(side, &key)?;
        built.seconds = started.elapsed().as_secs_f64();
        Ok(built)
    }

    /// Notes the commit beside the package that was built from it.
    fn note(&self, side: Side, commit: &str) -> Result<(), PyTorchError> {
        let path = self.places.tree(side).join("torch").join(NOTE);
        std::fs::write(&path, commit).map_err(StorageError::at("write", path))?;
        Ok(())
    }

    /// Writes the arm's own files over the checkout; what is the same keeps its time.
    fn write_sources(&self, side: Side) -> Result<(), PyTorchError> {
        let paths: Vec<&str> = self.differing.iter().map(String::as_str).collect();
        Ok(self.sources(side).export(&paths, &self.places.tree(side))?)
    }

    const fn sources(&self, side: Side) -> &SourceSet {
        match side {
            Side::Stock => &self.arms.stock,
            Side::Patched => &self.arms.patched,
        }
    }

    /// What an arm's build depends on.
    fn key(&self, side: Side) -> Result<String, PyTorchError> {
        let sources = self.sources(side).identity()?;
        Ok(format!("{sources} on {}", self.commit))
    }
}

/// The build folder: one for each tree of the user's and each layout.
fn root(tree: &Path, layout: Layout) -> PathBuf {
    let tree = std::fs::canonicalize(tree).unwrap_or_else(|_| tree.to_owned());
    let digest = Sha256::digest(tree.as_os_str().as_encoded_bytes());
    let name = match layout {
        Layout::Incremental => "incremental",
        Layout::Separate => "separate",
    };
    paths::cache()
        .join("builds")
        .join("pytorch")
        .join(format!("{}-{name}", hex::encode(&digest[..6])))
}

/// The commit that is checked out.
fn head(tree: &Path) -> Result<String, PyTorchError> {
    let finished = Program::new("git")
        .args(["rev-parse", "HEAD"])
        .folder(tree)
        .limit(Duration::from_secs(60))
        .run()?;
    Ok(finished.text().trim().to_owned())
}
