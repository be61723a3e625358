//! The Python environment that holds the torch wheel of the tree's version, with what PyTorch's own tests need.
use super::item::{Item, Mend, Need};
use super::program::on_path;
use crate::paths;
use crate::run::process::{ProcessError, Program};
use crate::upstream::Version;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names an environment to use instead of ours.
const VARIABLE: &str = "UMPATCH_TORCH_VENV";
/// What PyTorch's own tests import beside torch: the module and the package that brings it.
const MODULES: [&str; 4] = ["numpy", "pytest", "expecttest", "hypothesis"];
/// The first import of torch reads gigabytes from a cold disk.
const PATIENCE: Duration = Duration::from_secs(600);

/// Asks an environment's Python about itself. Prints one JSON document, whatever fails.
const QUESTION: &str = r#"
import importlib.util, json, sys, sysconfig
answer = {"python": "%d.%d.%d" % sys.version_info[:3], "include": sysconfig.get_paths()["include"]}
answer["missing"] = [name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]
try:
    import torch
    answer["version"] = torch.__version__
    answer["cxx11_abi"] = bool(torch._C._GLIBCXX_USE_CXX11_ABI)
    answer["folder"] = torch.__path__[0]
except BaseException as error:
    answer["error"] = "%s: %s" % (type(error).__name__, error)
print("\n" + json.dumps(answer))
"#;

/// The C++ ABI that a wheel was built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abi {
    /// `_GLIBCXX_USE_CXX11_ABI=0`
    Old,
    /// `_GLIBCXX_USE_CXX11_ABI=1`
    Cxx11,
}

impl Abi {
    /// The value of `_GLIBCXX_USE_CXX11_ABI`.
    #[must_use]
    pub const fn define(self) -> &'static str {
        match self {
            Self::Old => "0",
            Self::Cxx11 => "1",
        }
    }
}

/// An environment that is complete and of the right version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torch {
    /// The environment's folder.
    pub venv: PathBuf,
    /// Its interpreter.
    pub python: PathBuf,
    /// The interpreter's version, such as `3.11.2`.
    pub python_version: String,
    /// The interpreter's headers.
    pub python_include: PathBuf,
    /// The torch package: headers in `include`, libraries in `lib`.
    pub folder: PathBuf,
    /// torch's version with its build, such as `2.6.0+cpu`.
    pub version: String,
    /// The ABI that it was built with.
    pub abi: Abi,
}

/// What an environment's Python answers.
#[derive(Debug, Deserialize)]
struct Answer {
    python: String,
    include: PathBuf,
    missing: Vec<String>,
    version: Option<String>,
    cxx11_abi: Option<bool>,
    folder: Option<PathBuf>,
    error: Option<String>,
}

/// Why an environment cannot be used.
#[derive(Debug)]
pub(super) enum Unusable {
    /// There is none.
    Absent,
    /// There is one, but something is not right.
    Broken(String),
}

/// The folder of the environment for a version: what `UMPATCH_TORCH_VENV` names, else ours.
#[must_use]
pub fn venv(version: &Version) -> PathBuf {
    named().unwrap_or_else(|| paths::cache().join("torch").join(version.to_string()))
}

/// What `UMPATCH_TORCH_VENV` names.
pub(super) fn named() -> Option<PathBuf> {
    std::env::var_os(VARIABLE)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The environment for a version, asked; nothing where it is not there or not right.
#[must_use]
pub fn find(version: &Version) -> Option<Torch> {
    ask(&venv(version), version).ok()
}

/// Asks the environment in `venv`.
pub(super) fn ask(venv: &Path, version: &Version) -> Result<Torch, Unusable> {
    let python = venv.join("bin").join("python");
    if !python.exists() {
        return Err(Unusable::Absent);
    }
    let broken = |text: String| Unusable::Broken(format!("{}: {text}", venv.display()));
    let finished = Program::new(&python)
        // isolated: neither the current folder nor the user's packages may stand in; a plug-in must not load itself
        .args(["-I", "-c", QUESTION])
        .args(MODULES)
        .env("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
        .limit(PATIENCE)
        .run()
        .map_err(|error: ProcessError| broken(error.to_string()))?;
    let text = finished.text();
    let answer: Answer = text
        .lines()
        .last()
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| broken(format!("its Python does not answer: {}", finished.tail(1))))?;
    if let Some(error) = answer.error {
        return Err(broken(format!("torch cannot be imported: {error}")));
    }
    let (Some(found), Some(cxx11), Some(folder)) =
        (answer.version, answer.cxx11_abi, answer.folder)
    else {
        return Err(broken("torch does not tell its version".to_owned()));
    };
    // any build of the version will do: 2.6.0, 2.6.0+cpu, 2.6.0+cu124
    let plain = found.split('+').next().unwrap_or_default();
    if plain.parse::<Version>().ok().as_ref() != Some(version) {
        return Err(broken(format!("it holds torch {found}, not {version}")));
    }
    if !answer.missing.is_empty() {
        return Err(broken(format!("it lacks {}", answer.missing.join(", "))));
    }
    Ok(Torch {
        venv: venv.to_owned(),
        python,
        python_version: answer.python,
        python_include: answer.include,
        folder,
        version: found,
        abi: if cxx11 { Abi::Cxx11 } else { Abi::Old },
    })
}

/// The interpreter that the environment is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interpreter {
    pub(super) path: PathBuf,
    /// Whether it can make an environment with pip.
    pub(super) venv: Venv,
}

/// Whether an interpreter can make environments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Venv {
    Able,
    /// `venv` or `ensurepip` is not there.
    Unable,
}

/// The first Python that can make an environment: the one on the path, else the system's own; else the first at all.
pub(super) fn interpreter() -> Option<Interpreter> {
    let mut candidates: Vec<PathBuf> = on_path("python3").into_iter().collect();
    let system = PathBuf::from("/usr/bin/python3");
    if system.exists() && !candidates.contains(&system) {
        candidates.push(system);
    }
    let able = |path: &Path| {
        Program::new(path)
            .args(["-I", "-c", "import venv, ensurepip"])
            .limit(Duration::from_secs(60))
            .run()
            .is_ok_and(|finished| finished.status.success())
    };
    let first = candidates.first().cloned();
    candidates
        .into_iter()
        .find(|path| able(path))
        .map(|path| Interpreter {
            path,
            venv: Venv::Able,
        })
        .or_else(|| {
            first.map(|path| Interpreter {
                path,
                venv: Venv::Unable,
            })
        })
}

/// What pip is asked for.
pub(super) fn requirements(version: &Version) -> Vec<String> {
    let mut wanted = vec![format!("torch=={version}")];
    // wheels before 2.3 were built for NumPy 1
    let numpy_1 = "2.3.0".parse::<Version>().is_ok_and(|two| version < &two);
    for module in MODULES {
        wanted.push(match module {
            "numpy" if numpy_1 => "numpy<2".to_owned(),
            other => other.to_owned(),
        });
    }
    wanted
}

/// Examines Python and the environment for a version.
pub(super) fn examine(version: &Version) -> Vec<Item> {
    let need = Need::SimulatedDevice;
    let folder = venv(version);
    let asked = ask(&folder, version);
    let mut items = Vec::new();
    // an environment that is there needs nothing to be made with
    if asked.is_err() {
        items.push(match interpreter() {
            None => Item::missing(
                "python3",
                need,
                "no python3 on the path",
                Mend::Package("python3-venv".to_owned()),
            ),
            Some(found) if found.venv == Venv::Unable => Item::missing(
                "python3-venv",
                need,
                format!("{} has no venv and ensurepip modules", found.path.display()),
                Mend::Package("python3-venv".to_owned()),
            ),
            Some(found) => Item::ok("python3", need, found.path.display().to_string()),
        });
    }
    match asked {
        Ok(torch) => {
            items.push(Item::ok(
                "python3",
                need,
                format!("{} in {}", torch.python_version, torch.venv.display()),
            ));
            items.push(headers(&torch.python_include));
            items.push(Item::ok(
                "torch",
                need,
                format!(
                    "{} (_GLIBCXX_USE_CXX11_ABI={}) in {}, with {}",
                    torch.version,
                    torch.abi.define(),
                    torch.venv.display(),
                    MODULES.join(", ")
                ),
            ));
        }
        Err(reason) => {
            let mend = if named().is_some() {
                Mend::ByHand(format!(
                    "install {} there, or unset {VARIABLE}",
                    requirements(version).join(" ")
                ))
            } else {
                Mend::Torch
            };
            items.push(match reason {
                Unusable::Absent => Item::missing(
                    "torch",
                    need,
                    format!("there is no environment {}", folder.display()),
                    mend,
                ),
                Unusable::Broken(text) => Item::wrong("torch", need, text, mend),
            });
            let include = interpreter().and_then(|found| include_of(&found.path));
            items.push(match include {
                Some(include) => headers(&include),
                None => Item::missing(
                    "python3-headers",
                    need,
                    "no python3 to ask for its headers",
                    Mend::Package("python3-dev".to_owned()),
                ),
            });
        }
    }
    items
}

/// The folder of an interpreter's headers.
fn include_of(python: &Path) -> Option<PathBuf> {
    let finished = Program::new(python)
        .args([
            "-I",
            "-c",
            "import sysconfig; print(sysconfig.get_paths()['include'])",
        ])
        .limit(Duration::from_secs(60))
        .run()
        .ok()?;
    finished
        .status
        .success()
        .then(|| PathBuf::from(finished.text().trim()))
}

/// The headers that the simulated device for Python is compiled against.
fn headers(include: &Path) -> Item {
    let header = include.join("Python.h");
    if header.is_file() {
        return Item::ok(
            "python3-headers",
            Need::SimulatedDevice,
            header.display().to_string(),
        );
    }
    let mend = if include.starts_with("/usr/include") {
        Mend::Package("python3-dev".to_owned())
    } else {
        Mend::ByHand(format!(
            "install the headers of the Python that has its in {}",
            include.display()
        ))
    };
    Item::missing(
        "python3-headers",
        Need::SimulatedDevice,
        format!("{} is not there", header.display()),
        mend,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_wheels_get_the_numpy_that_they_were_built_for() {
        let of = |version: &str| requirements(&version.parse().unwrap());
        assert_eq!(of("2.6.0")[..2], ["torch==2.6.0", "numpy"]);
        assert_eq!(of("2.2.1")[..2], ["torch==2.2.1", "numpy<2"]);
    }

    /// An environment whose Python prints `answer`.
    fn fake(answer: &str) -> tempfile::TempDir {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let python = bin.join("python");
        std::fs::write(
            &python,
            format!("#!/bin/sh\necho noise\ncat <<'END'\n{answer}\nEND\n"),
        )
        .unwrap();
        std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
        folder
    }

    fn asked(answer: &str) -> Result<Torch, String> {
        let folder = fake(answer);
        let version = "2.6.0".parse().unwrap();
        ask(folder.path(), &version).map_err(|reason| match reason {
            Unusable::Absent => "absent".to_owned(),
            Unusable::Broken(text) => text,
        })
    }

    #[test]
    fn any_build_of_the_version_will_do_and_no_other() {
        let answer = |version: &str, missing: &str| {
            format!(
                "{{\"python\": \"3.11.2\", \"include\": \"/i\", \"missing\": [{missing}], \"version\": \"{version}\", \
                 \"cxx11_abi\": false, \"folder\": \"/t\"}}"
            )
        };
        let torch = asked(&answer("2.6.0+cpu", "")).unwrap();
        assert_eq!(torch.abi, Abi::Old);
        assert_eq!(torch.version, "2.6.0+cpu");
        assert!(
            asked(&answer("2.6.1", ""))
                .unwrap_err()
                .contains("not 2.6.0")
        );
        assert!(
            asked(&answer("2.6.0", "\"pytest\""))
                .unwrap_err()
                .contains("lacks pytest")
        );
        let failed = asked(
            "{\"python\": \"3\", \"include\": \"\", \"missing\": [], \"error\": \"OSError: libx\"}",
        );
        assert!(failed.unwrap_err().contains("OSError: libx"));
        assert!(
            asked("Segmentation fault")
                .unwrap_err()
                .contains("does not answer")
        );
        let version = "2.6.0".parse().unwrap();
        let nowhere = tempfile::tempdir().unwrap();
        assert!(matches!(
            ask(nowhere.path(), &version),
            Err(Unusable::Absent)
        ));
    }
}
