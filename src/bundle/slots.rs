//! The places of a pull request that a person has to fill: they stand out, and are counted.

/// What an empty slot says. Whoever fills it replaces the whole line.
pub const EMPTY: &str = "TO BE FILLED BY A PERSON";

/// An empty slot: a line that says what belongs there.
#[must_use]
pub fn slot(what: &str) -> String {
    format!("> **{EMPTY}**: {what}\n")
}

/// How many slots of a text are empty.
#[must_use]
pub fn empty(text: &str) -> usize {
    text.matches(EMPTY).count()
}
