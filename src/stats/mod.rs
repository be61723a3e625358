//! Estimators that do not cry wolf: robust slopes, steps, plateaus, paired comparison, pass rates. Pure: numbers in,
//! numbers out; no input makes them panic, and what cannot be estimated is absent, never zero.
//!
//! | module | estimator | source |
//! |-|-|-|
//! | [`robust`] | median, median absolute deviation | Hampel 1974 |
//! | [`slope`] | Theil–Sen slope, Sen's interval | Theil 1950; Sen, JASA 63 (1968) 1379 |
//! | [`paired`] | Hodges–Lehmann difference, exact signed-rank interval | Hodges & Lehmann 1963; Wilcoxon 1945; Hollander & Wolfe §3.2 |
//! | [`curve`] | block medians, warm-up by a two-line break, steps, shape of a memory curve | Quandt 1960 (break); steps: ours |
//! | [`proportion`] | Wilson interval | Wilson, JASA 22 (1927) 209 |
//! | [`outcomes`] | exact paired test, correction for many tests | McNemar 1947 (exact form); Holm 1979 |
pub mod curve;
pub mod outcomes;
pub mod paired;
pub mod proportion;
pub mod robust;
pub mod slope;
