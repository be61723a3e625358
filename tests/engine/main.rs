//! The patch engine, end to end: the binary on small git trees made here, and on the real tree where it is fetched.
#![allow(clippy::unwrap_used, clippy::expect_used)]
mod apply;
mod arms;
mod carry;
mod conflicts;
mod faults;
mod generations;
mod hostile;
mod lab;
mod odd_repositories;
mod oracle;
mod refresh;
mod refusals;
mod series_commands;
mod status;
mod tree;
mod undone;
