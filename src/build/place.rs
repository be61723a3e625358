//! Where things are on this machine: what a recipe's placeholders stand for.
use super::recipe::Recipe;
use super::{BuildError, BuildRequest};
use crate::provision::Gcc;
use crate::run::process::Program;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The values of placeholders, and the identity of what is not read byte by byte.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub harness: PathBuf,
    /// The staged files of the tree.
    pub tree: PathBuf,
    /// The tree itself, as far as the recipe wants it.
    tree_root: PathBuf,
    torch: PathBuf,
    torch_version: String,
    python: PathBuf,
    python_include: PathBuf,
    abi: &'static str,
    gcc: Option<PathBuf>,
    generated: Option<PathBuf>,
    /// The versions of the compiler, torch and GCC: they stand for the system's headers.
    pub versions: String,
}

impl Place {
    pub fn new(
        request: &BuildRequest<'_>,
        tree: &Path,
        recipe: &Recipe,
    ) -> Result<Self, BuildError> {
        let compiler = Program::new(&recipe.compiler.program)
            .arg("--version")
            .limit(Duration::from_secs(60))
            .run()?;
        let gcc = Gcc::newest(Path::new("/usr/lib/gcc"));
        let versions = format!(
            "{}\ntorch {} abi {}\ngcc {}\n{}",
            compiler.text().lines().next().unwrap_or_default(),
            request.torch.version,
            request.torch.abi.define(),
            gcc.as_ref().map_or(0, |gcc| gcc.version),
            std::env::consts::ARCH,
        );
        Ok(Self {
            harness: request.harness.to_owned(),
            tree: tree.to_owned(),
            tree_root: request.tree.to_owned(),
            torch_version: request.torch.version.clone(),
            torch: request.torch.folder.clone(),
            python: request.torch.python.clone(),
            python_include: request.torch.python_include.clone(),
            abi: request.torch.abi.define(),
            gcc: gcc.map(|gcc| gcc.folder),
            generated: None,
            versions,
        })
    }

    pub fn with_generated(mut self, folder: Option<PathBuf>) -> Self {
        self.generated = folder;
        self
    }

    /// A text of the recipe with its placeholders filled in.
    pub fn expand(&self, text: &str) -> Result<String, BuildError> {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            result.push_str(before);
            let Some((name, tail)) = after.split_once('}') else {
                result.push('{');
                rest = after;
                continue;
            };
            result.push_str(&self.value(name)?);
            rest = tail;
        }
        result.push_str(rest);
        Ok(result)
    }

    pub fn expand_all<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a String>,
    ) -> Result<Vec<String>, BuildError> {
        texts.into_iter().map(|text| self.expand(text)).collect()
    }

    fn value(&self, name: &str) -> Result<String, BuildError> {
        let path = match name {
            "harness" => Some(&self.harness),
            "tree" => Some(&self.tree),
            "tree_root" => Some(&self.tree_root),
            "torch" => Some(&self.torch),
            "python" => Some(&self.python),
            "python_include" => Some(&self.python_include),
            "gcc" => self.gcc.as_ref(),
            "generated" => self.generated.as_ref(),
            "abi" => return Ok(self.abi.to_owned()),
            _ => None,
        };
        path.map(|path| path.display().to_string())
            .ok_or_else(|| BuildError::Placeholder {
                name: name.to_owned(),
            })
    }

    /// What the output is built for, as JSON: the whole version of torch, the tree's, and the C++ ABI.
    pub fn description(&self) -> String {
        let tree = self.torch_version.split('+').next().unwrap_or_default();
        let description = serde_json::json!({
            "torch": self.torch_version,
            "tree": tree,
            "abi": u8::from(self.abi == "1"),
        });
        format!("{description}\n")
    }

    /// A path as messages and keys show it: relative to the tree or the harness where it is inside.
    pub fn short(&self, path: &Path) -> String {
        let inside = |root: &Path| {
            path.strip_prefix(root)
                .ok()
                .map(|p| p.display().to_string())
        };
        inside(&self.tree)
            .or_else(|| inside(&self.harness).map(|p| format!("harness/{p}")))
            .or_else(|| {
                let siblings = self.harness.parent()?;
                inside(siblings).map(|p| format!("harness/{p}"))
            })
            .or_else(|| {
                let generated = self.generated.as_deref()?;
                inside(generated).map(|p| format!("generated/{p}"))
            })
            .unwrap_or_else(|| path.display().to_string())
    }
}
