//! What the system's programs print, understood. Pure.
use super::MetalError;
use serde::Deserialize;

/// The GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Its name, such as `Apple M2 Max`.
    pub name: String,
    /// Its cores; absent where it does not tell.
    pub cores: Option<u64>,
}

impl Gpu {
    /// Whether it is the GPU that a virtual machine on a Mac is given.
    #[must_use]
    pub fn is_paravirtual(&self) -> bool {
        self.name.to_lowercase().contains("paravirtual")
    }
}

/// Where power comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// The mains.
    Mains,
    /// A battery.
    Battery,
    /// Not told.
    Unknown,
}

/// Whether heat slows the machine down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thermal {
    /// It does not.
    Nominal,
    /// The processor is held below its speed.
    Limited {
        /// Per cent of its speed.
        speed: u64,
    },
    /// Not told.
    Unknown,
}

#[derive(Deserialize)]
struct Displays {
    #[serde(rename = "SPDisplaysDataType", default)]
    gpus: Vec<Display>,
}

#[derive(Deserialize)]
struct Display {
    #[serde(rename = "sppci_model", default)]
    model: String,
    #[serde(rename = "_name", default)]
    name: String,
    #[serde(rename = "sppci_cores", default)]
    cores: Option<String>,
    // the key's name differs between versions of macOS
    #[serde(rename = "spdisplays_mtlgpufamilysupport", default)]
    family: Option<String>,
    #[serde(rename = "spdisplays_metal", default)]
    metal: Option<String>,
}

/// The first GPU that has Metal in `system_profiler SPDisplaysDataType -json`.
pub(super) fn display(text: &str) -> Result<Gpu, MetalError> {
    let displays: Displays = serde_json::from_str(text)
        .map_err(|error| MetalError::unreadable("system_profiler", error.to_string()))?;
    let has_metal = |gpu: &Display| {
        let said = gpu.family.as_ref().or(gpu.metal.as_ref());
        // a virtual machine's GPU has Metal and may not say so
        said.is_none_or(|said| !said.contains("notsupported") && !said.contains("unsupported"))
    };
    let gpu = displays
        .gpus
        .into_iter()
        .find(has_metal)
        .ok_or(MetalError::NoGpu)?;
    let name = if gpu.model.is_empty() {
        gpu.name
    } else {
        gpu.model
    };
    if name.is_empty() {
        return Err(MetalError::NoGpu);
    }
    Ok(Gpu {
        name,
        cores: gpu.cores.and_then(|cores| cores.trim().parse().ok()),
    })
}

/// `pmset -g batt`: its first line names the source.
pub(super) fn power(text: &str) -> Power {
    if text.contains("'AC Power'") {
        Power::Mains
    } else if text.contains("'Battery Power'") {
        Power::Battery
    } else {
        Power::Unknown
    }
}

/// `pmset -g therm`: `CPU_Speed_Limit = 70`, or notes that nothing has been recorded.
pub(super) fn thermal(text: &str) -> Thermal {
    let limit = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "CPU_Speed_Limit")
            .then(|| value.trim().parse::<u64>().ok())
            .flatten()
    });
    match limit {
        Some(speed) if speed < 100 => Thermal::Limited { speed },
        Some(_) => Thermal::Nominal,
        None if text.contains("No thermal warning level has been recorded") => Thermal::Nominal,
        None => Thermal::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gpus_are_told_apart() {
        let of = |model: &str| {
            display(&format!(
                r#"{{"SPDisplaysDataType":[{{"_name":"{model}","sppci_model":"{model}","sppci_cores":"38","spdisplays_mtlgpufamilysupport":"spdisplays_metal3"}}]}}"#
            ))
            .unwrap()
        };
        assert!(!of("Apple M2 Max").is_paravirtual());
        assert_eq!(of("Apple M2 Max").cores, Some(38));
        assert!(of("Apple Paravirtual device").is_paravirtual());
        for text in [
            r#"{"SPDisplaysDataType":[]}"#,
            "{}",
            r#"{"SPDisplaysDataType":[{"sppci_model":"Old","spdisplays_metal":"spdisplays_notsupported"}]}"#,
        ] {
            assert!(matches!(display(text), Err(MetalError::NoGpu)), "{text}");
        }
        assert!(matches!(
            display("Graphics/Displays:"),
            Err(MetalError::Unreadable { .. })
        ));
    }

    #[test]
    fn power_and_heat_are_noted() {
        assert_eq!(
            power("Now drawing from 'AC Power'\n -InternalBattery-0 ..."),
            Power::Mains
        );
        assert_eq!(power("Now drawing from 'Battery Power'"), Power::Battery);
        assert_eq!(power(""), Power::Unknown);
        assert_eq!(
            thermal(
                "Note: No thermal warning level has been recorded\nNote: No performance warning level has been recorded"
            ),
            Thermal::Nominal
        );
        assert_eq!(
            thermal(
                "2026-01-01 CPU Power notify\n\tCPU_Scheduler_Limit \t= 100\n\tCPU_Speed_Limit \t= 62"
            ),
            Thermal::Limited { speed: 62 }
        );
        assert_eq!(thermal(""), Thermal::Unknown);
    }

    proptest! {
        #[test]
        fn no_answer_breaks_us(text in ".{0,200}") {
            let _ = display(&text);
            let _ = (power(&text), thermal(&text));
        }
    }
}
