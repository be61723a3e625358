//! The exact commands of a full PyTorch build, for both arms, in order. Pure.
use super::machine::BuildMachine;
use crate::upstream::Version;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How the two arms are built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One build folder: stock first, kept aside, then only what the patches touch.
    #[default]
    Incremental,
    /// A build folder for each arm: twice the time and room, and nothing shared.
    Separate,
}

/// Which arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Without the patches.
    Stock,
    /// With them.
    Patched,
}

impl Side {
    /// Both, in the order in which they are built.
    pub const ALL: [Self; 2] = [Self::Stock, Self::Patched];

    /// The name in folders and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Patched => "patched",
        }
    }
}

/// How the tree is installed for development.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installer {
    /// `pip install -e . -v --no-build-isolation`
    Pip,
    /// `setup.py develop`
    SetupPy,
}

impl Installer {
    /// Upstream told people to use pip from 2.8 on; before, the editable install of its setup.py missed what `develop` does.
    #[must_use]
    pub fn of(version: &Version) -> Self {
        let first = "2.8.0".parse::<Version>();
        if first.is_ok_and(|first| *version >= first) {
            Self::Pip
        } else {
            Self::SetupPy
        }
    }
}

/// What a step is for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The tree's commit in a folder of our own.
    Checkout,
    /// Third-party sources.
    Submodules,
    /// The arm's own sources.
    Sources,
    /// The Python environment.
    Environment,
    /// What the build imports.
    Requirements,
    /// The compile.
    Compile,
    /// The built package, kept aside.
    Keep,
}

impl Purpose {
    /// In words, for progress.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Checkout => "check out",
            Self::Submodules => "third-party sources",
            Self::Sources => "sources",
            Self::Environment => "Python environment",
            Self::Requirements => "requirements",
            Self::Compile => "compile",
            Self::Keep => "keep the build",
        }
    }
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Command {
    /// What it is for.
    pub purpose: Purpose,
    /// The arm that it is for.
    pub side: Side,
    /// The folder that it runs in.
    pub folder: PathBuf,
    /// What it sets in its environment.
    pub environment: BTreeMap<String, String>,
    /// The folder of programs that come before those of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The program and its arguments.
    pub words: Vec<String>,
}

impl Command {
    /// The folder that has to be there before it runs, where no earlier command makes it.
    #[must_use]
    pub fn new_folder(&self) -> Option<PathBuf> {
        match self.purpose {
            Purpose::Keep => Path::new(self.words.last()?).parent().map(Path::to_owned),
            Purpose::Checkout | Purpose::Environment => Some(self.folder.clone()),
            _ => None,
        }
    }

    /// As a shell takes it.
    #[must_use]
    pub fn shell(&self) -> String {
        let path = |path: &Path| quoted(&path.to_string_lossy());
        let mut parts = Vec::new();
        if let Some(folder) = self.new_folder() {
            parts.push(format!("mkdir -p {} &&", path(&folder)));
        }
        parts.push(format!("cd {} &&", path(&self.folder)));
        for (key, value) in &self.environment {
            parts.push(format!("{key}={}", quoted(value)));
        }
        if let Some(first) = &self.path {
            parts.push(format!("PATH={}:\"$PATH\"", path(first)));
        }
        parts.extend(self.words.iter().map(|word| quoted(word)));
        parts.join(" ")
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./@=+,:".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Where the build of one tree lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The folder of the whole.
    pub root: PathBuf,
    /// How the arms are laid out in it.
    pub layout: Layout,
}

impl Places {
    /// The folder that holds the sources of an arm while it is built.
    #[must_use]
    pub fn tree(&self, side: Side) -> PathBuf {
        match self.layout {
            Layout::Incremental => self.root.join("tree"),
            Layout::Separate => self.root.join(side.name()).join("tree"),
        }
    }

    /// The Python environment of an arm.
    #[must_use]
    pub fn venv(&self, side: Side) -> PathBuf {
        match self.layout {
            Layout::Incremental => self.root.join("venv"),
            Layout::Separate => self.root.join(side.name()).join("venv"),
        }
    }

    /// The folder that holds the arm's built `torch` package.
    #[must_use]
    pub fn package(&self, side: Side) -> PathBuf {
        match (self.layout, side) {
            // the next arm is built over it
            (Layout::Incremental, Side::Stock) => self.root.join("kept").join(side.name()),
            _ => self.tree(side),
        }
    }

    /// The arm's interpreter.
    #[must_use]
    pub fn python(&self, side: Side) -> PathBuf {
        self.venv(side).join("bin").join("python")
    }
}

/// What a plan is made from.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The user's tree.
    pub tree: &'a Path,
    /// The commit that both arms start from.
    pub commit: &'a str,
    /// Its version.
    pub version: &'a Version,
    /// The files in which the arms differ from each other or from the commit.
    pub differing: &'a [String],
    /// Whether it has third-party sources as submodules.
    pub submodules: Submodules,
    /// Where it is built.
    pub places: &'a Places,
    /// The machine.
    pub machine: &'a BuildMachine,
}

/// Whether a tree has submodules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submodules {
    /// It has.
    Present,
    /// Its third-party sources are its own files.
    Absent,
}

/// The commands of both arms.
#[must_use]
pub fn plan(question: &Question<'_>) -> Vec<Command> {
    let mut commands = Vec::new();
    for side in Side::ALL {
        let first = side == Side::Stock || question.places.layout == Layout::Separate;
        if first {
            commands.extend(prepare(question, side));
        }
        commands.extend(sources(question, side));
        commands.push(compile(question, side));
        if question.places.package(side) != question.places.tree(side) {
            commands.push(keep(question, side));
        }
    }
    commands
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn prepare(question: &Question<'_>, side: Side) -> Vec<Command> {
    let tree = question.places.tree(side);
    let venv = question.places.venv(side);
    let command = |purpose, folder: &Path, words: Vec<String>| Command {
        purpose,
        side,
        folder: folder.to_owned(),
        environment: BTreeMap::new(),
        path: None,
        words,
    };
    let root = tree.parent().unwrap_or(&tree).to_owned();
    let mut commands = vec![
        // shares the objects of the user's repository and leaves it as it is
        command(
            Purpose::Checkout,
            &root,
            words(&["git", "clone", "--quiet", "--shared", "--no-checkout"])
                .into_iter()
                .chain([text(question.tree), text(&tree)])
                .collect(),
        ),
        command(
            Purpose::Checkout,
            &tree,
            words(&["git", "checkout", "--quiet", "--detach", question.commit]),
        ),
    ];
    if question.submodules == Submodules::Present {
        commands.push(command(
            Purpose::Submodules,
            &tree,
            words(&[
                "git",
                "submodule",
                "update",
                "--init",
                "--recursive",
                "--jobs",
                "8",
            ]),
        ));
    }
    commands.push(command(
        Purpose::Environment,
        &root,
        vec![
            "python3".to_owned(),
            "-m".to_owned(),
            "venv".to_owned(),
            text(&venv),
        ],
    ));
    let python = text(&question.places.python(side));
    for more in [
        &["-r", "requirements.txt"][..],
        &[
            "cmake",
            "ninja",
            // later ones hand `develop` over to pip
            "setuptools<80",
            "wheel",
            "pytest",
            "expecttest",
            "hypothesis",
        ][..],
    ] {
        let mut all = vec![python.clone()];
        all.extend(words(&["-m", "pip", "install"]));
        all.extend(words(more));
        commands.push(command(Purpose::Requirements, &tree, all));
    }
    commands
}

/// The arm's own files as a commit, whose id the built torch will state. The files are written between the first command and
/// the second; those that are the same already keep their time.
fn sources(question: &Question<'_>, side: Side) -> Vec<Command> {
    let command = |words: Vec<String>| Command {
        purpose: Purpose::Sources,
        side,
        folder: question.places.tree(side),
        environment: identity(),
        path: None,
        words,
    };
    let mut add = words(&["git", "add", "--force", "--"]);
    add.extend(question.differing.iter().cloned());
    vec![
        command(words(&[
            "git",
            "reset",
            "--quiet",
            "--soft",
            question.commit,
        ])),
        command(add),
        command(words(&[
            "git",
            "commit",
            "--quiet",
            "--allow-empty",
            "--no-verify",
            "--no-gpg-sign",
            "--message",
            side.name(),
        ])),
    ]
}

/// The same commit id everywhere and always.
fn identity() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for role in ["AUTHOR", "COMMITTER"] {
        all.insert(format!("GIT_{role}_NAME"), "umpatch".to_owned());
        all.insert(format!("GIT_{role}_EMAIL"), "umpatch@localhost".to_owned());
        all.insert(
            format!("GIT_{role}_DATE"),
            "2000-01-01T00:00:00Z".to_owned(),
        );
    }
    all
}

fn compile(question: &Question<'_>, side: Side) -> Command {
    let mut all = vec![text(&question.places.python(side))];
    all.extend(words(match Installer::of(question.version) {
        Installer::Pip => &[
            "-m",
            "pip",
            "install",
            "-e",
            ".",
            "-v",
            "--no-build-isolation",
        ],
        Installer::SetupPy => &["setup.py", "develop"],
    }));
    Command {
        purpose: Purpose::Compile,
        side,
        folder: question.places.tree(side),
        environment: environment(question),
        path: Some(question.places.venv(side).join("bin")),
        words: all,
    }
}

/// The oldest macOS that the build is for: upstream's own choice for its wheels.
fn deployment_target(version: &Version) -> &'static str {
    let newer = "2.9.0".parse::<Version>();
    if newer.is_ok_and(|newer| *version >= newer) {
        "14.0"
    } else {
        "11.0"
    }
}

fn environment(question: &Question<'_>) -> BTreeMap<String, String> {
    let machine = question.machine;
    let mut all: BTreeMap<String, String> = [
        ("USE_MPS", "1"),
        ("USE_CUDA", "0"),
        ("USE_ROCM", "0"),
        ("USE_DISTRIBUTED", "1"),
        ("BUILD_TEST", "0"),
        ("USE_NINJA", "1"),
        // submodules of 2.x ask for a CMake whose rules CMake 4 no longer has
        ("CMAKE_POLICY_VERSION_MINIMUM", "3.5"),
        ("PYTORCH_BUILD_NUMBER", "1"),
        ("PYTHONUNBUFFERED", "1"),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    // a version without the commit: with it, a header that everything includes would differ between the arms
    all.insert(
        "PYTORCH_BUILD_VERSION".to_owned(),
        format!("{}+umpatch", question.version),
    );
    all.insert("MAX_JOBS".to_owned(), machine.jobs().to_string());
    all.insert(
        "MACOSX_DEPLOYMENT_TARGET".to_owned(),
        deployment_target(question.version).to_owned(),
    );
    if let Some(launcher) = &machine.launcher {
        for language in ["C", "CXX", "OBJC", "OBJCXX"] {
            all.insert(
                format!("CMAKE_{language}_COMPILER_LAUNCHER"),
                launcher.clone(),
            );
        }
    }
    all
}

fn keep(question: &Question<'_>, side: Side) -> Command {
    let package = question.places.package(side);
    Command {
        purpose: Purpose::Keep,
        side,
        folder: question.places.root.clone(),
        environment: BTreeMap::new(),
        path: None,
        words: vec![
            "cp".to_owned(),
            machine_copy(question.machine).to_owned(),
            "-R".to_owned(),
            text(&question.places.tree(side).join("torch")),
            text(&package.join("torch")),
        ],
    }
}

/// The option of `cp` that shares blocks on file systems that can, else the one that keeps times.
fn machine_copy(machine: &BuildMachine) -> &'static str {
    if machine.clones { "-c" } else { "-p" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(layout: Layout, version: &str, submodules: Submodules) -> Vec<Command> {
        let version = version.parse().unwrap();
        let places = Places {
            root: "/b".into(),
            layout,
        };
        let machine = BuildMachine {
            cores: 8,
            memory: Some(16 << 30),
            free: None,
            launcher: Some("ccache".to_owned()),
            max_jobs: None,
            clones: true,
        };
        plan(&Question {
            tree: Path::new("/my tree"),
            commit: "c0ffee",
            version: &version,
            differing: &["a.mm".to_owned(), "b.h".to_owned()],
            submodules,
            places: &places,
            machine: &machine,
        })
    }

    fn compiles(commands: &[Command]) -> Vec<&Command> {
        let mut found = Vec::new();
        found.extend(
            commands
                .iter()
                .filter(|command| command.purpose == Purpose::Compile),
        );
        found
    }

    #[test]
    fn one_folder_is_prepared_once_and_stock_is_kept_aside() {
        let all = commands(Layout::Incremental, "2.6.0", Submodules::Present);
        let count = |purpose| {
            all.iter()
                .filter(|command| command.purpose == purpose)
                .count()
        };
        assert_eq!(count(Purpose::Submodules), 1);
        assert_eq!(count(Purpose::Environment), 1);
        assert_eq!(count(Purpose::Keep), 1);
        let [stock, patched] = compiles(&all)[..] else {
            panic!("two arms")
        };
        assert_eq!(stock.folder, patched.folder);
        assert_eq!(stock.environment, patched.environment);
        assert!(all[0].shell().contains("'/my tree'"), "{}", all[0].shell());
    }

    #[test]
    fn folders_apart_share_nothing() {
        let all = commands(Layout::Separate, "2.6.0", Submodules::Absent);
        let count = |purpose| {
            all.iter()
                .filter(|command| command.purpose == purpose)
                .count()
        };
        assert_eq!((count(Purpose::Submodules), count(Purpose::Keep)), (0, 0));
        assert_eq!(count(Purpose::Environment), 2);
        let [stock, patched] = compiles(&all)[..] else {
            panic!("two arms")
        };
        assert_ne!(stock.folder, patched.folder);
    }

    #[test]
    fn the_environment_fits_the_version_and_the_machine() {
        let old = commands(Layout::Incremental, "2.6.0", Submodules::Absent);
        let new = commands(Layout::Incremental, "2.9.0", Submodules::Absent);
        let (old, new) = (compiles(&old)[0], compiles(&new)[0]);
        assert_eq!(old.words[1..], ["setup.py", "develop"]);
        assert_eq!(
            new.words[1..],
            [
                "-m",
                "pip",
                "install",
                "-e",
                ".",
                "-v",
                "--no-build-isolation"
            ]
        );
        assert_eq!(old.environment["MACOSX_DEPLOYMENT_TARGET"], "11.0");
        assert_eq!(new.environment["MACOSX_DEPLOYMENT_TARGET"], "14.0");
        for (key, value) in [
            ("USE_MPS", "1"),
            ("USE_CUDA", "0"),
            ("USE_DISTRIBUTED", "1"),
            ("BUILD_TEST", "0"),
            ("MAX_JOBS", "8"),
            ("CMAKE_CXX_COMPILER_LAUNCHER", "ccache"),
            ("CMAKE_OBJCXX_COMPILER_LAUNCHER", "ccache"),
            ("PYTORCH_BUILD_VERSION", "2.6.0+umpatch"),
        ] {
            assert_eq!(old.environment[key], value);
        }
    }
}
