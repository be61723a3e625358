//! Reads a job's samples back for the statistics. Holes and foreign rows become values that are not finite or are left out:
//! the statistics count them.
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The columns that the verdict needs, over the steps.
#[derive(Debug, Default)]
pub(super) struct Curve {
    /// Driver memory in bytes.
    pub(super) driver_bytes: Vec<(f64, f64)>,
    /// MTLBuffers made so far.
    pub(super) new_buffers: Vec<(f64, f64)>,
}

/// Reads a curve; nothing when the file cannot be read or lacks the columns.
pub(super) fn read(path: &Path) -> Option<Curve> {
    let mut lines = BufReader::new(File::open(path).ok()?).split(b'\n');
    let head = lines.next()?.ok()?;
    let head = String::from_utf8_lossy(&head).into_owned();
    let column = |name: &str| head.trim_end().split(',').position(|found| found == name);
    let (step, driver) = (column("step")?, column("driver_bytes")?);
    let new_buffers = column("new_buffers");
    let mut curve = Curve::default();
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
        curve.driver_bytes.push((cell(step), cell(driver)));
        if let Some(index) = new_buffers {
            curve.new_buffers.push((cell(step), cell(index)));
        }
    }
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
        assert_eq!(curve.driver_bytes.len(), 4);
        assert_eq!(curve.driver_bytes[0], (0.0, 8.0));
        assert!(curve.driver_bytes[1].1.is_nan() && curve.driver_bytes[2].0.is_nan());
        assert!(curve.new_buffers[3].1.is_nan());
    }

    #[test]
    fn a_file_without_the_columns_is_no_curve() {
        assert!(curve_of(b"").is_none());
        assert!(curve_of(b"a,b\n1,2\n").is_none());
    }
}
