//! Where umpatch keeps things between runs.
use std::path::PathBuf;

/// The cache folder: `$UMPATCH_CACHE`, else `$XDG_CACHE_HOME/umpatch`, else `~/.cache/umpatch`.
///
/// Sub-folders: `trees/`, `downloads/`, `torch/VERSION/` (virtual environments), `objects/` (compiled objects by content),
/// `builds/`, `runs/`, `share/`. Each can be deleted at any time: it is made again.
#[must_use]
pub fn cache() -> PathBuf {
    cache_from(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

/// The folder of what cannot be made again: `$UMPATCH_DATA`, else `$XDG_DATA_HOME/umpatch`, else `~/.local/share/umpatch`.
///
/// Sub-folders: `baselines/` (recorded runs), `noise/` (what equal arms differ by, by machine).
#[must_use]
pub fn data() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable("UMPATCH_DATA") {
        return PathBuf::from(folder);
    }
    if let Some(folder) = variable("XDG_DATA_HOME") {
        return PathBuf::from(folder).join("umpatch");
    }
    match variable("HOME") {
        Some(home) => PathBuf::from(home).join(".local/share/umpatch"),
        None => std::env::temp_dir().join("umpatch-data"),
    }
}

fn cache_from(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> PathBuf {
    if let Some(folder) = variable("UMPATCH_CACHE") {
        return PathBuf::from(folder);
    }
    if let Some(folder) = variable("XDG_CACHE_HOME") {
        return PathBuf::from(folder).join("umpatch");
    }
    match variable("HOME") {
        Some(home) => PathBuf::from(home).join(".cache").join("umpatch"),
        None => std::env::temp_dir().join("umpatch-cache"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn with(pairs: &[(&str, &str)]) -> PathBuf {
        cache_from(|name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_most_specific_variable_wins() {
        let all = [
            ("UMPATCH_CACHE", "/a"),
            ("XDG_CACHE_HOME", "/b"),
            ("HOME", "/c"),
        ];
        assert_eq!(with(&all), PathBuf::from("/a"));
        assert_eq!(with(&all[1..]), PathBuf::from("/b/umpatch"));
        assert_eq!(with(&all[2..]), PathBuf::from("/c/.cache/umpatch"));
    }
}
