//! What this machine has to have for the simulated device, and the commands that mend what it lacks.
mod item;
mod mac;
mod machine;
mod mend;
mod program;
mod recipe;
mod toolchain;
pub mod torch;

pub use item::{Item, Mend, Need, State};
pub use mac::examine as examine_mac;
pub use machine::watermarks_of_environment;
pub use mend::{ProvisionError, Step, steps};
pub use program::on_path;
pub use recipe::Gcc;

use crate::progress::Progress;
use crate::upstream::Version;
use std::path::Path;

/// Where GCC keeps its libraries.
const GCC: &str = "/usr/lib/gcc";

/// Examines the machine for the simulated device of a version, with the recipes in the folder `harness`.
#[must_use]
pub fn examine(harness: &Path, version: &Version) -> Vec<Item> {
    let gcc = recipe::Gcc::newest(Path::new(GCC));
    let mut items = recipe::examine(harness, gcc.as_ref());
    let compiler = items
        .iter()
        .map(|item| item.id.clone())
        .find(|id| id.contains("clang++"));
    let ready = items.iter().all(|item| item.state == State::Ok);
    if let Some(compiler) = compiler {
        items.extend(toolchain::examine(&compiler, gcc.as_ref(), ready));
    }
    items.extend(torch::examine(version));
    let torch = if items.iter().any(|item| item.mend == Some(Mend::Torch)) {
        machine::Torch::ToMake
    } else {
        machine::Torch::There
    };
    items.extend(machine::examine(torch));
    items
}

/// Mends what can be mended from here, and examines the machine again. Nothing is done where nothing is lacking.
///
/// # Errors
/// When a step fails, or the user interrupts. The same call resumes.
pub fn provide(
    harness: &Path,
    version: &Version,
    progress: &dyn Progress,
) -> Result<Vec<Item>, ProvisionError> {
    progress.stage("examine this machine");
    let mut items = examine(harness, version);
    // twice: what is installed first may let the rest be named exactly, such as the package for the newest compiler
    for _ in 0..2 {
        let steps = steps(&items, version);
        if steps.is_empty() {
            break;
        }
        for step in steps {
            step.run(progress)?;
        }
        progress.stage("examine this machine again");
        items = examine(harness, version);
    }
    Ok(items)
}
