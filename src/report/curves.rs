//! The curves of a run: sampled driver memory per process, read from the run folder and thinned for plotting.
use super::document::{Arms, Report};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Component, Path};

/// Points of one arm that a plot shows at most.
const POINTS: usize = 240;
/// A curve file holds about 500 lines; what is longer than this is no curve of ours.
const LINE: u64 = 4096;

/// Driver memory over the steps of one process.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Curve(Vec<(u64, f64)>);

/// What a plot shows of one arm: all its processes together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Band {
    /// Step, lowest, median and highest driver memory in bytes over the processes.
    pub(super) points: Vec<BandPoint>,
    /// Processes that went into it.
    pub(super) processes: usize,
}

/// One position of a [`Band`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BandPoint {
    pub(super) step: u64,
    pub(super) low: f64,
    pub(super) middle: f64,
    pub(super) high: f64,
}

/// The curves of one scenario, and what is missing of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ScenarioCurves {
    pub(super) bands: Arms<Band>,
    /// Files that could not be read, with the reason.
    pub(super) missing: Vec<String>,
}

/// Reads the curves of every scenario, in the order of the report.
pub(super) fn read_all(report: &Report, run_folder: &Path) -> Vec<ScenarioCurves> {
    report
        .scenarios
        .iter()
        .map(|scenario| {
            let mut missing = Vec::new();
            let bands = Arms {
                baseline: read_arm(&scenario.curves.baseline, run_folder, &mut missing),
                patched: read_arm(&scenario.curves.patched, run_folder, &mut missing),
            };
            ScenarioCurves { bands, missing }
        })
        .collect()
}

fn read_arm(files: &[String], run_folder: &Path, missing: &mut Vec<String>) -> Band {
    let mut curves = Vec::new();
    for file in files {
        match read(run_folder, file) {
            Ok(curve) if curve.0.is_empty() => missing.push(format!("{file}: no samples")),
            Ok(curve) => curves.push(curve),
            Err(error) => missing.push(format!("{file}: {error}")),
        }
    }
    band(&curves)
}

fn read(run_folder: &Path, file: &str) -> io::Result<Curve> {
    let relative = Path::new(file);
    let inside = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not below the run folder",
        ));
    }
    parse(BufReader::new(File::open(run_folder.join(relative))?))
}

/// Parses a curve file; a line cut off in the middle (a run that was killed) is left out.
fn parse(mut reader: impl BufRead) -> io::Result<Curve> {
    let header = next_line(&mut reader)?.unwrap_or_default();
    let column = |name: &str| header.split(',').position(|field| field.trim() == name);
    let (Some(step), Some(driver)) = (column("step"), column("driver_bytes")) else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "no columns step and driver_bytes",
        ));
    };
    let mut samples: Vec<(u64, f64)> = Vec::new();
    while let Some(line) = next_line(&mut reader)? {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
        if let (Some(step), Some(driver)) = (number(step), number(driver))
            && driver.is_finite()
            && driver >= 0.0
            && (0.0..1e15).contains(&step)
        {
            samples.push((step as u64, driver));
        }
    }
    samples.sort_by_key(|sample| sample.0);
    Ok(Curve(samples))
}

/// One line without its end; invalid UTF-8 is replaced, and a line that never ends is cut.
fn next_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if io::Read::take(&mut *reader, LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()))
}

/// Joins the processes of an arm: the range of the steps is cut into at most [`POINTS`] intervals; each gives the lowest
/// and highest value seen in it and the median over the processes of the last one.
fn band(curves: &[Curve]) -> Band {
    let samples = || curves.iter().flat_map(|curve| &curve.0);
    let (Some(first), Some(last)) = (
        samples().map(|sample| sample.0).min(),
        samples().map(|sample| sample.0).max(),
    ) else {
        return Band::default();
    };
    let mut steps: Vec<u64> = samples().map(|sample| sample.0).collect();
    steps.sort_unstable();
    steps.dedup();
    let ends: Vec<u64> = if steps.len() <= POINTS {
        steps
    } else {
        let width = (last - first) as f64 / POINTS as f64;
        (1..=POINTS)
            .map(|index| {
                if index == POINTS {
                    last
                } else {
                    first + (index as f64 * width) as u64
                }
            })
            .collect()
    };
    let mut positions = vec![0_usize; curves.len()];
    let mut points = Vec::with_capacity(ends.len());
    for end in ends {
        let (mut low, mut high, mut lasts) = (f64::INFINITY, f64::NEG_INFINITY, Vec::new());
        for (curve, position) in curves.iter().zip(&mut positions) {
            let from = *position;
            while curve.0.get(*position).is_some_and(|sample| sample.0 <= end) {
                *position += 1;
            }
            for &(_, driver) in &curve.0[from..*position] {
                low = low.min(driver);
                high = high.max(driver);
            }
            if *position > from {
                lasts.push(curve.0[*position - 1].1);
            }
        }
        if let Some(middle) = median(&mut lasts) {
            points.push(BandPoint {
                step: end,
                low,
                middle,
                high,
            });
        }
    }
    Band {
        points,
        processes: curves.len(),
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values {
        [] => None,
        _ if values.len() % 2 == 1 => Some(values[half]),
        _ => Some(f64::midpoint(values[half - 1], values[half])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(text: &str) -> io::Result<Curve> {
        parse(text.as_bytes())
    }

    #[test]
    fn columns_are_found_by_name_and_broken_lines_left_out() {
        let read = curve("step,x,driver_bytes\n0,1,100\n1,1,200\nnonsense\n2,1,3e2\n3,1").unwrap();
        assert_eq!(read, Curve(vec![(0, 100.0), (1, 200.0), (2, 300.0)]));
    }

    #[test]
    fn a_file_without_the_columns_is_refused() {
        assert!(curve("a,b\n1,2\n").is_err());
        assert!(curve("").is_err());
    }

    #[test]
    fn files_outside_the_run_folder_are_not_read() {
        for file in ["../x.csv", "/etc/passwd", "curves/../../x"] {
            let error = read(Path::new("run"), file).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{file}");
        }
    }

    #[test]
    fn a_band_keeps_every_extreme() {
        // a saw-tooth with one spike, far more samples than points
        let tooth: Vec<(u64, f64)> = (0..5000)
            .map(|step| {
                (
                    step,
                    if step == 1234 {
                        9999.0
                    } else {
                        (step % 100) as f64
                    },
                )
            })
            .collect();
        let flat: Vec<(u64, f64)> = (0..5000).map(|step| (step, 50.0)).collect();
        let band = band(&[Curve(tooth), Curve(flat)]);
        assert_eq!(band.processes, 2);
        assert!(band.points.len() <= POINTS);
        let high = band
            .points
            .iter()
            .map(|point| point.high)
            .fold(0.0, f64::max);
        let low = band
            .points
            .iter()
            .map(|point| point.low)
            .fold(1e9, f64::min);
        assert_eq!((low, high), (0.0, 9999.0));
        assert_eq!(band.points.last().map(|point| point.step), Some(4999));
        assert!(
            band.points
                .iter()
                .all(|p| p.low <= p.middle && p.middle <= p.high)
        );
    }

    #[test]
    fn few_samples_are_shown_as_they_are() {
        let band = band(&[Curve(vec![(0, 1.0), (10, 3.0)]), Curve(vec![(0, 3.0)])]);
        let shown: Vec<(u64, f64)> = band.points.iter().map(|p| (p.step, p.middle)).collect();
        assert_eq!(shown, [(0, 2.0), (10, 3.0)]);
    }
}
