//! A Mac and its GPU, as the system's own programs describe them.
mod answers;
mod error;
pub mod footprint;
mod sleep;
pub mod tools;

pub use answers::{Gpu, Power, Thermal};
pub use error::MetalError;
pub use sleep::Wake;

use crate::report::document::Trust;
use crate::run::process::{ProcessError, Program};
use answers::{display, power, thermal};
use std::collections::BTreeMap;
use std::time::Duration;

/// A program that describes the machine answers within this time, or does not.
const PATIENCE: Duration = Duration::from_secs(60);

/// The machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Such as `Apple M2 Max`.
    pub chip: String,
    /// Such as `Mac14,6`.
    pub model: String,
    /// Memory in bytes, which GPU and CPU share.
    pub memory: u64,
    /// Processors.
    pub cores: u64,
    /// Such as `15.1`.
    pub macos: String,
    /// Such as `24B83`.
    pub build: String,
    /// The GPU.
    pub gpu: Gpu,
    /// Where its power comes from.
    pub power: Power,
    /// Whether it is slowed down by heat.
    pub thermal: Thermal,
}

impl Machine {
    /// Asks `sysctl`, `sw_vers`, `system_profiler` and `pmset`.
    ///
    /// # Errors
    /// When one of the first three does not answer, or there is no GPU that has Metal.
    pub fn probe() -> Result<Self, MetalError> {
        let macos = ask("sw_vers", &["-productVersion"])?;
        let displays = ask("system_profiler", &["SPDisplaysDataType", "-json"])?;
        let gpu = display(&displays)?;
        let number = |name: &'static str| -> Result<u64, MetalError> {
            let text = ask("sysctl", &["-n", name])?;
            text.parse()
                .map_err(|_| MetalError::unreadable("sysctl", format!("{name} is {text:?}")))
        };
        let machine = Self {
            chip: ask("sysctl", &["-n", "machdep.cpu.brand_string"])?,
            model: ask("sysctl", &["-n", "hw.model"])?,
            memory: number("hw.memsize")?,
            cores: number("hw.ncpu")?,
            macos,
            build: ask("sw_vers", &["-buildVersion"])?,
            gpu,
            // a Mac without a battery, or an old pmset, tells less; nothing depends on it
            power: power(&ask("pmset", &["-g", "batt"]).unwrap_or_default()),
            thermal: thermal(&ask("pmset", &["-g", "therm"]).unwrap_or_default()),
        };
        if ask("sysctl", &["-n", "hw.optional.arm64"]).is_ok_and(|answer| answer == "1") {
            return Ok(machine);
        }
        Err(MetalError::NotArm64 { chip: machine.chip })
    }

    /// How far figures from this machine can be trusted, at best as far as `most`.
    #[must_use]
    pub fn trust(&self, most: Trust) -> Trust {
        match most {
            Trust::Hardware if self.gpu.is_paravirtual() => Trust::Paravirtual,
            _ => most,
        }
    }

    /// What of it makes two runs comparable.
    #[must_use]
    pub fn parts(&self) -> BTreeMap<String, String> {
        [
            ("chip", self.chip.clone()),
            ("model", self.model.clone()),
            ("memory", format!("{} GiB", self.memory >> 30)),
            ("os", format!("macOS {} ({})", self.macos, self.build)),
            ("gpu", self.gpu.name.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// What a reader of figures must know of it.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "{} ({}), {} GiB, macOS {} ({}), GPU {}",
            self.chip,
            self.model,
            self.memory >> 30,
            self.macos,
            self.build,
            self.gpu.name
        )];
        if self.gpu.is_paravirtual() {
            notes.push(
                "the GPU is paravirtual: values are judged, memory and time are not evidence of a real GPU's"
                    .to_owned(),
            );
        }
        notes.push(match self.power {
            Power::Mains => "power: mains".to_owned(),
            Power::Battery => "power: battery; times are slower and vary more".to_owned(),
            Power::Unknown => "power: not told".to_owned(),
        });
        notes.push(match self.thermal {
            Thermal::Nominal => "heat: no limit recorded".to_owned(),
            Thermal::Limited { speed } => {
                format!("heat: the processor is limited to {speed}% of its speed; times are not comparable")
            }
            Thermal::Unknown => "heat: not told".to_owned(),
        });
        notes
    }
}

/// What a program prints, without its white space.
fn ask(program: &'static str, arguments: &[&str]) -> Result<String, MetalError> {
    let finished = Program::new(program)
        .args(arguments)
        .limit(PATIENCE)
        .run()
        .map_err(|error| match error {
            ProcessError::Interrupted { .. } => MetalError::Process(error),
            other => MetalError::Silent {
                program,
                source: other,
            },
        })?;
    let text = finished.text().trim().to_owned();
    if finished.status.success() && !text.is_empty() {
        Ok(text)
    } else {
        let words = finished.tail(2);
        Err(MetalError::unreadable(
            program,
            format!("{}: {words}", arguments.join(" ")),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(gpu: &str) -> Machine {
        Machine {
            chip: "Apple M2 Max".to_owned(),
            model: "Mac14,6".to_owned(),
            memory: 32 << 30,
            cores: 12,
            macos: "15.1".to_owned(),
            build: "24B83".to_owned(),
            gpu: Gpu {
                name: gpu.to_owned(),
                cores: None,
            },
            power: Power::Battery,
            thermal: Thermal::Limited { speed: 62 },
        }
    }

    #[test]
    fn a_paravirtual_gpu_is_never_hardware_and_a_rehearsal_stays_one() {
        let real = machine("Apple M2 Max");
        let virtual_machine = machine("Apple Paravirtual device");
        assert_eq!(real.trust(Trust::Hardware), Trust::Hardware);
        assert_eq!(virtual_machine.trust(Trust::Hardware), Trust::Paravirtual);
        for machine in [real, virtual_machine] {
            assert_eq!(machine.trust(Trust::Rehearsed), Trust::Rehearsed);
        }
    }

    #[test]
    fn power_and_heat_are_in_the_notes() {
        let notes = machine("Apple M2 Max").notes().join("; ");
        assert!(
            notes.contains("battery") && notes.contains("62%"),
            "{notes}"
        );
    }
}
