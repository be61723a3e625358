//! How a patch set is named on the command line: a folder, or a series that umpatch has.
use crate::series::SeriesName;
use crate::share;
use std::path::PathBuf;

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
