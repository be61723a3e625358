//! What the machine has for a build: processors, memory, room, a cache for compiles.
use crate::device::Host;
use crate::provision::on_path;
use crate::run::process::Program;
use std::path::Path;
use std::time::Duration;

/// What one compiler process of PyTorch takes at its worst, in bytes.
const PER_JOB: u64 = 2 << 30;
/// Room for one arm's checkout, third-party sources and build, in bytes.
const ROOM_PER_ARM: u64 = 25 << 30;
/// Memory without which not even one compiler and the linker fit, in bytes.
const LEAST_MEMORY: u64 = 4 << 30;

/// The machine, as far as a build cares.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BuildMachine {
    /// Processors.
    pub cores: u64,
    /// Memory in bytes; absent where it is not told.
    pub memory: Option<u64>,
    /// Room where the build goes, in bytes; absent where it is not told.
    pub free: Option<u64>,
    /// A compiler launcher that keeps objects.
    pub launcher: Option<String>,
    /// The user's own choice of compiles at a time.
    pub max_jobs: Option<u64>,
    /// Whether `cp -c` shares blocks.
    pub clones: bool,
}

/// What is lacking for a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lacking {
    /// Room.
    Room {
        /// What there is.
        free: u64,
        /// What is wanted.
        wanted: u64,
    },
    /// Memory.
    Memory {
        /// What there is.
        there: u64,
        /// What is wanted.
        wanted: u64,
    },
}

impl BuildMachine {
    /// Asks the machine about itself and about the disk of the folder.
    #[must_use]
    pub fn probe(folder: &Path) -> Self {
        let mac = matches!(Host::current(), Ok(Host::Mac | Host::Rehearsal));
        let (cores, memory) = if mac {
            (sysctl("hw.ncpu"), sysctl("hw.memsize"))
        } else {
            (None, linux_memory())
        };
        Self {
            cores: cores
                .or_else(|| {
                    std::thread::available_parallelism()
                        .ok()
                        .map(|cores| cores.get() as u64)
                })
                .unwrap_or(1),
            memory,
            free: free(folder),
            launcher: ["ccache", "sccache"]
                .into_iter()
                .find(|name| on_path(name).is_some())
                .map(str::to_owned),
            max_jobs: std::env::var("MAX_JOBS")
                .ok()
                .and_then(|text| text.parse().ok()),
            clones: mac,
        }
    }

    /// Compiles at a time: what the user says, else as many as there are processors, and as memory holds.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        if let Some(jobs) = self.max_jobs {
            return jobs.max(1);
        }
        let by_memory = self.memory.map_or(self.cores, |memory| memory / PER_JOB);
        self.cores.min(by_memory).max(1)
    }

    /// What is lacking for `arms` build folders, of which some room is already used.
    #[must_use]
    pub fn lacks(&self, arms: u64, begun: Begun) -> Option<Lacking> {
        // a build that goes on has most of its room already
        let wanted = match begun {
            Begun::Fresh => ROOM_PER_ARM * arms,
            Begun::GoesOn => ROOM_PER_ARM / 5,
        };
        match (self.free, self.memory) {
            (Some(free), _) if free < wanted => Some(Lacking::Room { free, wanted }),
            (_, Some(there)) if there < LEAST_MEMORY => Some(Lacking::Memory {
                there,
                wanted: LEAST_MEMORY,
            }),
            _ => None,
        }
    }
}

/// Whether there is a build to go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// There is none.
    Fresh,
    /// There is one.
    GoesOn,
}

fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let finished = Program::new(program)
        .args(arguments)
        .limit(Duration::from_secs(30))
        .run()
        .ok()?;
    finished.status.success().then(|| finished.text())
}

fn sysctl(name: &str) -> Option<u64> {
    answer("sysctl", &["-n", name])?.trim().parse().ok()
}

fn linux_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// `df -Pk`: the fourth column of the second line.
fn free(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|folder| folder.exists())?;
    parse_df(&answer("df", &["-Pk", &there.to_string_lossy()])?)
}

fn parse_df(text: &str) -> Option<u64> {
    let line = text.lines().nth(1)?;
    let kibibytes: u64 = line.split_whitespace().nth(3)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cores: u64, gib: u64, free: u64) -> BuildMachine {
        BuildMachine {
            cores,
            memory: Some(gib << 30),
            free: Some(free << 30),
            launcher: None,
            max_jobs: None,
            clones: true,
        }
    }

    #[test]
    fn jobs_fit_processors_and_memory() {
        assert_eq!(machine(12, 32, 500).jobs(), 12);
        assert_eq!(machine(12, 8, 500).jobs(), 4);
        assert_eq!(machine(8, 1, 500).jobs(), 1);
        let told = BuildMachine {
            max_jobs: Some(3),
            ..machine(8, 64, 500)
        };
        assert_eq!(told.jobs(), 3);
    }

    #[test]
    fn what_lacks_is_told_first() {
        assert_eq!(machine(8, 32, 60).lacks(2, Begun::Fresh), None);
        assert!(matches!(
            machine(8, 32, 40).lacks(2, Begun::Fresh),
            Some(Lacking::Room { .. })
        ));
        assert_eq!(machine(8, 32, 40).lacks(2, Begun::GoesOn), None);
        assert!(matches!(
            machine(8, 2, 400).lacks(1, Begun::Fresh),
            Some(Lacking::Memory { .. })
        ));
    }

    #[test]
    fn room_is_read_from_df() {
        let text = "Filesystem   1024-blocks      Used Available Capacity  Mounted on\n/dev/disk3s5   971350180 612345678 340000000    65%    /System/Volumes/Data\n";
        assert_eq!(parse_df(text), Some(340_000_000 * 1024));
        assert_eq!(parse_df("nonsense"), None);
    }
}
