//! `umpatch doctor` from outside: what it names, what it runs, and what it says when a package manager fails.
#![allow(clippy::unwrap_used)]
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// A machine of its own: the programs in `bin` and no others, a cache, a recipe that asks for one program.
struct Machine {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}", self.stderr))
    }
}

const RECIPE: &str = "[[requires.program]]\nname = \"clang++-16\"\npackage = \"clang-16\"\n";

/// A Python that can make environments; those that it makes have pip, which notes what it is asked for and then makes torch
/// importable: the environment's Python answers for it.
const PYTHON: &str = r#"
case "$*" in
  *"import venv, ensurepip"*) exit 0;;
  *get_paths*) echo "$ROOT/include";;
  *"-m venv"*) for last; do :; done; mkdir -p "$last/bin"; cp "$ROOT/venv-python" "$last/bin/python";;
  *) exit 9;;
esac"#;

const VENV_PYTHON: &str = r#"#!/bin/sh
here=$(dirname "$0")
case "$*" in
  *"pip --version"*) exit 0;;
  *"pip install"*)
    echo "pip $*" >> "$ROOT/calls"
    if [ -e "$ROOT/broken-connection" ]; then rm "$ROOT/broken-connection"; echo "ERROR: Connection broken: IncompleteRead(1 bytes read)" >&2; exit 1; fi
    if [ -e "$ROOT/no-release" ]; then echo "ERROR: No matching distribution found for torch==2.6.0" >&2; exit 1; fi
    touch "$here/installed";;
  *)
    if [ -e "$here/installed" ]; then
      echo "{\"python\": \"3.11.2\", \"include\": \"$ROOT/include\", \"missing\": [], \"version\": \"2.6.0+cpu\", \"cxx11_abi\": false, \"folder\": \"/t\"}"
    else
      echo "{\"python\": \"3.11.2\", \"include\": \"$ROOT/include\", \"missing\": [\"numpy\"], \"error\": \"ModuleNotFoundError: torch\"}"
    fi;;
esac
"#;

/// An apt-get that installs by writing the program that the package holds.
const APT: &str = r#"
echo "apt-get $*" >> "$ROOT/calls"
[ "$DEBIAN_FRONTEND" = noninteractive ] || exit 9
if [ -e "$ROOT/locked" ]; then rm "$ROOT/locked"; echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt)" >&2; exit 100; fi
case "$*" in
  *install*no-such*) exit 100;;
  *install*)
    if [ -e "$ROOT/absent" ]; then echo "E: Unable to locate package clang-16" >&2; exit 100; fi
    printf '#!/bin/sh\nexit 0\n' > "$ROOT/bin/clang++-16"; chmod +x "$ROOT/bin/clang++-16";;
esac"#;

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["bin", "cache", "home", "include", "share/harness/metal"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("share/harness/metal/recipe.toml"), RECIPE).unwrap();
        fs::write(root.join("include/Python.h"), "").unwrap();
        let text = |name: &str| root.join(name).to_string_lossy().into_owned();
        let environment = vec![
            ("ROOT".to_owned(), root.to_string_lossy().into_owned()),
            ("PATH".to_owned(), text("bin")),
            ("HOME".to_owned(), text("home")),
            ("UMPATCH_CACHE".to_owned(), text("cache")),
            ("UMPATCH_SHARE".to_owned(), text("share")),
        ];
        let machine = Self {
            folder,
            environment,
        };
        for tool in [
            "sh", "cat", "cp", "mkdir", "touch", "dirname", "chmod", "rm", "printf",
        ] {
            let found = ["/bin", "/usr/bin"]
                .iter()
                .map(|folder| PathBuf::from(folder).join(tool))
                .find(|path| path.exists());
            if let Some(path) = found {
                std::os::unix::fs::symlink(path, machine.path("bin").join(tool)).unwrap();
            }
        }
        machine.program("python3", PYTHON);
        machine.program("apt-get", APT);
        machine.program("apt-config", "echo LIST=/nowhere");
        fs::write(machine.path("venv-python"), VENV_PYTHON).unwrap();
        fs::set_permissions(
            machine.path("venv-python"),
            PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn flag(&self, name: &str) {
        fs::write(self.path(name), "").unwrap();
    }

    fn doctor(&self, arguments: &[&str]) -> Ended {
        let output = Command::new(env!("CARGO_BIN_EXE_umpatch"))
            .arg("doctor")
            .args(arguments)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }
}

fn item<'a>(document: &'a Value, id: &str) -> &'a Value {
    document["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["id"] == id)
        .unwrap_or_else(|| panic!("no {id} in {document}"))
}

#[test]
fn what_is_missing_is_named_with_the_exact_command_and_nothing_is_done() {
    let machine = Machine::new();
    let ended = machine.doctor(&["--json"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!(document["schema"], "umpatch.doctor/1");
    assert_eq!(document["release"], "2.6.0");
    assert_eq!(document["ready"], false);
    let compiler = item(&document, "clang++-16");
    assert_eq!(compiler["state"], "missing");
    assert_eq!(compiler["needed_for"], "simulated-device");
    let command = compiler["mend"].as_str().unwrap();
    assert!(
        command.ends_with("apt-get install -y --no-install-recommends clang-16"),
        "{command}"
    );
    let torch = item(&document, "torch");
    assert_eq!(torch["state"], "missing");
    assert!(
        torch["mend"]
            .as_str()
            .unwrap()
            .contains("pip install torch==2.6.0")
    );
    assert_eq!(item(&document, "git")["state"], "missing");
    assert_eq!(item(&document, "watermarks")["state"], "ok");
    assert_eq!(document["mend"].as_array().unwrap().len(), 2);
    assert_eq!(machine.calls(), "");
    let text = machine.doctor(&[]);
    assert_eq!(text.code, Some(4));
    assert!(
        text.stdout.contains("missing  clang++-16"),
        "{}",
        text.stdout
    );
    assert!(text.stdout.contains("Not ready"));
    // another release, another wheel
    let other = machine.doctor(&["--json", "--for", "2.2.1"]).json();
    let mend = item(&other, "torch")["mend"].as_str().unwrap().to_owned();
    assert!(mend.contains("torch==2.2.1 'numpy<2'"), "{mend}");
}

#[test]
fn provisioning_installs_what_is_missing_and_only_that() {
    let machine = Machine::new();
    machine.flag("locked");
    machine.flag("broken-connection");
    let ended = machine.doctor(&["--provision", "--json"]);
    let calls = machine.calls();
    let document = ended.json();
    assert_eq!(
        item(&document, "clang++-16")["state"],
        "ok",
        "{}\n{calls}",
        ended.stderr
    );
    assert_eq!(
        item(&document, "torch")["state"],
        "ok",
        "{}\n{calls}",
        ended.stderr
    );
    assert!(ended.stderr.contains("waiting for it"), "{}", ended.stderr);
    assert!(ended.stderr.contains("trying again"), "{}", ended.stderr);
    assert!(
        calls.contains("install -y --no-install-recommends clang-16"),
        "{calls}"
    );
    assert!(
        calls.contains("pip install --no-input --retries 10 torch==2.6.0"),
        "{calls}"
    );
    assert!(!calls.contains("index-url"), "{calls}");
    assert!(machine.path("cache/logs/provision.log").is_file());
    // again: torch is there, and pip is not asked a second time
    let before = machine.calls().matches("pip install").count();
    let _ = machine.doctor(&["--provision"]);
    assert_eq!(machine.calls().matches("pip install").count(), before);
}

#[test]
fn a_package_manager_that_fails_is_quoted_and_advised_on() {
    let machine = Machine::new();
    machine.flag("absent");
    let ended = machine.doctor(&["--provision"]);
    assert_eq!(ended.code, Some(4));
    for words in [
        "apt-get install failed",
        "Unable to locate package",
        "Debian 12",
        "provision.log",
    ] {
        assert!(
            ended.stderr.contains(words),
            "no {words} in {}",
            ended.stderr
        );
    }
    let machine = Machine::new();
    machine.flag("no-release");
    let ended = machine.doctor(&["--provision"]);
    assert_eq!(ended.code, Some(4));
    assert!(
        ended.stderr.contains("No matching distribution"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("its index, as configured"),
        "{}",
        ended.stderr
    );
}

#[test]
fn settings_that_contradict_are_wrong() {
    let mut machine = Machine::new();
    for (name, value) in [
        ("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.5"),
        ("PYTORCH_MPS_LOW_WATERMARK_RATIO", "0.9"),
    ] {
        machine
            .environment
            .push((name.to_owned(), value.to_owned()));
    }
    let document = machine.doctor(&["--json"]).json();
    let item = item(&document, "watermarks");
    assert_eq!(item["state"], "wrong");
    assert!(
        item["found"]
            .as_str()
            .unwrap()
            .contains("low watermark is above the high one")
    );
}

#[test]
fn an_environment_of_the_users_is_used_and_never_changed() {
    let mut machine = Machine::new();
    let venv = machine.path("mine");
    fs::create_dir_all(venv.join("bin")).unwrap();
    fs::copy(machine.path("venv-python"), venv.join("bin/python")).unwrap();
    machine.environment.push((
        "UMPATCH_TORCH_VENV".to_owned(),
        venv.to_string_lossy().into_owned(),
    ));
    let document = machine.doctor(&["--json"]).json();
    let torch = item(&document, "torch");
    assert_eq!(torch["state"], "wrong");
    assert!(
        torch["mend"]
            .as_str()
            .unwrap()
            .contains("unset UMPATCH_TORCH_VENV")
    );
    let _ = machine.doctor(&["--provision"]);
    assert!(!machine.calls().contains("pip install"));
    fs::write(venv.join("bin/installed"), "").unwrap();
    let document = machine.doctor(&["--json"]).json();
    assert_eq!(item(&document, "torch")["state"], "ok");
}
