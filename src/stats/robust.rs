//! Location and spread that a few wild values do not move.

/// The median of the finite values; absent when there is none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut finite: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    median_in_place(&mut finite)
}

/// The median, with the values reordered; they must be finite.
pub(super) fn median_in_place(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if odd {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    // halves first: the sum of two large values may not be finite
    Some(lower / 2.0 + upper / 2.0)
}

/// The median absolute deviation, scaled to the standard deviation of a normal distribution.
#[must_use]
pub fn deviation(values: &[f64]) -> Option<f64> {
    let center = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    median(&distances).map(|distance| distance * 1.4826)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_cases() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[5.0, f64::INFINITY, 1.0, 2.0]), Some(2.0));
        assert_eq!(deviation(&[1.0, 1.0, 1.0, 900.0]), Some(0.0));
    }

    proptest! {
        #[test]
        fn half_lie_on_each_side(values in proptest::collection::vec(-1e12..1e12_f64, 1..60)) {
            let middle = median(&values).unwrap();
            let below = values.iter().filter(|value| **value < middle).count();
            let above = values.iter().filter(|value| **value > middle).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        }
    }
}
