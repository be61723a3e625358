//! One interface, two devices: Metal (a Mac) and simulated (any Linux).
use crate::error::Explain;
use crate::exit::Exit;
use crate::report::document::Trust;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which device the user asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Wanted {
    /// Metal on a Mac, simulated elsewhere.
    #[default]
    Auto,
    /// A Mac's own GPU.
    Metal,
    /// The simulated Metal.
    Simulated,
}

/// The device that a run uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// A Mac's own GPU.
    Metal,
    /// The simulated Metal.
    Simulated,
}

impl Device {
    /// How far figures from this device can be trusted.
    #[must_use]
    pub const fn trust(self) -> Trust {
        match self {
            Self::Metal => Trust::Hardware,
            Self::Simulated => Trust::Simulated,
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Metal => "metal",
            Self::Simulated => "simulated",
        })
    }
}

/// The wanted device is not to be had here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No Mac.
    #[error("this machine has no Metal: it is no Mac")]
    NoMetal,
    /// A Mac, whose GPU this version cannot drive.
    #[error(
        "this version runs the simulated device only, which needs Linux; a Mac's own GPU is not driven yet"
    )]
    MetalNotDriven,
}

impl Explain for DeviceError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoMetal => Exit::Usage,
            Self::MetalNotDriven => Exit::Inconclusive,
        }
    }
    fn hints(&self) -> Vec<String> {
        vec!["run on Linux with --device simulated".to_owned()]
    }
}

/// The operating system that a choice is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// macOS.
    Mac,
    /// Anything else.
    Other,
}

impl Host {
    /// The machine that this runs on.
    #[must_use]
    pub const fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::Mac
        } else {
            Self::Other
        }
    }
}

/// Chooses the device of a run.
///
/// # Errors
/// When the wanted device is not to be had on this host.
pub fn choose(wanted: Wanted, host: Host) -> Result<Device, DeviceError> {
    match (wanted, host) {
        (Wanted::Auto | Wanted::Simulated, Host::Other) => Ok(Device::Simulated),
        (Wanted::Metal, Host::Other) => Err(DeviceError::NoMetal),
        (_, Host::Mac) => Err(DeviceError::MetalNotDriven),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_called_hardware_that_is_none() {
        assert_eq!(choose(Wanted::Auto, Host::Other), Ok(Device::Simulated));
        assert_eq!(Device::Simulated.trust(), Trust::Simulated);
        assert_eq!(
            choose(Wanted::Metal, Host::Other),
            Err(DeviceError::NoMetal)
        );
        for wanted in [Wanted::Auto, Wanted::Metal, Wanted::Simulated] {
            assert_eq!(choose(wanted, Host::Mac), Err(DeviceError::MetalNotDriven));
        }
    }
}
