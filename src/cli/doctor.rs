//! `umpatch doctor`.
use super::{Console, Global, Outcome};
use crate::device::{self, Device, Host, Wanted};
use crate::exit::Exit;
use crate::provision::{self, Item, Mend, Need, State, Step};
use crate::share;
use crate::upstream::{self, DEFAULT_VERSION, UpstreamError, Version};
use serde::Serialize;
use std::fmt::Write;

/// Name what is missing on this machine and the command that mends it
///
/// Examines what the device needs. For the simulated one: compiler, libraries, Python, the torch wheel of the tree's version,
/// room and settings. For a Mac's GPU: the chip, Xcode, its licence and SDK, the GPU, room, memory, power and settings. Changes
/// nothing without --provision.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch doctor                what is missing, and the exact commands
  umpatch doctor --provision    run these commands (packages need root or sudo)
  umpatch doctor --json | jq '.items[] | select(.state != \"ok\")'

  umpatch doctor --for-device metal

Exit status: 0 all is there; 4 the device lacks something.")]
pub(super) struct Arguments {
    /// Install what is missing, through this machine's own package managers
    #[arg(long)]
    provision: bool,
    /// For which device [default: this machine's]
    #[arg(long, value_enum, default_value_t, value_name = "DEVICE")]
    for_device: Wanted,
    /// The release whose torch wheel is wanted [default: the tree's]
    #[arg(long = "for", value_name = "VERSION")]
    release: Option<Version>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// The release that was asked about.
    release: &'a Version,
    /// The device that was asked about.
    device: Device,
    /// Whether it lacks nothing.
    ready: bool,
    items: Vec<Row<'a>>,
    /// The commands that mend what can be mended from here, in order.
    mend: &'a [String],
}

#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    state: State,
    needed_for: Need,
    found: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

/// Runs the command.
pub(super) fn run(global: &Global, own: Arguments, console: &Console) -> Outcome {
    let release = match own.release {
        Some(release) => release,
        None => release_of_tree(global)?,
    };
    let device = device::choose(own.for_device, Host::current()?)?;
    let harness = share::root()?.join("harness");
    let progress = console.progress();
    progress.stage("examine this machine");
    let items = match device {
        // what a Mac lacks is its owner's to install: licences are agreed to by people
        Device::Metal => provision::examine_mac(),
        Device::Simulated if own.provision => {
            provision::provide(&harness, &release, progress.as_ref())?
        }
        Device::Simulated => provision::examine(&harness, &release),
    };
    drop(progress);
    let mend: Vec<String> = provision::steps(&items, &release)
        .iter()
        .map(Step::command)
        .collect();
    let document = Document {
        schema: "umpatch.doctor/1",
        release: &release,
        device,
        ready: !items.iter().any(Item::blocks),
        items: items.iter().map(|item| row(item, &release)).collect(),
        mend: &mend,
    };
    console.result(&document, &text(&document));
    Ok(if document.ready {
        Exit::Verified
    } else {
        Exit::PatchOrBuildFailed
    })
}

/// The release of the tree that commands would use, else the default one.
fn release_of_tree(global: &Global) -> Result<Version, crate::error::Failure> {
    let default = || {
        DEFAULT_VERSION
            .parse()
            .map_err(|error: upstream::BadVersion| crate::error::Failure::usage(error.to_string()))
    };
    match upstream::locate(global.tree.as_deref()) {
        Ok(tree) => tree.version.parse().or_else(|_| default()),
        // without a tree, or with one that other commands will complain about, there is still a machine to examine
        Err(error @ (UpstreamError::NoSuchPath { .. } | UpstreamError::NotPyTorch { .. }))
            if global.tree.is_some() =>
        {
            Err(error.into())
        }
        Err(_) => default(),
    }
}

fn row<'a>(item: &'a Item, release: &Version) -> Row<'a> {
    let mend = item.mend.as_ref().map(|mend| match mend {
        Mend::Package(name) => Step::Packages(vec![name.clone()]).command(),
        Mend::Torch => Step::Torch(release.clone()).command(),
        Mend::ByHand(deed) => deed.clone(),
    });
    Row {
        id: &item.id,
        state: item.state,
        needed_for: item.need,
        found: &item.found,
        mend,
    }
}

fn text(document: &Document<'_>) -> String {
    let mut text = String::new();
    for row in &document.items {
        let _ = writeln!(text, "{:<8} {:<20} {}", row.state, row.id, row.found);
        if row.state != State::Ok
            && let Some(mend) = &row.mend
        {
            let _ = writeln!(text, "{:<29} mend: {mend}", "");
        }
    }
    let lacking = document
        .items
        .iter()
        .filter(|row| row.state != State::Ok)
        .count();
    if document.ready {
        let _ = write!(
            text,
            "\nReady: the {} device for PyTorch {} lacks nothing",
            document.device, document.release
        );
        match lacking {
            0 => text.push_str(".\n"),
            _ => {
                let _ = writeln!(text, " ({lacking} of the rest to look at).");
            }
        }
    } else {
        let _ = writeln!(
            text,
            "\nNot ready: {lacking} of {} things are missing or wrong for PyTorch {}.",
            document.items.len(),
            document.release
        );
    }
    if !document.mend.is_empty() {
        text.push_str("All at once: `umpatch doctor --provision`, which runs\n");
        for command in document.mend {
            let _ = writeln!(text, "  {command}");
        }
    }
    text
}
