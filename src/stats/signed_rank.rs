//! Wilcoxon's signed-rank statistic and its exact distribution when neither arm is greater: each difference is as likely
//! to be positive as negative, whatever its size, since the arms could be exchanged.

/// The chance of each value of the sum of `pairs` ranks without ties.
#[must_use]
pub(super) fn distribution(pairs: usize) -> Vec<f64> {
    let doubled: Vec<usize> = (1..=pairs).collect();
    flipped(&doubled)
}

/// The chance of each value of the sum of a random half of these weights.
pub(super) fn flipped(weights: &[usize]) -> Vec<f64> {
    let mut chances = vec![0.0; weights.iter().sum::<usize>() + 1];
    chances[0] = 1.0;
    let mut reached = 0;
    for weight in weights {
        for sum in (0..=reached).rev() {
            let half = chances[sum] / 2.0;
            chances[sum] = half;
            chances[sum + weight] += half;
        }
        reached += weight;
    }
    chances
}

/// Ranks of the sizes of differences that are not zero, doubled so that ties have whole ranks too, and the sum of those that
/// belong to positive ones. Zeros are left out (Wilcoxon's own rule): two equal arms say nothing against each other.
pub(super) fn doubled_ranks(differences: &[f64]) -> (Vec<usize>, usize) {
    let mut values: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|value| value.is_finite() && *value != 0.0)
        .collect();
    values.sort_by(|left, right| left.abs().total_cmp(&right.abs()));
    let mut ranks = Vec::with_capacity(values.len());
    let mut positive = 0;
    let mut start = 0;
    while start < values.len() {
        let size = values[start].abs();
        let end = start
            + values[start..]
                .iter()
                .take_while(|value| value.abs() == size)
                .count();
        // the mean of the ranks start + 1 … end, doubled
        let rank = start + 1 + end;
        for value in &values[start..end] {
            ranks.push(rank);
            if *value > 0.0 {
                positive += rank;
            }
        }
        start = end;
    }
    (ranks, positive)
}

/// How likely a sum of positive ranks is at least as high as that of these differences when neither arm is greater: exact, one
/// side, given the sizes that were seen. 1 when there is none but zeros.
#[must_use]
pub fn p_greater(differences: &[f64]) -> f64 {
    let (ranks, positive) = doubled_ranks(differences);
    if ranks.is_empty() {
        return 1.0;
    }
    flipped(&ranks)[positive..].iter().sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_table_is_reproduced() {
        // Hollander & Wolfe, table A.4: n = 5, P(W ≥ 15) = 0.031; n = 8, P(W ≥ 32) = 0.027
        let five = distribution(5);
        assert!((five[15] - 0.03125).abs() < 1e-12);
        let eight = distribution(8);
        assert!((eight[32..].iter().sum::<f64>() - 0.0273).abs() < 1e-4);
        assert!((eight.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn all_on_one_side() {
        let up: Vec<f64> = (1..=8).map(f64::from).collect();
        assert!((p_greater(&up) - 1.0 / 256.0).abs() < 1e-12);
        let down: Vec<f64> = up.iter().map(|value| -value).collect();
        assert!((p_greater(&down) - 1.0).abs() < 1e-12);
        // ties: eight equal ones are as certain
        assert!((p_greater(&[4.0; 8]) - 1.0 / 256.0).abs() < 1e-12);
        assert!((p_greater(&[0.0; 8]) - 1.0).abs() < 1e-12);
        assert!((p_greater(&[f64::NAN]) - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn it_is_a_probability(values in proptest::collection::vec(any::<f64>(), 0..40)) {
            let p = p_greater(&values);
            prop_assert!(p > 0.0 && p <= 1.0);
        }

        #[test]
        fn both_sides_together_are_at_least_everything(values in proptest::collection::vec(-9..9_i32, 0..24)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            prop_assert!(p_greater(&values) + p_greater(&turned) >= 1.0 - 1e-9);
        }
    }
}
