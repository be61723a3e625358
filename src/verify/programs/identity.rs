//! Proves that the torch that an interpreter imports is an arm's own build, with the arm's patches in it.
use crate::build::pytorch::{Built, Side};
use crate::engine::Arms;
use crate::error::{Explain, Failure};
use crate::exit::Exit;
use crate::run::process::{ProcessError, Program};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The first import of torch reads a gigabyte from a cold disk.
const PATIENCE: Duration = Duration::from_secs(300);
/// Shorter names are found by chance.
const SHORTEST_MARK: usize = 8;
/// Marks that are looked for.
const MOST_MARKS: usize = 40;

/// What `harness/preflight/identity.py` answers.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Answer {
    file: PathBuf,
    version: String,
    git_version: Option<String>,
    libraries: Vec<PathBuf>,
    installs: Vec<PathBuf>,
    built: bool,
    available: bool,
    marks: BTreeMap<String, bool>,
    storage: Option<String>,
    error: Option<String>,
}

impl Answer {
    /// torch's version.
    pub(super) fn version(&self) -> &str {
        &self.version
    }
}

/// What an arm's torch has to be.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wanted {
    arm: &'static str,
    package: PathBuf,
    /// The folder that is installed for development: where it is not the package's, an install all the same, and ours.
    tree: PathBuf,
    commit: String,
    /// Names of functions that its library holds.
    present: Vec<String>,
    /// Names of functions that only the other arm's library holds.
    absent: Vec<String>,
    /// Where a new tensor lives, where the patches change it.
    storage: Option<&'static str>,
}

/// The torch under test is not the arm's own build.
#[derive(Debug, thiserror::Error, PartialEq)]
pub(super) enum NotOurs {
    /// It cannot be imported.
    #[error("the {arm} build of torch cannot be imported: {error}")]
    Broken { arm: &'static str, error: String },
    /// Another one is imported.
    #[error("the torch under test is {}, and not the {arm} build in {}", file.display(), package.display())]
    Elsewhere {
        arm: &'static str,
        file: PathBuf,
        package: PathBuf,
    },
    /// There are several.
    #[error("Python finds {} installs of torch: {}", installs.len(), shown(installs))]
    Several { installs: Vec<PathBuf> },
    /// It was built from something else.
    #[error("the {arm} torch states commit {found}, and was to be built from {wanted}")]
    Commit {
        arm: &'static str,
        found: String,
        wanted: String,
    },
    /// Its library is another's.
    #[error("the {arm} torch loads {}, which is not below {}", library.display(), package.display())]
    Library {
        arm: &'static str,
        library: PathBuf,
        package: PathBuf,
    },
    /// It has no MPS.
    #[error("the {arm} torch was built without MPS")]
    NoMps { arm: &'static str },
    /// It says that there is no device.
    #[error("the {arm} torch says that no MPS device is available")]
    NoDevice { arm: &'static str },
    /// The code is not in it.
    #[error("the library of the {arm} torch is not the arm's: {what}")]
    Code { arm: &'static str, what: String },
    /// It does not behave as the code says.
    #[error(
        "the {arm} torch does not behave as its sources say: a new tensor lives in {found} storage, not in {wanted}"
    )]
    Behaviour {
        arm: &'static str,
        found: String,
        wanted: &'static str,
    },
}

fn shown(paths: &[PathBuf]) -> String {
    let all: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    all.join(", ")
}

impl Explain for NotOurs {
    fn exit(&self) -> Exit {
        match self {
            Self::NoDevice { .. } => Exit::Inconclusive,
            _ => Exit::PatchOrBuildFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        let uninstall = "a wheel in the environment hides the build: `python -m pip uninstall torch` there, unset PYTHONPATH, then \
                         run the same command again";
        let hint = match self {
            Self::Elsewhere { .. } | Self::Library { .. } => uninstall.to_owned(),
            Self::Several { .. } => {
                "leave one: what a test imports would depend on where it runs; `python -m pip uninstall torch`, unset PYTHONPATH"
                    .to_owned()
            }
            Self::Commit { .. } | Self::Code { .. } | Self::Behaviour { .. } => {
                "the build is stale: `umpatch build` makes it anew".to_owned()
            }
            Self::Broken { .. } | Self::NoMps { .. } => {
                "`umpatch build` shows how it is built; `umpatch doctor` what the machine lacks".to_owned()
            }
            Self::NoDevice { .. } => {
                "a virtual machine without a GPU, or macOS before 14: `umpatch doctor`".to_owned()
            }
        };
        vec![hint]
    }
}

/// What the torch of each arm has to be.
pub(super) fn wanted(sides: &Arms, built: &[Built; 2]) -> Result<[Wanted; 2], Failure> {
    let marks = marks(sides)?;
    let shared = sides
        .patches
        .iter()
        .any(|id| id.to_string() == "shared-default");
    Ok([0, 1].map(|index| {
        let arm = &built[index];
        let own = &marks[index];
        let other = &marks[1 - index];
        Wanted {
            arm: arm.side.name(),
            package: arm.package.clone(),
            tree: arm.tree.clone(),
            commit: arm.commit.clone(),
            present: own.iter().take(MOST_MARKS).cloned().collect(),
            absent: other.iter().take(MOST_MARKS).cloned().collect(),
            storage: shared.then_some(match arm.side {
                Side::Stock => "private",
                Side::Patched => "shared",
            }),
        }
    }))
}

/// Names of functions that only one arm's sources define: stock's, patched's.
fn marks(sides: &Arms) -> Result<[Vec<String>; 2], Failure> {
    let mut texts = [String::new(), String::new()];
    for path in &sides.differing {
        let compiled = [".mm", ".cpp", ".h"]
            .iter()
            .any(|end| path.as_str().ends_with(end));
        if !compiled {
            continue;
        }
        for (text, sources) in texts.iter_mut().zip([&sides.stock, &sides.patched]) {
            let bytes = sources.read(path)?.unwrap_or_default();
            text.push_str(&String::from_utf8_lossy(&bytes));
            text.push('\n');
        }
    }
    Ok(only_in(&texts))
}

fn only_in(texts: &[String; 2]) -> [Vec<String>; 2] {
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .filter(|word| word.len() >= SHORTEST_MARK)
            .map(str::to_owned)
            .collect()
    };
    let all = [words(&texts[0]), words(&texts[1])];
    [0, 1].map(|index| {
        let mut own: Vec<String> = defined(&texts[index])
            .into_iter()
            .filter(|name| !all[1 - index].contains(name))
            .collect();
        own.sort();
        own.dedup();
        own
    })
}

/// Names in `Class::name(`: functions that are defined apart from their class, so that a library has a symbol for them.
fn defined(text: &str) -> Vec<String> {
    text.match_indices("::")
        .filter_map(|(at, _)| {
            let rest = text.get(at + 2..)?;
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
            let name = rest.get(..end)?;
            let function = rest.get(end..)?.starts_with('(') && name.len() >= SHORTEST_MARK;
            function.then(|| name.to_owned())
        })
        .collect()
}

/// Asks the arm's interpreter.
pub(super) fn ask(
    built: &Built,
    environment: &[(std::ffi::OsString, std::ffi::OsString)],
    harness: &Path,
    wanted: &Wanted,
) -> Result<Answer, Failure> {
    let mut program = Program::new(&built.python)
        .arg(harness.join("preflight").join("identity.py"))
        .args(["--behaviour", "--marks"])
        .args(wanted.present.iter().chain(&wanted.absent))
        .limit(PATIENCE);
    for (key, value) in environment {
        program = program.env(key, value);
    }
    let broken = |error: String| -> Failure {
        NotOurs::Broken {
            arm: wanted.arm,
            error,
        }
        .into()
    };
    let finished = match program.run() {
        Ok(finished) => finished,
        Err(ProcessError::Interrupted { program }) => {
            return Err(ProcessError::Interrupted { program }.into());
        }
        Err(error) => return Err(broken(error.to_string())),
    };
    let text = finished.text();
    let answer = text.lines().rev().find_map(|line| {
        serde_json::from_str::<Answer>(line)
            .ok()
            .filter(|_| line.starts_with('{'))
    });
    answer.ok_or_else(|| broken(finished.tail(2)))
}

/// Whether it is the arm's own build.
pub(super) fn judge(answer: &Answer, wanted: &Wanted) -> Result<(), NotOurs> {
    let arm = wanted.arm;
    let below = |path: &Path| path.starts_with(&wanted.package);
    // what comes first is imported; a second torch that is no build of ours is found by whatever looks elsewhere
    let foreign = |install: &PathBuf| !below(install) && !install.starts_with(&wanted.tree);
    if below(&answer.file) && answer.installs.iter().any(foreign) {
        return Err(NotOurs::Several {
            installs: answer.installs.clone(),
        });
    }
    if !answer.file.as_os_str().is_empty() && !below(&answer.file) {
        return Err(NotOurs::Elsewhere {
            arm,
            file: answer.file.clone(),
            package: wanted.package.clone(),
        });
    }
    if let Some(error) = &answer.error {
        return Err(NotOurs::Broken {
            arm,
            error: error.clone(),
        });
    }
    let found = answer.git_version.clone().unwrap_or_default();
    if found != wanted.commit {
        return Err(NotOurs::Commit {
            arm,
            found: if found.is_empty() {
                "nothing".to_owned()
            } else {
                found
            },
            wanted: wanted.commit.clone(),
        });
    }
    if let Some(library) = answer.libraries.iter().find(|library| !below(library)) {
        return Err(NotOurs::Library {
            arm,
            library: library.clone(),
            package: wanted.package.clone(),
        });
    }
    if !answer.built {
        return Err(NotOurs::NoMps { arm });
    }
    if !answer.available {
        return Err(NotOurs::NoDevice { arm });
    }
    code(answer, wanted)?;
    match (&answer.storage, wanted.storage) {
        (found, Some(storage)) if found.as_deref() != Some(storage) => Err(NotOurs::Behaviour {
            arm,
            found: found.clone().unwrap_or_else(|| "unknown".to_owned()),
            wanted: storage,
        }),
        _ => Ok(()),
    }
}

fn code(answer: &Answer, wanted: &Wanted) -> Result<(), NotOurs> {
    let holds = |name: &&String| answer.marks.get(*name).copied().unwrap_or(false);
    let wrong = |what: String| {
        Err(NotOurs::Code {
            arm: wanted.arm,
            what,
        })
    };
    if let Some(name) = wanted.absent.iter().find(holds) {
        return wrong(format!("it holds {name}, which only the other arm has"));
    }
    // a function that is compiled into its callers leaves no name: one that is there is enough
    if !wanted.present.is_empty() && !wanted.present.iter().any(|name| holds(&name)) {
        return wrong(format!("it holds none of {}", wanted.present.join(", ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        Wanted {
            arm: "patched",
            package: "/b/tree".into(),
            tree: "/b/tree".into(),
            commit: "c0ffee".to_owned(),
            present: vec!["insert_pending_buffer".to_owned()],
            absent: vec!["old_function".to_owned()],
            storage: Some("shared"),
        }
    }

    fn ours() -> Answer {
        Answer {
            file: "/b/tree/torch/__init__.py".into(),
            version: "2.6.0".to_owned(),
            git_version: Some("c0ffee".to_owned()),
            libraries: vec!["/b/tree/torch/lib/libtorch_cpu.dylib".into()],
            installs: vec!["/b/tree/torch".into()],
            built: true,
            available: true,
            marks: [("insert_pending_buffer", true), ("old_function", false)]
                .map(|(name, there)| (name.to_owned(), there))
                .into(),
            storage: Some("shared".to_owned()),
            error: None,
        }
    }

    #[test]
    fn the_arm_s_own_build_is_accepted() {
        assert_eq!(judge(&ours(), &wanted()), Ok(()));
        // kept aside, while the tree that it was built in is installed for development
        let kept = Wanted {
            package: "/b/kept/stock".into(),
            ..wanted()
        };
        let answer = Answer {
            file: "/b/kept/stock/torch/__init__.py".into(),
            libraries: vec!["/b/kept/stock/torch/lib/libtorch_cpu.dylib".into()],
            installs: vec!["/b/kept/stock/torch".into(), "/b/tree/torch".into()],
            ..ours()
        };
        assert_eq!(judge(&answer, &kept), Ok(()));
    }

    #[test]
    fn anything_else_is_refused_by_what_is_wrong() {
        type Change = fn(&mut Answer);
        let cases: [(Change, &str); 10] = [
            (
                |answer| answer.file = "/v/site-packages/torch/__init__.py".into(),
                "not the patched build",
            ),
            (
                |answer| answer.installs.push("/v/site-packages/torch".into()),
                "2 installs of torch",
            ),
            (
                |answer| answer.git_version = Some("deadbeef".to_owned()),
                "states commit deadbeef",
            ),
            (|answer| answer.git_version = None, "states commit nothing"),
            (
                |answer| answer.libraries.push("/v/libtorch_cpu.dylib".into()),
                "loads /v/libtorch_cpu.dylib",
            ),
            (|answer| answer.built = false, "without MPS"),
            (|answer| answer.available = false, "no MPS device"),
            (
                |answer| answer.marks.clear(),
                "holds none of insert_pending_buffer",
            ),
            (
                |answer| {
                    answer.marks.insert("old_function".to_owned(), true);
                },
                "holds old_function",
            ),
            (
                |answer| answer.storage = Some("private".to_owned()),
                "private storage",
            ),
        ];
        for (change, words) in cases {
            let mut answer = ours();
            change(&mut answer);
            let error = judge(&answer, &wanted()).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn marks_are_functions_that_one_arm_alone_defines() {
        let stock = "void Impl::free_buffer(Block* b) {}\nint Impl::old_function() {}".to_owned();
        let patched = "void Impl::free_buffer(Block* b) { insert_pending_buffer(b); }\nvoid Impl::insert_pending_buffer(Block* b) {}\nstd::move(x); Impl::short(1);"
            .to_owned();
        assert_eq!(
            only_in(&[stock, patched]),
            [
                vec!["old_function".to_owned()],
                vec!["insert_pending_buffer".to_owned()]
            ]
        );
    }
}
