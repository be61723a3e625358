//! Asks a small program whether the device is sound.
use super::suite::{Settings, Suite};
use crate::run::process::ProcessError;
use serde::Deserialize;
use std::time::Instant;

/// What the check found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Health {
    /// What is wrong; nothing when the device is sound.
    pub fault: Option<String>,
    /// How long the program took, its start included.
    pub seconds: f64,
}

#[derive(Deserialize)]
struct Said {
    sound: bool,
    #[serde(default)]
    detail: String,
}

/// Runs the check. A check that crashes or hangs is a fault of the device.
///
/// # Errors
/// When it cannot be started, or the user interrupts.
pub(super) fn check(
    suite: &Suite,
    settings: &Settings,
    device: &str,
) -> Result<Health, ProcessError> {
    let started = Instant::now();
    let fault = match suite.canary(settings, device).run() {
        Ok(finished) => {
            let said = finished
                .text()
                .lines()
                .rev()
                .find_map(|line| serde_json::from_str::<Said>(line).ok());
            match said {
                Some(said) if said.sound && finished.status.success() => None,
                Some(said) if !said.sound => Some(said.detail),
                // it said that all is well and died on its way out, or said nothing at all
                _ => Some(format!(
                    "the check ended with {}: {}",
                    super::outcome::Ending::from(finished.status),
                    finished.tail(3)
                )),
            }
        }
        Err(ProcessError::TimedOut { limit, .. }) => {
            Some(format!("the check hung for {} s", limit.as_secs()))
        }
        Err(error) => return Err(error),
    };
    Ok(Health {
        fault,
        seconds: started.elapsed().as_secs_f64(),
    })
}
