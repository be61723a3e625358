//! Bundles on a small tree: what is refused as evidence, what a check finds, and that the same inputs give the same bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use umpatch::report::document::{Arms, Compared, Fault, Fingerprint, Subset, Trust};
use umpatch::run::job::{Arm, Class, Definition, Job, JobResult, Outcome};
use umpatch::run::journal::{AblationPlan, Event, Header, Journal, SCHEMA};

const FILE: &str = "aten/src/ATen/mps/MPSAllocator.mm";

/// A small tree, a series of two patches for it, and run folders.
struct Lab {
    folder: TempDir,
}

/// How the recorded run went.
#[derive(Clone, Copy, PartialEq)]
enum Went {
    Well,
    Badly,
    Cut,
}

impl Lab {
    fn new() -> Self {
        let lab = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let file = lab.tree().join(FILE);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::create_dir_all(lab.path("series")).unwrap();
        std::fs::write(&file, "int one;\nint two;\nint three;\n").unwrap();
        std::fs::write(lab.tree().join("version.txt"), "2.6.0a0\n").unwrap();
        lab.git(&["init", "--quiet", "--initial-branch", "main"]);
        lab.git(&["add", "."]);
        lab.git(&["commit", "--quiet", "-m", "base"]);
        for (name, old, new) in [("1-first", "one", "uno"), ("2-second", "three", "tres")] {
            let text = std::fs::read_to_string(&file).unwrap().replace(old, new);
            std::fs::write(&file, text).unwrap();
            let subject = format!("[MPS] Rename {old}");
            lab.git(&[
                "commit",
                "--quiet",
                "-am",
                &subject,
                "-m",
                "Because it is so.",
            ]);
            let patch = lab.git(&[
                "format-patch",
                "-1",
                "--stdout",
                "--keep-subject",
                "--full-index",
                "--zero-commit",
            ]);
            std::fs::write(lab.path("series").join(format!("{name}.patch")), patch).unwrap();
        }
        lab.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
        lab.series("steady");
        lab
    }

    /// Writes the manifest of the series, whose proof is the named scenario.
    fn series(&self, proof: &str) {
        let mut text = "schema = \"umpatch.series/1\"\nname = \"small\"\n".to_owned();
        for (id, file, needs) in [
            ("first", "1-first", ""),
            ("second", "2-second", "\"first\""),
        ] {
            text.push_str(&format!(
                "[[patch]]\nid = \"{id}\"\nfile = \"{file}.patch\"\nwhy = \"Since.\"\ndepends_on = [{needs}]\n\
                 proven_by = [\"{proof}\"]\n[patch.pull_request]\nfixes = [\"pytorch/pytorch#7\"]\nreproducer = \"x\"\n\
                 shown_by = [\"{proof}\"]\nmeasured_by = [\"{proof}\"]\nbackward_compatibility = \"None.\"\n"
            ));
        }
        std::fs::write(self.path("series/series.toml"), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    fn git(&self, arguments: &[&str]) -> String {
        std::fs::create_dir_all(self.tree()).unwrap();
        let output = Command::new("git")
            .arg("-C")
            .arg(self.tree())
            .args([
                "-c",
                "user.name=A B",
                "-c",
                "user.email=a@b",
                "-c",
                "commit.gpgSign=false",
            ])
            .args(arguments)
            .env("GIT_AUTHOR_DATE", "@1700000000 +0000")
            .env("GIT_COMMITTER_DATE", "@1700000000 +0000")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?} {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The trees before and after the series.
    fn trees(&self) -> [String; 2] {
        let before = self.git(&["rev-parse", "HEAD^{tree}"]);
        let mails: Vec<String> = ["1-first", "2-second"]
            .map(|name| {
                self.path(&format!("series/{name}.patch"))
                    .display()
                    .to_string()
            })
            .to_vec();
        self.git(&["checkout", "--quiet", "--detach"]);
        self.git(&["am", "--quiet", &mails[0], &mails[1]]);
        let after = self.git(&["rev-parse", "HEAD^{tree}"]);
        self.git(&["checkout", "--quiet", "main"]);
        [before.trim().to_owned(), after.trim().to_owned()]
    }

    /// Records a run of the scenario `steady` under a name.
    fn run(&self, name: &str, trust: Trust, went: Went, change: &[(&str, &str)]) -> PathBuf {
        let folder = self.path("runs").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let [before, after] = self.trees();
        let mut parts: BTreeMap<String, String> = [
            ("baseline", before),
            ("patched", after),
            ("patches", "first second".to_owned()),
            ("harness", umpatch::verify::harness_digest().unwrap()),
            ("device", "simulated".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (name, value) in change {
            parts.insert((*name).to_owned(), (*value).to_owned());
        }
        let journal = Journal::open(&folder).unwrap();
        let append = |event| journal.append(event).unwrap();
        append(Event::RunStart(Box::new(Header {
            schema: SCHEMA.to_owned(),
            umpatch: "0".to_owned(),
            fingerprint: Fingerprint {
                key: "0123456789abcdef".repeat(4),
                parts,
            },
            trust,
            require_hardware: false,
            compared: Arms {
                baseline: Compared::default(),
                patched: Compared {
                    patches: ["first", "second"].map(str::to_owned).to_vec(),
                    ..Compared::default()
                },
            },
            command: format!("umpatch -C {} verify", self.tree().display()),
            row_command: String::new(),
        })));
        let jobs: Vec<Job> = (0..4)
            .map(|number| Job {
                scenario: "steady".to_owned(),
                arm: if number % 2 == 0 {
                    Arm::Baseline
                } else {
                    Arm::Patched
                },
                pair: number / 2,
                seed: 1,
                flavour: Default::default(),
                steps: None,
                settings: BTreeMap::new(),
                subset: None,
            })
            .collect();
        append(Event::Plan {
            scenarios: vec![Definition {
                id: "steady".to_owned(),
                class: Class::Correctness,
                ..Definition::default()
            }],
            jobs: jobs.clone(),
        });
        for job in jobs {
            if went == Went::Cut && job.pair == 1 {
                break;
            }
            let faulty = went == Went::Badly && job.arm == Arm::Patched;
            let result = JobResult {
                outcome: if faulty {
                    Outcome::Faulted
                } else {
                    Outcome::Ok
                },
                faults: if faulty {
                    vec![Fault {
                        kind: "wrong-data".to_owned(),
                        count: 3,
                        detail: "a byte differs".to_owned(),
                        bytes: 3,
                    }]
                } else {
                    Vec::new()
                },
                ..result()
            };
            let curve = format!("curves/{}.csv", job.slug());
            let rows: String = (0..60).map(|step| format!("{step},512,1024,1\n")).collect();
            std::fs::create_dir_all(folder.join("curves")).unwrap();
            std::fs::write(
                folder.join(&curve),
                format!("step,current_bytes,driver_bytes,new_buffers\n{rows}"),
            )
            .unwrap();
            let result = JobResult {
                curve: Some(curve),
                ..result
            };
            append(Event::JobStart { job: job.clone() });
            append(Event::JobEnd {
                job,
                result: Box::new(result),
            });
        }
        folder
    }

    fn umpatch(&self, arguments: &[&str]) -> (i32, Value) {
        let output = Command::new(env!("CARGO_BIN_EXE_umpatch"))
            .arg("-C")
            .arg(self.tree())
            .args(["--json", "--quiet"])
            .args(arguments)
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        let document = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {words}"));
        (output.status.code().unwrap(), document)
    }

    fn bundle(&self, run: &Path, output: &str, more: &[&str]) -> (i32, Value) {
        let (series, place) = (self.path("series"), self.path(output));
        let mut arguments = vec!["bundle", "--patches-from", series.to_str().unwrap()];
        arguments.extend([
            "--run",
            run.to_str().unwrap(),
            "--output",
            place.to_str().unwrap(),
        ]);
        arguments.extend(more);
        self.umpatch(&arguments)
    }

    fn good(&self) -> PathBuf {
        self.run("good", Trust::Simulated, Went::Well, &[])
    }
}

fn result() -> JobResult {
    serde_json::from_value(serde_json::json!({
        "outcome": {"state": "ok"}, "seconds": 1.0, "peak_driver_bytes": 1024, "residual_driver_bytes": 0,
        "counters": {"allocations": 10.0, "new_buffers": 1.0, "blocking_waits": 1.0, "hazards": 0.0},
    }))
    .unwrap()
}

/// Adds to a recorded run what the first patch does alone.
fn ablate(run: &Path) {
    let journal = Journal::open(run).unwrap();
    let job = Job {
        scenario: "steady".to_owned(),
        arm: Arm::Patched,
        pair: 0,
        seed: 1,
        flavour: Default::default(),
        steps: None,
        settings: BTreeMap::new(),
        subset: Some("first alone".to_owned()),
    };
    let plan = AblationPlan {
        subsets: vec![Subset {
            name: "first alone".to_owned(),
            patches: vec!["first".to_owned()],
            series: String::new(),
        }],
        jobs: vec![job.clone()],
    };
    journal.append(Event::Ablation(Box::new(plan))).unwrap();
    let mut result = result();
    for (counter, value) in [("blocking_waits", 77.0), ("alloc_free_instructions", 500.0)] {
        result.counters.insert(counter.to_owned(), value);
    }
    let result = Box::new(result);
    journal.append(Event::JobEnd { job, result }).unwrap();
}

#[test]
fn a_patch_shows_what_it_changes_by_itself_where_the_run_tells() {
    let lab = Lab::new();
    let run = lab.good();
    let bodies = |place: &str| {
        let (code, document) = lab.bundle(&run, place, &["--no-branches"]);
        assert!(made(code, &document), "{document:#}");
        let patches = document["bundle"]["patches"].as_array().unwrap().clone();
        let folder = lab.path(place).join("small-2.6.0");
        patches
            .iter()
            .map(|patch| {
                std::fs::read_to_string(folder.join(patch["body"].as_str().unwrap())).unwrap()
            })
            .collect::<Vec<String>>()
    };
    let whole = bodies("whole");
    assert!(
        whole[1].contains("after is with all 2 changes"),
        "{}",
        whole[1]
    );
    ablate(&run);
    let own = bodies("own");
    assert!(
        own[0].contains("stock with this change alone"),
        "{}",
        own[0]
    );
    assert!(own[0].contains("| 1 → 77 |"), "{}", own[0]);
    assert!(
        own[1].contains("what comes before this change in the order (1 of them)"),
        "{}",
        own[1]
    );
    assert!(own[1].contains("| 77 → 1 |"), "{}", own[1]);
}

/// Whether this machine has the linters or not: both are fine here.
fn made(code: i32, document: &Value) -> bool {
    (code == 0 || code == 3) && document["schema"] == "umpatch.bundle/1"
}

#[test]
fn the_same_inputs_give_the_same_bytes_wherever_they_lie() {
    let lab = Lab::new();
    let run = lab.good();
    let (code, document) = lab.bundle(&run, "one", &[]);
    assert!(made(code, &document), "{document:#}");
    // another place of the run, the second time onto the bundle of the first
    let moved = lab.path("elsewhere").join("good");
    std::fs::create_dir_all(moved.parent().unwrap()).unwrap();
    std::fs::rename(&run, &moved).unwrap();
    for place in ["two", "two"] {
        let (code, document) = lab.bundle(&moved, place, &["--no-branches"]);
        assert!(made(code, &document), "{document:#}");
    }
    let archive = |place: &str| std::fs::read(lab.path(place).join("small-2.6.0.tar.zst")).unwrap();
    assert_eq!(archive("one"), archive("two"));
    let sums = lab.path("one/small-2.6.0");
    let checked = Command::new("sha256sum")
        .args(["--check", "--quiet", "SHA256SUMS"])
        .current_dir(&sums)
        .status()
        .unwrap();
    assert!(checked.success());
}

#[test]
fn the_checkout_gets_branches_and_nothing_else() {
    let lab = Lab::new();
    let run = lab.good();
    let before = lab.git(&["status", "--porcelain=v2", "--branch"]);
    let (code, document) = lab.bundle(&run, "out", &[]);
    assert!(made(code, &document), "{document:#}");
    assert_eq!(before, lab.git(&["status", "--porcelain=v2", "--branch"]));
    let branches = lab.git(&[
        "for-each-ref",
        "--format=%(refname:short) %(subject)",
        "refs/heads/umpatch-pr",
    ]);
    assert_eq!(
        branches,
        "umpatch-pr/small/0001-first [MPS] Rename one\numpatch-pr/small/0002-second [MPS] Rename three\n\
         umpatch-pr/small/stack [MPS] Rename three\n"
    );
    // a second time moves nothing; a branch that somebody else moved stays theirs
    let (code, _) = lab.bundle(&run, "out", &[]);
    assert!(code == 0 || code == 3);
    lab.git(&["branch", "--force", "umpatch-pr/small/stack", "main"]);
    let (code, document) = lab.bundle(&run, "out", &[]);
    assert_eq!(code, 2, "{document:#}");
    assert!(
        document["error"][0]
            .as_str()
            .unwrap()
            .contains("umpatch-pr/small/stack")
    );
    assert_eq!(
        lab.git(&["rev-parse", "main"]),
        lab.git(&["rev-parse", "umpatch-pr/small/stack"])
    );
}

#[test]
fn what_proves_nothing_is_refused() {
    let lab = Lab::new();
    let refused = |name: &str, trust, went, change: &[(&str, &str)], wanted: (i32, &str)| {
        let run = lab.run(name, trust, went, change);
        let (code, document) = lab.bundle(&run, "out", &[]);
        let error = document["error"].to_string();
        assert_eq!(
            (code, error.contains(wanted.1)),
            (wanted.0, true),
            "{name}: {document:#}"
        );
        assert!(!lab.path("out").exists(), "{name}");
    };
    let simulated = Trust::Simulated;
    refused(
        "rehearsed",
        Trust::Rehearsed,
        Went::Well,
        &[],
        (3, "rehearsal"),
    );
    refused(
        "worse",
        simulated,
        Went::Badly,
        &[],
        (1, "did not pass (regression)"),
    );
    refused("cut", simulated, Went::Cut, &[], (3, "not come to its end"));
    for part in ["baseline", "patched", "patches", "harness"] {
        refused(
            part,
            simulated,
            Went::Well,
            &[(part, "other")],
            (5, "about something else"),
        );
    }
    lab.series("never-ran");
    refused(
        "uncovered",
        simulated,
        Went::Well,
        &[],
        (3, "does not prove first by never-ran"),
    );
    let (code, document) = lab.bundle(&lab.path("runs"), "out", &[]);
    assert_eq!(code, 2, "{document:#}");
    assert!(lab.git(&["branch", "--list", "umpatch-pr/*"]).is_empty());
}

#[test]
fn only_a_bundle_is_ever_replaced() {
    let lab = Lab::new();
    let run = lab.good();
    let place = lab.path("out/small-2.6.0");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("mine"), "precious").unwrap();
    let (code, document) = lab.bundle(&run, "out", &[]);
    assert_eq!(code, 2, "{document:#}");
    assert_eq!(std::fs::read(place.join("mine")).unwrap(), b"precious");
}

/// The states of a check by patch and name.
fn states(document: &Value) -> BTreeMap<String, String> {
    document["result"]["checks"]
        .as_array()
        .unwrap_or_else(|| panic!("{document:#}"))
        .iter()
        .map(|check| {
            let text = |key: &str| check[key].as_str().unwrap().to_owned();
            (format!("{} {}", text("patch"), text("name")), text("state"))
        })
        .collect()
}

#[test]
fn a_check_finds_what_a_reviewer_would() {
    let lab = Lab::new();
    let run = lab.good();
    let (code, document) = lab.bundle(&run, "out", &["--no-branches"]);
    assert!(made(code, &document), "{document:#}");
    let place = lab.path("out/small-2.6.0");
    let check = || {
        let (code, document) = lab.umpatch(&["bundle", "--check", place.to_str().unwrap()]);
        (code, states(&document))
    };
    let (_, found) = check();
    for fine in [
        "first git am",
        "second git am",
        "second git am on what it needs",
        " SHA256SUMS",
        "first links",
    ] {
        assert_eq!(found[fine], "ok", "{found:#?}");
    }
    assert_eq!(found["first for a person"], "for-a-person");
    // a person's edit of a body is no damage, a bad link in it is
    let body = place.join("0001-first/body.md");
    let text = std::fs::read_to_string(&body).unwrap();
    std::fs::write(&body, text.replace("Fixes #7", "Fixes http://x/7")).unwrap();
    let (code, found) = check();
    assert_eq!(
        (code, found["first links"].as_str()),
        (4, "failed"),
        "{found:#?}"
    );
    assert_eq!(found[" SHA256SUMS"], "ok");
    std::fs::write(&body, &text).unwrap();
    // a mail that says something else is damage, and applies to another tree
    let mail = place.join("0002-second/0002-second.patch");
    let text = std::fs::read_to_string(&mail).unwrap();
    std::fs::write(&mail, text.replace("+int tres;", "+int tres; ")).unwrap();
    let (code, found) = check();
    assert_eq!(code, 4);
    for wrong in [
        "second git am",
        "second git am on what it needs",
        " SHA256SUMS",
    ] {
        assert_eq!(found[wrong], "failed", "{found:#?}");
    }
    std::fs::write(&mail, text.replace("-int three;", "-int drei;")).unwrap();
    let (code, found) = check();
    assert_eq!(
        (code, found["second git am"].as_str()),
        (4, "failed"),
        "{found:#?}"
    );
    // and what is no bundle is said to be none
    let (code, document) =
        lab.umpatch(&["bundle", "--check", lab.path("series").to_str().unwrap()]);
    assert_eq!(code, 2, "{document:#}");
}
