//! Any bytes as a patch file: no panic, no loss, no path that leaves the tree.
#![no_main]
use libfuzzer_sys::fuzz_target;
use umpatch::series::diff::Direction;
use umpatch::series::parse::parse;

fuzz_target!(|bytes: &[u8]| {
    let Ok(patch) = parse(bytes) else { return };
    assert_eq!(patch.emit(), bytes, "what was read is written the same");
    for path in patch.paths() {
        let text = path.as_str();
        assert!(!text.starts_with('/') && !text.split('/').any(|part| part == ".."));
        assert!(
            !text
                .to_ascii_lowercase()
                .split('/')
                .any(|part| part == ".git")
        );
    }
    for change in &patch.files {
        for direction in [Direction::Forward, Direction::Reverse] {
            // made where its own lines are all there is
            for hunk in &change.hunks {
                let before: Vec<u8> = hunk.before(direction).flatten().copied().collect();
                let _ = umpatch::engine::fuzzing::apply(change, &before, direction);
            }
        }
    }
});
