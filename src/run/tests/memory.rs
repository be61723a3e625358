//! How much memory a process group holds, measured from outside.
//!
//! The cap on a worker is two-fold. Inside, RLIMIT_DATA lets an allocation fail, so that the test gets a MemoryError and
//! the next one runs; RLIMIT_AS would not do, because torch with its libraries reserves far more address space than it
//! uses. Outside, the resident memory of the worker with its children is measured every second or two, because children
//! have limits of their own and macOS does not enforce RLIMIT_DATA.
#[cfg(target_os = "linux")]
pub(super) fn resident(group: i32) -> Option<u64> {
    use std::fs;
    let page = 4096;
    let mut total = 0;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        if !name.as_encoded_bytes().first()?.is_ascii_digit() {
            continue;
        }
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // fields after the command's name, which may hold spaces: state, parent, group, … resident pages is the 22nd
        let Some((_, fields)) = stat.rsplit_once(") ") else {
            continue;
        };
        let fields: Vec<&str> = fields.split(' ').collect();
        if fields.get(2).and_then(|text| text.parse().ok()) == Some(group) {
            total += fields
                .get(21)
                .and_then(|text| text.parse::<u64>().ok())
                .unwrap_or(0)
                * page;
        }
    }
    Some(total)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn resident(group: i32) -> Option<u64> {
    use crate::run::process::Program;
    use std::time::Duration;
    let finished = Program::new("ps")
        .args(["-axo", "pgid=,rss="])
        .limit(Duration::from_secs(5))
        .run()
        .ok()?;
    let kibibytes: u64 = finished
        .text()
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let of: i32 = words.next()?.parse().ok()?;
            let size: u64 = words.next()?.parse().ok()?;
            (of == group).then_some(size)
        })
        .sum();
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::process::Program;

    #[test]
    fn a_group_s_memory_is_seen() {
        let conversation = Program::new("sleep").arg("30").converse().unwrap();
        // while a program is being replaced by another it has no memory at all for a moment
        let patience = std::time::Instant::now();
        let mut bytes = 0;
        while bytes <= 50_000 && patience.elapsed().as_secs() < 30 {
            bytes = resident(conversation.pid()).unwrap();
        }
        assert!(bytes > 50_000 && bytes < 200_000_000, "{bytes}");
    }
}
