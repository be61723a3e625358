//! Where the programs of both arms come from.
mod equal;
pub(in crate::verify) mod from_tree;
mod identity;
mod on_metal;
mod sides;
mod subsets;
mod watch;

use super::design::Contest;
use super::{Request, ablate::Ablate, test_suite};
use crate::device::{Device, Host};
use crate::error::Failure;
use crate::progress::Progress;
use crate::report::document::{Arms, Compared, Subset, Trust};
use crate::run::job::{Arm, Definition, Flavour};
use crate::run::scenarios::{Driver, Guard, Unguarded};
use crate::run::tests::{Pretence, Suite};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A program that was built, and what a reader of the report must know about it.
#[derive(Debug)]
pub struct Built {
    /// The program.
    pub driver: Driver,
    /// Mechanical rewrites and the like.
    pub notes: Vec<String>,
}

/// The programs of both arms.
pub trait Programs {
    /// How far figures can be trusted.
    fn trust(&self) -> Trust;
    /// Who looks at results before they count.
    fn guard(&self) -> &dyn Guard {
        &Unguarded
    }
    /// What tests are told about a Mac that they do not run on; nothing where they run on one.
    fn pretence(&self) -> Option<Pretence> {
        Some(Pretence::default())
    }
    /// Parts of the fingerprint.
    fn parts(&self) -> BTreeMap<String, String>;
    /// What is compared with what.
    fn compared(&self) -> Arms<Compared>;
    /// What a reader of the report must know.
    fn notes(&self) -> Vec<String>;
    /// The patches that claim to mend what a scenario shows, by its id.
    fn promises(&self) -> BTreeMap<String, Vec<String>>;
    /// The training scripts that can run beside the native scenarios.
    fn training(&self) -> Vec<Definition>;
    /// The scenarios of the schedule explorer; none where there is no explorer.
    fn explorer(&self) -> Vec<Definition> {
        Vec::new()
    }
    /// The program of one arm; nothing when this flavour is not to be had.
    ///
    /// # Errors
    /// When it cannot be built.
    fn build(
        &self,
        arm: Arm,
        flavour: Flavour,
        progress: &dyn Progress,
    ) -> Result<Option<Built>, Failure>;
    /// The subsets of the patches, and other patch sets, that are to be tried beside the whole series.
    fn subsets(&self) -> Vec<Subset> {
        Vec::new()
    }
    /// The program of a subset; nothing when this flavour is not to be had.
    ///
    /// # Errors
    /// When it cannot be built.
    fn build_subset(
        &self,
        _subset: &Subset,
        _flavour: Flavour,
        _progress: &dyn Progress,
    ) -> Result<Option<Built>, Failure> {
        Ok(None)
    }
    /// The test file of one arm and what runs it, with what a reader must know; files go under `folder`.
    ///
    /// # Errors
    /// When the device cannot be built, or there are no tests.
    fn tests(
        &self,
        arm: Arm,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<(Suite, Vec<String>), Failure>;
}

/// Programs that are built already.
#[derive(Debug, Clone)]
pub struct Given {
    /// The program of the baseline.
    pub baseline: PathBuf,
    /// The program of the patched arm.
    pub patched: PathBuf,
    /// Folders that hold `test_mps.py`, and the device's package in `package/` where there is one.
    pub tests: Option<Arms<PathBuf>>,
}

/// Finds out what is to be compared, before anything is run.
///
/// # Errors
/// When there is no tree, no patch set for it, a patch does not apply, or the machine lacks what a build needs.
pub fn prepare(
    request: &Request,
    device: Device,
    host: Host,
    progress: &dyn Progress,
) -> Result<Box<dyn Programs>, Failure> {
    let trust = host.trust(device);
    if device == Device::Metal && request.ablate.is_some() {
        return Err(Failure::usage(
            "which patch does what is found out on the simulated device only: on a Mac each subset would be a PyTorch build of its own",
        )
        .hint("add --device simulated"));
    }
    let programs: Box<dyn Programs> = match (&request.given, device) {
        (Some(_), Device::Metal) => {
            return Err(Failure::usage(
                "programs that are built already run on the simulated device only",
            )
            .hint("add --device simulated"));
        }
        (Some(given), Device::Simulated) => {
            Box::new(ReadyMade::new(given, request.ablate.as_ref(), trust)?)
        }
        (None, Device::Simulated) => {
            Box::new(from_tree::FromTree::prepare(request, trust, progress)?)
        }
        (None, Device::Metal) => Box::new(on_metal::OnMetal::prepare(request, trust, progress)?),
    };
    Ok(match request.design.arms {
        Contest::PatchedWithStock => programs,
        Contest::StockWithItself => Box::new(equal::EqualArms(programs)),
    })
}

/// The identity of the harness that this umpatch carries, as fingerprints hold it.
///
/// # Errors
/// When umpatch's own files cannot be written to the cache.
pub fn harness_digest() -> Result<String, crate::share::ShareError> {
    Ok(from_tree::digest_of(&crate::share::root()?.join("harness")))
}

/// Programs that were built elsewhere: identified by their bytes.
struct ReadyMade {
    trust: Trust,
    arms: BTreeMap<Arm, (PathBuf, String)>,
    subsets: Vec<(Subset, PathBuf, String)>,
    tests: Option<Arms<PathBuf>>,
}

impl ReadyMade {
    fn new(given: &Given, ablate: Option<&Ablate>, trust: Trust) -> Result<Self, Failure> {
        let mut arms = BTreeMap::new();
        for (arm, path) in [
            (Arm::Baseline, &given.baseline),
            (Arm::Patched, &given.patched),
        ] {
            arms.insert(arm, identified(path)?);
        }
        let mut subsets = Vec::new();
        for (name, path) in ablate.iter().flat_map(|ablate| &ablate.given) {
            let (path, digest) = identified(path)?;
            let subset = Subset {
                name: name.clone(),
                ..Subset::default()
            };
            subsets.push((subset, path, digest));
        }
        Ok(Self {
            trust,
            arms,
            subsets,
            tests: given.tests.clone(),
        })
    }
}

/// A program's full path, and its identity.
fn identified(path: &Path) -> Result<(PathBuf, String), Failure> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match digest(&path) {
        Ok(digest) => Ok((path, digest)),
        Err(error) => Err(Failure::usage(format!(
            "cannot read the driver {}: {error}",
            path.display()
        ))),
    }
}

fn digest(path: &Path) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = std::fs::File::open(path)?;
    std::io::copy(&mut file, &mut hasher)?;
    Ok(hex::encode(hasher.finalize()))
}

impl Programs for ReadyMade {
    fn trust(&self) -> Trust {
        self.trust
    }

    fn parts(&self) -> BTreeMap<String, String> {
        self.arms
            .iter()
            .map(|(arm, (_, digest))| (arm.name().to_owned(), digest.clone()))
            .chain(
                self.subsets
                    .iter()
                    .map(|(subset, _, digest)| (format!("subset {}", subset.name), digest.clone())),
            )
            .collect()
    }

    fn compared(&self) -> Arms<Compared> {
        let of = |arm| {
            self.arms
                .get(&arm)
                .map_or_else(Compared::default, |(path, digest)| Compared {
                    name: path.display().to_string(),
                    commit: digest.clone(),
                    titles: Vec::new(),
                    patches: Vec::new(),
                })
        };
        Arms {
            baseline: of(Arm::Baseline),
            patched: of(Arm::Patched),
        }
    }

    fn notes(&self) -> Vec<String> {
        vec!["the programs were given, not built by this run: what they were built from is not checked".to_owned()]
    }

    fn promises(&self) -> BTreeMap<String, Vec<String>> {
        BTreeMap::new()
    }

    fn training(&self) -> Vec<Definition> {
        Vec::new()
    }

    fn build(
        &self,
        arm: Arm,
        flavour: Flavour,
        _progress: &dyn Progress,
    ) -> Result<Option<Built>, Failure> {
        if flavour != Flavour::Plain {
            return Ok(None);
        }
        Ok(self.arms.get(&arm).map(|(path, _)| Built {
            driver: Driver::new(path),
            notes: Vec::new(),
        }))
    }

    fn subsets(&self) -> Vec<Subset> {
        let subsets = self.subsets.iter();
        subsets.map(|(subset, _, _)| subset.clone()).collect()
    }

    fn build_subset(
        &self,
        subset: &Subset,
        flavour: Flavour,
        _progress: &dyn Progress,
    ) -> Result<Option<Built>, Failure> {
        let mut known = self.subsets.iter();
        Ok(known
            .find(|(known, _, _)| known == subset && flavour == Flavour::Plain)
            .map(|(_, path, _)| Built {
                driver: Driver::new(path),
                notes: Vec::new(),
            }))
    }

    fn tests(
        &self,
        arm: Arm,
        _folder: &Path,
        _progress: &dyn Progress,
    ) -> Result<(Suite, Vec<String>), Failure> {
        let Some(given) = &self.tests else {
            return Err(Failure::usage("no tests were given with the programs")
                .hint("give --tests-baseline FOLDER and --tests-patched FOLDER, or a tree"));
        };
        let folder = match arm {
            Arm::Baseline => &given.baseline,
            Arm::Patched => &given.patched,
        };
        let root = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
        let python = std::env::var_os("UMPATCH_TORCH_VENV").map_or_else(
            || "python3".into(),
            |venv| Path::new(&venv).join("bin/python"),
        );
        let suite = Suite {
            python,
            environment: vec![("PYTHONPATH".into(), root.join("package").into())],
            root,
            file: test_suite::FILE.into(),
        };
        Ok((suite, Vec::new()))
    }
}
