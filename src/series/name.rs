//! Names that cannot be invalid: of a patch, and of a series.
use std::fmt;
use std::str::FromStr;

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no valid name: {reason}")]
pub struct NameError {
    text: String,
    reason: &'static str,
}

/// What any name must satisfy: it is used in branch names, file names and on command lines.
fn check(text: &str) -> Result<(), NameError> {
    let reason = if text.is_empty() {
        "it is empty"
    } else if text.len() > 100 {
        "it is longer than 100 bytes"
    } else if !text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+'))
    {
        "only letters, digits and - _ . + are allowed"
    } else if text.starts_with(['-', '.']) || text.ends_with('.') || text.contains("..") {
        "it begins with - or ., ends with . or holds .."
    } else if text.ends_with(".lock") {
        "it ends with .lock"
    } else {
        return Ok(());
    };
    Err(NameError {
        text: text.to_owned(),
        reason,
    })
}

macro_rules! name {
    ($(#[$documentation:meta])* $type:ident) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                check(text).map(|()| Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                check(&text).map(|()| Self(text))
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }
    };
}

name!(
    /// The id of a patch within its series, for example `pending-free`.
    PatchId
);
name!(
    /// The name of a series, for example `classic`.
    SeriesName
);

impl SeriesName {
    /// The name of a series that has none and whose folder gives none.
    #[must_use]
    pub fn unnamed() -> Self {
        Self("patches".to_owned())
    }
}

impl PatchId {
    /// An id made from a file name: the extension and a leading number are dropped, what is not allowed becomes `-`.
    ///
    /// # Errors
    /// When nothing usable is left.
    pub fn from_file_name(file: &str) -> Result<Self, NameError> {
        let stem = file.rsplit('/').next().unwrap_or(file);
        let stem = stem
            .strip_suffix(".patch")
            .or_else(|| stem.strip_suffix(".diff"))
            .unwrap_or(stem);
        let unnumbered = stem.trim_start_matches(|c: char| c.is_ascii_digit());
        let stem = match unnumbered.strip_prefix(['-', '_', '.']) {
            Some(rest) if unnumbered.len() < stem.len() && !rest.is_empty() => rest,
            _ => stem,
        };
        let mut id = String::new();
        for c in stem.chars().take(80) {
            let allowed = c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+');
            let c = if allowed { c } else { '-' };
            if c != '-' || !id.ends_with('-') {
                id.push(c);
            }
        }
        id.trim_matches('-').parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_harm_a_branch_are_refused() {
        for bad in [
            "", "a b", "../x", "-x", ".x", "a..b", "x.lock", "a/b", "a\n", "ü",
        ] {
            assert!(bad.parse::<PatchId>().is_err(), "{bad:?}");
        }
        assert!("pending-free".parse::<PatchId>().is_ok());
    }

    #[test]
    fn a_file_name_gives_an_id() {
        let id = |file: &str| PatchId::from_file_name(file).unwrap().to_string();
        assert_eq!(id("0001-release-race.patch"), "release-race");
        assert_eq!(id("sub/02_fix (copy).diff"), "fix-copy");
        assert_eq!(id("42.patch"), "42");
        assert!(PatchId::from_file_name(".patch").is_err());
    }
}
