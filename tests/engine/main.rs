//! The patch engine, end to end: the binary on small git trees made here, and on the real tree where it is fetched.
#![allow(clippy::unwrap_used, clippy::expect_used)]
mod apply;
mod arms;
mod carry;
mod faults;
mod lab;
mod odd_repositories;
mod oracle;
mod refresh;
mod refusals;
mod status;
mod tree;
