//! Names of mutants: from what a line says, not from where it is, so that they survive when lines move.
use super::generate::Mutant;
use super::operator::Operator;
use std::collections::BTreeMap;

/// More letters of a line than this are not needed to tell it from others.
const LONGEST: usize = 56;

/// `patch/operator/file/function:what-the-line-says`.
#[must_use]
pub fn stem(patch: &str, operator: Operator, file: &str, within: &str, line: &str) -> String {
    let file = file.rsplit('/').next().unwrap_or(file);
    let within = if within.is_empty() { "file" } else { within };
    format!("{patch}/{operator}/{file}/{within}:{}", slug(line))
}

/// The words of a line, joined by hyphens.
fn slug(line: &str) -> String {
    let mut slug = String::new();
    for letter in line.chars() {
        if letter.is_alphanumeric() || letter == '_' {
            slug.push(letter);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    let end = slug
        .char_indices()
        .nth(LONGEST)
        .map_or(slug.len(), |(at, _)| at);
    slug[..end].trim_end_matches('-').to_owned()
}

/// Tells those with the same name apart, in the order in which they stand.
pub fn number(mutants: &mut [Mutant]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for mutant in mutants {
        let count = seen.entry(mutant.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            mutant.name = format!("{}~{count}", mutant.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_says_what_the_line_says() {
        assert_eq!(
            stem(
                "pending-free",
                Operator::FlipComparison,
                "aten/src/MPSAllocator.mm",
                "free_buffer",
                "if (b->retainCount() > 1) {"
            ),
            "pending-free/flip-comparison/MPSAllocator.mm/free_buffer:if-b-retainCount-1"
        );
    }

    proptest! {
        #[test]
        fn any_line_gives_a_plain_word(line in ".{0,200}") {
            let slug = slug(&line);
            prop_assert!(slug.chars().count() <= LONGEST);
            prop_assert!(!slug.contains([' ', '/', ':', '~']));
        }
    }
}
