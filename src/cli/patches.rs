//! How a patch set is named on the command line: a folder, or a series that umpatch has.
use crate::series::SeriesName;
use crate::share;
use std::path::{Path, PathBuf};

/// The folder that is meant. What is no folder and no name of ours is kept: the command says what is wrong with it.
pub(super) fn patches(text: &str) -> Result<PathBuf, String> {
    let given = PathBuf::from(text);
    if given.is_dir() || text.parse::<SeriesName>().is_err() {
        return Ok(given);
    }
    let root = share::root().map_err(|error| error.to_string())?;
    let own = root.join("patches").join(text);
    Ok(if own.join("series.toml").is_file() {
        own
    } else {
        given
    })
}

/// The folder as a command line names it anywhere: a series of ours by its name, another by its full path.
pub(super) fn worded(folder: &Path) -> String {
    let full = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let ours = share::root().is_ok_and(|root| full.parent() == Some(&*root.join("patches")));
    match full.file_name() {
        Some(name) if ours => name.to_string_lossy().into_owned(),
        _ => full.to_string_lossy().into_owned(),
    }
}
