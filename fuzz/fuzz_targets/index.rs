//! Any bytes as git's index, whole and split: no panic, and what was read is read the same once written.
#![no_main]
use libfuzzer_sys::fuzz_target;
use umpatch::engine::fuzzing::index;

fuzz_target!(|bytes: &[u8]| {
    // two halves, each with a checksum that says «none», since a right one is never guessed
    let mut halves = bytes.splitn(2, |byte| *byte == 0xfe);
    let mut half = || [halves.next().unwrap_or_default(), &[0; 20]].concat();
    let (own, other) = (half(), half());
    let Some(written) = index(&own, &other) else {
        return;
    };
    let again = index(&written, &[]).expect("an index of ours is read");
    assert_eq!(again, written);
});
