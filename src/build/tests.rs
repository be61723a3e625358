//! The build with a stand-in for the compiler: a script that writes down each call and copies its source.
use super::*;
use crate::progress::Silent;
use crate::provision::torch::Abi;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const COMPILER: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "stand-in 1.0"; exit 0; }
here=$(dirname "$0")
out= source=
while [ $# -gt 0 ]; do
  case $1 in
    -o) shift; out=$1 ;;
    -c) shift; source=$1 ;;
    *.o) objects="$objects $1" ;;
  esac
  shift
done
if [ -n "$source" ]; then
  echo "compile $(basename "$source")" >> "$here/calls"
  if grep -q BROKEN "$source"; then
    echo "$source:3:7: error: no such thing" >&2
    exit 1
  fi
  cat "$source" > "$out"
else
  echo link >> "$here/calls"
  cat $objects > "$out"
fi
"#;

const RECIPE: &str = r#"
schema = "umpatch.recipe/1"
[output]
name = "driver"
[compiler]
program = "COMPILER"
include = ["{harness}/include", "{tree}/src"]
[flavour.plain]
[flavour.asan]
compile = ["-fsanitize=address"]
[tree]
staged = ["src/*.mm", "src/*.h"]
sources = ["src/allocator.mm", "src/stream.mm"]
[[tree.rewrite]]
file = "src/stream.mm"
find = "array[i]"
replace = "at(array, i)"
count = 1
why = "subscript"
[harness]
sources = ["driver/*.mm"]
[link]
"#;

struct Bench {
    folder: tempfile::TempDir,
    torch: Torch,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for (file, text) in [
            ("harness/driver/main.mm", "#include <ours.h>\nmain\n"),
            ("harness/include/ours.h", "ours\n"),
            (
                "tree/src/allocator.mm",
                "#include <allocator.h>\nallocator\n",
            ),
            ("tree/src/allocator.h", "header\n"),
            ("tree/src/stream.mm", "array[i]\n"),
            ("tree/src/not_named.txt", "left out\n"),
        ] {
            let target = path.join(file);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(target, text).unwrap();
        }
        let compiler = path.join("compiler");
        fs::write(&compiler, COMPILER).unwrap();
        fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
        let recipe = RECIPE.replace("COMPILER", compiler.to_str().unwrap());
        fs::write(path.join("harness/recipe.toml"), recipe).unwrap();
        let torch = Torch {
            venv: path.join("venv"),
            python: path.join("venv/bin/python"),
            python_version: "3.11.2".to_owned(),
            python_include: path.join("include"),
            folder: path.join("torch"),
            version: "2.6.0+cpu".to_owned(),
            abi: Abi::Old,
        };
        Self { folder, torch }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let path = self.path(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        fs::write(path, text.replace(from, to)).unwrap();
    }

    fn build(&self, flavour: Flavour) -> Result<Built, BuildError> {
        let request = BuildRequest {
            harness: &self.path("harness"),
            tree: &self.path("tree"),
            torch: &self.torch,
            flavour,
            name: "stock",
        };
        build_in(&self.path("cache"), &request, &Silent)
    }

    /// What the compiler was asked to do since the last time.
    fn calls(&self) -> Vec<String> {
        let path = self.path("calls");
        let mut calls: Vec<String> = fs::read_to_string(&path)
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect();
        let _ = fs::remove_file(path);
        calls.sort();
        calls
    }
}

#[test]
fn what_was_built_once_is_not_built_again() {
    let bench = Bench::new();
    let first = bench.build(Flavour::Plain).unwrap();
    assert_eq!((first.compiled, first.reused), (3, 0));
    assert_eq!(
        bench.calls(),
        [
            "compile allocator.mm",
            "compile main.mm",
            "compile stream.mm",
            "link"
        ]
    );
    let again = bench.build(Flavour::Plain).unwrap();
    assert_eq!((again.compiled, again.reused), (0, 3));
    assert_eq!(again.program, first.program);
    assert!(bench.calls().is_empty());
}

#[test]
fn a_header_touches_only_what_includes_it() {
    let bench = Bench::new();
    let first = bench.build(Flavour::Plain).unwrap();
    bench.calls();
    bench.edit("tree/src/allocator.h", "header", "changed header");
    let second = bench.build(Flavour::Plain).unwrap();
    assert_eq!(bench.calls(), ["compile allocator.mm", "link"]);
    assert_ne!(second.key, first.key);
    // and back: everything is still there
    bench.edit("tree/src/allocator.h", "changed header", "header");
    assert_eq!(bench.build(Flavour::Plain).unwrap().program, first.program);
    assert!(bench.calls().is_empty());
}

#[test]
fn a_flavour_has_objects_of_its_own() {
    let bench = Bench::new();
    bench.build(Flavour::Plain).unwrap();
    bench.calls();
    assert_eq!(bench.build(Flavour::Address).unwrap().compiled, 3);
}

#[test]
fn the_place_of_the_harness_does_not_matter() {
    let bench = Bench::new();
    bench.build(Flavour::Plain).unwrap();
    bench.calls();
    fs::rename(bench.path("harness"), bench.path("elsewhere")).unwrap();
    let request = BuildRequest {
        harness: &bench.path("elsewhere"),
        tree: &bench.path("tree"),
        torch: &bench.torch,
        flavour: Flavour::Plain,
        name: "stock",
    };
    let built = build_in(&bench.path("cache"), &request, &Silent).unwrap();
    assert_eq!(built.compiled, 0);
}

#[test]
fn rewrites_are_done_and_told() {
    let bench = Bench::new();
    let built = bench.build(Flavour::Plain).unwrap();
    let linked = fs::read_to_string(built.program).unwrap();
    assert!(linked.contains("at(array, i)"));
    assert_eq!(built.notes.len(), 1);
    assert!(built.notes[0].contains("src/stream.mm"));
}

#[test]
fn a_rewrite_that_no_longer_fits_is_an_error() {
    let bench = Bench::new();
    bench.edit("tree/src/stream.mm", "array[i]", "array[j]");
    match bench.build(Flavour::Plain).unwrap_err() {
        BuildError::Rewrite {
            expected, found, ..
        } => assert_eq!((expected, found), (1, 0)),
        other => panic!("{other}"),
    }
}

#[test]
fn a_missing_source_is_an_error() {
    let bench = Bench::new();
    fs::remove_file(bench.path("tree/src/allocator.mm")).unwrap();
    assert!(matches!(
        bench.build(Flavour::Plain).unwrap_err(),
        BuildError::NoSource {
            place: "the tree",
            ..
        }
    ));
}

#[test]
fn the_first_compiler_error_is_named_and_nothing_half_stays() {
    let bench = Bench::new();
    bench.edit("tree/src/allocator.mm", "allocator\n", "BROKEN\n");
    match bench.build(Flavour::Plain).unwrap_err() {
        BuildError::Compile {
            location,
            message,
            log,
            ..
        } => {
            assert_eq!(location, "src/allocator.mm:3");
            assert_eq!(message, "no such thing");
            assert!(log.is_file());
        }
        other => panic!("{other}"),
    }
    let leftovers = fs::read_dir(bench.path("cache/objects"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with('.'))
        .count();
    assert_eq!(leftovers, 0);
}

#[test]
fn an_unknown_placeholder_is_named() {
    let bench = Bench::new();
    bench.edit("harness/recipe.toml", "{tree}/src", "{nowhere}/src");
    assert!(matches!(
        bench.build(Flavour::Plain).unwrap_err(),
        BuildError::Placeholder { name } if name == "nowhere"
    ));
}

#[test]
fn the_shipped_recipe_can_be_read() {
    let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("harness/metal");
    let recipe = Recipe::read(&harness).unwrap();
    assert_eq!(
        recipe.tree_folders(),
        ["aten/src/ATen/mps", "aten/src/ATen/native/mps"]
    );
    for pattern in &recipe.harness.sources {
        assert!(!pattern::files(&harness, pattern).is_empty(), "{pattern}");
    }
}

#[test]
fn a_package_lies_beside_the_output() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("harness/python")).unwrap();
    fs::write(bench.path("harness/python/loader.py"), "load\n").unwrap();
    bench.edit(
        "harness/recipe.toml",
        "name = \"driver\"",
        "name = \"python/native.so\"",
    );
    bench.edit(
        "harness/recipe.toml",
        "[harness]",
        "[package]\nfiles = [\"python/*.py\"]\ndescription = \"python/build.json\"\n[harness]",
    );
    let built = bench.build(Flavour::Plain).unwrap();
    assert!(built.folder.join("python/native.so").is_file());
    assert!(built.folder.join("python/loader.py").is_file());
    let description = fs::read_to_string(built.folder.join("python/build.json")).unwrap();
    assert!(description.contains("\"tree\":\"2.6.0\""), "{description}");
    // another loader is another package, of the same objects
    bench.calls();
    bench.edit("harness/python/loader.py", "load", "load better");
    let second = bench.build(Flavour::Plain).unwrap();
    assert_ne!(second.folder, built.folder);
    assert_eq!(bench.calls(), ["link"]);
}

#[test]
fn a_generator_reads_the_tree_and_is_included() {
    let bench = Bench::new();
    bench.edit(
        "harness/driver/main.mm",
        "main",
        "#include <names.inc>\nmain",
    );
    bench.edit(
        "harness/recipe.toml",
        "\"{tree}/src\"",
        "\"{tree}/src\", \"{generated}\"",
    );
    let recipe = format!(
        "{}\n[[generate]]\ncommand = [\"cat\", \"{{tree_root}}/src/not_named.txt\"]\noutput = \"names.inc\"\ninputs = [\"src/not_named.txt\"]\n",
        fs::read_to_string(bench.path("harness/recipe.toml")).unwrap()
    );
    fs::write(bench.path("harness/recipe.toml"), recipe).unwrap();
    bench.build(Flavour::Plain).unwrap();
    bench.calls();
    bench.edit("tree/src/not_named.txt", "left out", "named");
    bench.build(Flavour::Plain).unwrap();
    assert_eq!(bench.calls(), ["compile main.mm", "link"]);
}
