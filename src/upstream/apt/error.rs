//! Why a source package could not be had, and what to do then.
use super::super::checksum::Checksum;
use super::super::version::Version;
use super::complaint::Complaint;
use super::dsc::BadDescription;
use super::{Listing, PACKAGE};
use crate::error::{Explain, StorageError};
use crate::exit::Exit;
use crate::paths;
use crate::run::process::ProcessError;
use std::path::{Path, PathBuf};

/// A source package could not be had.
#[derive(Debug, thiserror::Error)]
pub enum AptError {
    /// apt is not there, or was interrupted.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// No entry of the machine's source lists is a distribution's own archive.
    #[error("this machine's apt is not configured with an archive that holds source packages")]
    NoArchive,
    /// apt failed.
    #[error("apt failed for suite {suite}: {}", complaint.meaning())]
    Failed {
        /// The suite.
        suite: String,
        /// Why.
        complaint: Complaint,
        /// Where its output is kept.
        log: PathBuf,
    },
    /// No suite lists the version.
    #[error("no suite lists PyTorch {version}{}", in_words(offered))]
    UnknownVersion {
        /// The version asked for.
        version: Version,
        /// What is listed instead.
        offered: Vec<Listing>,
        /// Suites that could not be asked, with the reason.
        silent: Vec<(String, Complaint)>,
        /// Where apt's output is kept.
        log: PathBuf,
    },
    /// The suite lists the version, but its files are gone.
    #[error("suite {} lists PyTorch {}, but the archive no longer holds its files (404)", listing.suite, listing.version)]
    Gone {
        /// What was asked for.
        listing: Box<Listing>,
        /// What else is listed.
        others: Vec<Listing>,
        /// Where apt's output is kept.
        log: PathBuf,
    },
    /// A file is not what the signed index or the description names.
    #[error("{file} has the wrong checksum: expected {expected}, got {found}")]
    Mismatch {
        /// The file.
        file: String,
        /// What it should be.
        expected: Checksum,
        /// What it is.
        found: Checksum,
    },
    /// The package's description makes no sense.
    #[error("the description of {PACKAGE} {package_version} cannot be used")]
    Description {
        /// The package's version.
        package_version: String,
        /// Why.
        #[source]
        source: BadDescription,
    },
    /// A file of ours cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

fn in_words(offered: &[Listing]) -> String {
    if offered.is_empty() {
        return String::new();
    }
    let list: Vec<String> = offered
        .iter()
        .map(|listing| format!("{} in {}", listing.version, listing.suite))
        .collect();
    format!("; there is {}", list.join(", "))
}

impl Explain for AptError {
    fn exit(&self) -> Exit {
        match self {
            Self::Process(error) => error.exit(),
            Self::UnknownVersion { .. }
            | Self::Failed {
                complaint: Complaint::NoSuchSuite,
                ..
            } => Exit::Usage,
            _ => Exit::PatchOrBuildFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        let log_line = |log: &Path| format!("apt's own words are in {}", log.display());
        let elsewhere =
            "or bring the source yourself: `umpatch fetch archive FILE`, `umpatch fetch git URL`"
                .to_owned();
        match self {
            Self::Process(ProcessError::Start { .. }) => {
                vec!["this machine has no apt: `umpatch fetch git URL` or `umpatch fetch archive FILE` bring a tree without it".to_owned()]
            }
            Self::Process(error) => error.hints(),
            Self::NoArchive => vec![
                "add a `deb` or `deb-src` entry of the distribution's archive to apt's source list"
                    .to_owned(),
                elsewhere,
            ],
            Self::Failed { complaint, log, .. } => {
                let mut hints = match complaint {
                    Complaint::Unreachable => {
                        vec!["check the network and apt's proxy settings, then run the same command again: it resumes".to_owned()]
                    }
                    Complaint::NoSuchSuite => {
                        vec!["`umpatch fetch --list` shows the suites that have PyTorch".to_owned()]
                    }
                    Complaint::Storage => vec![format!(
                        "free some space under {}, make it writable, or set UMPATCH_CACHE to another folder",
                        paths::cache().display()
                    )],
                    Complaint::Untrusted => vec![
                        "check the clock, and that the distribution's keyring package is up to date".to_owned(),
                    ],
                    _ => Vec::new(),
                };
                hints.push(log_line(log));
                hints.push(elsewhere);
                hints
            }
            Self::UnknownVersion {
                offered,
                silent,
                log,
                ..
            } => {
                let mut hints: Vec<String> = offered
                    .iter()
                    .map(|listing| {
                        format!(
                            "`umpatch fetch {}` brings what {} lists",
                            listing.version, listing.suite
                        )
                    })
                    .collect();
                for (suite, complaint) in silent {
                    hints.push(format!(
                        "suite {suite} could not be asked: {}",
                        complaint.meaning()
                    ));
                }
                hints.push(log_line(log));
                hints.push(elsewhere);
                hints
            }
            Self::Gone { others, log, .. } => {
                let mut hints: Vec<String> = others
                    .iter()
                    .map(|listing| {
                        format!(
                            "`umpatch fetch {}` is listed in {}",
                            listing.version, listing.suite
                        )
                    })
                    .collect();
                hints.push(log_line(log));
                hints.push(elsewhere);
                hints
            }
            Self::Mismatch { .. } => {
                vec![
                    "the file was removed: run the same command again to download it anew"
                        .to_owned(),
                ]
            }
            Self::Description { .. } | Self::Storage(_) => Vec::new(),
        }
    }
}

pub(super) fn storage(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> AptError {
    let at = StorageError::at(action, path);
    move |source| at(source).into()
}
