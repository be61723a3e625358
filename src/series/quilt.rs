//! A quilt `series` file: one patch a line, `#` begins a comment, options after the name.

/// Why a line of a `series` file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("series:{line}: the option {option:?} is not supported")]
pub struct QuiltError {
    line: usize,
    option: String,
}

/// The file names in a `series` file, in order.
///
/// # Errors
/// When a patch has an option that would change its meaning. Strip levels 0, 1 and `ab` need none: paths are recognised.
pub fn parse(text: &str) -> Result<Vec<String>, QuiltError> {
    let mut names = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = match line.find('#') {
            Some(0) => "",
            Some(at) if line[..at].ends_with([' ', '\t']) => &line[..at],
            _ => line,
        };
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        if let Some(option) = words.find(|option| !matches!(*option, "-p0" | "-p1" | "-pab")) {
            return Err(QuiltError {
                line: index + 1,
                option: option.to_owned(),
            });
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strip_levels_are_understood() {
        let text = "# all\n\na.patch\n  b.diff -p1 # why\r\nc#d.patch\n";
        assert_eq!(parse(text).unwrap(), ["a.patch", "b.diff", "c#d.patch"]);
        assert!(parse("a.patch -R").is_err());
        assert!(parse("a.patch -p2").is_err());
    }
}
