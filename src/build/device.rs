//! The simulated mps device for the torch wheel, from `harness/device`.
use super::{BuildError, Built, Flavour, build_arm};
use crate::engine::SourceSet;
use crate::progress::Progress;
use crate::provision::torch::Torch;
use crate::series::TreePath;
use crate::share;
use crate::upstream::Version;
use std::ffi::OsString;
use std::path::PathBuf;

/// A device that torch loads by itself where its folder is on the interpreter's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpsDevice {
    /// What PYTHONPATH has to name: the folder that holds the Python package.
    pub folder: PathBuf,
    /// The library inside, and how it was made.
    pub built: Built,
}

impl MpsDevice {
    /// What a program of torch's interpreter needs in its environment to have the device.
    #[must_use]
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        vec![
            ("PYTHONPATH".into(), self.folder.clone().into()),
            // one order of summation, and no idle threads beside the simulated GPU's
            ("OMP_NUM_THREADS".into(), "1".into()),
        ]
    }
}

/// Builds the simulated mps device for one arm.
///
/// # Errors
/// As [`build_arm`], and when the wheel is not of the tree's version.
pub fn mps_device(
    sources: &SourceSet,
    torch: &Torch,
    name: &str,
    progress: &dyn Progress,
) -> Result<MpsDevice, BuildError> {
    check_pairing(&tree_version(sources)?, torch)?;
    let harness = share::root()?.join("harness").join("device");
    let built = build_arm(&harness, sources, torch, Flavour::Plain, name, progress)?;
    // the library lies in the package's own folder, one below
    let folder = built.program.ancestors().nth(2).map(PathBuf::from);
    Ok(MpsDevice {
        folder: folder.unwrap_or_default(),
        built,
    })
}

fn tree_version(sources: &SourceSet) -> Result<String, BuildError> {
    let missing = || BuildError::NoSource {
        path: "version.txt".to_owned(),
        place: "the tree",
    };
    let path = TreePath::new("version.txt").map_err(|_| missing())?;
    let bytes = sources.read(&path)?.ok_or_else(missing)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// A wheel's headers and private names fit the tree of its own release only.
fn check_pairing(tree: &str, torch: &Torch) -> Result<(), BuildError> {
    let release = torch.version.split('+').next().unwrap_or_default();
    if Version::of_tree(tree).is_some_and(|version| version.to_string() == release) {
        return Ok(());
    }
    Err(BuildError::WrongTorch {
        tree: tree.to_owned(),
        torch: torch.version.clone(),
        venv: torch.venv.clone(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::error::Explain;
    use crate::provision::torch::Abi;

    fn torch(version: &str) -> Torch {
        Torch {
            venv: "/venv".into(),
            python: "/venv/bin/python".into(),
            python_version: "3.11.2".into(),
            python_include: "/include".into(),
            folder: "/venv/torch".into(),
            version: version.into(),
            abi: Abi::Old,
        }
    }

    #[test]
    fn a_wheel_of_another_release_is_refused_with_the_mend() {
        assert!(check_pairing("2.6.0a0", &torch("2.6.0+cu124")).is_ok());
        assert!(check_pairing("2.6.0", &torch("2.6.0")).is_ok());
        let error = check_pairing("2.6.0a0", &torch("2.7.1+cpu")).unwrap_err();
        assert!(error.to_string().contains("2.7.1+cpu"));
        let hints = error.hints();
        assert!(hints.iter().any(|hint| hint.contains("doctor --provision")));
        assert!(check_pairing("nonsense", &torch("2.6.0")).is_err());
    }
}
