//! What a run took and gave back: peak, residue, and the share that came back at its end.

/// What a run took and gave back, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reclaim {
    /// Highest level.
    pub peak: f64,
    /// Level after everything was deleted, collected, synchronised and emptied.
    pub residual: f64,
    /// Share of what was taken beyond the start that came back, 0 to 1; 1 when nothing was taken.
    pub share: f64,
}

/// From the level at the start, the peak and the residue; nothing when one is no number.
#[must_use]
pub fn reclaim(start: f64, peak: f64, residual: f64) -> Option<Reclaim> {
    if ![start, peak, residual]
        .iter()
        .all(|value| value.is_finite())
    {
        return None;
    }
    let taken = peak - start;
    let share = if taken > 0.0 {
        ((peak - residual) / taken).clamp(0.0, 1.0)
    } else {
        1.0
    };
    // differences of the largest numbers are none
    share.is_finite().then_some(Reclaim {
        peak,
        residual,
        share,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_comes_back() {
        let share = |start, peak, residual| reclaim(start, peak, residual).unwrap().share;
        assert!((share(10.0, 110.0, 10.0) - 1.0).abs() < 1e-12);
        assert!((share(10.0, 110.0, 60.0) - 0.5).abs() < 1e-12);
        assert!(share(10.0, 110.0, 200.0).abs() < 1e-12);
        assert!((share(10.0, 10.0, 10.0) - 1.0).abs() < 1e-12);
        assert_eq!(reclaim(f64::NAN, 1.0, 1.0), None);
    }

    proptest! {
        #[test]
        fn a_share_is_a_share(start in any::<f64>(), peak in any::<f64>(), residual in any::<f64>()) {
            if let Some(found) = reclaim(start, peak, residual) {
                prop_assert!((0.0..=1.0).contains(&found.share));
            }
        }
    }
}
