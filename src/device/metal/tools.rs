//! Apple's developer tools: whether there is a compiler that may run, and an SDK that is new enough.
use super::{MetalError, PATIENCE};
use crate::run::process::Program;

/// The oldest SDK that PyTorch builds its MPS backend with.
pub const LEAST_SDK: &str = "13.0";

/// The tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    /// Where clang is.
    pub clang: String,
    /// Its version, as its first line tells it.
    pub version: String,
    /// The SDK's version.
    pub sdk: String,
}

impl Tools {
    /// Asks `xcrun`.
    ///
    /// # Errors
    /// When there are no tools, their licence was not agreed to, or the SDK is too old.
    pub fn probe() -> Result<Self, MetalError> {
        let sdk = xcrun(&["--sdk", "macosx", "--show-sdk-version"])?;
        if version(&sdk) < version(LEAST_SDK) {
            return Err(MetalError::Sdk {
                found: sdk,
                wanted: LEAST_SDK,
            });
        }
        let clang = xcrun(&["--find", "clang"])?;
        let version = xcrun(&["clang", "--version"])?;
        Ok(Self {
            clang,
            version: version.lines().next().unwrap_or_default().to_owned(),
            sdk,
        })
    }
}

fn xcrun(arguments: &[&str]) -> Result<String, MetalError> {
    let finished = Program::new("xcrun")
        .args(arguments)
        .limit(PATIENCE)
        .run()
        .map_err(|source| MetalError::Silent {
            program: "xcrun",
            source,
        })?;
    if finished.status.success() {
        return Ok(finished.text().trim().to_owned());
    }
    Err(complaint(&format!(
        "{}{}",
        finished.text(),
        finished.tail(5)
    )))
}

/// What xcrun's complaint means.
fn complaint(text: &str) -> MetalError {
    let lower = text.to_lowercase();
    if lower.contains("license") {
        MetalError::NoLicence
    } else if lower.contains("sdk") && lower.contains("cannot be located") {
        MetalError::Sdk {
            found: "not there".to_owned(),
            wanted: LEAST_SDK,
        }
    } else {
        let first = text.lines().next().unwrap_or("xcrun fails without a word");
        MetalError::NoTools {
            answer: first.to_owned(),
        }
    }
}

/// A version's numbers, for comparison.
fn version(text: &str) -> Vec<u64> {
    text.trim()
        .split('.')
        .map(|part| part.parse().unwrap_or(0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_understood() {
        let licence = "You have not agreed to the Xcode license agreements, please run 'sudo xcodebuild -license' from within a Terminal window";
        assert!(matches!(complaint(licence), MetalError::NoLicence));
        let sdk = "xcodebuild: error: SDK \"macosx\" cannot be located.";
        assert!(matches!(complaint(sdk), MetalError::Sdk { .. }));
        let none = "xcrun: error: invalid active developer path (/Library/Developer/CommandLineTools), missing xcrun";
        assert!(matches!(complaint(none), MetalError::NoTools { .. }));
    }

    #[test]
    fn versions_are_numbers() {
        assert!(version("9.3") < version("13.0"));
        assert!(version("15.1") > version("13.0"));
        assert!(version("13") <= version("13.0"));
    }
}
