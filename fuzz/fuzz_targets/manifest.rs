//! Any bytes as `series.toml` and `manifest.toml`: no panic.
#![no_main]
use libfuzzer_sys::fuzz_target;
use umpatch::series::manifest::{Manifest, SeriesFile};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(series) = SeriesFile::parse(bytes) {
        for patch in series.patch {
            let mut parts = patch.file.as_str().split('/');
            assert!(parts.all(|part| part != ".."), "a file beside the manifest");
            let _ = String::from(patch.upstream_status);
        }
    }
    let _ = Manifest::parse(bytes);
});
