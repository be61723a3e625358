//! Pull-request bundles: a folder with all that a person needs to send the patches of a series upstream, and nothing that
//! sends them. A bundle is a draft, made from a tree, a series and a run that passed; the same three give the same bytes.
mod archive;
mod body;
pub mod check;
mod cover;
mod error;
mod evidence;
pub mod lint;
mod manifest;
mod own_share;
mod place;
mod slots;
mod tables;

pub use body::title;
pub use error::BundleError;
pub use evidence::{Evidence, Proof};
pub use manifest::{Entry, MANIFEST, Manifest};
pub use place::write;
pub use slots::{EMPTY, empty};

use crate::engine::{self, Branch, Proposal};
use crate::report::document::{Report, Trust};
use crate::report::{self, Format};
use crate::series::TreePath;
use lint::{Lint, Settings, Subject};
use std::collections::BTreeMap;
use std::path::Path;

/// A bundle before it is written: its files by path, and what its manifest says.
#[derive(Debug)]
pub struct Bundle {
    /// What is in it.
    pub manifest: Manifest,
    /// The files, `SHA256SUMS` among them.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What linters say, by patch.
    pub lints: Vec<(String, Vec<Lint>)>,
    /// The branches that it describes.
    pub branches: Vec<Branch>,
}

impl Bundle {
    /// Whether every linter ran and none complains: what is left is for a person to fill.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.lints
            .iter()
            .flat_map(|(_, lints)| lints)
            .all(Lint::is_clean)
    }
}

/// Makes a bundle from a proposal and a run that was accepted for it.
///
/// # Errors
/// When the series has no text for a patch, the tree cannot be read, or the user interrupts.
pub fn make(
    proposal: &Proposal,
    evidence: &Evidence,
    run_folder: &Path,
) -> Result<Bundle, BundleError> {
    if proposal.requests.is_empty() {
        return Err(BundleError::NothingLeft);
    }
    let settings = tree_settings(proposal)?;
    let mut files = BTreeMap::new();
    let mut lints = Vec::new();
    let mut entries = Vec::new();
    let prefix = format!("umpatch-pr/{}", proposal.series.name);
    let mut branches = Vec::new();
    for (index, request) in proposal.requests.iter().enumerate() {
        let missing = || BundleError::NoText(request.id.to_string());
        let patch = proposal.patch(&request.id).ok_or_else(missing)?;
        let text = patch.pull_request.as_ref().ok_or_else(missing)?;
        let own = lint::run(&Subject::of(request), &settings)?;
        let body = body::render(&body::Parts {
            proposal,
            request,
            patch,
            text,
            evidence,
            lints: &own,
        });
        let folder = format!("{:04}-{}", index + 1, request.id);
        let branch = Branch {
            name: format!("{prefix}/{folder}"),
            commit: request.tip.clone(),
        };
        let entry = Entry {
            id: request.id.to_string(),
            title: title(patch),
            mail: format!("{folder}/{folder}.patch"),
            body: format!("{folder}/body.md"),
            branch: branch.name.clone(),
            commit: request.commit.clone(),
            tree: request.tree.clone(),
            tip: request.tip.clone(),
            tip_tree: request.tip_tree.clone(),
            needs: request.needs.iter().map(ToString::to_string).collect(),
        };
        files.insert(entry.mail.clone(), request.mail.clone());
        files.insert(entry.body.clone(), body.into_bytes());
        files.insert(
            format!("{folder}/title.txt"),
            format!("{}\n", entry.title).into_bytes(),
        );
        lints.push((entry.id.clone(), own));
        entries.push(entry);
        branches.push(branch);
    }
    let stack = Branch {
        name: format!("{prefix}/stack"),
        commit: proposal
            .requests
            .last()
            .map_or_else(|| proposal.base.clone(), |request| request.commit.clone()),
    };
    let manifest = Manifest::of(proposal, evidence, entries, &stack);
    branches.push(stack);
    files.insert(
        "README.md".to_owned(),
        cover::render(&manifest, proposal, evidence).into_bytes(),
    );
    for (format, name) in [
        (Format::Json, "evidence/report.json"),
        (Format::Markdown, "evidence/report.md"),
        (Format::Html, "evidence/report.html"),
    ] {
        let text = report::render(&portable(evidence, proposal), run_folder, format)?;
        files.insert(name.to_owned(), without(&text, run_folder).into_bytes());
    }
    files.insert(MANIFEST.to_owned(), manifest.emit());
    files.insert(place::SUMS.to_owned(), place::sums(&files));
    Ok(Bundle {
        manifest,
        files,
        lints,
        branches,
    })
}

/// The settings of the tree's own linters.
///
/// # Errors
/// When the object database cannot be read.
pub fn tree_settings(proposal: &Proposal) -> Result<Settings, BundleError> {
    let mut failed = None;
    let settings = Settings::read(|name| {
        let path = TreePath::new(name).ok()?;
        engine::base_file(proposal, &path).unwrap_or_else(|error| {
            failed.get_or_insert(error);
            None
        })
    });
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(settings),
    }
}

/// The report without the folders of the machine that made it: the same run gives the same bytes wherever it lies.
fn portable(evidence: &Evidence, proposal: &Proposal) -> Report {
    let mut report = Report {
        run: evidence.name.clone(),
        command: evidence.command(proposal),
        ..evidence.report.clone()
    };
    for scenario in &mut report.scenarios {
        scenario.command = anywhere(&scenario.command);
    }
    report
}

/// A command without the place of the tree.
fn anywhere(command: &str) -> String {
    let Some((before, rest)) = command.split_once("umpatch -C ") else {
        return command.to_owned();
    };
    let after = match rest.strip_prefix('\'') {
        Some(quoted) => quoted.split_once('\'').map_or("", |(_, after)| after),
        None => rest.find(' ').map_or("", |at| &rest[at..]),
    };
    format!("{before}umpatch -C TREE{after}")
}

/// A text without the run's folder: its name says which it is.
fn without(text: &str, run_folder: &Path) -> String {
    let folder = run_folder
        .canonicalize()
        .unwrap_or_else(|_| run_folder.to_owned());
    text.replace(&folder.display().to_string(), "RUN")
        .replace(&run_folder.display().to_string(), "RUN")
}

/// What a reader must know of the evidence before anything else; nothing for a Mac's.
#[must_use]
pub const fn warning(trust: Trust) -> Option<&'static str> {
    match trust {
        Trust::Hardware => None,
        Trust::Paravirtual => Some(
            "the evidence comes from a virtual machine's paravirtual GPU: memory use and timing need a real Mac",
        ),
        Trust::Simulated => Some(
            "the evidence is simulated only: no figure was measured on a Mac, and a reviewer will ask for one",
        ),
        Trust::Rehearsed => Some("the run is a rehearsal: it is no evidence"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_texts_lose_the_places_of_a_machine() {
        assert_eq!(
            anywhere("umpatch -C /home/me/tree verify --seed 1"),
            "umpatch -C TREE verify --seed 1"
        );
        assert_eq!(
            anywhere("umpatch -C '/a b' verify"),
            "umpatch -C TREE verify"
        );
        assert_eq!(anywhere("umpatch verify"), "umpatch verify");
        assert_eq!(
            without("see /nowhere/r1/x", Path::new("/nowhere/r1")),
            "see RUN/x"
        );
    }
}
