//! Reads a series from its folder: a `series.toml`, a quilt series, or bare patches in the order of their names.
use super::EngineError;
use crate::series::manifest::{GenerationEntry, Manifest, ManifestError, PatchEntry, SeriesFile};
use crate::series::{Patch, PatchId, Series, SeriesName, TreePath, quilt};
use crate::share;
use crate::upstream::{Generation, Recognition};
use std::path::{Path, PathBuf};

/// Where the patches come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The built-in series for the tree's generation.
    #[default]
    BuiltIn,
    /// The patches of a folder.
    Folder(PathBuf),
}

impl From<Option<PathBuf>> for Source {
    fn from(folder: Option<PathBuf>) -> Self {
        folder.map_or(Self::BuiltIn, Self::Folder)
    }
}

/// The series for a tree of that generation.
///
/// # Errors
/// When it cannot be read, or the generation has none.
pub fn series(source: &Source, recognition: &Recognition) -> Result<Series, EngineError> {
    match source {
        Source::Folder(folder) => {
            let series = folder_series(folder)?;
            match &series.generation {
                Some(wanted) if wanted != recognition.generation.name() => {
                    Err(refusal(&series, recognition))
                }
                _ => Ok(series),
            }
        }
        Source::BuiltIn if recognition.generation == Generation::Unsupported => {
            Err(EngineError::Unsupported {
                generation: recognition.generation.to_string(),
                reason: recognition.reasons.join("; "),
            })
        }
        Source::BuiltIn => {
            let entry = generation(recognition.generation)?;
            let unsupported = |reason: String| EngineError::Unsupported {
                generation: recognition.generation.to_string(),
                reason,
            };
            match entry {
                Some(GenerationEntry {
                    series: Some(folder),
                    ..
                }) => folder_series(&folder.under(&share::root()?.join("patches"))),
                Some(GenerationEntry {
                    reason: Some(reason),
                    ..
                }) if recognition.generation != Generation::Unsupported => Err(unsupported(reason)),
                _ => Err(unsupported(recognition.reasons.join("; "))),
            }
        }
    }
}

fn refusal(series: &Series, recognition: &Recognition) -> EngineError {
    if recognition.generation == Generation::Unsupported {
        return EngineError::Unsupported {
            generation: recognition.generation.to_string(),
            reason: recognition.reasons.join("; "),
        };
    }
    EngineError::WrongGeneration {
        series: series.name.to_string(),
        wanted: series.generation.clone().unwrap_or_default(),
        found: recognition.generation.to_string(),
    }
}

/// What the manifest says of a generation.
pub(super) fn generation(generation: Generation) -> Result<Option<GenerationEntry>, EngineError> {
    let is_it = |entry: &GenerationEntry| entry.name == generation.name();
    Ok(manifest()?.generation.into_iter().find(is_it))
}

fn manifest() -> Result<Manifest, EngineError> {
    let path = share::root()?.join("patches/manifest.toml");
    Manifest::parse(&read(&path)?).map_err(|source| EngineError::Manifest { path, source })
}

/// The series that a person names: a folder, or a built-in series or generation.
///
/// # Errors
/// When there is none of that name, or it cannot be read.
pub fn named(name: &str) -> Result<Series, EngineError> {
    let folder = Path::new(name);
    if folder.is_dir() {
        return folder_series(folder);
    }
    let patches = share::root()?.join("patches");
    let entries = manifest()?.generation;
    let folder = match entries.iter().find(|entry| entry.name == name) {
        Some(GenerationEntry {
            series: None,
            reason,
            ..
        }) => {
            return Err(EngineError::Unsupported {
                generation: name.to_owned(),
                reason: reason.clone().unwrap_or_default(),
            });
        }
        Some(GenerationEntry {
            series: Some(folder),
            ..
        }) => folder.under(&patches),
        None => patches.join(name),
    };
    let is_name = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
    if !is_name || !folder.is_dir() {
        return Err(EngineError::NoSeries {
            name: name.to_owned(),
            known: entries
                .iter()
                .flat_map(|entry| entry.series.iter().chain(&entry.alternatives))
                .map(ToString::to_string)
                .collect(),
        });
    }
    folder_series(&folder)
}

/// The series of a folder.
///
/// # Errors
/// When it cannot be read, or holds none.
pub fn folder_series(folder: &Path) -> Result<Series, EngineError> {
    let mut visited = Vec::new();
    Ok(gather(folder, &mut visited)?.checked()?)
}

/// How long a chain of series that extend each other may be.
const LONGEST_CHAIN: usize = 8;

fn gather(folder: &Path, visited: &mut Vec<PathBuf>) -> Result<Series, EngineError> {
    let real = folder
        .canonicalize()
        .map_err(EngineError::storage("read", folder))?;
    if visited.contains(&real) || visited.len() >= LONGEST_CHAIN {
        return Err(EngineError::Circle(folder.to_owned()));
    }
    visited.push(real);
    let manifest = folder.join("series.toml");
    if manifest.is_file() {
        return described(folder, &manifest, visited);
    }
    let names = bare_names(folder)?;
    if names.is_empty() {
        return Err(EngineError::NoPatches(folder.to_owned()));
    }
    let mut patches = Vec::new();
    for name in names {
        let path = folder.join(&name);
        let id = PatchId::from_file_name(&name).map_err(|source| EngineError::Name {
            path: path.clone(),
            source,
        })?;
        patches.push(Patch::new(undescribed(id, &name)?, &path, &read(&path)?)?);
    }
    Ok(Series {
        name: name_of(folder),
        generation: None,
        evidence: None,
        expected: None,
        patches,
    })
}

fn described(
    folder: &Path,
    manifest: &Path,
    visited: &mut Vec<PathBuf>,
) -> Result<Series, EngineError> {
    let file = SeriesFile::parse(&read(manifest)?).map_err(|source| EngineError::Manifest {
        path: manifest.to_owned(),
        source,
    })?;
    let below = match &file.extends {
        Some(extended) => {
            let beside = folder.join(extended);
            let built_in = share::root()?.join("patches").join(extended);
            // a name means the built-in series; a path means a folder
            let is_path = extended.contains('/') || extended.starts_with('.');
            let chosen = if is_path || !built_in.is_dir() {
                beside
            } else {
                built_in
            };
            Some(gather(&chosen, visited)?)
        }
        None => None,
    };
    let (generation, mut patches) = match below {
        Some(series) => (series.generation, series.patches),
        None => (None, Vec::new()),
    };
    for entry in file.patch {
        let path = entry.file.under(folder);
        let bytes = read(&path)?;
        patches.push(Patch::new(entry, &path, &bytes)?);
    }
    Ok(Series {
        name: file.name,
        generation: file.generation.or(generation),
        evidence: file.evidence,
        expected: file.expected,
        patches,
    })
}

/// The patch files of a folder without a `series.toml`.
fn bare_names(folder: &Path) -> Result<Vec<String>, EngineError> {
    let quilt_series = folder.join("series");
    if quilt_series.is_file() {
        let text = String::from_utf8(read(&quilt_series)?).map_err(|_| EngineError::Manifest {
            path: quilt_series,
            source: ManifestError::Encoding,
        })?;
        return quilt::parse(&text).map_err(|source| EngineError::Quilt {
            path: folder.to_owned(),
            source,
        });
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(EngineError::storage("read", folder))? {
        let entry = entry.map_err(EngineError::storage("read", folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".patch") || name.ends_with(".diff") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn undescribed(id: PatchId, file: &str) -> Result<PatchEntry, EngineError> {
    let file = TreePath::new(file)
        .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error))
        .map_err(EngineError::storage("read", file))?;
    Ok(PatchEntry {
        id,
        file,
        title: None,
        why: None,
        issues: Vec::new(),
        upstream_status: Default::default(),
        depends_on: Vec::new(),
        proven_by: Vec::new(),
        probe: Vec::new(),
        pull_request: None,
    })
}

/// A series without a name is called after its folder.
fn name_of(folder: &Path) -> SeriesName {
    let name = folder
        .canonicalize()
        .ok()
        .and_then(|path| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        })
        .unwrap_or_default();
    PatchId::from_file_name(&name)
        .ok()
        .and_then(|id| SeriesName::try_from(String::from(id)).ok())
        .unwrap_or_else(SeriesName::unnamed)
}

fn read(path: &Path) -> Result<Vec<u8>, EngineError> {
    std::fs::read(path).map_err(EngineError::storage("read", path))
}

/// The patches to speak of where the tree is not supported: those of the folder, or of the first built-in series.
pub(super) fn any(source: &Source) -> Result<Option<Series>, EngineError> {
    match source {
        Source::Folder(folder) => folder_series(folder).map(Some),
        Source::BuiltIn => {
            let patches = share::root()?.join("patches");
            let first = manifest()?
                .generation
                .into_iter()
                .find_map(|entry| entry.series);
            first
                .map(|folder| folder_series(&folder.under(&patches)))
                .transpose()
        }
    }
}
