//! `umpatch doctor` on a Mac: what is there, what is wrong, and the command that mends it.
use super::ran::Ran;
use super::stage::Stage;
use serde_json::Value;

fn examined(machine: &'static str) -> (Ran, Value) {
    let ran = Stage::on(machine).run(&["doctor", "--json"]);
    let document = ran.json();
    assert_eq!(document["schema"], "umpatch.doctor/1", "{ran}");
    assert_eq!(document["device"], "metal", "{ran}");
    (ran, document)
}

fn item<'a>(document: &'a Value, id: &str) -> &'a Value {
    let items = document["items"].as_array().unwrap();
    items
        .iter()
        .find(|item| item["id"] == id)
        .unwrap_or_else(|| panic!("no {id} in {document}"))
}

#[test]
fn a_sound_mac_lacks_nothing() {
    let (ran, document) = examined("m2-max");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(document["ready"], true);
    let footprint = item(&document, "footprint");
    assert!(
        footprint["found"].as_str().unwrap().contains("1843 MiB"),
        "{ran}"
    );
    for id in [
        "chip",
        "macos",
        "gpu",
        "xcode",
        "sdk",
        "disk",
        "memory",
        "watermarks",
    ] {
        assert_eq!(item(&document, id)["state"], "ok", "{id}: {ran}");
    }
    assert!(
        item(&document, "chip")["found"]
            .as_str()
            .unwrap()
            .contains("Apple M2 Max")
    );
    assert!(
        item(&document, "memory")["found"]
            .as_str()
            .unwrap()
            .contains("12 compiles")
    );
}

#[test]
fn what_is_wrong_comes_with_what_mends_it() {
    for (machine, id, state, mend) in [
        (
            "no-xcode-licence",
            "xcode",
            "wrong",
            "sudo xcodebuild -license accept",
        ),
        (
            "no-command-line-tools",
            "xcode",
            "missing",
            "xcode-select --install",
        ),
        ("wrong-sdk", "sdk", "wrong", "xcode-select --switch"),
        ("small-disk", "disk", "wrong", "UMPATCH_CACHE"),
    ] {
        let (ran, document) = examined(machine);
        assert_eq!(ran.code, Some(4), "{machine}: {ran}");
        assert_eq!(document["ready"], false);
        let found = item(&document, id);
        assert_eq!(found["state"], state, "{machine}: {ran}");
        assert!(
            found["mend"].as_str().unwrap().contains(mend),
            "{machine}: {ran}"
        );
    }
}

#[test]
fn a_paravirtual_gpu_is_told_and_does_not_block() {
    let (ran, document) = examined("paravirtual");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(item(&document, "gpu")["state"], "wrong");
}

#[test]
fn settings_that_contradict_each_other_block() {
    let stage = Stage::on("m2-max");
    let ran: Ran = stage
        .command(&["doctor"])
        .env("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.2")
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(
        ran.out.contains("unset PYTORCH_MPS_HIGH_WATERMARK_RATIO"),
        "{ran}"
    );
}
