//! The command line that explores the same sources again.
use crate::build::Flavour;
use crate::share;
use std::path::Path;

/// Whose sources are explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sources<'a> {
    /// The tree without patches.
    Stock,
    /// The tree with the series that fits it.
    Series,
    /// The tree with the patches of a folder.
    Patches(&'a Path),
}

/// The command, but for the tree and the seed. A stage of `verify` has no cases: their scenarios are stages of their own.
#[must_use]
pub fn again(sources: Sources<'_>, flavour: Flavour) -> String {
    let sources = match sources {
        Sources::Stock => "--arm stock".to_owned(),
        Sources::Series => "--arm series --without cases".to_owned(),
        Sources::Patches(folder) => {
            format!("--patches-from {} --without cases", share::worded(folder))
        }
    };
    let sanitizer = match flavour {
        Flavour::Plain => "",
        Flavour::Address => " --sanitizer asan",
        Flavour::Thread => " --sanitizer tsan",
    };
    format!("umpatch explore {sources}{sanitizer}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_sources_and_sanitizer() {
        assert_eq!(
            again(Sources::Stock, Flavour::Plain),
            "umpatch explore --arm stock"
        );
        assert_eq!(
            again(Sources::Patches(Path::new("/nowhere/x")), Flavour::Thread),
            "umpatch explore --patches-from /nowhere/x --without cases --sanitizer tsan"
        );
    }
}
