//! What goes beside the output: files of the recipe's folder, and a description of what it was built for.
use super::BuildError;
use super::pattern;
use super::place::Place;
use super::recipe::Recipe;
use std::collections::BTreeMap;

/// The files by their path beside the output.
pub(super) fn files(
    recipe: &Recipe,
    place: &Place,
) -> Result<BTreeMap<String, Vec<u8>>, BuildError> {
    let mut files = BTreeMap::new();
    let Some(package) = &recipe.package else {
        return Ok(files);
    };
    for wanted in &package.files {
        let found = pattern::files(&place.harness, wanted);
        if found.is_empty() {
            return Err(BuildError::NoSource {
                path: wanted.clone(),
                place: "the harness",
            });
        }
        for relative in found {
            let path = place.harness.join(&relative);
            let bytes = std::fs::read(&path).map_err(BuildError::read(&path))?;
            files.insert(relative, bytes);
        }
    }
    if let Some(name) = &package.description {
        files.insert(name.clone(), place.description().into_bytes());
    }
    Ok(files)
}
