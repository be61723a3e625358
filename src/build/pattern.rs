//! Patterns of files: a path whose last part may hold one `*`.
use std::path::Path;

/// The files below `root` that a pattern names, as paths relative to `root`, sorted.
pub(super) fn files(root: &Path, pattern: &str) -> Vec<String> {
    let (folder, name) = match pattern.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), pattern),
    };
    let Some((before, after)) = name.split_once('*') else {
        let is_there = root.join(pattern).is_file();
        return is_there.then(|| pattern.to_owned()).into_iter().collect();
    };
    let mut names: Vec<String> = std::fs::read_dir(root.join(&folder))
        .map(|entries| {
            entries
                .flatten()
                .filter(|entry| entry.path().is_file())
                .filter_map(|entry| entry.file_name().into_string().ok())
                .filter(|name| {
                    name.len() >= before.len() + after.len()
                        && name.starts_with(before)
                        && name.ends_with(after)
                })
                .map(|name| format!("{folder}{name}"))
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}
