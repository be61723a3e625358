//! Makes a series folder of what a pull request gives: its diff, its mail, or a mailbox of several.
use super::EngineError;
use super::load::folder_series;
use super::refresh::write;
use crate::series::mail::Message;
use crate::series::manifest::SERIES_SCHEMA;
use crate::series::parse::{Reason, parse};
use crate::series::{PatchId, SeriesError, SeriesName, TreePath, mailbox};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What is imported, and how it is called.
#[derive(Debug, Clone)]
pub struct ImportRequest<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Where they came from, for messages and the series' evidence.
    pub origin: &'a str,
    /// The new folder.
    pub to: &'a Path,
    /// The series' name; by default the folder's.
    pub name: Option<SeriesName>,
    /// The generation of the allocator that it is for, where that is known.
    pub generation: Option<String>,
}

/// A series that was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Its name.
    pub series: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Its patches, in order.
    pub patches: Vec<ImportedPatch>,
    /// How many mails without a diff were left out, such as a cover letter.
    pub left_out: usize,
}

/// One patch that was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedPatch {
    /// Its id.
    pub id: PatchId,
    /// The first line of its message.
    pub title: String,
    /// Its file in the folder.
    pub file: String,
    /// The files that it touches.
    pub files: Vec<TreePath>,
}

/// Imports patches into a new folder.
///
/// # Errors
/// When the folder is there and not empty, or something is no patch that can be used; then nothing was written.
pub fn import(request: &ImportRequest<'_>) -> Result<Imported, EngineError> {
    if std::fs::read_dir(request.to).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(EngineError::NotEmpty(request.to.to_owned()));
    }
    let unmarked = mailbox::unmarked(request.bytes);
    let mails = mailbox::split(&unmarked);
    let several = mails.len() > 1;
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut imported = Imported {
        series: String::new(),
        folder: request.to.to_owned(),
        patches: Vec::new(),
        left_out: 0,
    };
    for mail in mails {
        let bytes = mailbox::plain(mail).map_err(|source| EngineError::Import {
            origin: request.origin.to_owned(),
            source,
        })?;
        let content = match parse(&bytes) {
            Ok(content) => content,
            Err(error) if several && error.reason == Reason::NoDiff => {
                imported.left_out += 1;
                continue;
            }
            Err(source) => {
                return Err(EngineError::Series(SeriesError::Parse {
                    file: request.origin.to_owned(),
                    source,
                }));
            }
        };
        let message = Message::from_preamble(&content.preamble).ok().flatten();
        let title = message.map_or_else(
            || format!("Imported from {}", request.origin),
            |message| message.subject,
        );
        let id = unused(&title, request.origin, &imported.patches)?;
        let file = format!("{:04}-{id}.patch", imported.patches.len() + 1);
        imported.patches.push(ImportedPatch {
            id,
            title,
            file: file.clone(),
            files: content.paths(),
        });
        files.push((file, bytes));
    }
    if files.is_empty() {
        return Err(EngineError::NothingToImport(request.origin.to_owned()));
    }
    std::fs::create_dir_all(request.to).map_err(EngineError::storage("make", request.to))?;
    for (file, bytes) in &files {
        write(&request.to.join(file), bytes)?;
    }
    let name = match &request.name {
        Some(name) => name.clone(),
        None => folder_series(request.to)?.name,
    };
    imported.series = name.to_string();
    let manifest = manifest(request, &imported);
    write(&request.to.join("series.toml"), manifest.as_bytes())?;
    // what was written must be readable
    folder_series(request.to)?;
    Ok(imported)
}

/// An id made from the title, as short as people make them, that no earlier patch has.
fn unused(title: &str, origin: &str, taken: &[ImportedPatch]) -> Result<PatchId, EngineError> {
    const LONGEST: usize = 40;
    let mut rest = title.trim();
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        rest = after.trim_start();
    }
    let mut slug = String::new();
    for word in rest
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        if !slug.is_empty() && slug.len() + word.len() >= LONGEST {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(LONGEST).map(|c| c.to_ascii_lowercase()));
    }
    if slug.is_empty() {
        "imported".clone_into(&mut slug);
    }
    let wrong = |source| EngineError::Name {
        path: PathBuf::from(origin),
        source,
    };
    let is_taken = |id: &PatchId| taken.iter().any(|patch| patch.id == *id);
    let mut id: PatchId = slug.parse().map_err(wrong)?;
    let mut number = 2;
    while is_taken(&id) {
        id = format!("{slug}-{number}").parse().map_err(wrong)?;
        number += 1;
    }
    Ok(id)
}

fn manifest(request: &ImportRequest<'_>, imported: &Imported) -> String {
    let quoted = |text: &str| toml::Value::String(text.replace(['\n', '\r'], " ")).to_string();
    let mut text = format!(
        "# Imported, to be verified: umpatch verify --patches-from DIR\nschema = \"{SERIES_SCHEMA}\"\nname = {}\n",
        quoted(&imported.series)
    );
    if let Some(generation) = &request.generation {
        text.push_str(&format!("generation = {}\n", quoted(generation)));
    }
    let evidence = format!("imported from {}, not verified", request.origin);
    text.push_str(&format!("evidence = {}\n", quoted(&evidence)));
    for patch in &imported.patches {
        text.push_str(&format!(
            "\n[[patch]]\nid = {}\nfile = {}\ntitle = {}\n",
            quoted(patch.id.as_str()),
            quoted(&patch.file),
            quoted(&patch.title)
        ));
    }
    text
}
