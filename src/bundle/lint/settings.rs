//! What the tree itself says about its linters: which files each looks at, which version runs, how wide a line may be.
use crate::series::TreePath;
use glob::{MatchOptions, Pattern};
use std::collections::BTreeMap;

/// Settings of the tree's linters.
#[derive(Debug, Default)]
pub struct Settings {
    linters: BTreeMap<String, Linter>,
    versions: BTreeMap<&'static str, String>,
    /// Files that the programs read, as the tree has them.
    pub files: BTreeMap<&'static str, Vec<u8>>,
    /// Columns of a line of Python.
    pub python_columns: usize,
    /// Columns of a line of C++ and Objective-C++.
    pub native_columns: usize,
}

/// Which files a linter looks at.
#[derive(Debug, Default)]
pub struct Linter {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

/// Settings that the programs read by themselves.
const READ: [&str; 3] = [".clang-format", "pyproject.toml", ".flake8"];
/// What upstream allows when the tree does not say.
const COLUMNS: usize = 120;

impl Settings {
    /// Reads them through `file`, which gives a file of the tree.
    pub fn read(mut file: impl FnMut(&str) -> Option<Vec<u8>>) -> Self {
        let mut text =
            |path: &str| file(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let lintrunner = text(".lintrunner.toml").unwrap_or_default();
        let binaries = text("tools/linter/adapters/s3_init_config.json").unwrap_or_default();
        let flake8 = text(".flake8").unwrap_or_default();
        let clang_format = text(".clang-format").unwrap_or_default();
        let mut versions = BTreeMap::new();
        for (name, version) in [
            ("clang-format", version_in_binaries(&binaries)),
            ("ruff", version_in_requirements(&lintrunner, "ruff")),
            ("flake8", version_in_requirements(&lintrunner, "flake8")),
        ] {
            if let Some(version) = version {
                versions.insert(name, version);
            }
        }
        let number = |text: &str, key: &str| {
            text.lines()
                .filter_map(|line| line.split_once([':', '=']))
                .filter(|(name, _)| name.trim() == key)
                .filter_map(|(_, value)| value.trim().parse().ok())
                .max()
        };
        Self {
            linters: linters(&lintrunner),
            versions,
            python_columns: python_columns(
                number(&flake8, "max-line-length").unwrap_or(COLUMNS),
                &flake8,
            ),
            native_columns: number(&clang_format, "ColumnLimit").unwrap_or(COLUMNS),
            files: READ
                .iter()
                .filter_map(|name| Some((*name, file(name)?)))
                .collect(),
        }
    }

    /// Whether a linter, by upstream's code for it, looks at a file. What upstream does not list, it does not lint; a tree
    /// without the list leaves all files to all.
    #[must_use]
    pub fn covers(&self, code: &str, path: &TreePath) -> bool {
        match self.linters.get(code) {
            Some(linter) => linter.covers(path),
            None => self.linters.is_empty(),
        }
    }

    /// The version of a program that upstream runs, where the tree says so.
    #[must_use]
    pub fn version(&self, program: &str) -> Option<&str> {
        self.versions.get(program).map(String::as_str)
    }
}

impl Linter {
    fn covers(&self, path: &TreePath) -> bool {
        let options = MatchOptions {
            require_literal_separator: true,
            ..MatchOptions::default()
        };
        let any = |patterns: &[Pattern]| {
            patterns
                .iter()
                .any(|pattern| pattern.matches_with(path.as_str(), options))
        };
        any(&self.include) && !any(&self.exclude)
    }
}

fn linters(lintrunner: &str) -> BTreeMap<String, Linter> {
    let Ok(table) = lintrunner.parse::<toml::Table>() else {
        return BTreeMap::new();
    };
    let patterns = |linter: &toml::Value, key: &str| -> Vec<Pattern> {
        let list = linter.get(key).and_then(toml::Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(toml::Value::as_str)
            // `**` alone means every file in it, and in the library's form only folders
            .map(|text| if text == "**" { "**/*" } else { text })
            .map(|text| match text.strip_suffix("/**") {
                Some(folder) => format!("{folder}/**/*"),
                None => text.to_owned(),
            })
            .filter_map(|text| Pattern::new(&text).ok())
            .collect()
    };
    let list = table.get("linter").and_then(toml::Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|linter| {
            let code = linter.get("code")?.as_str()?;
            Some((
                code.to_owned(),
                Linter {
                    include: patterns(linter, "include_patterns"),
                    exclude: patterns(linter, "exclude_patterns"),
                },
            ))
        })
        .collect()
}

/// B950, which upstream uses in place of E501, lets a line be a tenth longer.
fn python_columns(limit: usize, flake8: &str) -> usize {
    match flake8.contains("B950") {
        true => limit + limit / 10,
        false => limit,
    }
}

/// The version in the address of the binary that upstream downloads: `…/17.0.6/clang-format`.
fn version_in_binaries(text: &str) -> Option<String> {
    let config: serde_json::Value = serde_json::from_str(text).ok()?;
    let address = config
        .get("clang-format")?
        .get("Linux")?
        .get("download_url")?
        .as_str()?;
    address
        .split('/')
        .find(|part| is_version(part))
        .map(str::to_owned)
}

/// The version that `name==version` asks for.
fn version_in_requirements(text: &str, name: &str) -> Option<String> {
    let wanted = format!("{name}==");
    text.split(['\'', '"', '\n'])
        .filter_map(|part| part.trim().strip_prefix(&wanted))
        .find(|version| is_version(version))
        .map(str::to_owned)
}

fn is_version(text: &str) -> bool {
    text.split('.').count() >= 2
        && text
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::read(|path| {
            let text = match path {
                ".lintrunner.toml" => {
                    "[[linter]]\ncode = 'CLANGFORMAT'\ninclude_patterns = ['aten/src/ATen/mps/**/*.mm', 'c10/**']\n\
                     exclude_patterns = ['**/fb/**']\n[[linter]]\ncode = 'SPACES'\ninclude_patterns = ['**']\n\
                     [[linter]]\ncode = 'RUFF'\ninclude_patterns = ['**/*.py']\ninit_command = ['python3', 'ruff==0.7.4']\n"
                }
                "tools/linter/adapters/s3_init_config.json" => {
                    r#"{"clang-format": {"Linux": {"download_url": "https://x/linux64/17.0.6/clang-format"}}}"#
                }
                ".flake8" => "[flake8]\nmax-line-length = 100\n",
                ".clang-format" => "ColumnLimit:     80\n---\nLanguage: ObjC\nColumnLimit: 110\n",
                _ => return None,
            };
            Some(text.as_bytes().to_vec())
        })
    }

    #[test]
    fn the_tree_says_which_files_and_versions() {
        let settings = settings();
        let covers = |code: &str, path: &str| settings.covers(code, &TreePath::new(path).unwrap());
        assert!(covers("CLANGFORMAT", "aten/src/ATen/mps/MPSAllocator.mm"));
        assert!(covers("CLANGFORMAT", "c10/core/Device.h"));
        assert!(!covers("CLANGFORMAT", "c10/fb/Device.h"));
        assert!(!covers("CLANGFORMAT", "test/test_mps.py"));
        assert!(covers("SPACES", "test/test_mps.py"));
        assert!(!covers("UNKNOWN", "test/test_mps.py"));
        assert_eq!(settings.version("clang-format"), Some("17.0.6"));
        assert_eq!(settings.version("ruff"), Some("0.7.4"));
        assert_eq!(settings.version("flake8"), None);
        assert_eq!(
            (settings.python_columns, settings.native_columns),
            (100, 110)
        );
    }

    #[test]
    fn upstream_s_rule_for_long_lines_is_a_tenth_softer_than_its_number() {
        assert_eq!(python_columns(120, "max-line-length = 120"), 120);
        assert_eq!(python_columns(120, "# we're using B950 instead"), 132);
    }

    #[test]
    fn a_tree_that_says_nothing_leaves_all_files_to_all() {
        let settings = Settings::read(|_| None);
        assert!(settings.covers("CLANGFORMAT", &TreePath::new("a.mm").unwrap()));
        assert_eq!(settings.python_columns, 120);
        assert_eq!(settings.version("ruff"), None);
    }
}
