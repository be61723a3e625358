//! One object to have: its source, its compiler's arguments, and the key by which the cache knows it.
use super::BuildError;
use super::includes::Includes;
use super::pattern;
use super::place::Place;
use super::recipe::{Flavour, Recipe};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// An object, made or to be made.
#[derive(Debug)]
pub(super) struct Job {
    /// The source as messages show it.
    pub name: String,
    pub source: PathBuf,
    pub compiler: String,
    /// All arguments but `-c SOURCE -o OBJECT`.
    pub arguments: Vec<String>,
    pub key: String,
    pub object: PathBuf,
    /// How long it may take, in no unit.
    pub weight: usize,
}

struct Source {
    path: PathBuf,
    /// As the recipe names it.
    relative: String,
}

/// All objects of a recipe, in the order in which they are linked.
pub(super) fn plan(
    recipe: &Recipe,
    place: &Place,
    flavour: Flavour,
    objects: &Path,
) -> Result<Vec<Job>, BuildError> {
    let include = place.expand_all(&recipe.compiler.include)?;
    let mut includes = Includes::new(include.iter().map(PathBuf::from).collect());
    sources(recipe, place)?
        .into_iter()
        .map(|source| job(recipe, place, flavour, objects, &mut includes, source))
        .collect()
}

fn sources(recipe: &Recipe, place: &Place) -> Result<Vec<Source>, BuildError> {
    let mut sources: Vec<Source> = recipe
        .tree
        .sources
        .iter()
        .map(|relative| Source {
            path: place.tree.join(relative),
            relative: relative.clone(),
        })
        .collect();
    for wanted in &recipe.harness.sources {
        let found = pattern::files(&place.harness, wanted);
        if found.is_empty() {
            return Err(BuildError::NoSource {
                path: wanted.clone(),
                place: "the harness",
            });
        }
        sources.extend(found.into_iter().map(|relative| Source {
            path: place.harness.join(&relative),
            relative,
        }));
    }
    Ok(sources)
}

fn job(
    recipe: &Recipe,
    place: &Place,
    flavour: Flavour,
    objects: &Path,
    includes: &mut Includes,
    source: Source,
) -> Result<Job, BuildError> {
    let flags: Vec<&String> = recipe.flags_of(&source.relative, flavour).collect();
    let mut roots = vec![source.path.clone()];
    for pair in flags.windows(2) {
        if pair[0] == "-include" {
            roots.push(PathBuf::from(place.expand(pair[1])?));
        }
    }
    let closure = includes.closure(&roots)?;
    let mut hasher = Sha256::new();
    let mut add = |part: &[u8]| {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    add(place.versions.as_bytes());
    add(recipe.compiler.program.as_bytes());
    // unexpanded: where the cache and the harness lie must not matter
    for text in flags
        .iter()
        .copied()
        .chain(&recipe.compiler.defines)
        .chain(&recipe.compiler.include)
        .chain(&recipe.compiler.system_include)
        .chain(&recipe.compiler.last_include)
    {
        add(text.as_bytes());
    }
    add(place.short(&source.path).as_bytes());
    for file in &closure.files {
        add(place.short(file).as_bytes());
        add(&std::fs::read(file).map_err(BuildError::read(file))?);
    }
    let key = hex::encode(&hasher.finalize()[..16]);
    Ok(Job {
        name: place.short(&source.path),
        source: source.path,
        compiler: recipe.compiler.program.clone(),
        arguments: arguments(recipe, place, &flags)?,
        object: objects.join(format!("{key}.o")),
        key,
        weight: closure.of_torch,
    })
}

fn arguments(recipe: &Recipe, place: &Place, flags: &[&String]) -> Result<Vec<String>, BuildError> {
    let mut arguments = place.expand_all(flags.iter().copied())?;
    for define in &recipe.compiler.defines {
        arguments.push(format!("-D{}", place.expand(define)?));
    }
    let folders = [
        ("-I", &recipe.compiler.include),
        ("-isystem", &recipe.compiler.system_include),
        ("-idirafter", &recipe.compiler.last_include),
    ];
    for (option, folders) in folders {
        for folder in folders {
            arguments.push(format!("{option}{}", place.expand(folder)?));
        }
    }
    // an object is the same wherever the cache lies
    arguments.push(format!("-ffile-prefix-map={}=tree", place.tree.display()));
    arguments.push(format!(
        "-ffile-prefix-map={}=harness",
        place.harness.display()
    ));
    Ok(arguments)
}
