//! What a process holds of memory, asked from outside, so that the question does not synchronise the device.
use super::PATIENCE;
use crate::run::process::Program;

/// Which program told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `footprint`: what the system counts against the process, GPU memory included.
    Footprint,
    /// `vmmap --summary`: the same figure, slower.
    Vmmap,
    /// `ps`: resident memory alone.
    Resident,
}

/// A figure and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// In bytes.
    pub bytes: u64,
    /// Who says so.
    pub source: Source,
}

/// What the process holds now; none where no program tells.
#[must_use]
pub fn of(process: u32) -> Option<Footprint> {
    let id = process.to_string();
    let told = |program: &str, arguments: &[&str], parse: fn(&str) -> Option<u64>| {
        let finished = Program::new(program)
            .args(arguments)
            .limit(PATIENCE)
            .run()
            .ok()?;
        finished
            .status
            .success()
            .then(|| parse(&finished.text()))
            .flatten()
    };
    let figure = |source| move |bytes| Footprint { bytes, source };
    told("footprint", &[&id], footprint)
        .map(figure(Source::Footprint))
        .or_else(|| told("vmmap", &["--summary", &id], vmmap).map(figure(Source::Vmmap)))
        .or_else(|| told("ps", &["-o", "rss=", "-p", &id], resident).map(figure(Source::Resident)))
}

/// `phys_footprint: 1234 MB` among the auxiliary data, else the number in the heading.
fn footprint(text: &str) -> Option<u64> {
    let after = |mark: &str| {
        text.lines().find_map(|line| {
            let at = line.to_lowercase().find(mark)?;
            size(line.get(at + mark.len()..)?)
        })
    };
    after("phys_footprint:").or_else(|| after("footprint:"))
}

/// `Physical footprint:         1.2G`
fn vmmap(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| size(line.trim().strip_prefix("Physical footprint:")?))
}

/// KiB.
fn resident(text: &str) -> Option<u64> {
    text.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// A number with a unit: `1.2G`, `1234 KB`, `77 MB`, `16384 B`.
fn size(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let number: f64 = text.get(..end)?.parse().ok()?;
    let unit = text.get(end..)?.trim_start().chars().next();
    let factor = match unit.map(|unit| unit.to_ascii_uppercase()) {
        Some('K') => 1u64 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        Some('T') => 1 << 40,
        _ => 1,
    };
    let bytes = number * factor as f64;
    (bytes.is_finite() && bytes < 2f64.powi(60)).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_program_s_figure_is_read() {
        let text = "python [4242]: 64-bit    Footprint: 1843 MB (16384 bytes per page)\n\nAuxiliary data:\n    phys_footprint: 1843 MB\n    phys_footprint_peak: 2011 MB\n";
        assert_eq!(footprint(text), Some(1843 << 20));
        assert_eq!(
            vmmap(
                "Process: python\nPhysical footprint:         1.5G\nPhysical footprint (peak):  2.0G\n"
            ),
            Some(3 << 29)
        );
        assert_eq!(resident(" 204800\n"), Some(200 << 20));
        assert_eq!(footprint("no such process"), None);
    }

    proptest! {
        #[test]
        fn sizes_are_read_or_refused(text in ".{0,40}") {
            let _ = (footprint(&text), vmmap(&text), resident(&text), size(&text));
        }

        #[test]
        fn a_size_is_what_it_says(number in 0u64..100_000) {
            prop_assert_eq!(size(&format!("{number} KB")), Some(number << 10));
            prop_assert_eq!(size(&format!("{number}M")), Some(number << 20));
        }
    }
}
