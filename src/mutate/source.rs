//! A text with its tokens: those that mean something by number, their words, lines, and the bracket that closes each.
use super::lexer::{self, Kind};
use std::collections::HashMap;
use std::ops::Range;

/// A source file.
#[derive(Debug)]
pub struct Source<'a> {
    /// Its text.
    pub text: &'a str,
    tokens: Vec<lexer::Token>,
    partners: HashMap<usize, usize>,
    line_starts: Vec<usize>,
}

impl<'a> Source<'a> {
    /// Reads a text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let tokens: Vec<lexer::Token> = lexer::tokens(text)
            .into_iter()
            .filter(|token| !matches!(token.kind, Kind::Space | Kind::Comment | Kind::Directive))
            .collect();
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let mut source = Self {
            text,
            tokens,
            partners: HashMap::new(),
            line_starts,
        };
        source.partners = source.pair();
        source
    }

    /// Brackets by their partners, both ways; one that is never closed has none.
    fn pair(&self) -> HashMap<usize, usize> {
        let mut partners = HashMap::new();
        let mut open: Vec<(usize, &str)> = Vec::new();
        for at in 0..self.tokens.len() {
            let close = match self.word(at) {
                "(" => ")",
                "[" => "]",
                "{" => "}",
                ")" | "]" | "}" => {
                    if open
                        .last()
                        .is_some_and(|(_, close)| *close == self.word(at))
                        && let Some((start, _)) = open.pop()
                    {
                        partners.insert(start, at);
                        partners.insert(at, start);
                    }
                    continue;
                }
                _ => continue,
            };
            open.push((at, close));
        }
        partners
    }

    /// How many tokens there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.tokens.len()
    }

    /// The text of a token; empty past the end.
    #[must_use]
    pub fn word(&self, token: usize) -> &'a str {
        self.tokens
            .get(token)
            .map_or("", |token| &self.text[token.range.clone()])
    }

    /// The kind of a token; a mark past the end.
    #[must_use]
    pub fn kind(&self, token: usize) -> Kind {
        self.tokens
            .get(token)
            .map_or(Kind::Mark, |token| token.kind)
    }

    /// The bytes from the first of these tokens to the last.
    #[must_use]
    pub fn bytes(&self, tokens: &Range<usize>) -> Range<usize> {
        let edge = |token: usize| self.tokens.get(token).map(|token| token.range.clone());
        match (edge(tokens.start), tokens.end.checked_sub(1).and_then(edge)) {
            (Some(first), Some(last)) if first.start <= last.end => first.start..last.end,
            (Some(first), _) => first.start..first.start,
            _ => self.text.len()..self.text.len(),
        }
    }

    /// The text of these tokens with all that is between them.
    #[must_use]
    pub fn slice(&self, tokens: &Range<usize>) -> &'a str {
        &self.text[self.bytes(tokens)]
    }

    /// The bracket that belongs to a bracket.
    #[must_use]
    pub fn partner(&self, token: usize) -> Option<usize> {
        self.partners.get(&token).copied()
    }

    /// The bracket that closes the one that opens here.
    #[must_use]
    pub fn closing(&self, token: usize) -> Option<usize> {
        self.partner(token).filter(|partner| *partner > token)
    }

    /// The line of a token, from 0.
    #[must_use]
    pub fn line_of(&self, token: usize) -> usize {
        let start = self.bytes(&(token..token + 1)).start;
        self.line_starts
            .partition_point(|line| *line <= start)
            .saturating_sub(1)
    }

    /// The text of a line, trimmed.
    #[must_use]
    pub fn line(&self, line: usize) -> &'a str {
        let start = self
            .line_starts
            .get(line)
            .copied()
            .unwrap_or(self.text.len());
        self.text[start..].lines().next().unwrap_or_default().trim()
    }

    /// Whether there is white space before and after a token: how formatted code tells `a < b` from `set<b>`.
    #[must_use]
    pub fn is_spaced(&self, token: usize) -> bool {
        let bytes = self.bytes(&(token..token + 1));
        let blank = |letter: Option<char>| letter.is_some_and(char::is_whitespace);
        blank(self.text[..bytes.start].chars().next_back())
            && blank(self.text[bytes.end..].chars().next())
    }

    /// The first of these tokens that is the given word outside of all brackets.
    #[must_use]
    pub fn find(&self, tokens: &Range<usize>, word: &str) -> Option<usize> {
        self.outside(tokens).find(|at| self.word(*at) == word)
    }

    /// The tokens that are outside of all brackets that open among them; the brackets themselves are among them.
    pub fn outside<'s>(
        &'s self,
        tokens: &Range<usize>,
    ) -> impl Iterator<Item = usize> + use<'s, 'a> {
        let end = tokens.end;
        let mut at = tokens.start;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let now = at;
            at = match self.word(now) {
                "(" | "[" | "{" => self.partner(now).unwrap_or(now + 1).max(now + 1),
                _ => now + 1,
            };
            Some(now)
        })
    }
}
