//! Whether the compiler, the C++ library and the Objective-C runtime work together: a small program is built and run.
use super::item::{Item, Mend, Need};
use super::recipe::Gcc;
use crate::run::process::Program;
use std::path::Path;
use std::time::Duration;

/// Uses the standard library and the Objective-C runtime. (Foundation's headers want a blocks runtime and exceptions want a
/// personality routine, which the harness brings; Foundation's library is linked all the same.)
const SOURCE: &str = r#"#include <objc/runtime.h>
#include <string>
@interface Probe
+ (Class)class;
@end
@implementation Probe
+ (Class)class { return self; }
@end
int main() {
  return std::string(class_getName([Probe class])) == "Probe" ? 0 : 1;
}
"#;

/// Examines the C++ library and, when `ready` (all that the recipes name is there), the whole.
pub(super) fn examine(compiler: &str, gcc: Option<&Gcc>, ready: bool) -> Vec<Item> {
    let mut items = vec![library(gcc)];
    if ready && let Some(gcc) = gcc {
        items.push(works(compiler, gcc));
    }
    items
}

fn library(gcc: Option<&Gcc>) -> Item {
    let id = "c++-library";
    let package = |version: &str| Mend::Package(format!("libstdc++-{version}-dev"));
    let Some(gcc) = gcc else {
        return Item::missing(
            id,
            Need::SimulatedDevice,
            "there is no GCC library folder",
            Mend::Package("g++".to_owned()),
        );
    };
    let header = format!("/usr/include/c++/{}/vector", gcc.version);
    if Path::new(&header).is_file() {
        Item::ok(id, Need::SimulatedDevice, header)
    } else {
        let found = format!("{header} is not there");
        Item::missing(
            id,
            Need::SimulatedDevice,
            found,
            package(&gcc.version.to_string()),
        )
    }
}

fn works(compiler: &str, gcc: &Gcc) -> Item {
    let id = "toolchain";
    match build_and_run(compiler, gcc) {
        Ok(()) => Item::ok(
            id,
            Need::SimulatedDevice,
            format!("{compiler} builds an Objective-C++ program that runs"),
        ),
        Err(words) => Item::wrong(
            id,
            Need::SimulatedDevice,
            words,
            Mend::ByHand(
                "install the packages named above anew; several versions side by side may not fit"
                    .to_owned(),
            ),
        ),
    }
}

fn build_and_run(compiler: &str, gcc: &Gcc) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let source = folder.path().join("probe.mm");
    std::fs::write(&source, SOURCE).map_err(|error| format!("no temporary file: {error}"))?;
    let program = folder.path().join("probe");
    let built = Program::new(compiler)
        .args(["-x", "objective-c++", "-std=gnu++17", "-fobjc-runtime=gcc"])
        .arg("-Wno-objc-root-class")
        .arg("-idirafter")
        .arg(gcc.folder.join("include"))
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .arg(format!("-L{}", gcc.folder.display()))
        .args(["-Wl,--no-as-needed", "-lgnustep-base", "-lobjc"])
        .limit(Duration::from_secs(120))
        .run()
        .map_err(|error| error.to_string())?;
    if !built.status.success() {
        let words = String::from_utf8_lossy(&built.stderr);
        let first = words
            .lines()
            .find(|line| line.contains("error"))
            .unwrap_or("it fails without a word");
        return Err(format!("{compiler} cannot build a small program: {first}"));
    }
    let ran = Program::new(&program)
        .limit(Duration::from_secs(60))
        .run()
        .map_err(|error| error.to_string())?;
    if ran.status.success() {
        Ok(())
    } else {
        Err(format!(
            "a small program does not run: {} {}",
            ran.status,
            ran.tail(1)
        ))
    }
}
