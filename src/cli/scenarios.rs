//! `umpatch scenarios`.
use super::{Console, Global, Outcome};
use crate::error::Failure;

/// List the scenarios and what each reproduces
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_global: &Global, _own: Arguments, _console: &Console) -> Outcome {
    Err(Failure::usage("this command is not built yet"))
}
