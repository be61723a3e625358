//! The version of a PyTorch release, as a parsed value.
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A release number such as `2.6.0`. Ordered by its numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    numbers: Vec<u32>,
}

/// A text that is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no PyTorch version (expected, for example, 2.6.0)")]
pub struct BadVersion(String);

impl FromStr for Version {
    type Err = BadVersion;

    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let bad = || BadVersion(text.to_owned());
        let plain = text.strip_prefix('v').unwrap_or(text);
        let numbers = plain
            .split('.')
            .map(|part| {
                (!part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
                    .then(|| part.parse().ok())
                    .flatten()
            })
            .collect::<Option<Vec<u32>>>()
            .ok_or_else(bad)?;
        if !(2..=4).contains(&numbers.len()) {
            return Err(bad());
        }
        Ok(Self { numbers })
    }
}

impl Version {
    /// The release that a tree's `version.txt` leads to: `2.6.0a0+git1234` is on the way to `2.6.0`.
    #[must_use]
    pub fn of_tree(text: &str) -> Option<Self> {
        let digits: &str = text.trim();
        let end = digits
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(digits.len());
        digits[..end].parse().ok()
    }

    /// The release that a file's name tells: `pytorch-v2.1.2.tar.gz` holds `2.1.2`.
    #[must_use]
    pub fn in_name(name: &str) -> Option<Self> {
        name.split(['-', '_', '+']).find_map(|part| {
            let part = part.strip_prefix('v').unwrap_or(part);
            let end = part
                .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
                .unwrap_or(part.len());
            let version: Self = part[..end].trim_end_matches('.').parse().ok()?;
            (version.numbers.len() == 3).then_some(version)
        })
    }

    /// The upstream release of a distribution's version: `2.6.0+dfsg-7` is `2.6.0`.
    #[must_use]
    pub fn of_package(text: &str) -> Option<Self> {
        let without_epoch = text.split_once(':').map_or(text, |(_, rest)| rest);
        let end = without_epoch
            .find(['+', '-', '~'])
            .unwrap_or(without_epoch.len());
        without_epoch[..end].parse().ok()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        formatter.write_str(&parts.join("."))
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for Version {
    type Error = BadVersion;

    fn try_from(text: String) -> Result<Self, BadVersion> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        let version: Version = "2.6.0".parse().unwrap();
        assert_eq!(version.to_string(), "2.6.0");
        assert!(version < "2.10.0".parse().unwrap());
        assert_eq!("v2.6.0".parse::<Version>().unwrap(), version);
        for bad in [
            "",
            "2",
            "2.6.x",
            "../2.6.0",
            "2..0",
            "99999999999.1",
            "2.6.0a0",
        ] {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
    }

    #[test]
    fn trees_and_packages_lead_to_releases() {
        let release = "2.6.0".parse().ok();
        assert_eq!(Version::of_tree("2.6.0a0\n"), release);
        assert_eq!(Version::of_tree("2.6.0a0+git1ebdb46"), release);
        assert_eq!(Version::of_package("2.6.0+dfsg-7"), release);
        assert_eq!(Version::of_package("1:2.6.0~rc1-1"), release);
        assert_eq!(Version::of_tree("unknown"), None);
        for name in [
            "pytorch-v2.6.0.tar.gz",
            "pytorch_2.6.0+dfsg.orig.tar.xz",
            "v2.6.0.zip",
        ] {
            assert_eq!(Version::in_name(name), release, "{name}");
        }
        for name in ["pytorch.tar.gz", "tree-2.tar", "main.zip", "a-2.6.tar"] {
            assert_eq!(Version::in_name(name), None, "{name}");
        }
    }
}
