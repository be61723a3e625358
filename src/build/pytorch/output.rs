//! Reads what a build prints, line by line: how far it is, what it compiled, and what went wrong first. Pure.
use std::collections::VecDeque;

/// Lines kept from around a failure that nothing explains.
const LAST: usize = 12;

/// What a build has said so far.
#[derive(Debug, Default)]
pub struct Output {
    done: u64,
    total: u64,
    objects: u64,
    first: Option<Complaint>,
    failed: Option<String>,
    last: VecDeque<String>,
}

/// The first thing that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Complaint {
    /// The compiler found an error in a source.
    Compile {
        /// File, line and column.
        place: String,
        /// The error.
        message: String,
    },
    /// The linker failed.
    Link(String),
    /// CMake failed.
    Configure(String),
    /// The disk is full.
    NoRoom(String),
    /// The system ended a compiler.
    Killed(String),
    /// There is no ninja.
    NoNinja,
    /// Xcode's licence.
    NoLicence,
    /// The SDK is missing or too old.
    Sdk(String),
    /// pip or setup.py failed before anything was compiled.
    Python(String),
}

/// What a line was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// ninja's `[done/total]`.
    Progress {
        /// Steps that ended.
        done: u64,
        /// All steps.
        total: u64,
    },
    /// Anything else.
    Other,
}

impl Output {
    /// Takes the next line.
    pub fn line(&mut self, line: &str) -> Line {
        let line = line.trim_end();
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(line.chars().take(400).collect());
        if let Some((done, total, rest)) = progress(line) {
            (self.done, self.total) = (done, total);
            if is_object(rest) {
                self.objects += 1;
            }
            return Line::Progress { done, total };
        }
        if let Some(target) = line.strip_prefix("FAILED: ") {
            self.failed.get_or_insert_with(|| target.trim().to_owned());
        }
        if let Some(complaint) = complaint(line) {
            let graver = complaint.is_of_the_machine()
                && !self
                    .first
                    .as_ref()
                    .is_some_and(Complaint::is_of_the_machine);
            // a full disk or a killed compiler makes errors of its own before it is named
            if self.first.is_none() || graver {
                self.first = Some(complaint);
            }
        }
        Line::Other
    }

    /// Objects that were compiled.
    #[must_use]
    pub const fn objects(&self) -> u64 {
        self.objects
    }

    /// How far ninja came: steps that ended, and all.
    #[must_use]
    pub const fn progress(&self) -> (u64, u64) {
        (self.done, self.total)
    }

    /// What went wrong first.
    #[must_use]
    pub const fn complaint(&self) -> Option<&Complaint> {
        self.first.as_ref()
    }

    /// What ninja says that failed.
    #[must_use]
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// The last lines.
    #[must_use]
    pub fn last(&self) -> String {
        let lines: Vec<&str> = self.last.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}

impl Complaint {
    /// Whether the machine is to blame, not the sources.
    const fn is_of_the_machine(&self) -> bool {
        !matches!(
            self,
            Self::Compile { .. } | Self::Link(_) | Self::Configure(_) | Self::Python(_)
        )
    }
}

/// `[12/3456] Building CXX object …`, with what follows it. pip indents it.
fn progress(line: &str) -> Option<(u64, u64, &str)> {
    let inner = line.trim_start().strip_prefix('[')?;
    let (counts, rest) = inner.split_once(']')?;
    let (done, total) = counts.split_once('/')?;
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (done, total) = (number(done)?, number(total)?);
    (done <= total).then_some((done, total, rest.trim_start()))
}

fn is_object(step: &str) -> bool {
    let mut words = step.split_whitespace();
    words.next() == Some("Building")
        && matches!(words.next(), Some("C" | "CXX" | "OBJC" | "OBJCXX" | "ASM"))
        && words.next() == Some("object")
}

fn complaint(line: &str) -> Option<Complaint> {
    let line = line.trim_start();
    let has = |words: &str| line.contains(words);
    let said = || line.chars().take(300).collect::<String>();
    if has("No space left on device") {
        return Some(Complaint::NoRoom(said()));
    }
    if has("Killed: 9") || has("fatal error: Killed signal") || has("ninja: build stopped: Killed")
    {
        return Some(Complaint::Killed(said()));
    }
    if has("agreed to the Xcode license") || has("agree to the Xcode license") {
        return Some(Complaint::NoLicence);
    }
    if has("SDK \"macosx\" cannot be located") || has("macOS SDK") && has("required") {
        return Some(Complaint::Sdk(said()));
    }
    if has("unable to find a build program corresponding to \"Ninja\"")
        || has("ninja: command not found")
        || has("No such file or directory: 'ninja'")
    {
        return Some(Complaint::NoNinja);
    }
    for mark in [": fatal error: ", ": error: "] {
        if let Some((place, message)) = line.split_once(mark) {
            return Some(if is_place(place) {
                Complaint::Compile {
                    place: place.to_owned(),
                    message: message.chars().take(300).collect(),
                }
            } else if place.ends_with("ld") || place.starts_with("clang") || place.starts_with("ld")
            {
                Complaint::Link(said())
            } else {
                return None;
            });
        }
    }
    if line.starts_with("Undefined symbols for architecture")
        || line.starts_with("ld: ") && !has("warning")
    {
        return Some(Complaint::Link(said()));
    }
    if line.starts_with("CMake Error") {
        return Some(Complaint::Configure(said()));
    }
    if line.starts_with("ERROR: ") || line.starts_with("ModuleNotFoundError: ") {
        return Some(Complaint::Python(said()));
    }
    None
}

/// `path:12` or `path:12:34`
fn is_place(text: &str) -> bool {
    let mut parts = text.rsplit(':');
    let number = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    number(parts.next())
        && parts.next().is_some_and(|part| !part.is_empty())
        && !text.contains("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(lines: &[&str]) -> Output {
        let mut output = Output::default();
        for line in lines {
            output.line(line);
        }
        output
    }

    #[test]
    fn progress_and_objects_are_counted() {
        let output = after(&[
            "-- Configuring done",
            "  [1/4] Building CXX object c10/CMakeFiles/c10.dir/core/Device.cpp.o",
            "[2/4] Building OBJCXX object caffe2/CMakeFiles/torch_cpu.dir/__/aten/src/ATen/mps/MPSAllocator.mm.o",
            "[3/4] Generating ../../torch/version.py",
            "[4/4] Linking CXX shared library lib/libtorch_cpu.dylib",
        ]);
        assert_eq!(output.progress(), (4, 4));
        assert_eq!(output.objects(), 2);
        assert_eq!(output.complaint(), None);
    }

    #[test]
    fn the_first_error_is_the_compiler_s_with_its_place() {
        let output = after(&[
            "[7/90] Building OBJCXX object x.mm.o",
            "/t/aten/src/ATen/mps/MPSAllocator.mm:41:9: warning: unused variable 'x' [-Wunused-variable]",
            "FAILED: caffe2/CMakeFiles/torch_cpu.dir/x.mm.o",
            "/t/aten/src/ATen/mps/MPSAllocator.mm:301:12: error: use of undeclared identifier 'foo'",
            "/t/aten/src/ATen/mps/MPSAllocator.mm:302:1: error: expected ';'",
            "2 errors generated.",
            "ninja: build stopped: subcommand failed.",
        ]);
        assert_eq!(
            output.complaint(),
            Some(&Complaint::Compile {
                place: "/t/aten/src/ATen/mps/MPSAllocator.mm:301:12".to_owned(),
                message: "use of undeclared identifier 'foo'".to_owned()
            })
        );
        assert_eq!(
            output.failed(),
            Some("caffe2/CMakeFiles/torch_cpu.dir/x.mm.o")
        );
    }

    #[test]
    fn a_full_disk_is_named_whatever_it_broke_first() {
        let output = after(&[
            "/t/a.cpp:1:1: error: unable to open output file 'a.o': 'No such file or directory'",
            "LLVM ERROR: IO failure on output stream: No space left on device",
        ]);
        assert!(matches!(output.complaint(), Some(Complaint::NoRoom(_))));
        let output = after(&["clang++: error: unable to execute command: Killed: 9"]);
        assert!(matches!(output.complaint(), Some(Complaint::Killed(_))));
    }

    #[test]
    fn other_ends_are_told_apart() {
        let of = |line: &str| after(&[line]).complaint().cloned();
        assert!(matches!(
            of("Undefined symbols for architecture arm64:"),
            Some(Complaint::Link(_))
        ));
        assert!(matches!(
            of("ld: symbol(s) not found for architecture arm64"),
            Some(Complaint::Link(_))
        ));
        assert_eq!(of("ld: warning: duplicate -rpath ignored"), None);
        assert!(matches!(
            of("CMake Error at CMakeLists.txt:5 (project):"),
            Some(Complaint::Configure(_))
        ));
        assert_eq!(
            of("CMake Error: CMake was unable to find a build program corresponding to \"Ninja\"."),
            Some(Complaint::NoNinja)
        );
        assert!(matches!(
            of("ERROR: Could not find a version"),
            Some(Complaint::Python(_))
        ));
        assert_eq!(of("    raise RuntimeError(\"x: error: y\")"), None);
    }

    proptest! {
        #[test]
        fn no_line_breaks_it(lines in prop::collection::vec(".{0,120}", 0..40)) {
            let mut output = Output::default();
            for line in &lines {
                output.line(line);
            }
            let (done, total) = output.progress();
            prop_assert!(done <= total);
            prop_assert!(output.last().lines().count() <= LAST.max(lines.len()));
        }

        #[test]
        fn every_count_is_read(done in 0_u64..9000, more in 0_u64..9000) {
            let mut output = Output::default();
            output.line(&format!("[{done}/{}] Building C object a.o", done + more));
            prop_assert_eq!(output.progress(), (done, done + more));
            prop_assert_eq!(output.objects(), 1);
        }
    }
}
