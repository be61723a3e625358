//! SHA-256 of files, as text.
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;

/// A parsed SHA-256: 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Checksum([u8; 32]);

/// A text that is no SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no SHA-256 (64 hexadecimal digits)")]
pub struct BadChecksum(String);

impl std::str::FromStr for Checksum {
    type Err = BadChecksum;

    fn from_str(text: &str) -> Result<Self, BadChecksum> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| BadChecksum(text.to_owned()))?;
        Ok(Self(bytes))
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl From<Checksum> for String {
    fn from(checksum: Checksum) -> Self {
        checksum.to_string()
    }
}

impl TryFrom<String> for Checksum {
    type Error = BadChecksum;

    fn try_from(text: String) -> Result<Self, BadChecksum> {
        text.parse()
    }
}

impl Checksum {
    /// The checksum of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The checksum of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_file(path: &Path) -> std::io::Result<Self> {
        let mut file = std::fs::File::open(path)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                return Ok(Self(hasher.finalize().into()));
            }
            hasher.update(&buffer[..count]);
        }
    }
}
