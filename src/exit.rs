//! The exit codes of every command: part of the public contract.

/// How a command ended, as its exit status says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[must_use]
pub enum Exit {
    /// 0: done; for `verify`: no regression, and enough power to say so.
    Verified,
    /// 1: a regression (test, memory, corruption, latency, exit).
    Regression,
    /// 2: bad usage or bad input.
    Usage,
    /// 3: inconclusive (device wedged, too noisy, simulated where hardware is required).
    Inconclusive,
    /// 4: a patch did not apply or a build failed.
    PatchOrBuildFailed,
    /// 5: nothing comparable ran.
    NothingRan,
    /// 130: interrupted; the same command resumes.
    Interrupted,
}

impl Exit {
    /// Every exit, in the order of its code.
    pub const ALL: [Self; 7] = [
        Self::Verified,
        Self::Regression,
        Self::Usage,
        Self::Inconclusive,
        Self::PatchOrBuildFailed,
        Self::NothingRan,
        Self::Interrupted,
    ];

    /// The process exit status.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Verified => 0,
            Self::Regression => 1,
            Self::Usage => 2,
            Self::Inconclusive => 3,
            Self::PatchOrBuildFailed => 4,
            Self::NothingRan => 5,
            Self::Interrupted => 130,
        }
    }

    /// One line for `--help` and the README.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Verified => "verified: no regression, and enough power to say so",
            Self::Regression => "regression (test, memory, corruption, latency, exit)",
            Self::Usage => "bad usage or bad input",
            Self::Inconclusive => {
                "inconclusive (device wedged, too noisy, simulated where hardware is required)"
            }
            Self::PatchOrBuildFailed => "a patch did not apply or a build failed",
            Self::NothingRan => "nothing comparable ran",
            Self::Interrupted => "interrupted; the same command resumes",
        }
    }
}

/// The exit codes as the help text lists them.
#[must_use]
pub fn help() -> String {
    let mut text = String::from("Exit codes:\n");
    for exit in Exit::ALL {
        text.push_str(&format!("  {:<4} {}\n", exit.code(), exit.meaning()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_contract() {
        let codes: Vec<u8> = Exit::ALL.iter().map(|exit| exit.code()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 130]);
    }
}
