//! Splits C++ and Objective-C++ into tokens that cover every byte. Nothing is understood but where words, numbers, marks,
//! texts, comments and preprocessor lines begin and end: that is what keeps a mutation out of strings and comments.
use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or keyword.
    Word,
    /// A number.
    Number,
    /// A string or character, raw ones and those of Objective-C too.
    Text,
    /// An operator or a bracket.
    Mark,
    /// White space.
    Space,
    /// A comment.
    Comment,
    /// A whole preprocessor line, continued lines included.
    Directive,
}

/// A token and the bytes that it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it is.
    pub range: Range<usize>,
}

/// Marks of several characters, the longest first. `>>` is not among them: it closes two templates more often than it shifts.
const MARKS: [&str; 23] = [
    "->*", "...", "<<=", ">>=", "::", "->", "++", "--", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<",
];

/// Splits a text.
#[must_use]
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut line_is_blank = true;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (kind, length) = next(rest, line_is_blank);
        let range = at..at + length;
        line_is_blank = match kind {
            Kind::Space => line_is_blank || text[range.clone()].contains('\n'),
            Kind::Directive => false,
            Kind::Comment => line_is_blank,
            _ => false,
        };
        at = range.end;
        tokens.push(Token { kind, range });
    }
    tokens
}

/// The kind and length of the token that a text begins with.
fn next(rest: &str, line_is_blank: bool) -> (Kind, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    if first.is_whitespace() {
        return (Kind::Space, run(rest, char::is_whitespace));
    }
    if rest.starts_with("//") {
        return (Kind::Comment, line(rest));
    }
    if let Some(inside) = rest.strip_prefix("/*") {
        let end = inside.find("*/").map_or(rest.len(), |end| end + 4);
        return (Kind::Comment, end);
    }
    if first == '#' && line_is_blank {
        return (Kind::Directive, line(rest));
    }
    if let Some(length) = raw_text(rest) {
        return (Kind::Text, length);
    }
    if let Some(length) = plain_text(rest) {
        return (Kind::Text, length);
    }
    if first.is_ascii_digit() {
        return (Kind::Number, number(rest));
    }
    if is_word(first) {
        return (Kind::Word, run(rest, is_word));
    }
    let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
    (Kind::Mark, mark.map_or(first.len_utf8(), |mark| mark.len()))
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

fn run(rest: &str, part: impl Fn(char) -> bool) -> usize {
    rest.find(|letter| !part(letter)).unwrap_or(rest.len())
}

/// The rest of a line, and of those that a backslash joins to it.
fn line(rest: &str) -> usize {
    let mut at = 0;
    while let Some(end) = rest[at..].find('\n') {
        let so_far = rest[..at + end].trim_end_matches('\r');
        if !so_far.ends_with('\\') {
            return at + end;
        }
        at += end + 1;
    }
    rest.len()
}

/// Digits, suffixes, separators, exponents with their sign.
fn number(rest: &str) -> usize {
    let mut before = ' ';
    for (at, letter) in rest.char_indices() {
        let goes_on = is_word(letter)
            || letter == '.'
            || letter == '\''
            || (matches!(letter, '+' | '-') && matches!(before, 'e' | 'E' | 'p' | 'P'));
        if !goes_on {
            return at;
        }
        before = letter;
    }
    rest.len()
}

/// `R"x(…)x"`.
fn raw_text(rest: &str) -> Option<usize> {
    let body = ["R\"", "u8R\"", "LR\"", "uR\"", "UR\""]
        .iter()
        .find_map(|prefix| rest.strip_prefix(prefix))?;
    let (delimiter, inside) = body.split_once('(')?;
    if delimiter.len() > 16 || delimiter.contains(['"', '\n', ' ', '\\']) {
        return None;
    }
    let close = format!("){delimiter}\"");
    let before = rest.len() - inside.len();
    Some(
        inside
            .find(&close)
            .map_or(rest.len(), |end| before + end + close.len()),
    )
}

/// `"…"`, `'…'`, `@"…"`, with a prefix or without. An open one ends with its line.
fn plain_text(rest: &str) -> Option<usize> {
    let prefix = ["@", "u8", "L", "u", "U", ""]
        .iter()
        .find(|prefix| {
            rest.strip_prefix(**prefix)
                .is_some_and(|rest| rest.starts_with(['"', '\'']))
        })?
        .len();
    let quote = rest[prefix..].chars().next()?;
    let mut escaped = false;
    for (at, letter) in rest[prefix + 1..].char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return Some(prefix + 1 + at),
            _ if letter == quote => return Some(prefix + 1 + at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> Vec<(Kind, &str)> {
        tokens(text)
            .into_iter()
            .filter(|token| token.kind != Kind::Space)
            .map(|token| (token.kind, &text[token.range]))
            .collect()
    }

    #[test]
    fn texts_comments_and_directives_are_whole() {
        use Kind::{Comment, Directive, Mark, Text, Word};
        assert_eq!(
            shown(
                "#define A(x) \\\n  x < 1\nf(@\"a < b\", 'c', \"\\\"\"); // a && b\n/* x == y */ R\"q(\")q\""
            ),
            [
                (Directive, "#define A(x) \\\n  x < 1"),
                (Word, "f"),
                (Mark, "("),
                (Text, "@\"a < b\""),
                (Mark, ","),
                (Text, "'c'"),
                (Mark, ","),
                (Text, "\"\\\"\""),
                (Mark, ")"),
                (Mark, ";"),
                (Comment, "// a && b"),
                (Comment, "/* x == y */"),
                (Text, "R\"q(\")q\""),
            ]
        );
    }

    #[test]
    fn marks_are_as_long_as_they_can_be() {
        let marks: Vec<&str> = shown("a->b <= c && d>>e ++f 1e-3f 0x1'000u")
            .iter()
            .map(|token| token.1)
            .collect();
        assert_eq!(
            marks,
            [
                "a", "->", "b", "<=", "c", "&&", "d", ">", ">", "e", "++", "f", "1e-3f", "0x1'000u"
            ]
        );
    }

    proptest! {
        #[test]
        fn tokens_cover_every_byte(text in "([a-z0-9_ \\n\\\\\"'#@(){}<>=&|;/*+.-]|é|R\"\\(|//|/\\*){0,80}") {
            let tokens = tokens(&text);
            let mut at = 0;
            for token in &tokens {
                prop_assert_eq!(token.range.start, at);
                prop_assert!(token.range.end > at);
                at = token.range.end;
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
