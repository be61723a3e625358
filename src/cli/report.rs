//! `umpatch report`.
use super::{Console, Global, Outcome};
use crate::compare;
use crate::error::Failure;
use crate::exit::Exit;
use crate::paths;
use crate::report::document::{Report, Verdict};
use crate::report::{self, Format, ReportError};
use crate::run::journal;
use anstyle::{AnsiColor, Style};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Render a run's report again
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch report last                                 write all reports of the newest run again, print the summary
  umpatch report last --format markdown               print one format, for example into a CI job summary
  umpatch report RUN --format html --output page.html
The exit code says whether the report was rendered, not what the run concluded.")]
pub(super) struct Arguments {
    /// A run's folder or its report.json, or `last` for the newest run
    run: PathBuf,
    /// Render this format only [default: all, into the run's folder, and the summary on stdout]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write it to this file instead of stdout; without --format, the file's name decides (.html, .md, .json, .xml, .txt)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(_global: &Global, own: Arguments, console: &Console) -> Outcome {
    let folder = run_folder(&own.run)?;
    let report = load(&own.run, &folder, console)?;
    let mut files: Vec<PathBuf> = Vec::new();
    let mut text = String::new();
    match (own.format, &own.output) {
        (None, None) => {
            let written = report::write_all(&report, &folder)?;
            files = vec![written.html, written.markdown, written.json, written.junit];
            text = painted(&report);
        }
        (Some(Format::Terminal), None) => text = painted(&report),
        (Some(format), None) => text = report::render(&report, &folder, format)?,
        (format, Some(output)) => {
            let format = format.unwrap_or_else(|| format_of(output));
            report::write_file(output, &report::render(&report, &folder, format)?)?;
            files.push(output.clone());
        }
    }
    for file in &files {
        console.note(&format!("wrote {}", file.display()));
    }
    let document = serde_json::json!({
        "schema": "umpatch.report/1",
        "run": folder,
        "verdict": report.verdict,
        "files": files,
        "report": report::bounded(&report),
    });
    console.result(&document, &text);
    Ok(Exit::Verified)
}

/// The report as text for a terminal, its first word in the colour of the verdict.
pub(super) fn painted(report: &Report) -> String {
    let text = report::terminal(report);
    let colour = match report.verdict {
        Verdict::Pass => AnsiColor::Green,
        Verdict::Regression | Verdict::Failed => AnsiColor::Red,
        Verdict::Inconclusive | Verdict::NothingRan => AnsiColor::Yellow,
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    match text.split_once(':') {
        Some((verdict, rest)) => format!("{style}{verdict}{style:#}:{rest}"),
        None => text,
    }
}

fn run_folder(run: &Path) -> Result<PathBuf, ReportError> {
    if run.as_os_str() == "last" && !run.exists() {
        return report::newest_run(&paths::cache().join("runs"));
    }
    if run.is_dir() {
        return Ok(run.to_owned());
    }
    match run.parent() {
        Some(folder) if run.is_file() && folder == Path::new("") => Ok(PathBuf::from(".")),
        Some(folder) if run.is_file() => Ok(folder.to_owned()),
        _ => Err(ReportError::Absent {
            path: run.to_owned(),
        }),
    }
}

/// A file is taken at its word; a folder's report is rebuilt from its journal, so that a run in progress or cut off has
/// one too, and read from its data only where there is no journal.
fn load(named: &Path, folder: &Path, console: &Console) -> Result<Report, Failure> {
    if named.is_file() && named.file_name() != Some(OsStr::new(journal::FILE)) {
        return Ok(report::read(named)?);
    }
    let data = folder.join(report::DATA_FILE);
    if !folder.join(journal::FILE).is_file() {
        return Ok(report::read(&data)?);
    }
    match compare::report(folder) {
        Ok(rebuilt) => Ok(with_more(rebuilt, &data)),
        Err(error) if data.is_file() => {
            console.note(&format!("{error}: taking {} instead", data.display()));
            Ok(report::read(&data)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// What the run itself wrote is kept where the rebuilt report lacks its tests, as those of a merged or imported run.
fn with_more(rebuilt: Report, data: &Path) -> Report {
    match report::read(data) {
        Ok(written)
            if written.tests.is_some()
                && rebuilt.tests.is_none()
                && written.fingerprint.key == rebuilt.fingerprint.key =>
        {
            written
        }
        _ => rebuilt,
    }
}

fn format_of(output: &Path) -> Format {
    match output.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => Format::Html,
        Some("json") => Format::Json,
        Some("xml") => Format::Junit,
        Some("txt") => Format::Terminal,
        _ => Format::Markdown,
    }
}
