//! Any text as a quilt series, and as names: no panic, and a name that is accepted harms no branch.
#![no_main]
use libfuzzer_sys::fuzz_target;
use umpatch::series::{PatchId, quilt};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Ok(names) = quilt::parse(&text) else {
        return;
    };
    for name in names {
        assert!(!name.contains(char::is_whitespace));
        if let Ok(id) = PatchId::from_file_name(&name) {
            assert!(!id.as_str().contains(['/', ' ', '~', '^', ':']));
            assert!(id.as_str().parse::<PatchId>().is_ok());
        }
    }
});
