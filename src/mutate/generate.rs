//! From a patched source to its mutants: each operator at each place that the patches wrote.
use super::blame::{Stage, blame};
use super::lexer::Kind;
use super::names;
use super::operator::{Operator, mistaken, twins};
use super::sites::{Shape, Site, sites};
use super::source::Source;
use serde::Serialize;
use std::ops::Range;

/// One fault, planted at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mutant {
    /// Its name: stays the same as long as its line reads the same.
    pub name: String,
    /// The patch that wrote the place.
    pub patch: String,
    /// What is done to it.
    pub operator: Operator,
    /// The file in the tree.
    pub file: String,
    /// The line in the patched file, from 1.
    pub line: usize,
    /// What stands there.
    pub before: String,
    /// What the mutant makes of it.
    pub after: String,
    /// The places that change.
    #[serde(skip)]
    pub edits: Vec<Edit>,
}

/// What is put in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What can be put there.
    pub shape: Shape,
    /// The bytes of the place.
    pub range: Range<usize>,
    /// What is put there.
    pub text: String,
}

/// All mutants of a file: `stock` is its text without patches, the stages those after each patch, in order.
#[must_use]
pub fn generate(file: &str, stock: &str, stages: &[Stage]) -> Vec<Mutant> {
    let Some(last) = stages.last() else {
        return Vec::new();
    };
    let source = Source::new(&last.text);
    let mut generator = Generator {
        file,
        stages,
        owners: blame(stock, stages),
        source: &source,
        mutants: Vec::new(),
    };
    for site in sites(&source) {
        generator.site(&site);
    }
    let mut mutants = generator.mutants;
    names::number(&mut mutants);
    mutants
}

struct Generator<'g, 'a> {
    file: &'g str,
    stages: &'g [Stage],
    owners: Vec<Option<usize>>,
    source: &'g Source<'a>,
    mutants: Vec<Mutant>,
}

impl Generator<'_, '_> {
    fn patch_of(&self, token: usize) -> Option<&str> {
        let stage = (*self.owners.get(self.source.line_of(token))?)?;
        Some(&self.stages.get(stage)?.patch)
    }

    fn site(&mut self, site: &Site) {
        let words: Vec<&str> = site.own().map(|at| self.source.word(at)).collect();
        let is_silent = says_only(&words);
        if !is_silent {
            self.whole(site, &words);
            for at in site.own().collect::<Vec<_>>() {
                if site.shape != Shape::Loop && self.patch_of(at).is_some() {
                    self.token(site, at);
                }
            }
        }
    }

    /// What can be done to a place as a whole.
    fn whole(&mut self, site: &Site, words: &[&str]) {
        let first = site.tokens.start;
        match site.shape {
            Shape::Statement if checks(words) => {}
            Shape::Statement if matches!(words, ["return" | "break" | "continue", ..]) => {
                if !site.ends_function {
                    self.put(site, first, Operator::DropReturn, String::new());
                }
            }
            Shape::Statement => {
                self.put(site, first, kind_of_drop(words), String::new());
                self.swap(site);
            }
            Shape::Loop => self.put(site, first, Operator::DropStatement, String::new()),
            Shape::Lock => self.put(site, first, Operator::RemoveLock, String::new()),
            Shape::Condition => {
                let text = format!("!({})", self.source.slice(&site.tokens));
                self.put(site, first, Operator::NegateCondition, text);
            }
            Shape::Value | Shape::Step => {}
        }
    }

    fn swap(&mut self, site: &Site) {
        let Some(next) = &site.next else {
            return;
        };
        let source = self.source;
        let patched =
            self.patch_of(site.tokens.start).is_some() && self.patch_of(next.start).is_some();
        if !patched
            || checks(&[source.word(site.tokens.start)])
            || checks(&[source.word(next.start)])
        {
            return;
        }
        let (one, other) = (source.slice(&site.tokens), source.slice(next));
        let edits = vec![
            self.edit(site, format!("{other} {one}")),
            Edit {
                shape: Shape::Statement,
                range: source.bytes(next),
                text: String::new(),
            },
        ];
        self.plant(
            site,
            site.tokens.start,
            Operator::SwapStatements,
            edits,
            format!("{other} {one}"),
        );
    }

    /// What can be done to one token.
    fn token(&mut self, site: &Site, at: usize) {
        let source = self.source;
        let word = source.word(at);
        match source.kind(at) {
            Kind::Mark if source.is_spaced(at) => {
                for (operator, other) in mistaken(word) {
                    self.replace(site, at..at + 1, at, *operator, other);
                }
                match word {
                    "&&" | "||" => self.drop_operands(site, at, Operator::DropOperand),
                    "|" => self.drop_operands(site, at, Operator::WrongFlag),
                    "?" => {
                        let start = left_end(source, site, at, &["?", ":"]);
                        let text = format!("!({})", source.slice(&(start..at)));
                        self.replace(site, start..at, at, Operator::NegateCondition, &text);
                    }
                    _ => {}
                }
            }
            Kind::Mark => match word {
                "!" => self.replace(site, at..at + 1, at, Operator::NegateCondition, ""),
                "++" => self.replace(site, at..at + 1, at, Operator::FlipArithmetic, "--"),
                "--" => self.replace(site, at..at + 1, at, Operator::FlipArithmetic, "++"),
                _ => {}
            },
            Kind::Number => self.number(site, at),
            Kind::Word => {
                if word == "true" || word == "false" {
                    let other = if word == "true" { "false" } else { "true" };
                    self.replace(site, at..at + 1, at, Operator::ReplaceConstant, other);
                }
                if word == "max"
                    && source.word(at.wrapping_sub(1)) == "::"
                    && source.word(at + 2) == ")"
                {
                    self.replace(site, at..at + 1, at, Operator::ReplaceConstant, "min");
                }
                for (operator, other) in twins(word) {
                    self.replace(site, at..at + 1, at, operator, other);
                }
            }
            _ => {}
        }
    }

    fn number(&mut self, site: &Site, at: usize) {
        let source = self.source;
        let Ok(value) = source.word(at).parse::<u64>() else {
            return;
        };
        let mut put =
            |operator, other: u64| self.replace(site, at..at + 1, at, operator, &other.to_string());
        let unit =
            source.word(at.wrapping_sub(1)) == "(" && source.word(at.wrapping_sub(2)) == "MB";
        if unit {
            put(Operator::ReplaceConstant, 0);
            put(Operator::ReplaceConstant, value.saturating_mul(1024));
            return;
        }
        put(Operator::OffByOne, value.saturating_add(1));
        // `x > 0` for `x > 1` is `x >= 1`, which another operator has
        let compared = matches!(source.word(at.wrapping_sub(1)), "<" | ">" | "<=" | ">=");
        if value > 0 && !compared {
            put(Operator::OffByOne, value - 1);
        }
    }

    /// Leaves out what is left of a connective, and what is right of it.
    fn drop_operands(&mut self, site: &Site, at: usize, operator: Operator) {
        let source = self.source;
        let looser: &[&str] = match source.word(at) {
            "|" => &["?", ":", "&&", "||", "|", "="],
            "&&" => &["?", ":", "&&", "||", "="],
            _ => &["?", ":", "||", "="],
        };
        let left = left_end(source, site, at, looser)..at + 1;
        let right = at..right_end(source, site, at, looser);
        for dropped in [left, right] {
            self.replace(site, dropped, at, operator, "");
        }
    }

    /// Puts another text in place of some tokens of a site.
    fn replace(
        &mut self,
        site: &Site,
        tokens: Range<usize>,
        at: usize,
        operator: Operator,
        with: &str,
    ) {
        let whole = self.source.bytes(&site.tokens);
        let part = self.source.bytes(&tokens);
        let text = &self.source.text;
        let changed = format!(
            "{}{with}{}",
            &text[whole.start..part.start],
            &text[part.end..whole.end]
        );
        // a piece of the site for people: its line
        let line = self.source.line_of(at);
        let before = self.source.line(line).to_owned();
        let after = shown(&before, text, &part, with).unwrap_or_else(|| changed.clone());
        self.plant(site, at, operator, vec![self.edit(site, changed)], after);
    }

    fn put(&mut self, site: &Site, at: usize, operator: Operator, text: String) {
        let edit = self.edit(site, text.clone());
        self.plant(site, at, operator, vec![edit], text);
    }

    fn edit(&self, site: &Site, text: String) -> Edit {
        Edit {
            shape: site.shape,
            range: self.source.bytes(&site.tokens),
            text,
        }
    }

    fn plant(
        &mut self,
        site: &Site,
        at: usize,
        operator: Operator,
        edits: Vec<Edit>,
        after: String,
    ) {
        let Some(patch) = self.patch_of(at).map(str::to_owned) else {
            return;
        };
        // the same change by two ways is one mutant
        if self.mutants.iter().any(|known| same(&known.edits, &edits)) {
            return;
        }
        let line = self.source.line_of(at);
        let before = self.source.line(line).to_owned();
        self.mutants.push(Mutant {
            name: names::stem(&patch, operator, self.file, &site.within, &before),
            patch,
            operator,
            file: self.file.to_owned(),
            line: line + 1,
            before,
            after: after.split_whitespace().collect::<Vec<_>>().join(" "),
            edits,
        });
    }
}

fn same(one: &[Edit], other: &[Edit]) -> bool {
    let plain = |edit: &Edit| edit.text.split_whitespace().collect::<String>();
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| one.range == other.range && plain(one) == plain(other))
}

/// The line with the change in it, where the change is within the line.
fn shown(line: &str, text: &str, part: &Range<usize>, with: &str) -> Option<String> {
    let start = text[..part.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[part.end..]
        .find('\n')
        .map_or(text.len(), |at| part.end + at);
    let changed = format!("{}{with}{}", &text[start..part.start], &text[part.end..end]);
    (text[start..end].trim() == line).then(|| changed.trim().to_owned())
}

/// What leaving this statement out is called.
fn kind_of_drop(words: &[&str]) -> Operator {
    if words.iter().any(|word| matches!(*word, "lock" | "unlock")) {
        return Operator::RemoveLock;
    }
    let counts = words
        .iter()
        .any(|word| matches!(*word, "+=" | "-=" | "++" | "--"));
    if counts {
        Operator::SkipAccounting
    } else {
        Operator::DropStatement
    }
}

/// Whether a statement checks what is always so: without it a right program does the same.
fn checks(words: &[&str]) -> bool {
    words.first().is_some_and(|word| {
        word.starts_with("TORCH_INTERNAL_ASSERT")
            || word.starts_with("TORCH_CHECK")
            || *word == "assert"
    })
}

/// Whether a statement prints, or says that a variable is used: there is nothing in it that a program could depend on.
fn says_only(words: &[&str]) -> bool {
    matches!(words, ["std", "::", "cerr" | "cout", ..]) || matches!(words, ["(", "void", ")", ..])
}

/// Where the operand left of a token begins.
fn left_end(source: &Source<'_>, site: &Site, at: usize, looser: &[&str]) -> usize {
    let mut start = at;
    while start > site.tokens.start {
        let before = start - 1;
        match source.word(before) {
            ")" | "]" | "}" => match source.partner(before) {
                Some(open) if open >= site.tokens.start => start = open,
                _ => return start,
            },
            "(" | "[" | "{" | "," | ";" | "return" => return start,
            word if looser.contains(&word) => return start,
            _ => start = before,
        }
    }
    start
}

/// Where the operand right of a token ends.
fn right_end(source: &Source<'_>, site: &Site, at: usize, looser: &[&str]) -> usize {
    let mut end = at + 1;
    while end < site.tokens.end {
        match source.word(end) {
            "(" | "[" | "{" => match source.partner(end) {
                Some(close) if close < site.tokens.end => end = close + 1,
                _ => return end,
            },
            ")" | "]" | "}" | "," | ";" => return end,
            word if looser.contains(&word) => return end,
            _ => end += 1,
        }
    }
    end
}

#[cfg(test)]
mod tests;
