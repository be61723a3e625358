//! Puts all mutants of a file into one text, in which a number that is known when the program runs selects one: hundreds of
//! mutants for one compilation.
use super::generate::{Edit, Mutant};
use super::sites::Shape;
use std::collections::BTreeMap;
use std::ops::Range;

/// The text that every woven file begins with, as a file of its own.
pub const PRELUDE: &str = include_str!("prelude.h");
/// Where that file is put in the tree.
pub const PRELUDE_FILE: &str = "aten/src/ATen/mps/umpatch_mutants.h";

/// A text with mutants in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Woven {
    /// The text.
    pub text: String,
    /// Which bytes of it stand for which mutant.
    spans: Vec<(Range<usize>, u32)>,
}

impl Woven {
    /// The mutant to blame for what a compiler complains about at a line and column, both from 1.
    #[must_use]
    pub fn blame(&self, line: usize, column: usize) -> Option<u32> {
        let start = match line {
            0 | 1 => 0,
            _ => self.text.match_indices('\n').nth(line - 2)?.0 + 1,
        };
        let at = start + column.saturating_sub(1);
        self.spans
            .iter()
            .filter(|(range, _)| range.contains(&at))
            .min_by_key(|(range, _)| range.len())
            .map(|(_, number)| *number)
    }
}

/// Weaves mutants, each with its number, into a file. Without any the text stays what it is.
#[must_use]
pub fn weave(text: &str, mutants: &[(u32, &Mutant)]) -> Woven {
    let mut places: BTreeMap<(usize, std::cmp::Reverse<usize>), Place<'_>> = BTreeMap::new();
    for (number, mutant) in mutants {
        for edit in &mutant.edits {
            let key = (edit.range.start, std::cmp::Reverse(edit.range.end));
            let place = places.entry(key).or_insert_with(|| Place {
                shape: edit.shape,
                range: edit.range.clone(),
                alternatives: Vec::new(),
            });
            place.alternatives.push((*number, edit));
        }
    }
    let places: Vec<Place<'_>> = places.into_values().collect();
    let mut weaver = Weaver {
        text,
        places: &places,
        out: String::new(),
        spans: Vec::new(),
    };
    if !places.is_empty() {
        weaver
            .out
            .push_str("#include <ATen/mps/umpatch_mutants.h>\n");
    }
    weaver.piece(0..text.len(), 0);
    Woven {
        text: weaver.out,
        spans: weaver.spans,
    }
}

struct Place<'m> {
    shape: Shape,
    range: Range<usize>,
    alternatives: Vec<(u32, &'m Edit)>,
}

struct Weaver<'w> {
    text: &'w str,
    places: &'w [Place<'w>],
    out: String,
    spans: Vec<(Range<usize>, u32)>,
}

impl Weaver<'_> {
    /// Writes a piece of the text with the places from `first` on that are in it; gives the first place after it.
    fn piece(&mut self, range: Range<usize>, first: usize) -> usize {
        let places = self.places;
        let mut at = range.start;
        let mut index = first;
        while let Some(place) = places
            .get(index)
            .filter(|place| place.range.start < range.end)
        {
            if place.range.start < at || place.range.end > range.end {
                // not inside: no source that was understood has such places
                index += 1;
                continue;
            }
            self.copy(at..place.range.start);
            at = place.range.end;
            index = self.place(place, index + 1);
        }
        self.copy(at..range.end);
        index
    }

    /// Stock's own text, but for what forbids a choice when the program runs.
    fn copy(&mut self, range: Range<usize>) {
        let text = &self.text[range];
        // a constant of a function that may now be one of two
        self.out
            .push_str(&text.replace("  constexpr uint32_t ", "  const uint32_t "));
    }

    fn place(&mut self, place: &Place<'_>, next: usize) -> usize {
        let inside = place.range.clone();
        match place.shape {
            Shape::Statement | Shape::Loop => {
                self.out.push_str("{ ");
                for (number, edit) in &place.alternatives {
                    self.span(*number, |out| {
                        out.push_str(&format!(
                            "if (umpatch_mutants::is({number})) {{ {} }}",
                            edit.text
                        ))
                    });
                    self.out.push_str(" else ");
                }
                self.out.push_str("{ ");
                let index = self.piece(inside, next);
                self.out.push_str(" } }");
                index
            }
            Shape::Condition | Shape::Value | Shape::Step => {
                let cast = match place.shape {
                    Shape::Condition => "static_cast<bool>",
                    Shape::Step => "(void)",
                    _ => "",
                };
                self.out.push('(');
                for (number, edit) in &place.alternatives {
                    self.span(*number, |out| {
                        out.push_str(&format!(
                            "umpatch_mutants::is({number}) ? {cast}({}) :",
                            edit.text
                        ))
                    });
                    self.out.push(' ');
                }
                self.out.push_str(&format!("{cast}("));
                let index = self.piece(inside, next);
                self.out.push_str("))");
                index
            }
            Shape::Lock => {
                let numbers: Vec<String> = place
                    .alternatives
                    .iter()
                    .map(|(number, _)| format!("umpatch_mutants::is({number})"))
                    .collect();
                let text = self.text[inside].replace("lock_guard", "unique_lock");
                let name = text
                    .rsplit_once('(')
                    .and_then(|(head, _)| head.split_whitespace().next_back())
                    .unwrap_or("lock")
                    .to_owned();
                let number = place.alternatives.first().map_or(0, |(number, _)| *number);
                self.span(number, |out| {
                    out.push_str(&format!(
                        "{text} if ({}) {{ {name}.unlock(); }}",
                        numbers.join(" || ")
                    ));
                });
                next
            }
        }
    }

    fn span(&mut self, number: u32, write: impl FnOnce(&mut String)) {
        let start = self.out.len();
        write(&mut self.out);
        self.spans.push((start..self.out.len(), number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::blame::Stage;
    use crate::mutate::generate::generate;
    use proptest::prelude::*;

    fn woven(text: &str) -> (Vec<Mutant>, Woven) {
        let stages = [Stage {
            patch: "p".to_owned(),
            text: text.to_owned(),
        }];
        let mutants = generate("x.mm", "", &stages);
        let numbered: Vec<(u32, &Mutant)> = (1..).zip(&mutants).collect();
        let woven = weave(text, &numbered);
        (mutants, woven)
    }

    #[test]
    fn statements_conditions_and_locks() {
        let (mutants, woven) = woven(
            "void f() {\n  std::lock_guard<std::mutex> l(m);\n  if (a) {\n    g();\n  }\n}\n",
        );
        assert_eq!(mutants.len(), 3);
        assert_eq!(
            woven.text,
            "#include <ATen/mps/umpatch_mutants.h>\nvoid f() {\n  \
             std::unique_lock<std::mutex> l(m); if (umpatch_mutants::is(1)) { l.unlock(); }\n  \
             if ((umpatch_mutants::is(2) ? static_cast<bool>(!(a)) : static_cast<bool>(a))) {\n    \
             { if (umpatch_mutants::is(3)) {  } else { g(); } }\n  }\n}\n"
        );
        assert_eq!(woven.blame(4, 30), Some(2));
        assert_eq!(woven.blame(5, 10), Some(3));
        assert_eq!(woven.blame(2, 3), None);
    }

    #[test]
    fn places_inside_of_places_are_woven_too() {
        let (mutants, woven) = woven("void f() {\n  run(^() {\n    g();\n  });\n}\n");
        assert_eq!(mutants.len(), 2);
        assert!(
            woven.text.contains(
                "else { run(^() {\n    { if (umpatch_mutants::is(2)) {  } else { g(); } }"
            )
        );
    }

    proptest! {
        #[test]
        fn a_text_without_mutants_stays(text in "(a|;|\\{|\\}| |\\n|é){0,40}") {
            prop_assert_eq!(weave(&text, &[]).text, text);
        }

        #[test]
        fn no_source_is_too_strange(text in "(if|for|return|a|b|\\(|\\)|\\{|\\}|;|<| < |&&|!|=|1|true| |\\n){0,60}") {
            let (mutants, woven) = woven(&text);
            // each is in the text that is compiled, or its place could not be woven
            prop_assert!(woven.spans.len() <= mutants.iter().map(|mutant| mutant.edits.len()).sum::<usize>());
        }
    }
}
