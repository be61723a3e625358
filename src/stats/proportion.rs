//! A share with an interval that stays within 0 and 1.

/// The 95% Wilson interval of `passed` among `total`: from 0 to 1 when nothing ran.
#[must_use]
pub fn wilson(passed: u64, total: u64) -> [f64; 2] {
    const Z: f64 = 1.959_963_984_540_054;
    if total == 0 {
        return [0.0, 1.0];
    }
    let n = total as f64;
    let share = (passed.min(total)) as f64 / n;
    let center = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    [
        ((center - spread) / scale).clamp(0.0, 1.0),
        ((center + spread) / scale).clamp(0.0, 1.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        assert_eq!(wilson(0, 0), [0.0, 1.0]);
        let [low, high] = wilson(81, 263);
        // Newcombe 1998, table I, method 3
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5);
        let [low, high] = wilson(0, 20);
        assert!(low == 0.0 && (high - 0.1611).abs() < 5e-5);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_share(passed in 0_u64..10_000, more in 0_u64..10_000) {
            let total = passed + more;
            let [low, high] = wilson(passed, total);
            prop_assert!((0.0..=1.0).contains(&low) && low <= high && high <= 1.0);
            if total > 0 {
                let share = passed as f64 / total as f64;
                prop_assert!(low <= share + 1e-12 && share <= high + 1e-12);
            }
        }
    }
}
