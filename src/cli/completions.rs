//! `umpatch completions`: a completion script for a shell.
use super::{Console, Global, Outcome};
use crate::exit::Exit;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

/// Print a completion script for your shell
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  umpatch completions bash > ~/.local/share/bash-completion/completions/umpatch"
)]
pub(super) struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub(super) fn run(_global: &Global, own: Arguments, console: &Console) -> Outcome {
    let mut script = Vec::new();
    generate(
        own.shell,
        &mut super::Arguments::command(),
        "umpatch",
        &mut script,
    );
    let script = String::from_utf8_lossy(&script).into_owned();
    let document = serde_json::json!({
        "schema": "umpatch.completions/1", "shell": own.shell.to_string(), "script": script,
    });
    console.result(&document, &script);
    Ok(Exit::Verified)
}
