//! Programs built from a tree: its own sources, stock and patched, over the simulated Metal.
use super::subsets::{self, Subsets};
use super::{Built, Programs, sides};
use crate::build::{self, Target};
use crate::engine::{self, Arms as Sides, EngineError, Selection};
use crate::error::Failure;
use crate::exit::Exit;
use crate::explore;
use crate::progress::Progress;
use crate::provision::torch::Torch;
use crate::provision::{self, Item, Step};
use crate::report::document::{Arms, Compared, Subset, Trust};
use crate::run::catalogue::Catalogue;
use crate::run::job::{Arm, Definition, Flavour};
use crate::run::scenarios::Driver;
use crate::run::tests::Suite;
use crate::share;
use crate::upstream::{self, DEFAULT_VERSION, UpstreamError, Version};
use crate::verify::plan::{self, Suite as Extent};
use crate::verify::{Provision, Request, test_suite};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A tree, a patch set, and a machine that can build them.
pub(in crate::verify) struct FromTree {
    trust: Trust,
    pub(in crate::verify) sides: Sides,
    /// The subsets of the patches, and other patch sets, with their sources.
    subsets: Subsets,
    baseline: String,
    patched: String,
    /// The folder of the harness.
    pub(in crate::verify) harness: PathBuf,
    /// What is in it.
    harness_digest: String,
    pub(in crate::verify) catalogue: Catalogue,
    extent: Extent,
    /// Settings of the simulated device that hold for the whole run.
    settings: BTreeMap<String, String>,
    pub(in crate::verify) torch: Torch,
    /// The patch set that the user named.
    patches_from: Option<PathBuf>,
}

impl FromTree {
    pub(in crate::verify) fn prepare(
        request: &Request,
        trust: Trust,
        progress: &dyn Progress,
    ) -> Result<Self, Failure> {
        progress.stage("preflight");
        let harness = share::root()?.join("harness");
        let catalogue = Catalogue::read(&harness);
        if !catalogue.native.is_empty() {
            // a name that does not exist is told before minutes of building
            plan::plan(&catalogue, &request.selection)?;
        }
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
        let subsets = match &request.ablate {
            Some(ablate) => subsets::of(&sides, request.patches_from.as_deref(), ablate)?,
            None => Subsets::default(),
        };
        Ok(Self {
            trust,
            subsets,
            baseline: sides.stock.identity()?,
            patched: sides.patched.identity()?,
            sides,
            harness_digest: digest_of(&harness),
            catalogue,
            extent: request.selection.suite,
            settings: request.selection.settings.clone(),
            harness,
            torch,
            patches_from: request.patches_from.clone(),
        })
    }

    /// The command that explores the same sources, for a reader who wants to see a seed again.
    fn again(&self, arm: Arm, flavour: Flavour) -> String {
        let sources = match (arm, &self.patches_from) {
            (Arm::Baseline, _) => explore::Sources::Stock,
            (Arm::Patched, None) => explore::Sources::Series,
            (Arm::Patched, Some(folder)) => explore::Sources::Patches(folder),
        };
        let flavour = match flavour {
            Flavour::ExplorerAddress => build::Flavour::Address,
            Flavour::ExplorerThread => build::Flavour::Thread,
            _ => build::Flavour::Plain,
        };
        explore::again(sources, flavour)
    }
}

pub(super) fn arms(root: &Path, request: &Request) -> Result<Sides, Failure> {
    let from = request.patches_from.as_deref();
    Ok(engine::arms(root, from, &Selection::All)?)
}

pub(super) fn default_version() -> Result<Version, Failure> {
    DEFAULT_VERSION
        .parse()
        .map_err(|error: upstream::BadVersion| Failure::usage(error.to_string()))
}

/// The release whose torch headers fit the tree.
pub(super) fn version_of(sides: &Sides) -> Result<Version, Failure> {
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
pub(super) fn digest_of(folder: &Path) -> String {
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
    fn trust(&self) -> Trust {
        self.trust
    }

    fn parts(&self) -> BTreeMap<String, String> {
        let patches: Vec<String> = self.sides.patches.iter().map(ToString::to_string).collect();
        let tree = &self.sides.tree;
        let unknown = || "unknown".to_owned();
        let mut parts = BTreeMap::from(
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
                ("harness", self.harness_digest.clone()),
                ("torch", self.torch.version.clone()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        if !self.subsets.all.is_empty() {
            parts.insert("subsets".to_owned(), self.subsets.identity());
        }
        parts
    }

    fn compared(&self) -> Arms<Compared> {
        sides::compared(&self.sides, &self.baseline, &self.patched)
    }

    fn notes(&self) -> Vec<String> {
        let notes = self.sides.notes.iter().chain(&self.subsets.notes);
        notes.cloned().collect()
    }

    fn promises(&self) -> BTreeMap<String, Vec<String>> {
        sides::promises(&self.sides)
    }

    fn training(&self) -> Vec<Definition> {
        self.catalogue.training.clone()
    }

    fn explorer(&self) -> Vec<Definition> {
        self.catalogue.explorer.clone()
    }

    fn build(
        &self,
        arm: Arm,
        flavour: Flavour,
        progress: &dyn Progress,
    ) -> Result<Option<Built>, Failure> {
        let (sources, name) = match arm {
            Arm::Baseline => (&self.sides.stock, "stock"),
            Arm::Patched => (&self.sides.patched, "patched"),
        };
        let native = |flavour, name: &str| {
            build::build_arm(
                Target::Driver,
                sources,
                &self.torch,
                flavour,
                name,
                progress,
            )
        };
        let explorer = |flavour: build::Flavour| {
            let name = format!("{name}, the explorer ({})", flavour.name());
            build::build_arm(
                Target::Explorer,
                sources,
                &self.torch,
                flavour,
                &name,
                progress,
            )
        };
        let built = match flavour {
            Flavour::Plain => native(build::Flavour::Plain, name)?,
            Flavour::Address => native(
                build::Flavour::Address,
                &format!("{name} with AddressSanitizer"),
            )?,
            Flavour::Thread => native(
                build::Flavour::Thread,
                &format!("{name} with ThreadSanitizer"),
            )?,
            Flavour::Explorer => explorer(build::Flavour::Plain)?,
            Flavour::ExplorerAddress => explorer(build::Flavour::Address)?,
            Flavour::ExplorerThread => explorer(build::Flavour::Thread)?,
            Flavour::Training => build::build_arm(
                Target::MpsDevice,
                sources,
                &self.torch,
                build::Flavour::Plain,
                &format!("{name}, the mps device"),
                progress,
            )?,
        };
        let driver = match flavour {
            Flavour::Training => self.training_driver(&built.folder),
            Flavour::Plain => Driver::new(built.program),
            Flavour::Address | Flavour::Thread => Driver {
                environment: explore::sanitizer_environment(),
                ..Driver::new(built.program)
            },
            Flavour::Explorer | Flavour::ExplorerAddress | Flavour::ExplorerThread => Driver {
                leading: vec!["--again".into(), self.again(arm, flavour).into()],
                environment: explore::sanitizer_environment(),
                ..Driver::new(built.program)
            },
        };
        Ok(Some(Built {
            driver,
            notes: built.notes,
        }))
    }

    fn subsets(&self) -> Vec<Subset> {
        self.subsets.names()
    }

    fn build_subset(
        &self,
        subset: &Subset,
        flavour: Flavour,
        progress: &dyn Progress,
    ) -> Result<Option<Built>, Failure> {
        let Some(sources) = self.subsets.sources(subset) else {
            return Ok(None);
        };
        let flavour = match flavour {
            Flavour::Plain => build::Flavour::Plain,
            Flavour::Address => build::Flavour::Address,
            _ => return Ok(None),
        };
        let built = build::build_arm(
            Target::Driver,
            sources,
            &self.torch,
            flavour,
            &subset.name,
            progress,
        )?;
        let driver = Driver {
            environment: explore::sanitizer_environment(),
            ..Driver::new(built.program)
        };
        Ok(Some(Built {
            driver,
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
        let flavour = build::Flavour::Plain;
        let built = build::build_arm(
            Target::MpsDevice,
            sources,
            &self.torch,
            flavour,
            name,
            progress,
        )?;
        let tree = folder.join(format!("{arm}-tree"));
        sources.export(&["test/test_mps.py"], &tree)?;
        if !tree.join("test").join(test_suite::FILE).is_file() {
            return Err(Failure::new(
                Exit::PatchOrBuildFailed,
                format!("the {arm} tree has no test/{}", test_suite::FILE),
            ));
        }
        let suite = Suite {
            python: self.torch.python.clone(),
            root: tree.join("test"),
            file: test_suite::FILE.into(),
            environment: std::iter::once(("PYTHONPATH".into(), built.folder.into()))
                .chain(self.settings.iter().map(device_variable))
                .collect(),
        };
        Ok((suite, built.notes))
    }
}

/// The variable by which the device of the tests takes a setting; a name that is not one of its settings is nothing to it.
fn device_variable((key, value): (&String, &String)) -> (OsString, OsString) {
    let name = format!("SIMULATED_METAL_{}", key.to_uppercase());
    (name.into(), value.into())
}

impl FromTree {
    /// The training scripts with the device of one arm: the folder that goes on the path of Python.
    fn training_driver(&self, package: &Path) -> Driver {
        let size = match self.extent {
            Extent::Quick => "quick",
            Extent::Full => "full",
        };
        let script = self.harness.join("leaks").join("run.py");
        let word = |text: &str| OsString::from(text);
        Driver {
            command: self.torch.python.clone(),
            leading: vec![
                script.into(),
                word("--device"),
                word("mps"),
                word("--size"),
                word(size),
            ],
            environment: vec![
                (word("PYTHONPATH"), package.into()),
                (word("OMP_NUM_THREADS"), word("1")),
                (word("PYTHONDONTWRITEBYTECODE"), word("1")),
            ],
        }
    }
}
