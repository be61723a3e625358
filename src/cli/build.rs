//! `umpatch build`.
use super::patches::patches;
use super::{Console, Global, Outcome};
use crate::build::pytorch::{BuildMachine, Built, Command, Layout, Purpose, PyTorch};
use crate::build::{self, Flavour, Target};
use crate::device::metal::{Machine, tools::Tools};
use crate::device::{self, Device, DeviceError, Host, Wanted};
use crate::engine::{self, Arms};
use crate::error::Failure;
use crate::exit::Exit;
use crate::provision;
use crate::series::Selection;
use crate::upstream::{DEFAULT_VERSION, Version};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// Build the tree for a device, without and with the patches
///
/// For a Mac's GPU this is a full build of PyTorch, in a folder of its own: your checkout is read, not touched. Stock comes
/// first; then only what the patches touch is compiled again. A build that was cut goes on where it was.
///
/// Of the simulated device each arm is a program that runs the native scenarios, and a folder for PYTHONPATH with which any
/// script of this machine's torch has a device `mps`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch build --device metal --dry-run    the exact commands, on any machine
  umpatch build                             both arms for this machine's device
  umpatch build --arms separate             a build folder for each arm
  PYTHONPATH=FOLDER PYTHON train.py         a script on the simulated device, as the last lines of `build` say

MAX_JOBS follows from processors and memory unless it is set; ccache or sccache is used where it is installed.")]
pub(super) struct Arguments {
    /// For which device
    #[arg(long, value_enum, default_value_t)]
    device: Wanted,
    /// Whether both arms share a build folder
    #[arg(long, value_enum, default_value_t)]
    arms: Layout,
    /// Print the exact commands and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Build the patches of this folder, or another series of ours by its name, instead of the default ones
    #[arg(long, visible_alias = "series", value_name = "DIR|SERIES", value_parser = patches)]
    patches_from: Option<PathBuf>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    device: Device,
    dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<&'a BuildMachine>,
    /// The files that differ between the arms.
    differing: &'a [String],
    commands: Vec<Row<'a>>,
    arms: Vec<Arm<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    command: &'a Command,
    shell: String,
}

#[derive(Serialize)]
struct Arm<'a> {
    name: &'a str,
    /// The package's folder, or the program that runs the native scenarios.
    built: &'a std::path::Path,
    /// The folder for PYTHONPATH that has the simulated mps device.
    #[serde(skip_serializing_if = "Option::is_none")]
    python_path: Option<&'a std::path::Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    /// Objects that were compiled now; absent where it was built before.
    objects: Option<u64>,
    seconds: f64,
}

/// Runs the command.
pub(super) fn run(global: &Global, own: Arguments, console: &Console) -> Outcome {
    let root = engine::root(global.tree.as_deref())?;
    let sides = engine::arms(&root, own.patches_from.as_deref(), &Selection::All)?;
    let host = Host::current()?;
    let device = match device::choose(own.device, host) {
        // a plan needs no Mac
        Err(DeviceError::NoMetal) if own.dry_run => Device::Metal,
        chosen => chosen?,
    };
    match device {
        Device::Metal => pytorch(&sides, &own, console),
        Device::Simulated if own.dry_run => Err(Failure::usage(
            "the simulated device is built by umpatch itself, not by commands",
        )
        .hint("umpatch build --device metal --dry-run")),
        Device::Simulated => simulated(&sides, console),
    }
}

/// The release that the tree is of.
fn version(sides: &Arms) -> Result<Version, Failure> {
    let text = sides.tree.version.as_deref().unwrap_or(DEFAULT_VERSION);
    text.parse()
        .map_err(|error: crate::upstream::BadVersion| Failure::usage(error.to_string()))
}

fn pytorch(sides: &Arms, own: &Arguments, console: &Console) -> Outcome {
    let build = PyTorch::new(sides, version(sides)?, own.arms)?;
    let commands = build.commands();
    let mut document = Document {
        schema: "umpatch.build/1",
        device: Device::Metal,
        dry_run: own.dry_run,
        machine: Some(build.machine()),
        differing: build.differing(),
        commands: commands
            .iter()
            .map(|command| Row {
                shell: command.shell(),
                command,
            })
            .collect(),
        arms: Vec::new(),
    };
    if own.dry_run {
        console.result(&document, &script(&commands, build.differing()));
        return Ok(Exit::Verified);
    }
    let progress = console.progress();
    progress.stage("the machine");
    Machine::probe()?;
    Tools::probe()?;
    let built = build.build(&*progress)?;
    drop(progress);
    document.arms = built.iter().map(arm).collect();
    console.result(&document, &text(&document.arms));
    Ok(Exit::Verified)
}

fn arm(built: &Built) -> Arm<'_> {
    Arm {
        name: built.side.name(),
        built: &built.package,
        python_path: None,
        commit: Some(&built.commit),
        objects: built.objects,
        seconds: built.seconds,
    }
}

/// The commands as a script.
fn script(commands: &[Command], differing: &[String]) -> String {
    let mut text = String::from("set -e\n");
    for command in commands {
        let _ = writeln!(text, "{}", command.shell());
        if command.purpose == Purpose::Sources && command.words.iter().any(|word| word == "reset") {
            let _ = writeln!(
                text,
                "# umpatch writes the {} arm's {}",
                command.side.name(),
                differing.join(", ")
            );
        }
    }
    text
}

fn simulated(sides: &Arms, console: &Console) -> Outcome {
    let version = version(sides)?;
    let torch = provision::torch::find(&version).ok_or_else(|| {
        Failure::new(
            Exit::PatchOrBuildFailed,
            format!("this machine lacks torch {version}"),
        )
        .hint("`umpatch doctor` says what to run")
    })?;
    let progress = console.progress();
    let mut all = Vec::new();
    for (name, sources) in [("stock", &sides.stock), ("patched", &sides.patched)] {
        let make = |target, name: &str| {
            build::build_arm(target, sources, &torch, Flavour::Plain, name, &*progress)
        };
        let driver = make(Target::Driver, name)?;
        let device = make(Target::MpsDevice, &format!("{name}, the mps device"))?;
        all.push((name, driver, device));
    }
    drop(progress);
    let differing: Vec<String> = sides.differing.iter().map(ToString::to_string).collect();
    let document = Document {
        schema: "umpatch.build/1",
        device: Device::Simulated,
        dry_run: false,
        machine: None,
        differing: &differing,
        commands: Vec::new(),
        arms: all
            .iter()
            .map(|(name, driver, device)| Arm {
                name,
                built: &driver.program,
                python_path: Some(&device.folder),
                commit: None,
                objects: Some((driver.compiled + device.compiled) as u64),
                seconds: (driver.elapsed + device.elapsed).as_secs_f64(),
            })
            .collect(),
    };
    console.result(
        &document,
        &format!(
            "{}{}",
            text(&document.arms),
            scripts(&document.arms, &torch.python)
        ),
    );
    Ok(Exit::Verified)
}

/// How to run a script of one's own on each arm's device.
fn scripts(arms: &[Arm<'_>], python: &std::path::Path) -> String {
    let mut text = String::new();
    for arm in arms {
        if let Some(folder) = arm.python_path {
            let _ = writeln!(
                text,
                "PYTHONPATH={} {} SCRIPT    # device \"mps\", {}",
                folder.display(),
                python.display(),
                arm.name
            );
        }
    }
    text
}

fn text(arms: &[Arm<'_>]) -> String {
    let mut text = String::new();
    for arm in arms {
        let objects = arm.objects.map_or_else(
            || "built before".to_owned(),
            |objects| format!("{objects} objects compiled in {:.0} s", arm.seconds),
        );
        let _ = writeln!(text, "{:<8} {} ({objects})", arm.name, arm.built.display());
    }
    text
}
