//! The full build of both arms, with a toolchain that behaves as recorded.
use super::ends;
use super::ran::Ran;
use super::stage::Stage;
use serde_json::Value;

fn objects(document: &Value) -> Vec<Option<u64>> {
    let arms = document["arms"].as_array().unwrap();
    arms.iter().map(|arm| arm["objects"].as_u64()).collect()
}

#[test]
fn the_patched_arm_compiles_only_what_the_patches_touch() {
    let stage = Stage::on("m2-max");
    let ran = stage.run(&["build", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let [Some(stock), Some(patched)] = objects(&ran.json())[..] else {
        panic!("{ran}")
    };
    assert!(patched > 0 && patched * 4 < stock, "{patched} of {stock}");
    assert!(
        ran.err
            .contains(&format!("patched: {patched} objects compiled")),
        "{ran}"
    );
    // again: nothing is left to do
    let again = stage.run(&["build", "--json"]);
    assert_eq!(objects(&again.json()), [None, None]);
    // a change of the user's own is built, and no more than that
    let copy = stage.path("tree/aten/src/ATen/native/mps/operations/Copy.mm");
    let text = std::fs::read_to_string(&copy).unwrap();
    std::fs::write(&copy, format!("{text}// changed\n")).unwrap();
    super::git(
        &stage.path("tree"),
        &["commit", "-q", "-a", "-m", "changed"],
    );
    let changed = stage.run(&["build", "--json"]);
    assert_eq!(changed.code, Some(0), "{changed}");
    let rebuilt = objects(&changed.json());
    assert!(rebuilt[0].unwrap() < stock, "{changed}");
}

#[test]
fn arms_apart_are_built_in_full() {
    let stage = Stage::on("m2-max");
    let ran = stage.run(&["build", "--json", "--arms", "separate"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let built = objects(&ran.json());
    assert_eq!(built[0], built[1]);
}

#[test]
fn a_dry_run_prints_the_exact_commands_and_makes_nothing() {
    let stage = Stage::on("m2-max");
    let ran = stage.run(&["build", "--dry-run", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let document = ran.json();
    let commands = document["commands"].as_array().unwrap();
    let compile = commands
        .iter()
        .find(|command| command["purpose"] == "compile")
        .unwrap();
    // 12 processors, 32 GiB
    assert_eq!(compile["environment"]["MAX_JOBS"], "12");
    assert_eq!(compile["environment"]["USE_MPS"], "1");
    assert!(
        compile["shell"]
            .as_str()
            .unwrap()
            .ends_with("setup.py develop")
    );
    assert!(!stage.path("cache/builds").exists());
    // without a Mac too
    let plain: Ran = stage
        .command(&["build", "--dry-run", "--device", "metal"])
        .env_remove("UMPATCH_REHEARSAL")
        .output()
        .unwrap()
        .into();
    assert_eq!(plain.code, Some(0), "{plain}");
    assert!(plain.out.contains("git clone --quiet --shared"), "{plain}");
    let real = stage
        .command(&["build", "--device", "metal"])
        .env_remove("UMPATCH_REHEARSAL")
        .output()
        .unwrap();
    ends(&real.into(), 2, &["no Mac"]);
}

#[test]
fn what_breaks_a_build_is_said_in_one_line() {
    for (machine, words) in [
        (
            "ninja-missing",
            [
                "stock: compile failed: there is no ninja",
                "pip install ninja",
            ],
        ),
        (
            "compiler-killed",
            ["the system ended a compiler", "MAX_JOBS"],
        ),
        ("compile-error", [":301:12: error", "its output: "]),
        (
            "stall",
            ["printed nothing for 3 s, at step", "its output: "],
        ),
    ] {
        let words =
            words.map(|word| word.replace(":301:12: error", ".mm:301:12: use of undeclared"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = Stage::on(machine).run(&["build"]);
        ends(&ran, 4, &words);
        assert!(ran.err.lines().count() < 20, "{ran}");
    }
}

#[test]
fn a_build_that_ran_out_of_disk_goes_on_where_it_was() {
    let stage = Stage::on("disk-full");
    let ran = stage.verify(&[]);
    ends(
        &ran,
        4,
        &[
            "stock: compile failed: the disk is full",
            "goes on where it was",
        ],
    );
    std::fs::create_dir_all(stage.path("cache/rehearsal")).unwrap();
    std::fs::write(stage.path("cache/rehearsal/freed"), "").unwrap();
    let again = stage.run(&["build", "--json"]);
    assert_eq!(again.code, Some(0), "{again}");
    let whole = Stage::on("m2-max").run(&["build", "--json"]);
    assert!(
        objects(&again.json())[0] < objects(&whole.json())[0],
        "{again}"
    );
}
