//! Estimators that do not cry wolf: robust slopes, steps, plateaus, paired comparison, pass rates. Pure: numbers in,
//! numbers out; no input makes them panic, and what cannot be estimated is absent, never zero.
//!
//! | module | estimator | source |
//! |-|-|-|
//! | [`blocks`] | block medians, flaws of a curve | ours |
//! | [`robust`] | median, median absolute deviation | Hampel 1974 |
//! | [`slope`] | Theil–Sen slope, Sen's interval | Theil 1950; Sen, JASA 63 (1968) 1379 |
//! | [`serial`] | variance inflation for errors that follow each other | Bayley & Hammersley 1946; Hamed & Rao 1998 |
//! | `warm_up` | end of the warm-up: two-line change point | Quandt 1960; Schwarz 1978 |
//! | `steps` | isolated level shifts | ours |
//! | [`shape`] | leak, filling cache, saw-tooth, plateau | ours |
//! | [`doubling`] | growth when the run doubles | ours |
//! | [`curve`] | one curve, by all of the above | |
//! | [`counter`] | rate of a counter, whether it wrapped | |
//! | [`contrast`] | one pair of curves with the same seed | ours |
//! | [`signed_rank`], [`paired`] | exact signed-rank test; Hodges–Lehmann difference and interval | Wilcoxon 1945; Hodges & Lehmann 1963; Hollander & Wolfe §3.2 |
//! | [`sequential`] | looks that keep the error level | Lan & DeMets 1983 |
//! | [`handful`] | what three or four samples support | |
//! | [`noise`] | minimal detectable growth from A/A pairs | chi-square bound of a deviation |
//! | [`ruling`] | the conclusion over pairs | |
//! | [`reclaim`] | peak, residue, share that came back | |
//! | [`proportion`] | Wilson interval | Wilson, JASA 22 (1927) 209 |
//! | [`outcomes`] | exact paired test, correction for many tests | McNemar 1947 (exact form); Holm 1979 |
pub mod blocks;
pub mod contrast;
pub mod counter;
pub mod curve;
pub mod doubling;
pub mod handful;
pub mod noise;
pub mod outcomes;
pub mod paired;
pub mod proportion;
pub mod reclaim;
pub mod robust;
pub mod ruling;
pub mod sequential;
pub mod serial;
pub mod shape;
pub mod signed_rank;
pub mod slope;
mod steps;
mod warm_up;
