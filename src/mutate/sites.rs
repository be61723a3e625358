//! Finds the places of a source that can be replaced by something else: statements, conditions, values. As much of the
//! grammar as that takes; what is not understood is left alone.
use super::lexer::Kind;
use super::source::Source;
use std::ops::Range;

/// What a place can be replaced by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Another statement, or nothing.
    Statement,
    /// A loop with its body: nothing.
    Loop,
    /// Another condition.
    Condition,
    /// Another value.
    Value,
    /// A value that nobody uses.
    Step,
    /// A declaration that holds a lock: one that does not.
    Lock,
}

/// A place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// What it can be replaced by.
    pub shape: Shape,
    /// Its tokens.
    pub tokens: Range<usize>,
    /// Blocks of statements inside, which are places of their own.
    pub holes: Vec<Range<usize>>,
    /// The function that it is in, else the class; empty outside.
    pub within: String,
    /// The statement that follows in the same block, when both are plain.
    pub next: Option<Range<usize>>,
    /// Whether the block that it is in ends with it, and a function with that block.
    pub ends_function: bool,
}

impl Site {
    /// Its own tokens, those of the blocks inside left out.
    pub fn own(&self) -> impl Iterator<Item = usize> + '_ {
        self.tokens
            .clone()
            .filter(|at| !self.holes.iter().any(|hole| hole.contains(at)))
    }
}

/// All places of a source, outer ones before those inside.
#[must_use]
pub fn sites(source: &Source<'_>) -> Vec<Site> {
    let mut finder = Finder {
        source,
        found: Vec::new(),
        depth: 0,
    };
    finder.scope(0..source.count(), "");
    finder.found
}

/// More blocks inside each other than any code has: beyond them nothing is looked for.
const DEEPEST: usize = 200;

struct Finder<'s, 'a> {
    source: &'s Source<'a>,
    found: Vec<Site>,
    depth: usize,
}

impl Finder<'_, '_> {
    fn add(&mut self, shape: Shape, tokens: Range<usize>, within: &str) {
        if !tokens.is_empty() {
            self.found.push(Site {
                shape,
                tokens,
                holes: Vec::new(),
                within: within.to_owned(),
                next: None,
                ends_function: false,
            });
        }
    }

    /// Declarations of a file, a namespace or a class.
    fn scope(&mut self, tokens: Range<usize>, within: &str) {
        if self.depth > DEEPEST {
            return;
        }
        self.depth += 1;
        let mut at = tokens.start;
        while at < tokens.end {
            at = self.declaration(at, tokens.end, within).max(at + 1);
        }
        self.depth -= 1;
    }

    /// One declaration; gives where the next one begins.
    fn declaration(&mut self, start: usize, end: usize, within: &str) -> usize {
        let source = self.source;
        let mut initialised = false;
        let mut class = false;
        let mut parameters = None;
        for at in source.outside(&(start..end)).collect::<Vec<_>>() {
            match source.word(at) {
                ";" => {
                    let tokens = start..at;
                    self.initialisers(&tokens, within);
                    if let Some(open) = parameters {
                        self.default_arguments(open, within);
                    }
                    return at + 1;
                }
                "=" => initialised = true,
                // what came before was a macro without a semicolon
                "namespace" => parameters = None,
                "struct" | "class" | "union" => (class, parameters) = (true, None),
                "(" if parameters.is_none_or(|open| self.is_macro(open)) => {
                    parameters = Some(at);
                }
                "{" => {
                    let Some(close) = source.partner(at) else {
                        return end;
                    };
                    let inside = at + 1..close;
                    if source.find(&(start..at), "enum").is_some() || initialised {
                        continue;
                    }
                    if class && parameters.is_none() {
                        let name = self.class_name(start, at);
                        self.scope(inside, &name);
                        continue;
                    }
                    if let Some(open) = parameters {
                        if self.is_member_initialiser(open, at) {
                            continue;
                        }
                        let name = function_name(source, start, open);
                        self.default_arguments(open, &name);
                        self.member_initialisers(open, at, &name);
                        self.block(inside, &name, true);
                    } else {
                        self.scope(inside, within);
                    }
                    return close + 1;
                }
                _ => {}
            }
        }
        end
    }

    /// `NAME(…)` before a declaration, where a function has its body or what is said of it.
    fn is_macro(&self, open: usize) -> bool {
        const SAID: [&str; 6] = ["const", "noexcept", "override", "final", "volatile", "try"];
        let Some(close) = self.source.partner(open) else {
            return false;
        };
        let next = self.source.word(close + 1);
        self.source.kind(close + 1) == Kind::Word && !SAID.contains(&next)
    }

    fn class_name(&self, start: usize, brace: usize) -> String {
        let words = start..brace;
        let mut name = "";
        for at in self.source.outside(&words) {
            match self.source.word(at) {
                ":" | "final" => break,
                word if self.source.kind(at) == Kind::Word => name = word,
                _ => {}
            }
        }
        name.to_owned()
    }

    /// `, T name = value` among the parameters of a function.
    fn default_arguments(&mut self, open: usize, within: &str) {
        if let Some(close) = self.source.partner(open) {
            self.initialisers(&(open + 1..close), within);
        }
    }

    /// `: name(value), name(value)` before the body of a constructor.
    fn member_initialisers(&mut self, open: usize, body: usize, within: &str) {
        let source = self.source;
        let Some(close) = source.partner(open) else {
            return;
        };
        if source.word(close + 1) != ":" {
            return;
        }
        let outside: Vec<usize> = source.outside(&(close + 2..body)).collect();
        for at in outside {
            if source.word(at) == "("
                && let Some(close) = source.partner(at)
            {
                self.arguments(at + 1..close, within);
            }
        }
    }

    /// `: name{value}` before the body of a constructor.
    fn is_member_initialiser(&self, open: usize, brace: usize) -> bool {
        let Some(close) = self.source.partner(open) else {
            return false;
        };
        let before = brace.saturating_sub(1);
        self.source.word(close + 1) == ":"
            && self.source.kind(before) == Kind::Word
            && matches!(self.source.word(before.saturating_sub(1)), ":" | ",")
    }

    /// Each value between commas.
    fn arguments(&mut self, tokens: Range<usize>, within: &str) {
        for part in self.between_commas(&tokens) {
            self.value(part, within);
        }
    }

    fn between_commas(&self, tokens: &Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = tokens.start;
        for at in self.source.outside(tokens) {
            if self.source.word(at) == "," {
                parts.push(start..at);
                start = at + 1;
            }
        }
        parts.push(start..tokens.end);
        parts
    }

    /// A value without blocks of statements inside; those have types that nothing else has.
    fn value(&mut self, tokens: Range<usize>, within: &str) {
        let plain = !tokens.clone().any(|at| self.source.word(at) == "{");
        if plain {
            self.add(Shape::Value, tokens, within);
        }
    }

    /// `name = value`, separated by commas.
    fn initialisers(&mut self, tokens: &Range<usize>, within: &str) {
        let source = self.source;
        let outside: Vec<usize> = source.outside(tokens).collect();
        let commas = outside.iter().any(|at| source.word(*at) == ",");
        for at in &outside {
            let before = source.word(at.wrapping_sub(1));
            // `= 0`, `= default` and the like of functions are no values
            let of_function =
                matches!(before, ")" | "const" | "override" | "noexcept" | "operator");
            if source.word(*at) != "=" || of_function {
                continue;
            }
            let stop = outside
                .iter()
                .find(|later| *later > at && source.word(**later) == ",")
                .copied()
                .unwrap_or(tokens.end);
            let value = at + 1..stop;
            // a comma may be one of a template's
            let template = value
                .clone()
                .any(|token| source.word(token) == "<" && !source.is_spaced(token));
            if !(commas && template && stop != tokens.end) {
                self.value(value, within);
            }
        }
    }

    /// The statements of a block.
    fn block(&mut self, tokens: Range<usize>, within: &str, is_function: bool) {
        if self.depth > DEEPEST {
            return;
        }
        self.depth += 1;
        let mut plain: Vec<usize> = Vec::new();
        let mut at = tokens.start;
        let mut last = None;
        while at < tokens.end {
            let before = self.found.len();
            let end = self
                .statement(at, tokens.end, within)
                .clamp(at + 1, tokens.end);
            last = self
                .found
                .get(before)
                .filter(|site| site.tokens == (at..end))
                .map(|_| before);
            if let Some(index) = last.filter(|index| self.is_plain(*index)) {
                if let Some(previous) = plain.last().copied()
                    && self.found[previous].tokens.end == at
                {
                    self.found[previous].next = Some(at..end);
                }
                plain.push(index);
            }
            at = end;
        }
        if is_function && let Some(index) = last {
            self.found[index].ends_function = true;
        }
        self.depth -= 1;
    }

    /// A statement that can change its place with another.
    fn is_plain(&self, index: usize) -> bool {
        let site = &self.found[index];
        site.shape == Shape::Statement
            && site.holes.is_empty()
            && !is_jump(self.source.word(site.tokens.start))
    }

    /// One statement; gives where the next one begins.
    fn statement(&mut self, start: usize, end: usize, within: &str) -> usize {
        if self.depth > DEEPEST || start >= end {
            return end;
        }
        self.depth += 1;
        let next = self.any_statement(start, end, within);
        self.depth -= 1;
        next
    }

    fn any_statement(&mut self, start: usize, end: usize, within: &str) -> usize {
        let source = self.source;
        match source.word(start) {
            "{" => self.nested(start, within, false),
            "if" => {
                let open = start + 1 + usize::from(source.word(start + 1) == "constexpr");
                let Some(close) = source.closing(open) else {
                    return end;
                };
                if open == start + 1 {
                    self.condition(open + 1..close, within);
                }
                let then = self.statement(close + 1, end, within);
                if source.word(then) == "else" {
                    return self.statement(then + 1, end, within);
                }
                then
            }
            "while" | "for" => {
                let Some(close) = source.closing(start + 1) else {
                    return end;
                };
                let index = self.found.len();
                self.add(Shape::Loop, start..close + 1, within);
                let heads = start + 2..close;
                if source.word(start) == "while" {
                    self.condition(heads, within);
                } else {
                    self.for_heads(&heads, within);
                }
                let next = self.statement(close + 1, end, within);
                self.found[index].tokens = start..next;
                self.found[index].holes.push(start + 1..next);
                next
            }
            "switch" | "catch" => {
                let Some(close) = source.closing(start + 1) else {
                    return end;
                };
                self.statement(close + 1, end, within)
            }
            "try" | "do" | "else" => self.statement(start + 1, end, within),
            "@" if source.word(start + 2) == "{" => self.nested(start + 2, within, false),
            "case" | "default" => source
                .find(&(start..end), ":")
                .map_or(end, |colon| colon + 1),
            ";" => start + 1,
            _ => self.plain(start, end, within),
        }
    }

    fn nested(&mut self, open: usize, within: &str, is_function: bool) -> usize {
        match self.source.closing(open) {
            Some(close) => {
                self.block(open + 1..close, within, is_function);
                close + 1
            }
            None => self.source.count(),
        }
    }

    fn condition(&mut self, tokens: Range<usize>, within: &str) {
        // an initialisation before it stays
        let start = self
            .source
            .find(&tokens, ";")
            .map_or(tokens.start, |at| at + 1);
        let tokens = start..tokens.end;
        if is_declaration(self.source, &tokens) {
            self.initialisers(&tokens, within);
        } else if !tokens.clone().any(|at| self.source.word(at) == "{") {
            self.add(Shape::Condition, tokens, within);
        }
    }

    fn for_heads(&mut self, tokens: &Range<usize>, within: &str) {
        let semicolons: Vec<usize> = self
            .source
            .outside(tokens)
            .filter(|at| self.source.word(*at) == ";")
            .collect();
        if let [first, second] = semicolons[..] {
            self.initialisers(&(tokens.start..first), within);
            self.condition(first + 1..second, within);
            self.add(Shape::Step, second + 1..tokens.end, within);
        }
    }

    /// A declaration, a jump or an expression, up to its semicolon.
    fn plain(&mut self, start: usize, end: usize, within: &str) -> usize {
        let source = self.source;
        let Some(semicolon) = source.find(&(start..end), ";") else {
            return end;
        };
        let tokens = start..semicolon;
        let index = self.found.len();
        if !is_declaration(source, &tokens) {
            self.add(Shape::Statement, start..semicolon + 1, within);
        } else if is_lock(source, &tokens) {
            self.add(Shape::Lock, start..semicolon + 1, within);
        } else {
            self.initialisers(&tokens, within);
            // T name(value, …)
            if source.word(semicolon.wrapping_sub(1)) == ")"
                && source.find(&tokens, "=").is_none()
                && let Some(open) = source.partner(semicolon - 1)
            {
                self.arguments(open + 1..semicolon - 1, within);
            }
        }
        let holes = self.bodies(&tokens, within);
        if let Some(site) = self
            .found
            .get_mut(index)
            .filter(|site| site.shape == Shape::Statement && site.tokens.start == start)
        {
            site.holes = holes;
        }
        semicolon + 1
    }

    /// The bodies of lambdas and blocks inside of a statement.
    fn bodies(&mut self, tokens: &Range<usize>, within: &str) -> Vec<Range<usize>> {
        let source = self.source;
        let mut holes = Vec::new();
        let mut at = tokens.start;
        while at < tokens.end {
            if source.word(at) == "{"
                && let Some(close) = source.partner(at)
                && begins_body(source, at)
            {
                self.block(at + 1..close, within, true);
                holes.push(at + 1..close);
                at = close;
            }
            at += 1;
        }
        holes
    }
}

/// Whether a brace begins statements rather than values.
fn begins_body(source: &Source<'_>, brace: usize) -> bool {
    let before = |back: usize| brace.checked_sub(back).map_or("", |at| source.word(at));
    matches!(before(1), ")" | "]" | "^" | "mutable" | "noexcept") || before(2) == "->"
}

fn is_jump(word: &str) -> bool {
    matches!(word, "return" | "break" | "continue" | "throw" | "goto")
}

/// The name before the parameters.
fn function_name(source: &Source<'_>, start: usize, open: usize) -> String {
    let operator = (start..open).find(|at| source.word(*at) == "operator");
    match operator {
        Some(_) => "operator".to_owned(),
        None => open
            .checked_sub(1)
            .map_or("", |at| source.word(at))
            .to_owned(),
    }
}

/// Words that only declarations begin with.
const DECLARING: [&str; 24] = [
    "const",
    "static",
    "constexpr",
    "auto",
    "unsigned",
    "signed",
    "int",
    "bool",
    "char",
    "short",
    "long",
    "float",
    "double",
    "void",
    "using",
    "typedef",
    "struct",
    "class",
    "enum",
    "union",
    "extern",
    "template",
    "thread_local",
    "static_assert",
];

/// Words that no declaration begins with.
const NOT_DECLARING: [&str; 11] = [
    "return", "delete", "throw", "break", "continue", "goto", "new", "case", "sizeof", "this",
    "else",
];

/// Whether tokens declare something: a type, and then a name. What could be either counts as a declaration.
fn is_declaration(source: &Source<'_>, tokens: &Range<usize>) -> bool {
    let first = source.word(tokens.start);
    if DECLARING.contains(&first) || first.starts_with("__") {
        return true;
    }
    if NOT_DECLARING.contains(&first) || source.kind(tokens.start) != Kind::Word {
        return false;
    }
    let mut at = tokens.start + 1;
    loop {
        match source.word(at) {
            "::" => at += 2,
            "<" => match close_template(source, at, tokens.end) {
                Some(close) => at = close + 1,
                None => return false,
            },
            _ => break,
        }
    }
    while at < tokens.end && matches!(source.word(at), "*" | "&" | "&&" | "const") {
        at += 1;
    }
    at < tokens.end && source.kind(at) == Kind::Word && at > tokens.start
}

/// The `>` that closes a template's arguments.
fn close_template(source: &Source<'_>, open: usize, end: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for at in open..end {
        match source.word(at) {
            "<" => depth += 1,
            ">" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            word if source.kind(at) == Kind::Word
                || matches!(word, "::" | "," | "*" | "&" | "(" | ")" | "[" | "]") => {}
            _ if source.kind(at) == Kind::Number => {}
            _ => return None,
        }
    }
    None
}

/// `std::lock_guard<…> name(mutex)` and its like.
fn is_lock(source: &Source<'_>, tokens: &Range<usize>) -> bool {
    source.word(tokens.start) == "std"
        && matches!(
            source.word(tokens.start + 2),
            "lock_guard" | "unique_lock" | "scoped_lock"
        )
        && source.word(tokens.end.wrapping_sub(1)) == ")"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> Vec<(Shape, String, String)> {
        let source = Source::new(text);
        sites(&source)
            .into_iter()
            .map(|site| {
                (
                    site.shape,
                    site.within.clone(),
                    source.slice(&site.tokens).to_owned(),
                )
            })
            .collect()
    }

    fn of(text: &str) -> Vec<(Shape, String)> {
        shown(&format!("void f() {{ {text} }}"))
            .into_iter()
            .map(|(shape, _, text)| (shape, text))
            .collect()
    }

    #[test]
    fn macros_without_semicolons_hide_nothing() {
        for text in [
            "namespace n {\nREGISTER(a, b)\n\nnamespace m {\nT C::f(int x) { g(x); }\n}\n}",
            "REGISTER(a)\nT f(int x) { g(x); }",
            "REGISTER(a)\nstruct C { T f(int x) const { g(x); } };",
            "API(a) API(b) static T f(int x) noexcept(true) { g(x); }",
        ] {
            assert_eq!(
                shown(text),
                [(Shape::Statement, "f".to_owned(), "g(x);".to_owned())],
                "{text}"
            );
        }
    }

    #[test]
    fn statements_conditions_and_values() {
        use Shape::{Condition, Lock, Loop, Statement, Step, Value};
        let expect = |text: &str, wanted: &[(Shape, &str)]| {
            let wanted: Vec<(Shape, String)> = wanted
                .iter()
                .map(|(shape, text)| (*shape, (*text).to_owned()))
                .collect();
            assert_eq!(of(text), wanted, "{text}");
        };
        expect(
            "a.b(c); x -= y;",
            &[(Statement, "a.b(c);"), (Statement, "x -= y;")],
        );
        expect("T* a = b, *c = d;", &[(Value, "b"), (Value, "d")]);
        expect(
            "id<M> a = [b c]; auto [x, y] = z;",
            &[(Value, "[b c]"), (Value, "z")],
        );
        expect(
            "std::lock_guard<std::mutex> lock(m);",
            &[(Lock, "std::lock_guard<std::mutex> lock(m);")],
        );
        expect("H k(n, &m);", &[(Value, "n"), (Value, "&m")]);
        expect(
            "if (T* t = g()) return t; else h();",
            &[
                (Value, "g()"),
                (Statement, "return t;"),
                (Statement, "h();"),
            ],
        );
        expect(
            "while (p && !q) { --n; }",
            &[
                (Loop, "while (p && !q) { --n; }"),
                (Condition, "p && !q"),
                (Statement, "--n;"),
            ],
        );
        expect(
            "for (int i = 0; i < n; ++i) g(i);",
            &[
                (Loop, "for (int i = 0; i < n; ++i) g(i);"),
                (Value, "0"),
                (Condition, "i < n"),
                (Step, "++i"),
                (Statement, "g(i);"),
            ],
        );
        expect(
            "for (auto& b : c) { g(b); }",
            &[(Loop, "for (auto& b : c) { g(b); }"), (Statement, "g(b);")],
        );
        expect("@autoreleasepool { [a b]; }", &[(Statement, "[a b];")]);
        expect(
            "run(^() { g(); }, 1);",
            &[(Statement, "run(^() { g(); }, 1);"), (Statement, "g();")],
        );
        expect("auto l = [&](int x) { g(x); };", &[(Statement, "g(x);")]);
        expect(
            "void (^k)(int) = ^(int) { (void)s; };",
            &[(Statement, "(void)s;")],
        );
        expect(
            "switch (a) { case 1: g(); default: h(); }",
            &[(Statement, "g();"), (Statement, "h();")],
        );
        expect("return {a, b};", &[(Statement, "return {a, b};")]);
    }

    #[test]
    fn classes_parameters_and_initialisers() {
        use Shape::{Statement, Value};
        let text = "namespace n { enum E { A = 1 }; struct API S : B { int x = 1; S(int a) : p(a), q{2} { g(); }\n\
                    void m(int k = 3); virtual int v() const = 0; S() = default; bool operator==(const S& o) { return p == o.p; } }; const int z = 4; }";
        let found: Vec<(Shape, String, String)> = shown(text);
        let wanted = [
            (Value, "S", "1"),
            (Value, "S", "a"),
            (Statement, "S", "g();"),
            (Value, "S", "3"),
            (Statement, "operator", "return p == o.p;"),
            (Value, "", "4"),
        ]
        .map(|(shape, within, text)| (shape, within.to_owned(), text.to_owned()));
        assert_eq!(found, wanted);
    }

    #[test]
    fn plain_neighbours_and_ends_are_known() {
        let source = Source::new("void f() { a(); b(); if (c) { return; } d(); return; }");
        let all = sites(&source);
        let next: Vec<Option<&str>> = all
            .iter()
            .map(|site| site.next.as_ref().map(|next| source.slice(next)))
            .collect();
        assert_eq!(next, [Some("b();"), None, None, None, None, None]);
        let ends: Vec<bool> = all.iter().map(|site| site.ends_function).collect();
        assert_eq!(ends, [false, false, false, false, false, true]);
    }

    #[test]
    fn heads_that_are_cut_off_and_chains_without_end_are_survived() {
        for text in [
            "if }",
            "for }",
            "while } ;",
            "switch }",
            "if (a",
            "if constexpr }",
        ] {
            let source = Source::new(text);
            assert!(sites(&source).len() < 4, "{text}");
            of(text);
        }
        of(&"if (a) ".repeat(100_000));
        of(&"else ".repeat(100_000));
    }

    proptest! {
        #[test]
        fn places_nest_or_are_apart(text in "(if|for|while|struct|return|void f|std|\\(|\\)|\\{|\\}|\\[|\\]|;|:|::|=|<|>|,|a|b |1|\\^|@| |\\n){0,60}") {
            let source = Source::new(&text);
            let all = sites(&source);
            for one in &all {
                for other in &all {
                    let (a, b) = (&one.tokens, &other.tokens);
                    let apart = a.end <= b.start || b.end <= a.start;
                    let inside = (a.start <= b.start && b.end <= a.end) || (b.start <= a.start && a.end <= b.end);
                    prop_assert!(apart || inside, "{:?} {:?}", a, b);
                }
            }
        }
    }
}
