//! `umpatch doctor`.
use super::{Console, Global, Outcome};
use crate::error::Failure;

/// Name what is missing on this machine and the command that mends it
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_global: &Global, _own: Arguments, _console: &Console) -> Outcome {
    Err(Failure::usage("this command is not built yet"))
}
