//! What a Mac has to have so that PyTorch can be built on it and its GPU be used.
use super::item::{Item, Mend, Need, State};
use super::machine::watermarks_of_environment;
use super::program::on_path;
use crate::build::pytorch::{Begun, BuildMachine, Lacking};
use crate::device::metal::footprint;
use crate::device::metal::tools::Tools;
use crate::device::metal::{Machine, MetalError, Power, Thermal};
use crate::error::Explain;
use crate::paths;

const GIB: u64 = 1 << 30;
/// The oldest macOS whose Metal PyTorch 2.6 uses.
const OLDEST_MACOS: u64 = 13;

/// Examines this Mac.
#[must_use]
pub fn examine() -> Vec<Item> {
    let mut items = machine();
    items.extend(tools());
    items.extend(programs());
    items.extend(room());
    items.push(cache());
    items.push(Item {
        need: Need::Metal,
        ..watermarks_of_environment()
    });
    items
}

/// An error as an item: what it says, and its first hint as the deed that mends it.
fn wrong(id: &str, error: &MetalError) -> Item {
    let mend = error.hints().into_iter().next();
    Item::wrong(
        id,
        Need::Metal,
        error.to_string(),
        Mend::ByHand(mend.unwrap_or_else(|| "look at what it says".to_owned())),
    )
}

fn machine() -> Vec<Item> {
    let found = match Machine::probe() {
        Ok(found) => found,
        Err(error) => return vec![wrong("machine", &error)],
    };
    let mut items = vec![
        Item::ok(
            "chip",
            Need::Metal,
            format!("{} ({}), {} cores", found.chip, found.model, found.cores),
        ),
        macos(&found.macos, &found.build),
    ];
    let gpu = &found.gpu;
    items.push(if gpu.is_paravirtual() {
        Item::wrong(
            "gpu",
            Need::Comfort,
            format!(
                "{}: values can be judged, memory and time cannot; it may wedge",
                gpu.name
            ),
            Mend::ByHand("run on a Mac that is no virtual machine".to_owned()),
        )
    } else {
        let cores = gpu
            .cores
            .map_or_else(String::new, |cores| format!(", {cores} cores"));
        Item::ok("gpu", Need::Metal, format!("{}{cores}", gpu.name))
    });
    items.push(match found.power {
        Power::Battery => Item::wrong(
            "power",
            Need::Comfort,
            "on battery: times are slower and vary more",
            Mend::ByHand("plug it in".to_owned()),
        ),
        Power::Mains => Item::ok("power", Need::Comfort, "mains"),
        Power::Unknown => Item::ok("power", Need::Comfort, "not told"),
    });
    items.push(match found.thermal {
        Thermal::Limited { speed } => Item::wrong(
            "heat",
            Need::Comfort,
            format!("the processor is limited to {speed}% of its speed"),
            Mend::ByHand("let it cool down".to_owned()),
        ),
        Thermal::Nominal => Item::ok("heat", Need::Comfort, "no limit recorded"),
        Thermal::Unknown => Item::ok("heat", Need::Comfort, "not told"),
    });
    items
}

fn macos(version: &str, build: &str) -> Item {
    let found = format!("{version} ({build})");
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse::<u64>().ok());
    if major.is_some_and(|major| major >= OLDEST_MACOS) {
        Item::ok("macos", Need::Metal, found)
    } else {
        Item::wrong(
            "macos",
            Need::Metal,
            format!("{found}, {OLDEST_MACOS} or newer wanted"),
            Mend::ByHand("softwareupdate --install --all".to_owned()),
        )
    }
}

fn tools() -> Vec<Item> {
    match Tools::probe() {
        Ok(tools) => vec![
            Item::ok(
                "xcode",
                Need::Metal,
                format!("{}, {}", tools.version, tools.clang),
            ),
            Item::ok("sdk", Need::Metal, tools.sdk),
        ],
        Err(error @ MetalError::Sdk { .. }) => vec![wrong("sdk", &error)],
        Err(error @ MetalError::NoTools { .. }) => vec![Item {
            state: State::Missing,
            ..wrong("xcode", &error)
        }],
        Err(error) => vec![wrong("xcode", &error)],
    }
}

fn programs() -> Vec<Item> {
    let program = |name: &str, need, mend: &str| match on_path(name) {
        Some(path) => Item::ok(name, need, path.display().to_string()),
        None => Item::missing(name, need, "not on the path", Mend::ByHand(mend.to_owned())),
    };
    let mut items = vec![
        program("git", Need::Metal, "xcode-select --install"),
        program("python3", Need::Metal, "brew install python"),
    ];
    let launcher = program("ccache", Need::Comfort, "brew install ccache");
    items.push(match footprint::of(std::process::id()) {
        Some(told) => Item::ok(
            "footprint",
            Need::Comfort,
            format!(
                "{:?} tells what a process holds: {} MiB here",
                told.source,
                told.bytes >> 20
            ),
        ),
        None => Item::missing(
            "footprint",
            Need::Comfort,
            "neither footprint nor vmmap nor ps tells what a process holds",
            Mend::ByHand("xcode-select --install".to_owned()),
        ),
    });
    items.push(match on_path("sccache") {
        Some(path) if launcher.state != State::Ok => {
            Item::ok("ccache", Need::Comfort, path.display().to_string())
        }
        _ => launcher,
    });
    items
}

fn room() -> Vec<Item> {
    let machine = BuildMachine::probe(&paths::cache());
    let gib = |bytes: Option<u64>| {
        bytes.map_or_else(
            || "cannot be told".to_owned(),
            |bytes| format!("{} GiB", bytes / GIB),
        )
    };
    let lacking = machine.lacks(1, Begun::Fresh);
    let disk = match &lacking {
        Some(Lacking::Room { free, wanted }) => Item::wrong(
            "disk",
            Need::Metal,
            format!(
                "{} GiB free, {} GiB wanted for a build",
                free / GIB,
                wanted / GIB
            ),
            Mend::ByHand(
                "free some space, or set UMPATCH_CACHE to a folder on a larger disk".to_owned(),
            ),
        ),
        _ => Item::ok("disk", Need::Metal, format!("{} free", gib(machine.free))),
    };
    let memory = match &lacking {
        Some(Lacking::Memory { there, wanted }) => Item::wrong(
            "memory",
            Need::Metal,
            format!(
                "{} GiB, {} GiB wanted for a build",
                there / GIB,
                wanted / GIB
            ),
            Mend::ByHand("build on a machine with more memory".to_owned()),
        ),
        _ => Item::ok(
            "memory",
            Need::Metal,
            format!(
                "{}: {} compiles at a time",
                gib(machine.memory),
                machine.jobs()
            ),
        ),
    };
    vec![disk, memory]
}

fn cache() -> Item {
    let item = super::machine::cache_folder();
    Item {
        need: Need::Metal,
        ..item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_system_is_told_with_what_mends_it() {
        assert_eq!(macos("15.1", "24B83").state, State::Ok);
        let old = macos("12.7.6", "21H1320");
        assert!(old.blocks() && old.found.contains("13 or newer"));
        assert!(macos("Big Sur", "").blocks());
    }

    #[test]
    fn an_error_keeps_its_deed() {
        let item = wrong("xcode", &MetalError::NoLicence);
        assert!(item.blocks());
        assert_eq!(
            item.mend,
            Some(Mend::ByHand("sudo xcodebuild -license accept".to_owned()))
        );
    }
}
