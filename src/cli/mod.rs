//! The command line: one file per command. Only this module prints.
mod apply;
mod baseline;
mod build;
mod bundle;
mod calibrate;
mod check;
mod completions;
mod console;
mod diff;
mod doctor;
mod explore;
mod fetch;
mod import;
mod man;
mod merge;
mod mutants;
mod patches;
mod rebase;
mod refresh;
mod report;
mod scenarios;
mod show;
mod status;
mod unapply;
mod verify;

use crate::error::Failure;
use crate::exit::{self, Exit};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use console::Console;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The version with the commit that the binary was built from.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("UMPATCH_COMMIT"), ")");

/// A patch set for PyTorch's Metal (MPS) allocator that carries its own proof.
#[derive(Debug, Parser)]
#[command(name = "umpatch", version = VERSION, propagate_version = true, max_term_width = 110)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, clap::Args)]
struct Global {
    /// The PyTorch tree [default: the checkout that holds the current folder, else the tree that `fetch` brought last]
    #[arg(short = 'C', value_name = "TREE", global = true)]
    tree: Option<PathBuf>,
    /// Print exactly one JSON document on stdout; everything else goes to stderr
    #[arg(long, global = true)]
    json: bool,
    /// No progress on stderr
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Fetch(fetch::Arguments),
    Status(status::Arguments),
    Apply(apply::Arguments),
    Unapply(unapply::Arguments),
    Refresh(refresh::Arguments),
    Rebase(rebase::Arguments),
    Check(check::Arguments),
    Diff(diff::Arguments),
    Import(import::Arguments),
    Show(show::Arguments),
    Build(build::Arguments),
    Verify(Box<verify::Arguments>),
    Explore(Box<explore::Arguments>),
    Merge(merge::Arguments),
    Baseline(baseline::Arguments),
    Calibrate(calibrate::Arguments),
    Report(report::Arguments),
    Bundle(bundle::Arguments),
    Scenarios(scenarios::Arguments),
    Doctor(doctor::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// Runs the command line and gives the process's exit status.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    // Ctrl-C: programs in flight end with their group, the journal keeps what was reached
    let _ = ctrlc::set_handler(crate::run::process::interrupt);
    let help = exit::help();
    let command = Arguments::command().after_help(help);
    let parsed = command
        .try_get_matches_from(arguments)
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return match error.exit_code() {
                0 => ExitCode::SUCCESS,
                _ => ExitCode::from(Exit::Usage.code()),
            };
        }
    };
    let console = Console::new(arguments.global.json, arguments.global.quiet);
    let outcome = match arguments.command {
        Command::Fetch(own) => fetch::run(&arguments.global, own, &console),
        Command::Status(own) => status::run(&arguments.global, own, &console),
        Command::Apply(own) => apply::run(&arguments.global, own, &console),
        Command::Unapply(own) => unapply::run(&arguments.global, own, &console),
        Command::Refresh(own) => refresh::run(&arguments.global, own, &console),
        Command::Rebase(own) => rebase::run(&arguments.global, own, &console),
        Command::Check(own) => check::run(&arguments.global, own, &console),
        Command::Diff(own) => diff::run(&arguments.global, own, &console),
        Command::Import(own) => import::run(&arguments.global, own, &console),
        Command::Show(own) => show::run(&arguments.global, own, &console),
        Command::Build(own) => build::run(&arguments.global, own, &console),
        Command::Verify(own) => verify::run(&arguments.global, *own, &console),
        Command::Explore(own) => explore::run(&arguments.global, *own, &console),
        Command::Merge(own) => merge::run(&arguments.global, own, &console),
        Command::Baseline(own) => baseline::run(&arguments.global, own, &console),
        Command::Calibrate(own) => calibrate::run(&arguments.global, own, &console),
        Command::Report(own) => report::run(&arguments.global, own, &console),
        Command::Bundle(own) => bundle::run(&arguments.global, own, &console),
        Command::Scenarios(own) => scenarios::run(&arguments.global, own, &console),
        Command::Doctor(own) => doctor::run(&arguments.global, own, &console),
        Command::Completions(own) => completions::run(&arguments.global, own, &console),
        Command::Man(own) => man::run(&arguments.global, own, &console),
    };
    let exit = match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            console.failure(&failure);
            failure.exit
        }
    };
    // what the command found stays its exit status; that it was said is part of success
    let exit = match console.lost() {
        Some(failure) => {
            console.complain(&failure);
            match exit {
                Exit::Verified => failure.exit,
                other => other,
            }
        }
        None => exit,
    };
    ExitCode::from(exit.code())
}

/// What a command's `run` gives back.
type Outcome = Result<Exit, Failure>;
