//! Both arms as full builds of PyTorch on a Mac: the machine checked, the builds made, and each proved to be what it is.
use super::from_tree::{arms, digest_of, version_of};
use super::watch::Watch;
use super::{Built, Programs, identity, sides};
use crate::build::pytorch::{Built as PyTorchArm, PyTorch};
use crate::device::metal::tools::Tools;
use crate::device::metal::{Gpu, Machine, MetalError};
use crate::engine::{self, Arms as Sides};
use crate::error::Failure;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::provision::{self, Mend, State};
use crate::report::document::{Arms, Compared, Trust};
use crate::run::catalogue::Catalogue;
use crate::run::job::{Arm, Definition, Flavour};
use crate::run::process::{ProcessError, Program};
use crate::run::scenarios::{Driver, Guard};
use crate::run::tests::{Pretence, Suite};
use crate::share;
use crate::verify::plan::{self, Suite as Extent};
use crate::verify::{Request, test_suite};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A device that has not answered by then is wedged.
const CANARY_PATIENCE: Duration = Duration::from_secs(120);
/// Names another patience, in seconds.
const CANARY_VARIABLE: &str = "UMPATCH_CANARY_PATIENCE";

/// The check of the device under one arm's build.
#[derive(Debug, Clone)]
pub(super) struct Canary {
    program: Program,
}

impl Canary {
    /// Allocates, computes and copies on the device. A check that hangs or crashes is a fault of the device.
    pub(super) fn check(&self, gpu: &Gpu) -> Result<(), MetalError> {
        let unsound = |fault: String| MetalError::Unsound {
            fault,
            paravirtual: gpu.is_paravirtual(),
        };
        match self.program.run() {
            Ok(finished) => {
                let text = finished.text();
                let said = text
                    .lines()
                    .rev()
                    .find_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
                match said {
                    Some(said) if said["sound"] == true && finished.status.success() => Ok(()),
                    Some(said) if said["sound"] == false => Err(unsound(
                        said["detail"]
                            .as_str()
                            .unwrap_or("it does not say why")
                            .to_owned(),
                    )),
                    _ => Err(unsound(format!(
                        "the check ended with {}: {}",
                        finished.status,
                        finished.tail(2)
                    ))),
                }
            }
            Err(error @ ProcessError::Interrupted { .. }) => Err(MetalError::Process(error)),
            Err(ProcessError::TimedOut { limit, .. }) => Err(unsound(format!(
                "a small computation has not ended after {} s: it is wedged",
                limit.as_secs()
            ))),
            Err(error) => Err(unsound(error.to_string())),
        }
    }
}

/// Two builds of PyTorch on a Mac.
pub(super) struct OnMetal {
    sides: Sides,
    trust: Trust,
    machine: Machine,
    tools: Tools,
    built: [PyTorchArm; 2],
    torch: String,
    identities: [String; 2],
    harness: PathBuf,
    harness_digest: String,
    extent: Extent,
    watch: Watch,
}

impl OnMetal {
    pub(super) fn prepare(
        request: &Request,
        most: Trust,
        progress: &dyn Progress,
    ) -> Result<Self, Failure> {
        progress.stage("preflight: the machine");
        let harness = share::root()?.join("harness");
        let catalogue = Catalogue::read(&harness);
        plan::plan(&alone(catalogue.training), &request.selection)?;
        let machine = Machine::probe()?;
        let trust = machine.trust(most);
        settings()?;
        let tools = Tools::probe()?;
        progress.stage("preflight: the sources");
        let root = engine::root(request.tree.as_deref())?;
        let sides = arms(&root, request)?;
        let built = PyTorch::new(&sides, version_of(&sides)?, request.layout)?.build(progress)?;
        progress.stage("preflight: which torch");
        let wanted = identity::wanted(&sides, &built)?;
        let mut torch = String::new();
        for (arm, wanted) in built.iter().zip(&wanted) {
            let answer = identity::ask(arm, &environment(arm), &harness, wanted)?;
            identity::judge(&answer, wanted)?;
            answer.version().clone_into(&mut torch);
        }
        progress.stage("preflight: the device");
        let canaries: BTreeMap<Arm, Canary> = Arm::ALL
            .into_iter()
            .zip(&built)
            .map(|(arm, built)| (arm, canary(built, &harness)))
            .collect();
        for canary in canaries.values() {
            canary.check(&machine.gpu)?;
        }
        Ok(Self {
            watch: Watch::new(canaries, machine.gpu.clone())?,
            identities: [sides.stock.identity()?, sides.patched.identity()?],
            harness_digest: digest_of(&harness),
            extent: request.selection.suite,
            sides,
            trust,
            machine,
            tools,
            built,
            torch,
            harness,
        })
    }

    fn built(&self, arm: Arm) -> &PyTorchArm {
        let [stock, patched] = &self.built;
        match arm {
            Arm::Baseline => stock,
            Arm::Patched => patched,
        }
    }
}

/// The training scripts are all that runs on a Mac.
fn alone(native: Vec<Definition>) -> Catalogue {
    Catalogue {
        native,
        ..Catalogue::default()
    }
}

/// Settings that contradict each other make every allocation fail, in a way that looks like the patches' fault.
fn settings() -> Result<(), MetalError> {
    let item = provision::watermarks_of_environment();
    if item.state == State::Ok {
        return Ok(());
    }
    Err(MetalError::Settings {
        found: item.found,
        mend: match item.mend {
            Some(Mend::ByHand(deed)) => deed,
            _ => "unset them".to_owned(),
        },
    })
}

/// The variables of this process that PyTorch's MPS backend reads.
fn environment_of_mps() -> String {
    let mut all: Vec<String> = std::env::vars()
        .filter(|(name, _)| name.starts_with("PYTORCH_") && name.contains("MPS"))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    all.sort();
    all.join(" ")
}

/// What makes an interpreter import the arm's build.
fn environment(built: &PyTorchArm) -> Vec<(OsString, OsString)> {
    vec![
        ("PYTHONPATH".into(), built.package.clone().into()),
        ("PYTHONNOUSERSITE".into(), "1".into()),
        ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
    ]
}

fn canary(built: &PyTorchArm, harness: &Path) -> Canary {
    let patience = std::env::var(CANARY_VARIABLE)
        .ok()
        .and_then(|text| text.parse().ok())
        .map_or(CANARY_PATIENCE, Duration::from_secs);
    let mut program = Program::new(&built.python)
        .arg(harness.join("pytest").join("canary.py"))
        .args(["--device", "mps"])
        .limit(patience);
    for (key, value) in environment(built) {
        program = program.env(key, value);
    }
    Canary { program }
}

impl Programs for OnMetal {
    fn trust(&self) -> Trust {
        self.trust
    }

    fn guard(&self) -> &dyn Guard {
        &self.watch
    }

    fn pretence(&self) -> Option<Pretence> {
        None
    }

    fn parts(&self) -> BTreeMap<String, String> {
        let patches: Vec<String> = self.sides.patches.iter().map(ToString::to_string).collect();
        let tree = &self.sides.tree;
        let mut parts = self.machine.parts();
        let [stock, patched] = &self.identities;
        for (name, value) in [
            ("upstream-version", tree.version.clone().unwrap_or_default()),
            ("generation", tree.generation.clone().unwrap_or_default()),
            ("series", self.sides.series.to_string()),
            ("patches", patches.join(" ")),
            ("baseline", stock.clone()),
            ("patched", patched.clone()),
            ("harness", self.harness_digest.clone()),
            ("torch", self.torch.clone()),
            ("sdk", self.tools.sdk.clone()),
            ("compiler", self.tools.version.clone()),
            ("environment", environment_of_mps()),
        ] {
            parts.insert(name.to_owned(), value);
        }
        parts
    }

    fn compared(&self) -> Arms<Compared> {
        let [stock, patched] = &self.built;
        sides::compared(&self.sides, &stock.commit, &patched.commit)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.machine.notes();
        notes.push(format!("{}, SDK {}", self.tools.version, self.tools.sdk));
        for arm in &self.built {
            let objects = arm.objects.map_or_else(
                || "built before".to_owned(),
                |objects| format!("{objects} objects compiled"),
            );
            notes.push(format!(
                "{}: torch {} of commit {}, {objects}",
                arm.side.name(),
                self.torch,
                arm.commit
            ));
        }
        notes.extend(self.sides.notes.iter().cloned());
        notes
    }

    fn promises(&self) -> BTreeMap<String, Vec<String>> {
        sides::promises(&self.sides)
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
        let built = self.built(arm);
        let size = match self.extent {
            Extent::Quick => "quick",
            Extent::Full => "full",
        };
        let mut leading: Vec<OsString> = vec![self.harness.join("leaks").join("run.py").into()];
        leading.extend(["--device", "mps", "--size", size].map(OsString::from));
        Ok(Some(Built {
            driver: Driver {
                command: built.python.clone(),
                leading,
                environment: environment(built),
            },
            notes: Vec::new(),
        }))
    }

    fn tests(
        &self,
        arm: Arm,
        folder: &Path,
        _progress: &dyn Progress,
    ) -> Result<(Suite, Vec<String>), Failure> {
        let sources = match arm {
            Arm::Baseline => &self.sides.stock,
            Arm::Patched => &self.sides.patched,
        };
        let tree = folder.join(format!("{arm}-tree"));
        sources.export(&["test/test_mps.py"], &tree)?;
        let root = tree.join("test");
        if !root.join(test_suite::FILE).is_file() {
            return Err(Failure::new(
                Exit::PatchOrBuildFailed,
                format!("the {arm} tree has no test/{}", test_suite::FILE),
            ));
        }
        let built = self.built(arm);
        let suite = Suite {
            python: built.python.clone(),
            root,
            file: test_suite::FILE.into(),
            environment: environment(built),
        };
        Ok((suite, Vec::new()))
    }
}
