//! `umpatch verify --ablate` and `--every-setting`, on stand-in drivers whose behaviour is known.
use super::ran::Ran;
use super::sandbox::{Sandbox, lasting, started_until};
use serde_json::{Value, json};
use std::path::Path;

/// A subset of the patches that behaves in a certain way, as an argument.
fn subset(sandbox: &Sandbox, name: &str, behaviour: &str) -> String {
    let file = name.replace(' ', "-");
    let program = sandbox.driver(&file, behaviour, "PAUSE=0.05");
    format!("{name}={}", program.display())
}

fn states(report: &Value, scenario: &str) -> Vec<Value> {
    let rows = report["ablation"]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["scenario"] == scenario).unwrap();
    let findings = row["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| finding["state"].clone())
        .collect()
}

#[test]
fn each_subset_is_judged_against_stock_and_none_decides() {
    let sandbox = Sandbox::new();
    let (leak, mend) = (
        subset(&sandbox, "first alone", "leak"),
        subset(&sandbox, "second alone", "clean"),
    );
    let more = [
        "--ablate",
        "--driver-subset",
        &leak,
        "--driver-subset",
        &mend,
    ];
    let ran = sandbox.compare("corrupt", "clean", &more);
    assert_eq!(
        ran.code,
        Some(0),
        "a part that leaks decides nothing: {ran}"
    );
    let report = ran.json();
    let ablation = &report["ablation"];
    let names: Vec<&str> = ablation["subsets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|subset| subset["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["first alone", "second alone", "whole series"]);
    assert_eq!(
        states(&report, "steady"),
        ["regression", "improved", "improved"]
    );
    let row = &ablation["rows"][0];
    assert_eq!(row["measure"], "faults");
    // of the one seed that the subsets ran, though the arms ran two
    assert_eq!(row["stock"]["faults"], 1);
    assert_eq!(row["figures"][1]["faults"], 0);
    assert_eq!(row["figures"][1]["peak_bytes"], f64::from(64 << 20));
    let verdict = |index: usize| ablation["verdicts"][index][0]["verdict"].clone();
    assert_eq!(
        [verdict(0), verdict(1), verdict(2)],
        ["regression", "pass", "pass"]
    );
    let folder = report["run"].as_str().unwrap();
    let text = |name: &str| std::fs::read_to_string(Path::new(folder).join(name)).unwrap();
    assert!(text("report.html").contains("Which patch does what"));
    assert!(text("report.md").contains("| `steady` |"));
    // made again from the journal, it says the same
    let show = |format: &str| -> Ran {
        let arguments = ["report", folder, "--format", format];
        sandbox.command(&arguments).output().unwrap().into()
    };
    assert_eq!(lasting(show("json").json()), lasting(report.clone()));
    let shown = show("terminal");
    assert!(shown.out.contains("[1] first alone: REGRESSION"), "{shown}");
}

#[test]
fn the_setting_that_decides_is_named() {
    let sandbox = Sandbox::new();
    let ran = sandbox.compare("clean", "corrupt-late", &["--every-setting"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let report = ran.json();
    let verdicts: Vec<Value> = report["by_setting"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| json!([own["setting"], own["verdict"], own["scenarios"]]))
        .collect();
    assert_eq!(
        json!(verdicts),
        json!([
            ["", "pass", 2],
            ["drop_order=late", "regression", 2],
            ["mode=eager", "pass", 2]
        ])
    );
    assert_eq!(report["reasons"][0]["subject"], "steady@drop_order=late");
    let notes = report["notes"].to_string();
    assert!(notes.contains("hangs on what is assumed"), "{notes}");
    let same = Sandbox::new().compare("clean", "clean", &["--every-setting"]);
    assert_eq!(same.code, Some(0), "{same}");
    assert!(
        same.json()["notes"]
            .to_string()
            .contains("under each of the 2 others")
    );
}

#[test]
fn a_cut_ablation_goes_on_where_it_was() {
    let sandbox = Sandbox::new();
    let parts = [
        subset(&sandbox, "first alone", "wait"),
        subset(&sandbox, "second alone", "clean"),
    ];
    let (baseline, patched) = (
        sandbox.driver("baseline", "clean", ""),
        sandbox.driver("patched", "clean", ""),
    );
    let folder = sandbox.path("run");
    let more = [
        "--json",
        "--ablate",
        "--workers",
        "1",
        "--driver-subset",
        &parts[0],
        "--driver-subset",
        &parts[1],
        "--run-folder",
        folder.to_str().unwrap(),
    ];
    let journal = folder.join("journal.ndjson");
    // 8 jobs of the arms, 4 of the subsets
    let mut child = started_until(sandbox.verify(&baseline, &patched, &more), &journal, 10);
    child.kill().unwrap();
    child.wait().unwrap();
    let partial: Ran = sandbox
        .command(&["report", folder.to_str().unwrap(), "--format", "json"])
        .output()
        .unwrap()
        .into();
    assert_eq!(partial.json()["state"], "partial");
    let ran: Ran = sandbox
        .verify(&baseline, &patched, &more)
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(ran.json()["state"], "complete");
    assert_eq!(states(&ran.json(), "steady"), ["regression", "ok", "ok"]);
    let text = std::fs::read_to_string(&journal).unwrap();
    assert_eq!(
        text.matches("\"job-end\"").count(),
        12,
        "no job ran twice once it had ended"
    );
}

#[test]
fn on_a_mac_and_with_budgets_it_is_refused() {
    let sandbox = Sandbox::new();
    let budget: Ran = sandbox
        .command(&["verify", "--ablate", "--budget", "5m"])
        .output()
        .unwrap()
        .into();
    assert_eq!(budget.code, Some(2), "{budget}");
}
