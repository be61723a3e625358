//! A path inside a tree: relative, normal, and never into git's own folder.
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a text is no path inside a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is refused: {reason}")]
pub struct PathError {
    path: String,
    reason: &'static str,
}

/// A path relative to the root of a tree, with `/` between its parts.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct TreePath(String);

impl TreePath {
    /// Checks a path from a patch, a manifest or a command line.
    ///
    /// # Errors
    /// When it is absolute, leaves the tree, or touches git's own folder.
    pub fn new(path: &str) -> Result<Self, PathError> {
        let refuse = |reason| {
            Err(PathError {
                path: path.to_owned(),
                reason,
            })
        };
        if path.is_empty() {
            return refuse("it is empty");
        }
        if path.starts_with('/') {
            return refuse("it is absolute");
        }
        if path.contains('\0') || path.contains('\\') || path.contains('\n') {
            return refuse("it holds a byte that no path here may hold");
        }
        for part in path.split('/') {
            match part {
                "" => return refuse("it has an empty part"),
                "." => return refuse("it has a part ."),
                ".." => return refuse("it leaves the tree"),
                _ if is_git_folder(part) => return refuse("it touches git's own folder"),
                _ => {}
            }
        }
        Ok(Self(path.to_owned()))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path as the file system takes it.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The path below a folder.
    #[must_use]
    pub fn under(&self, root: &Path) -> PathBuf {
        root.join(&self.0)
    }

    /// The folders above it within the tree, outermost first.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0
            .match_indices('/')
            .map(|(position, _)| &self.0[..position])
    }
}

/// Also the names that other file systems take for `.git`: any case, trailing dots and spaces, the short name, and the
/// code points that HFS+ ignores.
fn is_git_folder(part: &str) -> bool {
    let visible: String = part
        .chars()
        .filter(|c| {
            !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
        })
        .collect();
    let name = visible.split(':').next().unwrap_or(&visible);
    let name = name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    name == ".git" || name == "git~1"
}

impl TryFrom<String> for TreePath {
    type Error = PathError;
    fn try_from(path: String) -> Result<Self, PathError> {
        Self::new(&path)
    }
}

impl From<TreePath> for String {
    fn from(path: TreePath) -> Self {
        path.0
    }
}

impl std::borrow::Borrow<str> for TreePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_tree_are_refused() {
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a//b",
            "./a",
            ".git/config",
            "sub/.GIT/hooks/x",
            ".git./x",
            "git~1/x",
            ".g\u{200c}it/x",
            ".git::$INDEX_ALLOCATION/x",
            "a\\..\\b",
            "a\0b",
        ] {
            assert!(TreePath::new(bad).is_err(), "{bad:?}");
        }
        for good in [
            ".gitignore",
            "aten/src/ATen/mps/MPSAllocator.mm",
            "a/.github/x",
        ] {
            assert!(TreePath::new(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn folders_come_outermost_first() {
        let path = TreePath::new("a/b/c.h").unwrap();
        assert_eq!(path.folders().collect::<Vec<_>>(), ["a", "a/b"]);
    }
}
