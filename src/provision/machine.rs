//! The machine itself: room, memory, cores, git, package sources, and settings that contradict each other.
use super::item::{Item, Mend, Need};
use super::program::on_path;
use crate::paths;
use crate::run::process::Program;
use crate::upstream::apt::Apt;
use nix::sys::statvfs::statvfs;
use std::path::Path;
use std::time::Duration;

const GIB: u64 = 1 << 30;
/// Room for the torch environment with its CUDA libraries, in bytes.
const ROOM_FOR_TORCH: u64 = 10 * GIB;
/// Room for a tree and its builds, in bytes.
const ROOM_FOR_BUILDS: u64 = 2 * GIB;
/// What one compiler and one test run need together, in bytes.
const MEMORY: u64 = 3 * GIB;

/// Whether the torch environment still has to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torch {
    There,
    ToMake,
}

/// Examines what does not depend on a recipe or a version.
pub(super) fn examine(torch: Torch) -> Vec<Item> {
    vec![
        cache_folder(),
        room(torch),
        memory(),
        cores(),
        git(),
        package_sources(),
        watermarks(|name| std::env::var(name).ok()),
    ]
}

pub(super) fn cache_folder() -> Item {
    let folder = paths::cache();
    let written =
        std::fs::create_dir_all(&folder).and_then(|()| tempfile::tempfile_in(&folder).map(|_| ()));
    match written {
        Ok(()) => Item::ok("cache", Need::SimulatedDevice, folder.display().to_string()),
        Err(error) => Item::wrong(
            "cache",
            Need::SimulatedDevice,
            format!("{} cannot be written: {error}", folder.display()),
            Mend::ByHand("make it writable, or set UMPATCH_CACHE to another folder".to_owned()),
        ),
    }
}

fn room(torch: Torch) -> Item {
    let cache = paths::cache();
    // the folder may not exist yet: its nearest parent that does is on the same disk
    let there = cache
        .ancestors()
        .find(|folder| folder.exists())
        .unwrap_or_else(|| Path::new("/"));
    let Ok(disk) = statvfs(there) else {
        return Item::ok("disk", Need::SimulatedDevice, "cannot be told");
    };
    #[allow(clippy::unnecessary_cast)] // the fields' width depends on the system
    let free = disk.blocks_available() as u64 * disk.fragment_size() as u64;
    let wanted = match torch {
        Torch::There => ROOM_FOR_BUILDS,
        Torch::ToMake => ROOM_FOR_TORCH,
    };
    let found = format!(
        "{} GiB free in {}, {} GiB wanted",
        free / GIB,
        there.display(),
        wanted / GIB
    );
    if free >= wanted {
        Item::ok("disk", Need::SimulatedDevice, found)
    } else {
        Item::wrong(
            "disk",
            Need::SimulatedDevice,
            found,
            Mend::ByHand(
                "free some space, or set UMPATCH_CACHE to a folder on a larger disk".to_owned(),
            ),
        )
    }
}

fn memory() -> Item {
    let available = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find(|line| line.starts_with("MemAvailable:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .map(|kibibytes| kibibytes << 10);
    match available {
        None => Item::ok("memory", Need::Comfort, "cannot be told"),
        Some(bytes) if bytes >= MEMORY => Item::ok(
            "memory",
            Need::Comfort,
            format!("{} GiB available", bytes / GIB),
        ),
        Some(bytes) => Item::wrong(
            "memory",
            Need::Comfort,
            format!("{} MiB available, {} GiB wanted", bytes >> 20, MEMORY / GIB),
            Mend::ByHand("end other programs, or add swap".to_owned()),
        ),
    }
}

fn cores() -> Item {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Item::ok("cores", Need::Comfort, cores.to_string())
}

fn git() -> Item {
    let version = Program::new("git")
        .arg("--version")
        .limit(Duration::from_secs(20))
        .run()
        .ok()
        .filter(|finished| finished.status.success());
    match version {
        Some(finished) => Item::ok("git", Need::Fetch, finished.text().trim()),
        None => Item::missing(
            "git",
            Need::Fetch,
            "the git program is not there: `umpatch fetch git` needs it",
            Mend::Package("git".to_owned()),
        ),
    }
}

fn package_sources() -> Item {
    let id = "source-packages";
    if on_path("apt-get").is_none() {
        return Item::missing(
            id,
            Need::Fetch,
            "this machine has no apt",
            Mend::ByHand(
                "`umpatch fetch git URL` or `umpatch fetch archive FILE` bring a tree without it"
                    .to_owned(),
            ),
        );
    }
    match Apt::of_machine(None) {
        Ok(_) => Item::ok(
            id,
            Need::Fetch,
            "apt is configured with an archive of the distribution",
        ),
        Err(error) => Item::wrong(
            id,
            Need::Fetch,
            error.to_string(),
            Mend::ByHand(
                "add an entry of the distribution's archive to apt's source list, or use `umpatch fetch git URL`"
                    .to_owned(),
            ),
        ),
    }
}

const HIGH: &str = "PYTORCH_MPS_HIGH_WATERMARK_RATIO";
const LOW: &str = "PYTORCH_MPS_LOW_WATERMARK_RATIO";
/// The ratios that PyTorch takes where a variable is not set, on a device with unified memory.
const DEFAULT_HIGH: f64 = 1.7;
const DEFAULT_LOW: f64 = 1.4;

/// The watermark ratios of this process's environment, which the programs that it starts will have too.
#[must_use]
pub fn watermarks_of_environment() -> Item {
    watermarks(|name| std::env::var(name).ok())
}

/// The watermark ratios: a low one above the high one makes PyTorch refuse to start; a high one of 0 turns the limit off.
fn watermarks(variable: impl Fn(&str) -> Option<String>) -> Item {
    let id = "watermarks";
    let unset = |name: &str| Mend::ByHand(format!("unset {name}"));
    let mut ratios = [DEFAULT_HIGH, DEFAULT_LOW];
    for (ratio, name) in ratios.iter_mut().zip([HIGH, LOW]) {
        let Some(text) = variable(name) else { continue };
        match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() && (0.0..=2.0).contains(&number) => *ratio = number,
            _ => {
                return Item::wrong(
                    id,
                    Need::SimulatedDevice,
                    format!("{name}={text} is no ratio between 0 and 2"),
                    unset(name),
                );
            }
        }
    }
    let [high, low] = ratios;
    let set = |name: &str| variable(name).is_some();
    let shown = |name: &str, ratio: f64| {
        let origin = if set(name) { "" } else { " (default)" };
        format!("{name}={ratio}{origin}")
    };
    let found = format!("{}, {}", shown(HIGH, high), shown(LOW, low));
    // 0 turns the upper limit off: then the lower one cannot be above it
    if high > 0.0 && low > high {
        let culprit = if set(HIGH) { HIGH } else { LOW };
        Item::wrong(
            id,
            Need::SimulatedDevice,
            format!("{found}: the low watermark is above the high one"),
            unset(culprit),
        )
    } else {
        Item::ok(id, Need::SimulatedDevice, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provision::item::State;

    fn with(high: Option<&str>, low: Option<&str>) -> Item {
        watermarks(|name| {
            let value = if name == HIGH { high } else { low };
            value.map(str::to_owned)
        })
    }

    #[test]
    fn watermarks_that_contradict_are_wrong() {
        assert_eq!(with(None, None).state, State::Ok);
        assert_eq!(with(Some("0.0"), Some("1.4")).state, State::Ok);
        assert_eq!(with(Some("0.8"), Some("0.5")).state, State::Ok);
        let item = with(Some("0.5"), Some("0.9"));
        assert_eq!(item.state, State::Wrong);
        assert!(item.blocks() && item.found.contains("above"));
        // the default low watermark is above a small high one
        assert_eq!(with(Some("1.0"), None).state, State::Wrong);
        assert_eq!(
            with(None, Some("1.9")).mend,
            Some(Mend::ByHand(format!("unset {LOW}")))
        );
        assert_eq!(with(Some("lots"), None).state, State::Wrong);
        assert_eq!(with(None, Some("-1")).state, State::Wrong);
    }
}
