//! Which of our own and the tree's files a source may include: read from its text, without a compiler, so that an object's
//! key is known before it is made. Conditions are not evaluated: too many files only make a key change too often.
use super::BuildError;
use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

/// Follows includes through the folders whose content counts.
#[derive(Debug)]
pub(super) struct Includes {
    folders: Vec<PathBuf>,
    direct: HashMap<PathBuf, Direct>,
}

/// What one file includes.
#[derive(Debug, Clone, Default)]
struct Direct {
    ours: Vec<PathBuf>,
    /// How many headers of torch: a measure of how long compiling takes.
    of_torch: usize,
}

/// All that a source depends on.
#[derive(Debug, Default)]
pub(super) struct Closure {
    pub files: BTreeSet<PathBuf>,
    pub of_torch: usize,
}

impl Includes {
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self {
            folders,
            direct: HashMap::new(),
        }
    }

    /// Everything that the given files include, they themselves too.
    pub fn closure(&mut self, roots: &[PathBuf]) -> Result<Closure, BuildError> {
        let mut closure = Closure::default();
        let mut waiting: Vec<PathBuf> = roots.to_vec();
        while let Some(file) = waiting.pop() {
            if !closure.files.insert(file.clone()) {
                continue;
            }
            let direct = self.direct(&file)?;
            closure.of_torch += direct.of_torch;
            waiting.extend(direct.ours);
        }
        Ok(closure)
    }

    fn direct(&mut self, file: &Path) -> Result<Direct, BuildError> {
        if let Some(known) = self.direct.get(file) {
            return Ok(known.clone());
        }
        let bytes = std::fs::read(file).map_err(BuildError::read(file))?;
        let mut direct = Direct::default();
        for name in names(&String::from_utf8_lossy(&bytes)) {
            match self.resolve(file, &name) {
                Some(path) => direct.ours.push(path),
                None if name.starts_with("ATen/") || name.starts_with("torch/") => {
                    direct.of_torch += 1;
                }
                None => {}
            }
        }
        self.direct.insert(file.to_owned(), direct.clone());
        Ok(direct)
    }

    fn resolve(&self, from: &Path, name: &str) -> Option<PathBuf> {
        from.parent()
            .into_iter()
            .chain(self.folders.iter().map(PathBuf::as_path))
            .map(|folder| plain(&folder.join(name)))
            .find(|path| path.is_file())
    }
}

/// The names in `#include` and `#import` lines.
fn names(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| {
            let rest = line.trim_start().strip_prefix('#')?.trim_start();
            let rest = rest
                .strip_prefix("include")
                .or_else(|| rest.strip_prefix("import"))?
                .trim_start();
            let close = match rest.chars().next()? {
                '<' => '>',
                '"' => '"',
                _ => return None,
            };
            let (name, _) = rest[1..].split_once(close)?;
            Some(name.to_owned())
        })
        .collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                result.pop();
            }
            Component::CurDir => {}
            other => result.push(other),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_all_spellings() {
        let text = "#include <a/b.h>\n  # import \"c.h\" // why\n#include MACRO\n// #include <no.h>\n#define X <y.h>";
        assert_eq!(names(text), ["a/b.h", "c.h"]);
    }

    #[test]
    fn dots_are_taken_out_of_paths() {
        assert_eq!(plain(Path::new("/a/b/../c/./d")), Path::new("/a/c/d"));
    }
}
