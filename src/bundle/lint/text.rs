//! The linters that need no program: blanks, tabs, line ends, line length, names of tests. Pure.
use super::{Finding, Lint, Settings, Subject};
use crate::series::TreePath;
use std::collections::BTreeMap;

/// Their answers.
pub(super) fn lints(subject: &Subject<'_>, settings: &Settings) -> Vec<Lint> {
    let each_line = |name: &str,
                     code: &dyn Fn(&TreePath) -> &'static str,
                     complaint: &dyn Fn(&TreePath, &[u8]) -> Option<String>| {
        let mut findings = Vec::new();
        let mut extent = 0_usize;
        for (path, (bytes, added)) in &subject.files {
            if !settings.covers(code(path), path) {
                continue;
            }
            for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
                if added.contains(index + 1) {
                    extent += 1;
                    findings.extend(complaint(path, line).map(|text| Finding {
                        path: path.to_string(),
                        line: index + 1,
                        text,
                    }));
                }
            }
        }
        Lint::of(name, findings, format!("{extent} added lines"))
    };
    vec![
        each_line("trailing spaces", &|_| "SPACES", &|_, line| {
            line.last()
                .is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
                .then(|| "ends with a blank".to_owned())
        }),
        each_line("tabs", &|_| "TABS", &|_, line| {
            line.contains(&b'\t').then(|| "holds a tab".to_owned())
        }),
        each_line("line length", &width_linter, &|path, line| {
            let limit = columns(path, settings)?;
            let columns = String::from_utf8_lossy(line).chars().count();
            (columns > limit).then(|| format!("{columns} columns, {limit} are allowed"))
        }),
        newline(subject, settings),
        test_names(subject),
    ]
}

/// The linter of upstream's that measures lines of such a file.
fn width_linter(path: &TreePath) -> &'static str {
    match path.as_str().ends_with(".py") {
        true => "FLAKE8",
        false => "CLANGFORMAT",
    }
}

/// How wide a line of a file may be; nothing where upstream has no rule.
fn columns(path: &TreePath, settings: &Settings) -> Option<usize> {
    match path.as_path().extension()?.to_str()? {
        "py" => Some(settings.python_columns),
        "h" | "hpp" | "c" | "cc" | "cpp" | "m" | "mm" | "metal" => Some(settings.native_columns),
        _ => None,
    }
}

fn newline(subject: &Subject<'_>, settings: &Settings) -> Lint {
    let mut findings = Vec::new();
    let mut extent = 0_usize;
    for (path, (bytes, _)) in &subject.files {
        if !settings.covers("NEWLINE", path) {
            continue;
        }
        extent += 1;
        let complaint = if bytes.is_empty() {
            None
        } else if !bytes.ends_with(b"\n") {
            Some("does not end with a line end")
        } else if bytes.ends_with(b"\n\n") {
            Some("ends with an empty line")
        } else {
            None
        };
        findings.extend(complaint.map(|text| Finding {
            path: path.to_string(),
            line: 0,
            text: text.to_owned(),
        }));
    }
    Lint::of("newline at the end", findings, format!("{extent} files"))
}

/// A test's method as its file has it.
struct Method<'t> {
    class: &'t str,
    name: &'t str,
    line: usize,
    serial: bool,
}

fn test_names(subject: &Subject<'_>) -> Lint {
    let mut findings = Vec::new();
    let mut extent = 0_usize;
    for (path, (bytes, added)) in &subject.files {
        let is_tests = path.as_str().starts_with("test/") && path.as_str().ends_with(".py");
        if !is_tests {
            continue;
        }
        let text = String::from_utf8_lossy(bytes);
        let methods = methods(&text);
        let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for method in &methods {
            *seen.entry((method.class, method.name)).or_default() += 1;
        }
        for method in methods.iter().filter(|method| added.contains(method.line)) {
            extent += 1;
            let twice = seen.get(&(method.class, method.name)) > Some(&1);
            findings.extend(complaint(method, twice).map(|text| Finding {
                path: path.to_string(),
                line: method.line,
                text: format!("{}: {text}", method.name),
            }));
        }
    }
    Lint::of("test names", findings, format!("{extent} added methods"))
}

fn complaint(method: &Method<'_>, twice: bool) -> Option<&'static str> {
    const SPECIAL: [&str; 4] = ["setUp", "tearDown", "setUpClass", "tearDownClass"];
    if twice {
        return Some("the class has another of this name, and only the last one runs");
    }
    let Some(rest) = method.name.strip_prefix("test_") else {
        let is_helper = method.name.starts_with('_') || SPECIAL.contains(&method.name);
        return (!is_helper).then_some("a test's name begins with test_, a helper's with _");
    };
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if rest.is_empty() || !rest.bytes().all(is_plain) {
        return Some("lower case and underscores are the custom");
    }
    (!method.serial).then_some("a test of the allocator's memory has to be @serialTest()")
}

/// Methods of classes, by the four blanks in front of them.
fn methods(text: &str) -> Vec<Method<'_>> {
    let mut methods = Vec::new();
    let (mut class, mut serial) = ("", false);
    for (index, line) in text.lines().enumerate() {
        if let Some(rest) = line.strip_prefix("class ") {
            class = name(rest);
        }
        if let Some(rest) = line.strip_prefix("    def ") {
            methods.push(Method {
                class,
                name: name(rest),
                line: index + 1,
                serial,
            });
        }
        serial = match line.trim().strip_prefix('@') {
            Some(decorator) => serial || decorator.starts_with("serialTest"),
            None => false,
        };
    }
    methods
}

fn name(rest: &str) -> &str {
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::super::{Added, Answer};
    use super::*;

    fn answers(path: &str, text: &str, lines: &[usize]) -> BTreeMap<String, Vec<(usize, String)>> {
        let path = TreePath::new(path).unwrap();
        let subject = Subject {
            files: BTreeMap::from([(&path, (text.as_bytes(), Added(lines.to_vec())))]),
        };
        lints(&subject, &Settings::read(|_| None))
            .into_iter()
            .map(|lint| {
                let found = match lint.answer {
                    Answer::Found { findings } => findings,
                    Answer::Clean { .. } | Answer::NotRun { .. } => Vec::new(),
                };
                let lines = found
                    .into_iter()
                    .map(|finding| (finding.line, finding.text));
                (lint.name, lines.collect())
            })
            .collect()
    }

    #[test]
    fn only_added_lines_count() {
        let text = "old \nnew \n\tnew\n";
        let found = answers("a.mm", text, &[2, 3]);
        assert_eq!(found["trailing spaces"][0].0, 2);
        assert_eq!(found["trailing spaces"].len(), 1);
        assert_eq!(found["tabs"][0].0, 3);
        let long = format!("{}\n", "é".repeat(121));
        assert_eq!(answers("a.py", &long, &[1])["line length"].len(), 1);
        assert!(answers("a.md", &long, &[1])["line length"].is_empty());
        assert_eq!(answers("a.py", "x", &[])["newline at the end"].len(), 1);
        assert_eq!(answers("a.py", "x\n\n", &[])["newline at the end"].len(), 1);
    }

    #[test]
    fn names_of_tests_follow_the_custom() {
        let text = "class A:\n    @serialTest()\n    def test_good(self):\n    def test_parallel(self):\n    \
                    @serialTest()\n    @other\n    def test_Bad(self):\n    def helper(self):\n    def _own(self):\n    \
                    @serialTest()\n    def test_good(self):\n";
        let found = answers("test/test_mps.py", text, &[4, 7, 8, 9, 11]);
        let lines: Vec<usize> = found["test names"].iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [4, 7, 8, 11]);
        assert!(answers("src/a.py", text, &[4, 7, 8])["test names"].is_empty());
    }
}
