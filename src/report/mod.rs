//! Renders a run: JSON, Markdown, HTML with plots, JUnit and text for a terminal, all from one [`document::Report`].
//!
//! What others wrote (test names, program output, paths) is made harmless once, in one place, before a format sees it.
mod ablation;
mod bounded;
mod curves;
pub mod document;
pub(crate) mod figures;
pub(crate) mod harmless;
mod html;
mod junit;
mod markdown;
pub(crate) mod markup;
mod plot;
pub(crate) mod summary;
mod terminal;

pub use bounded::bounded;

use crate::error::Explain;
use crate::exit::Exit;
use document::Report;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The JSON Schema of `report.json`.
pub const JSON_SCHEMA: &str = include_str!("schema.json");
/// The name of the report as data in a run folder.
pub const DATA_FILE: &str = "report.json";

/// A form that a report can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One self-contained page with plots
    Html,
    /// For a CI job summary or a pull-request comment
    Markdown,
    /// The data that every other format is rendered from
    Json,
    /// For CI systems that list test results
    Junit,
    /// Plain text of at most 100 columns
    Terminal,
}

impl Format {
    /// The name of this format's file in a run folder; none for the terminal's.
    #[must_use]
    pub const fn file_name(self) -> Option<&'static str> {
        match self {
            Self::Html => Some("report.html"),
            Self::Markdown => Some("report.md"),
            Self::Json => Some(DATA_FILE),
            Self::Junit => Some("junit.xml"),
            Self::Terminal => None,
        }
    }
}

/// The files that [`write_all`] wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The report as data.
    pub json: PathBuf,
    /// The page.
    pub html: PathBuf,
    /// The summary for CI and pull requests.
    pub markdown: PathBuf,
    /// The list of cases for CI systems.
    pub junit: PathBuf,
}

/// Why a report could not be read, rendered or written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such report.
    #[error("no report at {}", path.display())]
    Absent {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no report.
    #[error("{} is no report of umpatch verify", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The report is of a kind that this version does not know.
    #[error("{} has the schema {found:?}; this version reads {:?}", path.display(), document::SCHEMA)]
    Schema {
        /// The file.
        path: PathBuf,
        /// The schema that it names.
        found: String,
    },
    /// The file could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The report could not be written as JSON.
    #[error("cannot write the report as JSON")]
    Json(#[source] serde_json::Error),
    /// The report could not be written as XML.
    #[error("cannot write the report as JUnit XML")]
    Xml(#[source] quick_junit::SerializeError),
    /// The page's template failed: a fault of umpatch.
    #[error("cannot render the page")]
    Page(#[source] minijinja::Error),
    /// A plot could not be drawn: a fault of umpatch.
    #[error("cannot draw a plot: {0}")]
    Plot(String),
}

impl Explain for ReportError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Absent { .. } => vec![
                "name a run folder, its report.json, or `last`".to_owned(),
                "`umpatch verify` makes a run and prints its folder".to_owned(),
            ],
            Self::Schema { .. } => {
                vec!["render it with the version of umpatch that wrote it, or run `umpatch verify` again".to_owned()]
            }
            Self::Malformed { .. } => {
                vec![
                    "name the run folder instead: the report is rebuilt from its journal"
                        .to_owned(),
                ]
            }
            Self::Write { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                vec!["free some space and run `umpatch report` on the run folder: nothing of the run is lost".to_owned()]
            }
            Self::Write { .. } => {
                vec!["`umpatch report RUN --output FILE` writes the report elsewhere".to_owned()]
            }
            _ => Vec::new(),
        }
    }
}

/// Renders a report in one format; plots take their curves from `run_folder/curves/`.
///
/// # Errors
/// A fault of umpatch itself, or of the JSON or XML writer: missing curves are no error, the page says so.
pub fn render(report: &Report, run_folder: &Path, format: Format) -> Result<String, ReportError> {
    let report = &bounded(report);
    match format {
        Format::Html => html::render(report, &curves::read_all(report, run_folder)),
        Format::Markdown => Ok(markdown::render(report)),
        Format::Json => serde_json::to_string_pretty(report)
            .map(|text| text + "\n")
            .map_err(ReportError::Json),
        Format::Junit => junit::render(report).map_err(ReportError::Xml),
        Format::Terminal => Ok(terminal::render(report)),
    }
}

/// The report as plain text for a terminal, verdict first.
#[must_use]
pub fn terminal(report: &Report) -> String {
    terminal::render(&bounded(report))
}

/// Writes every format into the run folder. Each file appears whole or not at all.
///
/// # Errors
/// The run folder cannot be written to, or a format cannot be rendered; the data comes first, so that it is kept when a
/// later format fails.
pub fn write_all(report: &Report, run_folder: &Path) -> Result<Written, ReportError> {
    let write = |format: Format, name: &str| {
        let path = run_folder.join(name);
        write_file(&path, &render(report, run_folder, format)?)?;
        Ok(path)
    };
    Ok(Written {
        json: write(Format::Json, DATA_FILE)?,
        markdown: write(Format::Markdown, "report.md")?,
        junit: write(Format::Junit, "junit.xml")?,
        html: write(Format::Html, "report.html")?,
    })
}

/// Writes a file so that a reader sees the old text or the new, never a part.
///
/// # Errors
/// The file cannot be written.
pub fn write_file(path: &Path, text: &str) -> Result<(), ReportError> {
    let failed = |source| ReportError::Write {
        path: path.to_owned(),
        source,
    };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder
        .prefix(".report-")
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Reads a report written before. Invalid UTF-8 in it is replaced.
///
/// # Errors
/// There is none at `path`, it cannot be read, or it is no report of ours.
pub fn read(path: &Path) -> Result<Report, ReportError> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|mut file| io::Read::read_to_end(&mut file, &mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ReportError::Absent {
                path: path.to_owned(),
            });
        }
        Err(source) => {
            return Err(ReportError::Read {
                path: path.to_owned(),
                source,
            });
        }
    }
    let malformed = |source| ReportError::Malformed {
        path: path.to_owned(),
        source,
    };
    let value: serde_json::Value =
        serde_json::from_str(&String::from_utf8_lossy(&bytes)).map_err(malformed)?;
    match value.get("schema").and_then(serde_json::Value::as_str) {
        Some(found) if found != document::SCHEMA => Err(ReportError::Schema {
            path: path.to_owned(),
            found: harmless::line(found, harmless::NAME),
        }),
        _ => serde_json::from_value(value).map_err(malformed),
    }
}

/// The newest run below `runs`: the folder whose journal or report was written last.
///
/// # Errors
/// There is no run.
pub fn newest_run(runs: &Path) -> Result<PathBuf, ReportError> {
    let absent = || ReportError::Absent {
        path: runs.to_owned(),
    };
    let written = |folder: &Path| {
        ["journal.ndjson", DATA_FILE]
            .iter()
            .filter_map(|name| fs::metadata(folder.join(name)).ok()?.modified().ok())
            .max()
    };
    let entries = fs::read_dir(runs).map_err(|_| absent())?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter_map(|folder| Some((written(&folder)?, folder)))
        .max()
        .map(|(_, folder)| folder)
        .ok_or_else(absent)
}
