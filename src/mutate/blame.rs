//! Which patch each line of the patched text comes from.
use similar::{Algorithm, ChangeTag, TextDiff};

/// A text after a patch.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The patch's id.
    pub patch: String,
    /// What the file holds after it and those before it.
    pub text: String,
}

/// The patch of each line of the last stage, by the stage's number; nothing for stock's own lines.
#[must_use]
pub fn blame(stock: &str, stages: &[Stage]) -> Vec<Option<usize>> {
    let mut before = stock;
    let mut owners: Vec<Option<usize>> = stock.lines().map(|_| None).collect();
    for (number, stage) in stages.iter().enumerate() {
        let diff = TextDiff::configure()
            .algorithm(Algorithm::Patience)
            .diff_lines(before, &stage.text);
        owners = diff
            .iter_all_changes()
            .filter(|change| change.tag() != ChangeTag::Delete)
            .map(|change| match change.tag() {
                ChangeTag::Equal => change
                    .old_index()
                    .and_then(|line| owners.get(line).copied().flatten()),
                _ => Some(number),
            })
            .collect();
        before = &stage.text;
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stage(patch: &str, text: &str) -> Stage {
        Stage {
            patch: patch.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn the_last_patch_that_wrote_a_line_owns_it() {
        let stages = [
            stage("one", "a\nx\nb\n"),
            stage("two", "a\nx\ny\nb\n"),
            stage("three", "a\nz\ny\nb\n"),
        ];
        assert_eq!(blame("a\nb\n", &stages), [None, Some(2), Some(1), None]);
    }

    proptest! {
        #[test]
        fn every_line_has_its_answer(texts in proptest::collection::vec("[ab\\n]{0,20}", 1..5)) {
            let stages: Vec<Stage> = texts[1..].iter().map(|text| stage("p", text)).collect();
            let last = texts.last().unwrap();
            prop_assert_eq!(blame(&texts[0], &stages).len(), last.lines().count());
        }
    }
}
