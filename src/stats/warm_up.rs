//! Where a curve's warm-up ends: a change point, the two-line break of Quandt (JASA 55 (1960) 324) with Schwarz's criterion.

/// The index of the first block that counts: at least half is dropped, and more (up to three quarters) where two lines with
/// a break there fit far better than one.
pub(super) fn end(blocks: &[(f64, f64)]) -> usize {
    let count = blocks.len();
    let half = count / 2;
    let sums = Sums::over(blocks);
    let one_line = sums.residual(0, count);
    let best = (3..count.saturating_sub(3))
        .map(|at| (at, sums.residual(0, at) + sums.residual(at, count)))
        .min_by(|left, right| left.1.total_cmp(&right.1));
    match best {
        Some((at, two_lines))
            if at > half
                && at <= count * 3 / 4
                && improves(one_line, two_lines, count)
                && !jumps(&blocks[half..=at]) =>
        {
            at
        }
        _ => half,
    }
}

/// Whether most of the change over these blocks happens between two of them: a step, which is reported, not a warm-up,
/// which is dropped in silence.
fn jumps(blocks: &[(f64, f64)]) -> bool {
    let changes = || blocks.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs());
    changes().fold(0.0, f64::max) > 0.5 * changes().sum::<f64>()
}

/// Whether three more parameters, each worth log(n) by Schwarz's criterion, pay.
fn improves(one_line: f64, two_lines: f64, count: usize) -> bool {
    let n = count as f64;
    if one_line <= 0.0 {
        return false;
    }
    let ratio = (two_lines.max(0.0) / one_line).max(1e-12);
    n * ratio.ln() + 3.0 * n.ln() < 0.0
}

/// Running sums, so that the residual of a line over any range costs the same.
struct Sums(Vec<[f64; 5]>);

impl Sums {
    fn over(points: &[(f64, f64)]) -> Self {
        // centred first: the sums of squares of bytes would lose the digits that matter
        let n = points.len().max(1) as f64;
        let cx = points.iter().map(|point| point.0 / n).sum::<f64>();
        let cy = points.iter().map(|point| point.1 / n).sum::<f64>();
        let mut sums = vec![[0.0; 5]];
        let mut running = [0.0; 5];
        for (x, y) in points {
            let (x, y) = (x - cx, y - cy);
            for (sum, term) in running.iter_mut().zip([x, y, x * x, x * y, y * y]) {
                *sum += term;
            }
            sums.push(running);
        }
        Self(sums)
    }

    /// Sum of squared residuals of the least-squares line over a range.
    fn residual(&self, from: usize, to: usize) -> f64 {
        let n = (to - from) as f64;
        let mut part = self.0[to];
        for (sum, before) in part.iter_mut().zip(self.0[from]) {
            *sum -= before;
        }
        let [x, y, xx, xy, yy] = part;
        let (sxx, sxy, syy) = (xx - x * x / n, xy - x * y / n, yy - y * y / n);
        if sxx > 0.0 {
            (syy - sxy * sxy / sxx).max(0.0)
        } else {
            syy.max(0.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(level: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..128)
            .map(|x| (f64::from(x), level(f64::from(x))))
            .collect()
    }

    #[test]
    fn the_break_is_found_after_half_and_not_in_a_step() {
        assert_eq!(end(&curve(|x| x.min(20.0))), 64);
        let late = end(&curve(|x| x.min(80.0)));
        assert!((79..=82).contains(&late), "{late}");
        assert_eq!(end(&curve(|x| if x < 90.0 { 1.0 } else { 9.0 })), 64);
        assert_eq!(end(&[]), 0);
    }

    proptest! {
        #[test]
        fn at_least_a_quarter_is_left(points in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..140)) {
            let at = end(&points);
            prop_assert!(at >= points.len() / 2 && at <= points.len() * 3 / 4);
        }
    }
}
