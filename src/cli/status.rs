//! `umpatch status`.
use super::{Console, Global, Outcome};
use crate::error::Failure;

/// Say how each patch stands against a PyTorch tree, with the evidence
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_global: &Global, _own: Arguments, _console: &Console) -> Outcome {
    Err(Failure::usage("this command is not built yet"))
}
