//! `recipe.toml`: what is compiled, what is rewritten on the way, with which flags.
use super::BuildError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

const SCHEMA: &str = "umpatch.recipe/1";

/// How a program is instrumented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flavour {
    /// Optimised, for all scenarios.
    Plain,
    /// With AddressSanitizer and UndefinedBehaviorSanitizer.
    Address,
    /// With ThreadSanitizer.
    Thread,
}

impl Flavour {
    /// Its name in recipes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Address => "asan",
            Self::Thread => "tsan",
        }
    }
}

/// A recipe. Its `requires` tables are read by [`crate::provision`].
#[derive(Debug, Deserialize)]
pub(super) struct Recipe {
    schema: String,
    pub output: Output,
    pub compiler: Compiler,
    #[serde(default)]
    pub language: BTreeMap<String, Flags>,
    pub flavour: BTreeMap<String, FlavourFlags>,
    pub tree: Tree,
    pub harness: Harness,
    #[serde(default)]
    pub generate: Vec<Generate>,
    pub package: Option<Package>,
    pub link: Flags,
}

#[derive(Debug, Deserialize)]
pub(super) struct Output {
    pub name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Compiler {
    pub program: String,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub defines: Vec<String>,
    /// Ours and the tree's: what they hold is part of every object's key.
    pub include: Vec<String>,
    #[serde(default)]
    pub system_include: Vec<String>,
    /// Searched after the compiler's own folders.
    #[serde(default)]
    pub last_include: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Flags {
    #[serde(default)]
    pub flags: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FlavourFlags {
    #[serde(default)]
    pub compile: Vec<String>,
    #[serde(default)]
    pub link: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Tree {
    /// Patterns of files that are put where the compiler sees them.
    pub staged: Vec<String>,
    /// Of these, the ones that are compiled by themselves.
    #[serde(default)]
    pub sources: Vec<String>,
    #[serde(default)]
    pub rewrite: Vec<Rewrite>,
}

/// A mechanical change of a tree's source, exact and counted.
#[derive(Debug, Deserialize)]
pub(super) struct Rewrite {
    pub file: String,
    pub find: String,
    pub replace: String,
    pub count: usize,
    pub why: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Harness {
    /// Patterns, relative to the recipe's folder.
    pub sources: Vec<String>,
    #[serde(default)]
    pub flags: Vec<FileFlags>,
}

/// Flags of a single file.
#[derive(Debug, Deserialize)]
pub(super) struct FileFlags {
    pub file: String,
    pub flags: Vec<String>,
}

/// A program whose standard output is a file that sources include, from the folder `{generated}`.
#[derive(Debug, Deserialize)]
pub(super) struct Generate {
    pub command: Vec<String>,
    pub output: String,
    /// Files of the tree that it reads, below `{tree_root}`.
    #[serde(default)]
    pub inputs: Vec<String>,
}

/// What goes beside the output, so that its folder can be used as it is.
#[derive(Debug, Deserialize)]
pub(super) struct Package {
    /// Patterns, relative to the recipe's folder.
    pub files: Vec<String>,
    /// A JSON file that says what it was built for.
    pub description: Option<String>,
}

impl Recipe {
    /// Reads the recipe of a harness folder.
    pub fn read(harness: &Path) -> Result<Self, BuildError> {
        let path = harness.join("recipe.toml");
        let broken = |source: Box<dyn std::error::Error + Send + Sync>| BuildError::Recipe {
            path: path.clone(),
            source,
        };
        let text = std::fs::read_to_string(&path).map_err(|error| broken(error.into()))?;
        let recipe: Self = toml::from_str(&text).map_err(|error| broken(error.into()))?;
        if recipe.schema != SCHEMA {
            return Err(broken(
                format!("its schema is {}, not {SCHEMA}", recipe.schema).into(),
            ));
        }
        Ok(recipe)
    }

    /// The folders of the tree that staging reads, and the files that generators do.
    pub fn tree_paths(&self) -> Vec<String> {
        let mut paths = self.tree_folders();
        paths.extend(
            self.generate
                .iter()
                .flat_map(|generate| generate.inputs.clone()),
        );
        paths
    }

    /// The folders of the tree that staging reads.
    pub fn tree_folders(&self) -> Vec<String> {
        let mut folders: Vec<String> = self
            .tree
            .staged
            .iter()
            .map(|pattern| match pattern.rsplit_once('/') {
                Some((folder, _)) => folder.to_owned(),
                None => String::new(),
            })
            .collect();
        folders.sort();
        folders.dedup();
        // a folder brings those below it
        let all = folders.clone();
        folders.retain(|folder| {
            !all.iter().any(|other| {
                folder
                    .strip_prefix(other.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
            })
        });
        folders
    }

    /// Flags by a source's language, named by its extension, and by the file.
    pub fn flags_of<'a>(
        &'a self,
        relative: &str,
        flavour: Flavour,
    ) -> impl Iterator<Item = &'a String> {
        let extension = relative.rsplit('.').next().unwrap_or_default();
        let language = self.language.get(extension).map(|language| &language.flags);
        let flavoured = self.flavour.get(flavour.name()).map(|flags| &flags.compile);
        let file: Vec<&String> = self
            .harness
            .flags
            .iter()
            .filter(|of| of.file == relative)
            .flat_map(|of| &of.flags)
            .collect();
        self.compiler
            .flags
            .iter()
            .chain(language.into_iter().flatten())
            .chain(flavoured.into_iter().flatten())
            .chain(file)
    }
}
