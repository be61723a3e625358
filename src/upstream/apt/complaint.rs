//! What apt's output says went wrong. apt is run with `LC_ALL=C`, so its words are known.

/// Why apt failed, as far as its output tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complaint {
    /// No name is resolved, no connection made.
    Unreachable,
    /// The suite does not exist on this archive.
    NoSuchSuite,
    /// A listed file is not there.
    Gone,
    /// The bytes are not those that the signed index names.
    Mismatch,
    /// The index is not signed by a key that the machine trusts, or its signature is too old or from the future.
    Untrusted,
    /// No room left, or a folder that cannot be written.
    Storage,
    /// Another program holds apt's lock on our folder.
    Locked,
    /// Anything else.
    Other,
}

/// Words of apt's messages, most telling first: a file that is gone also counts as a failure to fetch.
const WORDS: [(&str, Complaint); 26] = [
    ("No space left on device", Complaint::Storage),
    ("Disk quota exceeded", Complaint::Storage),
    ("Read-only file system", Complaint::Storage),
    ("Permission denied", Complaint::Storage),
    ("Unable to mkstemp", Complaint::Storage),
    ("Could not get lock", Complaint::Locked),
    ("Unable to lock", Complaint::Locked),
    ("Hash Sum mismatch", Complaint::Mismatch),
    ("File has unexpected size", Complaint::Mismatch),
    ("NO_PUBKEY", Complaint::Untrusted),
    ("is not signed", Complaint::Untrusted),
    ("signatures were invalid", Complaint::Untrusted),
    ("signatures couldn't be verified", Complaint::Untrusted),
    ("is not valid yet", Complaint::Untrusted),
    ("is expired", Complaint::Untrusted),
    ("Temporary failure resolving", Complaint::Unreachable),
    ("Could not resolve", Complaint::Unreachable),
    ("Unable to connect", Complaint::Unreachable),
    ("Could not connect", Complaint::Unreachable),
    ("Connection failed", Complaint::Unreachable),
    ("Connection timed out", Complaint::Unreachable),
    ("Network is unreachable", Complaint::Unreachable),
    ("does not have a Release file", Complaint::NoSuchSuite),
    ("404  Not Found", Complaint::Gone),
    ("File not found", Complaint::Gone),
    ("Failed to stat", Complaint::Gone),
];

impl Complaint {
    /// Reads apt's output.
    #[must_use]
    pub fn of(output: &str) -> Self {
        WORDS
            .iter()
            .find(|(words, _)| output.contains(words))
            .map_or(Self::Other, |(_, complaint)| *complaint)
    }

    /// What it means, to go on after "apt failed: ".
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Unreachable => "the package archive cannot be reached",
            Self::NoSuchSuite => "the archive does not offer this suite",
            Self::Gone => "the archive lists files that it does not hold (404)",
            Self::Mismatch => "what came is not what the signed index names",
            Self::Untrusted => "the archive's signature cannot be trusted",
            Self::Storage => "the cache cannot be written",
            Self::Locked => "another program works in the same folder",
            Self::Other => "see its log",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_outputs() {
        for (output, complaint) in [
            (
                "Err:2 http://m.example/debian nosuch Release\n  404  Not Found [IP: 192.0.2.1 80]\nE: The repository \
                 'http://m.example/debian nosuch Release' does not have a Release file.",
                Complaint::NoSuchSuite,
            ),
            (
                "Err:1 http://m.example/debian trixie InRelease\n  Temporary failure resolving 'm.example'\nW: Failed to \
                 fetch http://m.example/debian/dists/trixie/InRelease",
                Complaint::Unreachable,
            ),
            (
                "E: Failed to fetch http://m.example/p_1.dsc  404  Not Found [IP: 192.0.2.1 80]\nE: Failed to fetch some \
                 archives.",
                Complaint::Gone,
            ),
            (
                "E: Failed to fetch http://m.example/p.tar.xz  Hash Sum mismatch\n   Hashes of expected file:",
                Complaint::Mismatch,
            ),
            (
                "W: GPG error: http://m.example sid InRelease: The following signatures couldn't be verified because the \
                 public key is not available: NO_PUBKEY 0123",
                Complaint::Untrusted,
            ),
            (
                "E: Write error - write (28: No space left on device)",
                Complaint::Storage,
            ),
            ("E: something new", Complaint::Other),
        ] {
            assert_eq!(Complaint::of(output), complaint, "{output}");
        }
    }
}
