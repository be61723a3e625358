//! Two texts, their diff as a patch, and a third text that drifted from the first, against a model: the patch made in the
//! first gives the second and back, and a merge with what did not drift is the patch itself.
#![no_main]
use libfuzzer_sys::fuzz_target;
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
            let cut = last.trim_end_matches(['\n', '\r']).to_owned();
            *last = if cut.is_empty() { "x".to_owned() } else { cut };
        }
    }
    lines
}

/// The patch of two texts, as libgit2 writes it.
fn diff(before: &str, after: &str, context: u32) -> Vec<u8> {
    let mut options = git2::DiffOptions::new();
    options
        .context_lines(context)
        .interhunk_lines(0)
        .force_text(true);
    let path = Some(std::path::Path::new("f"));
    git2::Patch::from_buffers(
        before.as_bytes(),
        path,
        after.as_bytes(),
        path,
        Some(&mut options),
    )
    .and_then(|mut patch| patch.to_buf())
    .unwrap_or_else(|error| panic!("no diff: {error}"))
    .to_vec()
}

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.split(|byte| *byte == 0xff);
    let mut next = || text(parts.next().unwrap_or_default());
    let (before, after, drifted) = (next(), next(), next());
    if before == after {
        return;
    }
    let context = u32::from(bytes.first().copied().unwrap_or(3) >> 3 & 3);
    let (before, after, drifted) = (before.concat(), after.concat(), drifted.concat());
    let patch = diff(&before, &after, context);
    let patch = match parse(&patch) {
        Ok(patch) => patch,
        Err(error) => panic!(
            "a diff of git's is none: {error}\n{}",
            String::from_utf8_lossy(&patch)
        ),
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
