//! The simulated mps device that `umpatch build` makes of the real 2.6.0 tree: scripts run on it, and so do the tests in C++
//! that patches add to the tree.
//!
//! Needs what the test command provides: `UMPATCH_TEST_TREE`, the compilers, the torch wheel and GoogleTest's sources.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#[path = "support/ran.rs"]
mod ran;
#[path = "support/real.rs"]
mod real;

use ran::Ran;
use real::{alone, tree, umpatch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian's `googletest` puts it.
const GOOGLE_TEST: &str = "/usr/src/googletest/googletest";

/// What a Python test loads: it takes the place of GoogleTest's own `main`.
const MAIN: &str = r#"
#include <gtest/gtest.h>
extern "C" int run_tests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
"#;

const RUN: &str = r#"
import ctypes, os, sys
sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
import torch
words = [b"tests", ("--gtest_filter=" + sys.argv[2]).encode()]
library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
sys.exit(library.run_tests(len(words), (ctypes.c_char_p * len(words))(*words)))
"#;

/// Both arms of a series: the folders for PYTHONPATH.
fn build(series: &str) -> Vec<(String, PathBuf)> {
    let (code, document) = umpatch("build", &["--device", "simulated", "--series", series]);
    assert_eq!(code, 0, "{document}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let arms = document["arms"].as_array().unwrap();
    let one = |arm: &Value| {
        assert!(Path::new(&text(&arm["built"])).is_file(), "{arm}");
        (text(&arm["name"]), text(&arm["python_path"]).into())
    };
    arms.iter().map(one).collect()
}

/// The interpreter that has the torch wheel, as `umpatch build` names it to people.
fn python() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_umpatch"))
        .arg("-C")
        .arg(tree())
        .args(["build", "--quiet", "--device", "simulated"])
        .output()
        .unwrap();
    let said = Ran::from(output);
    let line = said
        .out
        .lines()
        .find(|line| line.starts_with("PYTHONPATH="))
        .unwrap_or_else(|| panic!("{said}"));
    line.split_whitespace().nth(1).unwrap().to_owned()
}

fn on_device(package: &Path, script: &str, arguments: &[&str]) -> Ran {
    let output = Command::new(python())
        .args(["-c", script])
        .args(arguments)
        .env("PYTHONPATH", package)
        .output()
        .unwrap();
    Ran::from(output)
}

#[test]
fn a_script_of_ones_own_runs_on_each_arm() {
    let _alone = alone();
    let script = "\
import json, torch
x = torch.ones(4, device='mps')
print(json.dumps([str(x.device), (x + 1).sum().item()]))
";
    for (name, package) in build("classic") {
        let said = on_device(&package, script, &[]);
        assert_eq!(said.code, Some(0), "{name}: {said}");
        assert_eq!(said.json(), serde_json::json!(["mps:0", 8.0]), "{name}");
    }
}

/// A library of GoogleTest and one file of tests, compiled against a tree's headers.
fn library(folder: &Path, tree: &Path, tests: &str) -> PathBuf {
    let torch = on_device(
        Path::new(""),
        "import torch, os; print(os.path.dirname(torch.__file__), int(torch._C._GLIBCXX_USE_CXX11_ABI))",
        &[],
    );
    let (torch, abi) = torch.out.trim().split_once(' ').unwrap();
    std::fs::write(folder.join("tests.cpp"), tests).unwrap();
    std::fs::write(folder.join("main.cpp"), MAIN).unwrap();
    let made = folder.join("tests.so");
    let output = Command::new("clang++-16")
        .args(["-std=gnu++17", "-fPIC", "-shared", "-DUSE_MPS", "-w"])
        .arg(format!("-D_GLIBCXX_USE_CXX11_ABI={abi}"))
        .arg("-I")
        .arg(tree.join("aten/src"))
        .arg(format!("-I{torch}/include"))
        .arg(format!("-I{torch}/include/torch/csrc/api/include"))
        .arg(format!("-I{GOOGLE_TEST}/include"))
        .arg(format!("-I{GOOGLE_TEST}"))
        .arg(folder.join("tests.cpp"))
        .arg(folder.join("main.cpp"))
        .arg(format!("{GOOGLE_TEST}/src/gtest-all.cc"))
        .args([&format!("-L{torch}/lib"), "-ltorch", "-ltorch_cpu", "-lc10"])
        .arg("-o")
        .arg(&made)
        .output()
        .unwrap();
    let said = Ran::from(output);
    assert_eq!(said.code, Some(0), "{said}");
    made
}

#[test]
fn the_ordered_series_test_in_cpp_fails_before_and_passes_after() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let checkout = folder.path().join("tree");
    let cloned = Command::new("git")
        .args(["clone", "--quiet", "--shared"])
        .arg(tree())
        .arg(&checkout)
        .status()
        .unwrap();
    assert!(cloned.success());
    let apply = Command::new(env!("CARGO_BIN_EXE_umpatch"))
        .arg("-C")
        .arg(&checkout)
        .args(["apply", "--quiet", "--series", "classic-ordered"])
        .output()
        .unwrap();
    let applied = Ran::from(apply);
    assert_eq!(applied.code, Some(0), "{applied}");
    let path = "aten/src/ATen/test/mps_test_allocator.cpp";
    let tests = std::fs::read_to_string(checkout.join(path)).unwrap();
    // stock has no allocateIdle(): what is left of the test is about pinned memory
    let before = tests.replace("pinned->allocateIdle(nbytes)", "pinned->allocate(nbytes)");
    assert_ne!(before, tests);
    for (name, package) in build("classic-ordered") {
        let stock = name == "stock";
        let place = folder.path().join(&name);
        std::fs::create_dir(&place).unwrap();
        let made = if stock {
            library(&place, &tree(), &before)
        } else {
            library(&place, &checkout, &tests)
        };
        let filter = "MPSAllocator.CPUGetsIdleBuffers";
        let said = on_device(&package, RUN, &[made.to_str().unwrap(), filter]);
        assert_eq!(said.code, Some(i32::from(stock)), "{name}: {said}");
        let expected = if stock {
            "[  FAILED  ] 1 test"
        } else {
            "[  PASSED  ] 1 test"
        };
        assert!(said.out.contains(expected), "{name}: {said}");
    }
}
