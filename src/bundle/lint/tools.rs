//! The linters that are programs: clang-format, ruff and flake8, each on a copy of the touched files beside the tree's own
//! settings. One that is not on the path is said to be missing: that is no clean answer.
use super::{Answer, Finding, Lint, Settings, Subject};
use crate::run::process::{Finished, ProcessError, Program};
use crate::series::TreePath;
use similar::{DiffTag, TextDiff};
use std::path::Path;
use std::time::Duration;

/// No linter takes longer for a few files.
const LIMIT: Duration = Duration::from_secs(120);

/// Their answers.
pub(super) fn lints(subject: &Subject<'_>, settings: &Settings) -> Result<Vec<Lint>, ProcessError> {
    let mut lints = Vec::new();
    for tool in [&CLANG_FORMAT, &RUFF, &FLAKE8] {
        lints.extend(ask(tool, subject, settings)?);
    }
    Ok(lints)
}

/// Complaints about one file, or why the program could not tell.
type Asked = Result<Result<Vec<Finding>, String>, ProcessError>;

/// A program that lints.
struct Tool {
    name: &'static str,
    /// Upstream's code for it.
    code: &'static str,
    /// The settings that it reads.
    settings: &'static str,
    /// The endings of the files that it understands.
    endings: &'static [&'static str],
    /// What a reader must know of its answer.
    remark: &'static str,
    /// Complaints about one file, or why it could not tell.
    ask: fn(&Question<'_>) -> Asked,
}

const CLANG_FORMAT: Tool = Tool {
    name: "clang-format",
    code: "CLANGFORMAT",
    settings: ".clang-format",
    endings: &[".h", ".hpp", ".c", ".cc", ".cpp", ".m", ".mm", ".metal"],
    remark: "",
    ask: clang_format,
};
const RUFF: Tool = Tool {
    name: "ruff",
    code: "RUFF",
    settings: "pyproject.toml",
    endings: &[".py", ".pyi"],
    remark: "",
    ask: ruff,
};
const FLAKE8: Tool = Tool {
    name: "flake8",
    code: "FLAKE8",
    settings: ".flake8",
    endings: &[".py", ".pyi"],
    remark: " without upstream's plugins",
    ask: flake8,
};

/// One file to lint.
struct Question<'q> {
    folder: &'q Path,
    path: &'q TreePath,
    bytes: &'q [u8],
    added: &'q super::Added,
}

/// What a tool says; nothing where no file is of its kind.
fn ask(
    tool: &Tool,
    subject: &Subject<'_>,
    settings: &Settings,
) -> Result<Option<Lint>, ProcessError> {
    let files: Vec<_> = subject
        .files
        .iter()
        .filter(|(path, (_, added))| settings.covers(tool.code, path) && !added.0.is_empty())
        .filter(|(path, _)| {
            tool.endings
                .iter()
                .any(|ending| path.as_str().ends_with(ending))
        })
        .collect();
    if files.is_empty() {
        return Ok(None);
    }
    let wanted = settings.version(tool.name);
    let requirement = match wanted {
        Some(version) => format!("{}=={version}", tool.name),
        None => tool.name.to_owned(),
    };
    let not_run = |reason: String| {
        Ok(Some(Lint {
            name: tool.name.to_owned(),
            answer: Answer::NotRun {
                reason,
                mend: format!("python3 -m pip install {requirement}"),
            },
        }))
    };
    let Some(version) = installed(tool.name)? else {
        return not_run("it is not on the path".to_owned());
    };
    if let Some(wanted) = wanted
        && version != wanted
    {
        return not_run(format!(
            "version {version} is on the path, upstream runs {wanted}"
        ));
    }
    let Some(text) = settings.files.get(tool.settings) else {
        return not_run(format!("the tree has no {}", tool.settings));
    };
    let folder = match staged(tool.settings, text, &files) {
        Ok(folder) => folder,
        Err(error) => {
            return not_run(format!("cannot write a copy of the files: {error}"));
        }
    };
    let mut findings = Vec::new();
    let mut lines = 0;
    for (path, (bytes, added)) in files {
        lines += added.0.len();
        let question = Question {
            folder: folder.path(),
            path,
            bytes,
            added,
        };
        match (tool.ask)(&question)? {
            Ok(found) => findings.extend(found),
            Err(reason) => return not_run(reason),
        }
    }
    let name = format!("{} {version}{}", tool.name, tool.remark);
    Ok(Some(Lint::of(
        &name,
        findings,
        format!("{lines} added lines"),
    )))
}

/// The version that a program says it has; nothing where there is none.
fn installed(name: &str) -> Result<Option<String>, ProcessError> {
    match Program::new(name).arg("--version").limit(LIMIT).run() {
        Ok(finished) => Ok(version_in(&finished.text())),
        Err(error @ ProcessError::Interrupted { .. }) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The first word of digits and dots.
fn version_in(text: &str) -> Option<String> {
    text.split_whitespace()
        .find(|word| {
            word.contains('.')
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'.')
        })
        .map(str::to_owned)
}

type Files<'f, 's> = [(&'f &'s TreePath, &'f (&'s [u8], super::Added))];

fn staged(name: &str, text: &[u8], files: &Files<'_, '_>) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(name), text)?;
    for (path, (bytes, _)) in files {
        let target = path.under(folder.path());
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(target, bytes)?;
    }
    Ok(folder)
}

/// Formats the added lines and compares.
fn clang_format(question: &Question<'_>) -> Result<Result<Vec<Finding>, String>, ProcessError> {
    let ranges = question.added.ranges();
    let finished = Program::new("clang-format")
        .arg("--style=file")
        .args(
            ranges
                .iter()
                .map(|(start, end)| format!("--lines={start}:{end}")),
        )
        .arg(question.path.as_str())
        .folder(question.folder)
        .limit(LIMIT)
        .run()?;
    if !finished.status.success() {
        return Ok(Err(failure("clang-format", &finished)));
    }
    let before = String::from_utf8_lossy(question.bytes).into_owned();
    let after = finished.text();
    let diff = TextDiff::from_lines(&before, &after);
    let findings = diff
        .ops()
        .iter()
        .filter(|operation| operation.tag() != DiffTag::Equal)
        .map(|operation| {
            let wanted = operation.new_range();
            let first = after.lines().nth(wanted.start).unwrap_or_default().trim();
            Finding {
                path: question.path.to_string(),
                line: operation.old_range().start + 1,
                text: format!("would be formatted as `{first}`"),
            }
        })
        .collect();
    Ok(Ok(findings))
}

fn ruff(question: &Question<'_>) -> Result<Result<Vec<Finding>, String>, ProcessError> {
    let finished = Program::new("ruff")
        .args([
            "check",
            "--no-cache",
            "--config",
            "pyproject.toml",
            "--output-format",
            "json",
        ])
        .arg(question.path.as_str())
        .folder(question.folder)
        .limit(LIMIT)
        .run()?;
    let Ok(all) = serde_json::from_slice::<Vec<RuffFinding>>(&finished.stdout) else {
        return Ok(Err(failure("ruff", &finished)));
    };
    let findings = all
        .into_iter()
        .filter(|found| question.added.contains(found.location.row))
        .map(|found| Finding {
            path: question.path.to_string(),
            line: found.location.row,
            text: format!("{} {}", found.code.unwrap_or_default(), found.message),
        })
        .collect();
    Ok(Ok(findings))
}

#[derive(serde::Deserialize)]
struct RuffFinding {
    code: Option<String>,
    message: String,
    location: RuffLocation,
}

#[derive(serde::Deserialize)]
struct RuffLocation {
    row: usize,
}

/// Lines of `flake8 --format=default`: `path:row:column: code text`.
fn flake8(question: &Question<'_>) -> Result<Result<Vec<Finding>, String>, ProcessError> {
    let finished = Program::new("flake8")
        .args(["--config", ".flake8", "--format=default"])
        .arg(question.path.as_str())
        .folder(question.folder)
        .limit(LIMIT)
        .run()?;
    // 1 is "there are complaints"
    if !matches!(finished.status.code(), Some(0 | 1)) || !finished.stderr.is_empty() {
        return Ok(Err(failure("flake8", &finished)));
    }
    let findings = finished
        .text()
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(4, ':').skip(1);
            let row = parts.next()?.parse().ok()?;
            Some((row, parts.nth(1)?.trim().to_owned()))
        })
        .filter(|(row, _)| question.added.contains(*row))
        .map(|(line, text)| Finding {
            path: question.path.to_string(),
            line,
            text,
        })
        .collect();
    Ok(Ok(findings))
}

fn failure(name: &str, finished: &Finished) -> String {
    format!(
        "{name} ended with {}: {}",
        finished.status,
        finished.tail(3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let clang = "Debian clang-format version 17.0.6 (https://x 1.2)";
        assert_eq!(version_in(clang).as_deref(), Some("17.0.6"));
        assert_eq!(version_in("ruff 0.7.4\n").as_deref(), Some("0.7.4"));
        let flake8 = "6.1.0 (mccabe: 0.7.0, pycodestyle: 2.11.1) CPython 3.11.7 on Linux";
        assert_eq!(version_in(flake8).as_deref(), Some("6.1.0"));
        assert_eq!(version_in("nothing"), None);
    }
}
