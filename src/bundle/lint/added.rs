//! The lines that a patch adds, by file: linters speak of those alone.
use crate::series::TreePath;
use crate::series::diff::LineKind;
use crate::series::parse::parse;
use std::collections::BTreeMap;

/// Numbers of added lines, from 1, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added(pub Vec<usize>);

impl Added {
    /// Whether a line is one of them.
    #[must_use]
    pub fn contains(&self, line: usize) -> bool {
        self.0.binary_search(&line).is_ok()
    }

    /// Them as ranges of consecutive lines.
    #[must_use]
    pub fn ranges(&self) -> Vec<(usize, usize)> {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for &line in &self.0 {
            match ranges.last_mut() {
                Some((_, end)) if *end + 1 == line => *end = line,
                _ => ranges.push((line, line)),
            }
        }
        ranges
    }
}

/// The added lines of a patch file; none where it cannot be parsed.
#[must_use]
pub fn added(patch: &[u8]) -> BTreeMap<TreePath, Added> {
    let Ok(parsed) = parse(patch) else {
        return BTreeMap::new();
    };
    let mut files: BTreeMap<TreePath, Added> = BTreeMap::new();
    for change in &parsed.files {
        let lines = &mut files.entry(change.new.clone()).or_default().0;
        for hunk in &change.hunks {
            let mut number = hunk.new_start;
            for line in &hunk.lines {
                match line.kind {
                    LineKind::Added => {
                        lines.push(number);
                        number += 1;
                    }
                    LineKind::Context => number += 1,
                    LineKind::Removed => {}
                }
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_lines_are_numbered_in_the_new_file() {
        let patch =
            b"--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+C\n d\n@@ -9,1 +10,2 @@\n i\n+j\n";
        let files = added(patch);
        let lines = &files[&TreePath::new("x").unwrap()];
        assert_eq!(lines.0, [2, 3, 11]);
        assert_eq!(lines.ranges(), [(2, 3), (11, 11)]);
        assert!(lines.contains(3) && !lines.contains(4));
        assert!(added(b"no patch").is_empty());
    }
}
