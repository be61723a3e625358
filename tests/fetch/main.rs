#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]
//! `umpatch fetch` from outside: with recorded programs in place of apt and git, with the real ones on archives that we make,
//! and with everything that can go wrong on a machine.
mod archives;
mod cuts;
mod local_archive;
mod recorded_apt;
mod repositories;
mod sandbox;
