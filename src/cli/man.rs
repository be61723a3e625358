//! `umpatch man`: man pages, one for each command.
use super::{Console, Global, Outcome};
use crate::error::Failure;
use crate::exit::Exit;
use clap::CommandFactory;
use std::path::{Path, PathBuf};

/// Write man pages, one for each command
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  umpatch man --output ~/.local/share/man/man1; man umpatch-verify"
)]
pub(super) struct Arguments {
    /// The folder that they go to
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
}

/// Writes the pages.
pub(super) fn run(_global: &Global, own: Arguments, console: &Console) -> Outcome {
    let mut files = Vec::new();
    let command = super::Arguments::command().disable_help_subcommand(true);
    let failed = |error: std::io::Error| {
        Failure::new(
            Exit::PatchOrBuildFailed,
            format!(
                "cannot write man pages to {}: {error}",
                own.output.display()
            ),
        )
    };
    std::fs::create_dir_all(&own.output).map_err(failed)?;
    for page in pages(&command) {
        files.push(write(&page, &own.output).map_err(failed)?);
    }
    let document = serde_json::json!({ "schema": "umpatch.man/1", "files": files });
    console.result(
        &document,
        &format!("{} pages in {}", files.len(), own.output.display()),
    );
    Ok(Exit::Verified)
}

/// The program itself and each command, under the names that `man` finds them by.
fn pages(command: &clap::Command) -> Vec<clap::Command> {
    let name = command.get_name().to_owned();
    let mut built = command.clone();
    built.build();
    let own = built
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help" && !sub.is_hide_set())
        .map(|sub| {
            let full: &'static str = format!("{name}-{}", sub.get_name()).leak();
            sub.clone().name(full)
        });
    let mut all: Vec<clap::Command> = own.collect();
    all.insert(0, command.clone());
    all
}

fn write(page: &clap::Command, folder: &Path) -> std::io::Result<PathBuf> {
    let path = folder.join(format!("{}.1", page.get_name()));
    let mut text = Vec::new();
    clap_mangen::Man::new(page.clone()).render(&mut text)?;
    std::fs::write(&path, text)?;
    Ok(path)
}
