//! Reads a job's samples back for the statistics. Holes and foreign rows become values that are not finite or are left out:
//! the statistics count them.
use crate::stats::counter::Rising;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// More than this is no amount of memory: a counter that went below zero.
const MOST_BYTES: f64 = (1_u64 << 50) as f64;

/// A figure as an amount of memory; no number where it can be none.
pub(crate) fn amount_of_memory(bytes: f64) -> f64 {
    match (0.0..=MOST_BYTES).contains(&bytes) {
        true => bytes,
        false => f64::NAN,
    }
}

/// The columns that only ever rise.
const RISING: [&str; 5] = [
    "time_ns",
    "allocations",
    "new_buffers",
    "commits",
    "blocking_waits",
];
/// No process runs for a day between two samples: a clock that was set forward.
const MOST_NANOSECONDS: f64 = 86_400e9;

/// The columns that the verdict needs, over the steps.
#[derive(Debug, Default)]
pub(crate) struct Curve {
    /// Driver memory in bytes; absent when the device never tells.
    pub(crate) driver_bytes: Option<Vec<(f64, f64)>>,
    /// Memory of live tensors in bytes; absent when the device never tells.
    pub(crate) current_bytes: Option<Vec<(f64, f64)>>,
    /// MTLBuffers made so far.
    pub(crate) new_buffers: Vec<(f64, f64)>,
    /// Whether a counter or the clock fell, or the clock leapt.
    pub(crate) is_disordered: bool,
}

/// Reads a curve; nothing when the file cannot be read or lacks the columns.
pub(crate) fn read(path: &Path) -> Option<Curve> {
    let mut lines = BufReader::new(File::open(path).ok()?).split(b'\n');
    let head = lines.next()?.ok()?;
    let head = String::from_utf8_lossy(&head).into_owned();
    let column = |name: &str| head.trim_end().split(',').position(|found| found == name);
    let (step, driver) = (column("step")?, column("driver_bytes")?);
    let (current, new_buffers) = (column("current_bytes"), column("new_buffers"));
    let (mut driver_bytes, mut current_bytes) = (Vec::new(), Vec::new());
    let mut curve = Curve::default();
    let mut rising: Vec<(usize, Rising)> = RISING
        .iter()
        .filter_map(|name| Some((column(name)?, Rising::default())))
        .collect();
    let (clock, mut before) = (column("time_ns"), f64::NAN);
    for line in lines.map_while(Result::ok) {
        if line.is_empty() {
            continue;
        }
        let line = String::from_utf8_lossy(&line);
        let cells: Vec<&str> = line.trim_end().split(',').collect();
        let cell = |index: usize| {
            cells
                .get(index)
                .and_then(|cell| cell.parse::<f64>().ok())
                .unwrap_or(f64::NAN)
        };
        let bytes = |index: usize| amount_of_memory(cell(index));
        rising
            .iter_mut()
            .for_each(|(index, rising)| rising.take(cell(*index)));
        if let Some(now) = clock.map(cell).filter(|now| now.is_finite()) {
            curve.is_disordered |= now - before > MOST_NANOSECONDS;
            before = now;
        }
        driver_bytes.push((cell(step), bytes(driver)));
        if let Some(index) = current {
            current_bytes.push((cell(step), bytes(index)));
        }
        if let Some(index) = new_buffers {
            curve.new_buffers.push((cell(step), cell(index)));
        }
    }
    curve.is_disordered |= rising.iter().any(|(_, rising)| rising.fell());
    // never told is not the same as told wrongly now and then
    let told = |samples: &Vec<(f64, f64)>| samples.iter().any(|(_, bytes)| bytes.is_finite());
    curve.driver_bytes = Some(driver_bytes).filter(told);
    curve.current_bytes = Some(current_bytes).filter(told);
    Some(curve)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve_of(text: &[u8]) -> Option<Curve> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("curve.csv");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn holes_and_cuts_are_kept_as_such() {
        let curve =
            curve_of(b"step,driver_bytes,new_buffers\n0,8,1\n1,,2\n\xff,16,3\n3,2").unwrap();
        let driver = curve.driver_bytes.unwrap();
        assert_eq!(driver.len(), 4);
        assert_eq!(driver[0], (0.0, 8.0));
        assert!(driver[1].1.is_nan() && driver[2].0.is_nan());
        assert!(curve.new_buffers[3].1.is_nan());
        assert!(curve.current_bytes.is_none());
    }

    #[test]
    fn a_counter_below_zero_is_no_amount_of_memory() {
        let curve = curve_of(b"step,driver_bytes\n0,8\n1,18446744073709551615\n2,-8\n").unwrap();
        let driver = curve.driver_bytes.unwrap();
        assert!(driver[1].1.is_nan() && driver[2].1.is_nan());
        let silent = curve_of(b"step,driver_bytes\n0,\n1,\n").unwrap();
        assert!(silent.driver_bytes.is_none());
    }

    #[test]
    fn counters_that_fall_and_clocks_that_leap_are_seen() {
        let disordered = |text: &str| {
            let text = format!("step,time_ns,driver_bytes,allocations,commits\n{text}");
            curve_of(text.as_bytes()).unwrap().is_disordered
        };
        assert!(!disordered("0,5,8,1,1\n1,6,8,1,1\n2,7,8,2,1\n"));
        assert!(!disordered("0,,8,1,1\n1,6,8,,1\n2,7,8,2,1\n"));
        assert!(disordered("0,5,8,1,1\n1,4,8,1,1\n"), "a clock set back");
        assert!(
            disordered("0,5,8,1,1\n1,86400000000006,8,1,1\n"),
            "and forward"
        );
        assert!(disordered("0,5,8,4294967295,1\n1,6,8,0,1\n"), "a wrap");
        assert!(
            disordered("0,5,8,1,9\n1,6,8,,\n2,7,8,1,8\n"),
            "after a hole"
        );
    }

    #[test]
    fn a_file_without_the_columns_is_no_curve() {
        assert!(curve_of(b"").is_none());
        assert!(curve_of(b"a,b\n1,2\n").is_none());
    }
}
