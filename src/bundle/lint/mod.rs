//! What upstream's lint would say of the lines that a patch adds, with the tree's own settings.
mod added;
mod settings;
mod text;
mod tools;

pub use added::{Added, added};
pub use settings::{Linter, Settings};

use crate::engine::PullRequest;
use crate::report::harmless;
use crate::run::process::ProcessError;
use crate::series::TreePath;
use serde::Serialize;
use std::collections::BTreeMap;

/// One linter's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lint {
    /// Its name, with its version where it is a program.
    pub name: String,
    /// What it says.
    #[serde(flatten)]
    pub answer: Answer,
}

/// What a linter says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// Nothing to complain of.
    Clean {
        /// On how many lines or files.
        extent: String,
    },
    /// Complaints.
    Found {
        /// Each.
        findings: Vec<Finding>,
    },
    /// It did not run: the answer is open.
    NotRun {
        /// Why.
        reason: String,
        /// The command that mends it.
        mend: String,
    },
}

/// One complaint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// What is wrong.
    pub text: String,
}

impl Lint {
    /// Whether it ran and found nothing.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        matches!(self.answer, Answer::Clean { .. })
    }

    /// Whether it did not run.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self.answer, Answer::NotRun { .. })
    }

    /// The answer as one line.
    #[must_use]
    pub fn line(&self) -> String {
        match &self.answer {
            Answer::Clean { extent } => format!("{}: clean ({extent})", self.name),
            Answer::Found { findings } => {
                let shown: Vec<String> = findings
                    .iter()
                    .take(3)
                    .map(|finding| {
                        let text = harmless::line(&finding.text, 200);
                        format!("{}:{} {text}", finding.path, finding.line)
                    })
                    .collect();
                let more = match findings.len().saturating_sub(3) {
                    0 => String::new(),
                    more => format!("; {more} more"),
                };
                format!("{}: **complains**: {}{more}", self.name, shown.join("; "))
            }
            Answer::NotRun { reason, mend } => {
                format!("{}: **not run** ({reason}); `{mend}`", self.name)
            }
        }
    }

    fn of(name: &str, findings: Vec<Finding>, extent: String) -> Self {
        Self {
            name: name.to_owned(),
            answer: if findings.is_empty() {
                Answer::Clean { extent }
            } else {
                Answer::Found { findings }
            },
        }
    }
}

/// The files of a change after it, and the lines that it adds.
pub struct Subject<'s> {
    files: BTreeMap<&'s TreePath, (&'s [u8], Added)>,
}

impl<'s> Subject<'s> {
    /// Of a pull request.
    #[must_use]
    pub fn of(request: &'s PullRequest) -> Self {
        Self::of_files(&request.mail, &request.files)
    }

    /// Of a mail and the files that it leads to.
    #[must_use]
    pub fn of_files(mail: &[u8], files: &'s BTreeMap<TreePath, Option<Vec<u8>>>) -> Self {
        let mut lines = added(mail);
        let files = files
            .iter()
            .filter_map(|(path, bytes)| Some((path, bytes.as_deref()?)))
            .map(|(path, bytes)| (path, (bytes, lines.remove(path).unwrap_or_default())))
            .collect();
        Self { files }
    }
}

/// Every linter's answer on a change.
///
/// # Errors
/// When the user interrupts. A program that is missing or fails is an answer.
pub fn run(subject: &Subject<'_>, settings: &Settings) -> Result<Vec<Lint>, ProcessError> {
    let mut lints = text::lints(subject, settings);
    lints.extend(tools::lints(subject, settings)?);
    Ok(lints)
}
