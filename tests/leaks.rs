//! The training scripts and their checked-in list agree, and no row of the corpus of public reports is absent.
#![allow(clippy::unwrap_used)]
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The public reports that the harness must be able to reproduce or rule out.
const CORPUS: [&str; 21] = [
    "linear-varying-batch",
    "sdpa-random-seq",
    "lstm-empty-cache",
    "linear-never-sync",
    "attention-varying",
    "cnn-two-epochs",
    "llama-tiny",
    "copy-cast",
    "conv-backward-residual",
    "unload-model",
    "transformer-loop",
    "t5-long-run",
    "scalars-non-blocking",
    "d2h-cast-into-slice",
    "d2h-between-strided",
    "h2d-4gib",
    "pin-after-delete",
    "repin-under-load",
    "h2d-latency",
    "clean-exit",
    "injected-leak",
];

fn leaks() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("harness/leaks")
}

fn listed() -> Vec<Value> {
    std::fs::read_to_string(leaks().join("scenarios.ndjson"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn id(scenario: &Value) -> String {
    scenario["id"].as_str().unwrap().to_owned()
}

#[test]
fn every_row_of_the_corpus_has_a_script() {
    let ids: BTreeSet<String> = listed().iter().map(id).collect();
    let corpus: BTreeSet<String> = CORPUS.iter().map(|&id| id.to_owned()).collect();
    assert_eq!(ids, corpus);
}

#[test]
fn the_list_names_the_scripts_that_are_there() {
    let scripts: BTreeSet<String> = std::fs::read_dir(leaks().join("scenarios"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".py").map(|name| name.replace('_', "-")))
        .filter(|name| name != "--init--")
        .collect();
    assert_eq!(
        listed().iter().map(id).collect::<BTreeSet<_>>(),
        scripts,
        "renew it: python3 harness/leaks/run.py --list > harness/leaks/scenarios.ndjson"
    );
}

#[test]
fn each_says_what_it_reproduces_and_how_much_it_does() {
    for scenario in listed() {
        let id = id(&scenario);
        for field in ["title", "reproduces", "class", "metric"] {
            assert!(
                !scenario[field].as_str().unwrap().is_empty(),
                "{id}: {field}"
            );
        }
        let steps = |size: &str| scenario[size].as_u64().unwrap();
        assert!(steps("quick_steps") > 0, "{id}");
        assert!(steps("full_steps") >= steps("quick_steps"), "{id}");
    }
}
