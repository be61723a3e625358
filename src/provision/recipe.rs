//! What the build recipes of the harness say that the machine must have.
use super::item::{Item, Mend, Need};
use super::program::on_path;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The part of a recipe that concerns the machine.
#[derive(Debug, Default, Deserialize)]
struct Recipe {
    #[serde(default)]
    requires: Requires,
}

#[derive(Debug, Default, Deserialize)]
struct Requires {
    #[serde(default)]
    program: Vec<Program>,
    #[serde(default)]
    file: Vec<File>,
}

#[derive(Debug, Deserialize)]
struct Program {
    name: String,
    package: String,
}

#[derive(Debug, Deserialize)]
struct File {
    path: String,
    package: String,
}

/// The library folder of the newest GCC, whose Objective-C headers and C++ library the compiler uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gcc {
    /// Such as `/usr/lib/gcc/x86_64-linux-gnu/12`.
    pub folder: PathBuf,
    /// Its version, the number that its packages' names hold.
    pub version: u32,
}

impl Gcc {
    /// Finds it below `root` (the machine's `/usr/lib/gcc`).
    #[must_use]
    pub fn newest(root: &Path) -> Option<Self> {
        let folders = |path: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(path)
                .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
                .unwrap_or_default()
        };
        folders(root)
            .iter()
            .flat_map(|target| folders(target))
            .filter_map(|folder| {
                let name = folder.file_name()?.to_str()?;
                let version = name.split('.').next()?.parse().ok()?;
                // a folder with nothing of the C++ library is a leftover or a cross compiler's
                folder
                    .join("libgcc.a")
                    .is_file()
                    .then_some(Self { folder, version })
            })
            .max_by_key(|gcc| gcc.version)
    }
}

/// What the recipes in `harness` (`*/recipe.toml`) ask for, without doubles. A recipe that cannot be read is told as wrong.
#[must_use]
pub fn examine(harness: &Path, gcc: Option<&Gcc>) -> Vec<Item> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(harness)
        .map(|entries| {
            entries
                .flatten()
                .map(|entry| entry.path().join("recipe.toml"))
                .filter(|path| path.is_file())
                .collect()
        })
        .unwrap_or_default();
    paths.sort();
    let mut items: Vec<Item> = Vec::new();
    for path in paths {
        let recipe = std::fs::read_to_string(&path)
            .map_err(|error| error.to_string())
            .and_then(|text| toml::from_str::<Recipe>(&text).map_err(|error| error.to_string()));
        let found = match recipe {
            Ok(recipe) => required(&recipe.requires, gcc),
            Err(error) => vec![Item::wrong(
                "recipe",
                Need::SimulatedDevice,
                format!("{} cannot be read: {error}", path.display()),
                Mend::ByHand("install umpatch again".to_owned()),
            )],
        };
        for item in found {
            if !items.iter().any(|other| other.id == item.id) {
                items.push(item);
            }
        }
    }
    items
}

fn required(requires: &Requires, gcc: Option<&Gcc>) -> Vec<Item> {
    let programs = requires.program.iter().map(|program| {
        let id = &program.name;
        match on_path(id) {
            Some(path) => Item::ok(id, Need::SimulatedDevice, path.display().to_string()),
            None => Item::missing(
                id,
                Need::SimulatedDevice,
                "no such program on the path",
                Mend::Package(program.package.clone()),
            ),
        }
    });
    // the interpreter's headers are examined with the interpreter: `python3-headers`
    let files = requires
        .file
        .iter()
        .filter(|file| !file.path.contains("{python_include}"))
        .map(|file| required_file(file, gcc));
    programs.chain(files).collect()
}

fn required_file(file: &File, gcc: Option<&Gcc>) -> Item {
    let id = file.package.trim_end_matches("-dev").to_owned();
    let package = match gcc {
        Some(gcc) if file.path.contains("{gcc}") => for_version(&file.package, gcc.version),
        _ => file.package.clone(),
    };
    let path = match gcc {
        Some(gcc) => file.path.replace("{gcc}", &gcc.folder.to_string_lossy()),
        None => file.path.clone(),
    };
    if Path::new(&path).exists() {
        Item::ok(id, Need::SimulatedDevice, path)
    } else {
        let found = if path.contains("{gcc}") {
            "there is no GCC library folder".to_owned()
        } else {
            format!("{path} is not there")
        };
        Item::missing(id, Need::SimulatedDevice, found, Mend::Package(package))
    }
}

/// The package's name for another version of GCC: `libobjc-12-dev` is `libobjc-14-dev` for 14.
fn for_version(package: &str, version: u32) -> String {
    package
        .split('-')
        .map(|part| match part.parse::<u32>() {
            Ok(_) => version.to_string(),
            Err(_) => part.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provision::item::State;

    fn harness(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("metal")).unwrap();
        std::fs::write(folder.path().join("metal/recipe.toml"), text).unwrap();
        folder
    }

    #[test]
    fn a_recipe_names_what_is_missing_and_its_package() {
        let harness = harness(
            "schema = \"x\"\n[[requires.program]]\nname = \"sh\"\npackage = \"dash\"\n\
             [[requires.program]]\nname = \"no-such-compiler\"\npackage = \"compiler-16\"\n\
             [[requires.file]]\npath = \"{gcc}/include/objc/objc.h\"\npackage = \"libobjc-12-dev\"\n",
        );
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("some-target/14");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libgcc.a"), "").unwrap();
        std::fs::create_dir_all(root.path().join("some-target/15")).unwrap();
        let gcc = Gcc::newest(root.path()).unwrap();
        assert_eq!(gcc.version, 14);
        let items = examine(harness.path(), Some(&gcc));
        assert_eq!(items.len(), 3);
        assert_eq!(items[0].state, State::Ok);
        assert_eq!(items[1].mend, Some(Mend::Package("compiler-16".to_owned())));
        assert_eq!(
            items[2].mend,
            Some(Mend::Package("libobjc-14-dev".to_owned()))
        );
        assert!(items[2].blocks());
        let items = examine(harness.path(), None);
        assert_eq!(
            items[2].mend,
            Some(Mend::Package("libobjc-12-dev".to_owned()))
        );
    }

    #[test]
    fn a_broken_recipe_is_told() {
        let harness = harness("[[requires.program]]\nname = 3\n");
        let items = examine(harness.path(), None);
        assert_eq!(items[0].state, State::Wrong);
    }
}
