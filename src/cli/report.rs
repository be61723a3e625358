//! `umpatch report`.
use super::{Console, Global, Outcome};
use crate::error::Failure;

/// Render a run's report again
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_global: &Global, _own: Arguments, _console: &Console) -> Outcome {
    Err(Failure::usage("this command is not built yet"))
}
