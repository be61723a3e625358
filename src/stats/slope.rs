//! The Theil–Sen slope: the median of the slopes of all pairs of points.

/// A slope with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// The median of all pairwise slopes.
    pub estimate: f64,
    /// Lower end of Sen's interval.
    pub low: f64,
    /// Upper end of Sen's interval.
    pub high: f64,
    /// The line's value at x = 0: the median of y − estimate · x.
    pub intercept: f64,
}

/// Two-sided 95% point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Fits the points; those that are not finite are left out. Absent with fewer than three usable points.
///
/// Takes time and memory in the square of the number of points: give it block medians, not a million samples. The 95%
/// interval is widened for errors that follow each other ([`super::serial`]); what differs from process to process it cannot
/// know: there [`super::paired`] over processes is what counts.
#[must_use]
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Slope> {
    let points: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let count = points.len();
    if count < 3 {
        return None;
    }
    let mut slopes = Vec::with_capacity(count * (count - 1) / 2);
    for (index, (x1, y1)) in points.iter().enumerate() {
        for (x2, y2) in &points[index + 1..] {
            let slope = (y2 - y1) / (x2 - x1);
            if slope.is_finite() {
                slopes.push(slope);
            }
        }
    }
    if slopes.is_empty() {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let pairs = slopes.len() as f64;
    let n = count as f64;
    let middle = slopes.len() / 2;
    let estimate = if slopes.len() % 2 == 1 {
        slopes[middle]
    } else {
        slopes[middle - 1] / 2.0 + slopes[middle] / 2.0
    };
    let residuals: Vec<f64> = points.iter().map(|(x, y)| y - estimate * x).collect();
    let inflation = super::serial::variance_inflation(&residuals);
    let spread = Z * (inflation * n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let at = |rank: f64| slopes[(rank.max(0.0) as usize).min(slopes.len() - 1)];
    Some(Slope {
        estimate,
        low: at(((pairs - spread) / 2.0).floor() - 1.0),
        high: at(((pairs + spread) / 2.0).ceil()),
        intercept: super::robust::median(&residuals)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_found_in_spite_of_outliers() {
        let mut points: Vec<(f64, f64)> = (0..50)
            .map(|x| (f64::from(x), 3.0 * f64::from(x) + 7.0))
            .collect();
        points[10].1 = 1e9;
        points[40].1 = -1e9;
        let slope = theil_sen(&points).unwrap();
        assert!((slope.estimate - 3.0).abs() < 1e-9);
        assert!((slope.intercept - 7.0).abs() < 1e-6);
    }

    #[test]
    fn a_published_example() {
        // five points, slopes sorted: 0.5 0.75 1 1 1 1 1.1667 1.25 1.5 2 → median 1
        let points = [(0.0, 0.0), (1.0, 1.0), (2.0, 3.0), (3.0, 3.5), (4.0, 4.0)];
        let slope = theil_sen(&points).unwrap();
        let mut all: Vec<f64> = Vec::new();
        for i in 0..5 {
            for j in i + 1..5 {
                all.push((points[j].1 - points[i].1) / (points[j].0 - points[i].0));
            }
        }
        all.sort_by(f64::total_cmp);
        assert!((slope.estimate - (all[4] + all[5]) / 2.0).abs() < 1e-12);
        // n = 5: variance of S is 16.67, so the interval leaves out 0 ranks at either end after rounding outwards
        assert_eq!((slope.low, slope.high), (all[0], all[9]));
    }

    #[test]
    fn too_little_gives_nothing() {
        assert_eq!(theil_sen(&[]), None);
        assert_eq!(theil_sen(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(theil_sen(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(theil_sen(&[(0.0, f64::NAN), (1.0, 2.0), (2.0, 3.0)]), None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_estimate(points in proptest::collection::vec((0.0..1e4_f64, -1e12..1e12_f64), 0..40)) {
            if let Some(slope) = theil_sen(&points) {
                prop_assert!(slope.low <= slope.estimate && slope.estimate <= slope.high);
            }
        }

        #[test]
        fn a_tilt_adds_its_slope(ys in proptest::collection::vec(-1e3..1e3_f64, 3..40), tilt in -100.0..100.0_f64) {
            let flat: Vec<_> = ys.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
            let tilted: Vec<_> = flat.iter().map(|(x, y)| (*x, y + tilt * x)).collect();
            let (flat, tilted) = (theil_sen(&flat).unwrap(), theil_sen(&tilted).unwrap());
            prop_assert!((tilted.estimate - flat.estimate - tilt).abs() < 1e-6);
            prop_assert!((tilted.high - flat.high - tilt).abs() < 1e-6);
        }

        #[test]
        fn nothing_panics(points in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..30)) {
            let _ = theil_sen(&points);
        }
    }
}
