//! Two texts, their diff as a patch, and a third text that drifted from the first, against a model: the patch made in the
//! first gives the second and back, and a merge with what did not drift is the patch itself.
#![no_main]
use libfuzzer_sys::fuzz_target;
use similar::{Algorithm, DiffTag, capture_diff_slices, group_diff_ops};
use umpatch::engine::fuzzing::{apply, merge};
use umpatch::series::diff::Direction;
use umpatch::series::parse::parse;

/// Few different lines, so that contexts repeat.
fn text(bytes: &[u8]) -> Vec<String> {
    const LINES: [&str; 8] = ["a\n", "b\n", "\n", "a\r\n", "}\n", "  b\n", "+\n", "-- \n"];
    let mut lines: Vec<String> = bytes
        .iter()
        .take(60)
        .map(|byte| LINES[usize::from(byte & 7)].to_owned())
        .collect();
    if bytes.first().is_some_and(|byte| byte & 128 != 0) {
        // no newline at the end
        if let Some(last) = lines.last_mut() {
            // the differ takes a lone carriage return for a line's end
            let cut = last.trim_end_matches(['\n', '\r']).to_owned();
            *last = if cut.is_empty() { "x".to_owned() } else { cut };
        }
    }
    lines
}

/// The diff of two texts by their lines, as git writes it.
fn diff(before: &[String], after: &[String], context: usize) -> String {
    let operations = capture_diff_slices(Algorithm::Myers, before, after);
    let mut text = String::new();
    for group in group_diff_ops(operations, context) {
        // the ranges of a group's operations need not be in order
        let span = |ranges: &mut dyn Iterator<Item = std::ops::Range<usize>>| {
            let (mut start, mut end) = (usize::MAX, 0);
            for range in ranges.filter(|range| !range.is_empty()) {
                start = start.min(range.start);
                end = end.max(range.end);
            }
            (start, end)
        };
        let range = |(start, end): (usize, usize), empty: usize| match start < end {
            true => format!("{},{}", start + 1, end - start),
            false => format!("{empty},0"),
        };
        let Some(first) = group.first() else { continue };
        let old = span(&mut group.iter().map(|operation| operation.old_range()));
        let new = span(&mut group.iter().map(|operation| operation.new_range()));
        text.push_str(&format!(
            "@@ -{} +{} @@\n",
            range(old, first.old_range().start),
            range(new, first.new_range().start)
        ));
        let mut put = |sign: char, lines: &[String]| {
            for line in lines {
                text.push(sign);
                text.push_str(line);
                if !line.ends_with('\n') {
                    text.push_str("\n\\ No newline at end of file\n");
                }
            }
        };
        for operation in &group {
            if operation.tag() == DiffTag::Equal {
                put(' ', &before[operation.old_range()]);
            } else {
                put('-', &before[operation.old_range()]);
                put('+', &after[operation.new_range()]);
            }
        }
    }
    text
}

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.split(|byte| *byte == 0xff);
    let mut next = || text(parts.next().unwrap_or_default());
    let (before, after, drifted) = (next(), next(), next());
    if before == after {
        return;
    }
    let context = usize::from(bytes.first().copied().unwrap_or(3) >> 3 & 3);
    let body = diff(&before, &after, context);
    let (before, after, drifted) = (before.concat(), after.concat(), drifted.concat());
    let patch = format!("--- a/f\n+++ b/f\n{body}");
    let patch = match parse(patch.as_bytes()) {
        Ok(patch) => patch,
        Err(error) => panic!("a diff of ours is none: {error}\n{patch}"),
    };
    let change = &patch.files[0];
    let kept = !before.is_empty() && !after.is_empty();
    if let Some((made, offset)) = apply(change, before.as_bytes(), Direction::Forward) {
        if offset == 0 {
            assert_eq!(String::from_utf8_lossy(&made), after, "{patch:?}");
            if let Some((back, 0)) = apply(change, &made, Direction::Reverse) {
                assert_eq!(String::from_utf8_lossy(&back), before, "{patch:?}");
            }
        }
    } else {
        // without context nothing says where a hunk goes
        assert!(context == 0 || !kept, "{patch:?} does not fit its own base");
    }
    if kept {
        if let Some(merged) = merge(change, before.as_bytes(), before.as_bytes()) {
            assert_eq!(String::from_utf8_lossy(&merged), after, "{patch:?}");
        }
        if let Some(merged) = merge(change, before.as_bytes(), drifted.as_bytes()) {
            // each line of the result comes from one of the two
            let known = |line: &str| drifted.contains(line) || after.contains(line);
            for line in String::from_utf8_lossy(&merged).split_inclusive('\n') {
                assert!(known(line), "{line:?}");
            }
        }
    }
    let _ = apply(change, drifted.as_bytes(), Direction::Forward);
    let _ = apply(change, drifted.as_bytes(), Direction::Reverse);
});
