//! One interface, two devices: Metal (a Mac) and simulated (any Linux).
pub mod metal;

use crate::error::Explain;
use crate::exit::Exit;
use crate::report::document::Trust;
use crate::run::rehearsal::{NoRehearsal, Rehearsal};
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

impl fmt::Display for Device {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Metal => "metal",
            Self::Simulated => "simulated",
        })
    }
}

/// The wanted device is not to be had here.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// No Mac.
    #[error("this machine has no Metal: it is no Mac")]
    NoMetal,
    /// A Mac, which has no simulated device.
    #[error("the simulated device needs Linux")]
    NoSimulation,
    /// The variable that asks for a rehearsal names none.
    #[error(transparent)]
    NoRehearsal(#[from] NoRehearsal),
}

impl Explain for DeviceError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
    fn hints(&self) -> Vec<String> {
        match self {
            Self::NoMetal => vec![
                "run on a Mac, or on Linux with --device simulated".to_owned(),
                "UMPATCH_REHEARSAL=DIR rehearses a Mac with recorded output; what it shows is no evidence"
                    .to_owned(),
            ],
            Self::NoSimulation => vec!["run on a Mac with --device metal".to_owned()],
            Self::NoRehearsal(error) => error.hints(),
        }
    }
}

/// What kind of machine a choice is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// macOS.
    Mac,
    /// Anything else, where stand-in programs answer as a Mac's would.
    Rehearsal,
    /// Anything else.
    Other,
}

impl Host {
    /// The machine that this runs on. Whether it is a Mac is known to the program itself, not asked of another one: nothing
    /// on the path can make a machine a Mac.
    ///
    /// # Errors
    /// When a rehearsal is asked for that does not exist.
    pub fn current() -> Result<Self, DeviceError> {
        Ok(match (Rehearsal::current()?, std::env::consts::OS) {
            (Some(_), _) => Self::Rehearsal,
            (None, "macos") => Self::Mac,
            (None, _) => Self::Other,
        })
    }

    /// How far figures from this device can be trusted at best. Nothing that stand-ins have had a hand in is evidence.
    #[must_use]
    pub const fn trust(self, device: Device) -> Trust {
        match (self, device) {
            (Self::Rehearsal, _) => Trust::Rehearsed,
            (Self::Mac, Device::Metal) => Trust::Hardware,
            (Self::Other, _) | (Self::Mac, Device::Simulated) => Trust::Simulated,
        }
    }
}

/// Chooses the device of a run.
///
/// # Errors
/// When the wanted device is not to be had on this host.
pub fn choose(wanted: Wanted, host: Host) -> Result<Device, DeviceError> {
    match (wanted, host) {
        (Wanted::Auto | Wanted::Metal, Host::Mac | Host::Rehearsal) => Ok(Device::Metal),
        (Wanted::Auto | Wanted::Simulated, Host::Other) | (Wanted::Simulated, Host::Rehearsal) => {
            Ok(Device::Simulated)
        }
        (Wanted::Metal, Host::Other) => Err(DeviceError::NoMetal),
        (Wanted::Simulated, Host::Mac) => Err(DeviceError::NoSimulation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_called_hardware_that_is_none() {
        assert_eq!(
            choose(Wanted::Auto, Host::Other).unwrap(),
            Device::Simulated
        );
        assert!(matches!(
            choose(Wanted::Metal, Host::Other),
            Err(DeviceError::NoMetal)
        ));
        for host in [Host::Other, Host::Rehearsal] {
            for device in [Device::Metal, Device::Simulated] {
                assert_ne!(host.trust(device), Trust::Hardware);
            }
        }
        for wanted in [Wanted::Auto, Wanted::Metal, Wanted::Simulated] {
            let device = choose(wanted, Host::Rehearsal).unwrap();
            assert_eq!(Host::Rehearsal.trust(device), Trust::Rehearsed);
        }
        assert_eq!(Host::Mac.trust(Device::Metal), Trust::Hardware);
    }
}
