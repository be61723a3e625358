//! Programs built from a tree: its own sources, stock and patched, over the simulated Metal.
use super::{Built, Programs};
use crate::build;
use crate::engine::{self, Arms as Sides, EngineError, Selection};
use crate::error::Failure;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::provision::torch::Torch;
use crate::provision::{self, Item, Step};
use crate::report::document::{Arms, Compared};
use crate::run::job::{Arm, Flavour};
use crate::run::scenarios::Driver;
use crate::run::tests::Suite;
use crate::share;
use crate::upstream::{self, DEFAULT_VERSION, UpstreamError, Version};
use crate::verify::{Provision, Request, test_suite};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// A tree, a patch set, and a machine that can build them.
pub(super) struct FromTree {
    sides: Sides,
    baseline: String,
    patched: String,
    harness: String,
    torch: Torch,
}

impl FromTree {
    pub(super) fn prepare(request: &Request, progress: &dyn Progress) -> Result<Self, Failure> {
        progress.stage("preflight");
        let share = share::root()?;
        let harness = share.join("harness");
        let here = match engine::root(request.tree.as_deref()) {
            Ok(root) => Some(root),
            Err(EngineError::Upstream(UpstreamError::NoTree)) => None,
            Err(error) => return Err(error.into()),
        };
        // what is wrong with a tree or a patch is said before anything is installed
        let (sides, torch) = match here {
            Some(root) => {
                let sides = arms(&root, request)?;
                let torch = torch_of(&harness, &version_of(&sides)?, request, progress)?;
                (sides, torch)
            }
            None => {
                let version = default_version()?;
                let torch = torch_of(&harness, &version, request, progress)?;
                let tree = upstream::ensure(None, &version, progress)?;
                (arms(&tree.path, request)?, torch)
            }
        };
        Ok(Self {
            baseline: sides.stock.identity()?,
            patched: sides.patched.identity()?,
            sides,
            harness: digest_of(&harness.join("metal")),
            torch,
        })
    }

    fn tree_name(&self) -> String {
        let version = self.sides.tree.version.as_deref();
        format!("PyTorch {}", version.unwrap_or("of an unknown version"))
    }
}

fn arms(root: &Path, request: &Request) -> Result<Sides, Failure> {
    let from = request.patches_from.as_deref();
    Ok(engine::arms(root, from, &Selection::All)?)
}

fn default_version() -> Result<Version, Failure> {
    DEFAULT_VERSION
        .parse()
        .map_err(|error: upstream::BadVersion| Failure::usage(error.to_string()))
}

/// The release whose torch headers fit the tree.
fn version_of(sides: &Sides) -> Result<Version, Failure> {
    match &sides.tree.version {
        Some(text) => text.parse().or_else(|_| default_version()),
        None => default_version(),
    }
}

/// Examines the machine, mends it where that was asked for, and says exactly what to run where it was not.
fn torch_of(
    harness: &Path,
    version: &Version,
    request: &Request,
    progress: &dyn Progress,
) -> Result<Torch, Failure> {
    let items = match request.provision {
        Provision::Install => provision::provide(harness, version, progress)?,
        Provision::Ask => provision::examine(harness, version),
    };
    let lacking: Vec<&Item> = items.iter().filter(|item| item.blocks()).collect();
    if !lacking.is_empty() {
        let names: Vec<&str> = lacking.iter().map(|item| item.id.as_str()).collect();
        let mut failure = Failure::new(
            Exit::PatchOrBuildFailed,
            format!("this machine lacks {}", names.join(", ")),
        );
        for step in provision::steps(&items, version) {
            failure = failure.hint(Step::command(&step));
        }
        return Err(failure.hint("or let umpatch do it: the same command with --provision"));
    }
    provision::torch::find(version).ok_or_else(|| {
        Failure::new(
            Exit::PatchOrBuildFailed,
            format!("this machine lacks torch {version}"),
        )
        .hint("`umpatch doctor` says what to run")
    })
}

/// SHA-256 over the names and contents of a folder, shortened. What cannot be read is told by the build.
fn digest_of(folder: &Path) -> String {
    let mut hasher = Sha256::new();
    let files = walkdir::WalkDir::new(folder).sort_by_file_name();
    for entry in files.into_iter().flatten() {
        if entry.file_type().is_file() {
            let name = entry.path().strip_prefix(folder).unwrap_or(entry.path());
            hasher.update(name.as_os_str().as_encoded_bytes());
            hasher.update([0]);
            hasher.update(Sha256::digest(
                std::fs::read(entry.path()).unwrap_or_default(),
            ));
        }
    }
    hex::encode(&hasher.finalize()[..10])
}

impl Programs for FromTree {
    fn parts(&self) -> BTreeMap<String, String> {
        let patches: Vec<String> = self.sides.patches.iter().map(ToString::to_string).collect();
        let tree = &self.sides.tree;
        let unknown = || "unknown".to_owned();
        BTreeMap::from(
            [
                (
                    "upstream-version",
                    tree.version.clone().unwrap_or_else(unknown),
                ),
                (
                    "generation",
                    tree.generation.clone().unwrap_or_else(unknown),
                ),
                ("series", self.sides.series.to_string()),
                ("patches", patches.join(" ")),
                ("baseline", self.baseline.clone()),
                ("patched", self.patched.clone()),
                ("harness", self.harness.clone()),
                ("torch", self.torch.version.clone()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        )
    }

    fn compared(&self) -> Arms<Compared> {
        let name = self.tree_name();
        Arms {
            baseline: Compared {
                name: format!("{name}, stock"),
                commit: self.baseline.clone(),
                patches: Vec::new(),
            },
            patched: Compared {
                name: format!("{name} + {}", self.sides.series),
                commit: self.patched.clone(),
                patches: self.sides.patches.iter().map(ToString::to_string).collect(),
            },
        }
    }

    fn notes(&self) -> Vec<String> {
        self.sides.notes.clone()
    }

    fn build(
        &self,
        arm: Arm,
        flavour: Flavour,
        progress: &dyn Progress,
    ) -> Result<Option<Built>, Failure> {
        let sources = match arm {
            Arm::Baseline => &self.sides.stock,
            Arm::Patched => &self.sides.patched,
        };
        let flavour = match flavour {
            Flavour::Plain => build::Flavour::Plain,
            Flavour::Address => build::Flavour::Address,
        };
        let name = match arm {
            Arm::Baseline => "stock",
            Arm::Patched => "patched",
        };
        let name = match flavour {
            build::Flavour::Plain => name.to_owned(),
            _ => format!("{name} with AddressSanitizer"),
        };
        let built = build::native_driver(sources, &self.torch, flavour, &name, progress)?;
        Ok(Some(Built {
            driver: Driver::new(built.program),
            notes: built.notes,
        }))
    }

    fn tests(
        &self,
        arm: Arm,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<(Suite, Vec<String>), Failure> {
        let (sources, name) = match arm {
            Arm::Baseline => (&self.sides.stock, "stock device"),
            Arm::Patched => (&self.sides.patched, "patched device"),
        };
        let harness = share::root()?.join("harness").join("device");
        let flavour = build::Flavour::Plain;
        let built = build::build_arm(&harness, sources, &self.torch, flavour, name, progress)?;
        let tree = folder.join(format!("{arm}-tree"));
        sources.export(&["test/test_mps.py"], &tree)?;
        if !tree.join("test").join(test_suite::FILE).is_file() {
            return Err(Failure::new(
                Exit::PatchOrBuildFailed,
                format!("the {arm} tree has no test/{}", test_suite::FILE),
            ));
        }
        // the library lies in the package's own folder
        let package = built.program.parent().and_then(Path::parent);
        let suite = Suite {
            python: self.torch.python.clone(),
            root: tree.join("test"),
            file: test_suite::FILE.into(),
            environment: package
                .map(|package| ("PYTHONPATH".into(), package.into()))
                .into_iter()
                .collect(),
        };
        Ok((suite, built.notes))
    }
}
