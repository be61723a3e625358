//! Merges a change into a file that has moved on, by the version that the change was made for.
use super::matching::lines;
use crate::series::diff::{Direction, FileChange, LineKind};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// One run of a change: the lines `start..end` of the base become `lines`.
struct Run<'a> {
    start: usize,
    end: usize,
    lines: Vec<&'a [u8]>,
}

/// The change made in `ours`, which comes from `base` by other changes; none where both change the same lines, or lines
/// beside each other.
pub(super) fn three_way(file: &FileChange, base: &[u8], ours: &[u8]) -> Option<Vec<u8>> {
    let (base, ours) = (lines(base), lines(ours));
    let runs = runs(file, &base)?;
    let operations = capture_diff_slices(Algorithm::Patience, &base, &ours);
    let mut result = Vec::new();
    let mut done = 0;
    for run in runs {
        let at = map_run(&run, &operations, base.len(), ours.len())?;
        result.extend(ours.get(done..at.0)?.iter().copied());
        result.extend(&run.lines);
        done = at.1;
    }
    result.extend(ours.get(done..)?.iter().copied());
    Some(result.concat())
}

/// The runs of a change, checked against the base that it claims.
fn runs<'a>(file: &'a FileChange, base: &[&[u8]]) -> Option<Vec<Run<'a>>> {
    let mut runs = Vec::new();
    for hunk in &file.hunks {
        let mut at = hunk.position(Direction::Forward);
        let mut open: Option<Run<'a>> = None;
        for line in &hunk.lines {
            if line.kind == LineKind::Context {
                runs.extend(open.take());
            }
            if line.kind != LineKind::Added && *base.get(at)? != line.text.as_slice() {
                return None;
            }
            match line.kind {
                LineKind::Context => at += 1,
                LineKind::Removed => {
                    let run = open.get_or_insert(Run {
                        start: at,
                        end: at,
                        lines: Vec::new(),
                    });
                    at += 1;
                    run.end = at;
                }
                LineKind::Added => {
                    let run = open.get_or_insert(Run {
                        start: at,
                        end: at,
                        lines: Vec::new(),
                    });
                    run.lines.push(&line.text);
                }
            }
        }
        runs.extend(open);
    }
    Some(runs)
}

/// Where the lines of a run are in `ours`: only if they, and a line on either side, are unchanged there.
fn map_run(
    run: &Run<'_>,
    operations: &[DiffOp],
    base: usize,
    ours: usize,
) -> Option<(usize, usize)> {
    let first = run.start.saturating_sub(1);
    let last = (run.end + 1).min(base);
    for operation in operations {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = *operation
            && old_index <= first
            && last <= old_index + len
        {
            let start = new_index + (run.start - old_index);
            let end = new_index + (run.end - old_index);
            // the ends of the file are neighbours too
            let at_start = run.start == 0 && start != 0;
            let at_end = run.end == base && end != ours;
            return (!at_start && !at_end).then_some((start, end));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::parse::parse;

    const BASE: &[u8] = b"a\nb\nc\nd\ne\nf\ng\nh\n";

    fn change() -> FileChange {
        let diff = b"--- a/f\n+++ b/f\n@@ -3,5 +3,5 @@\n c\n d\n-e\n+E\n f\n g\n";
        parse(diff).unwrap().files.remove(0)
    }

    #[test]
    fn changes_apart_from_each_other_are_both_kept() {
        let merged = three_way(&change(), BASE, b"0\na\nb\nC\nd\ne\nf\nG\nh\n").unwrap();
        assert_eq!(merged, b"0\na\nb\nC\nd\nE\nf\nG\nh\n");
    }

    #[test]
    fn changes_of_the_same_or_neighbouring_lines_conflict() {
        for ours in [
            "a\nb\nc\nd\nX\nf\ng\nh\n",
            "a\nb\nc\nX\ne\nf\ng\nh\n",
            "a\nb\nc\nd\ne\nX\nf\ng\nh\n",
            "",
        ] {
            assert_eq!(
                three_way(&change(), BASE, ours.as_bytes()),
                None,
                "{ours:?}"
            );
        }
    }

    #[test]
    fn another_base_is_refused() {
        assert_eq!(three_way(&change(), b"x\n", b"x\n"), None);
    }
}
