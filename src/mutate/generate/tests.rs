use super::*;
use proptest::prelude::*;

fn of(body: &str) -> Vec<(Operator, String)> {
    let text = format!("void f() {{\n{body}\n}}\n");
    let stages = [Stage {
        patch: "p".to_owned(),
        text: text.clone(),
    }];
    let stock = "void f() {\n}\n";
    generate("a/b.mm", stock, &stages)
        .into_iter()
        .map(|mutant| (mutant.operator, mutant.after))
        .collect()
}

fn afters(body: &str, operator: Operator) -> Vec<String> {
    of(body)
        .into_iter()
        .filter(|(found, _)| *found == operator)
        .map(|(_, after)| after)
        .collect()
}

#[test]
fn comparisons_and_conditions() {
    let body = "if (a->count() > 1 && b) { g(); }";
    assert_eq!(
        afters(body, Operator::FlipComparison),
        ["if (a->count() <= 1 && b) { g(); }"]
    );
    assert_eq!(
        afters(body, Operator::ShiftBoundary),
        ["if (a->count() >= 1 && b) { g(); }"]
    );
    assert_eq!(
        afters(body, Operator::OffByOne),
        ["if (a->count() > 2 && b) { g(); }"]
    );
    assert_eq!(
        afters(body, Operator::DropOperand),
        ["if ( b) { g(); }", "if (a->count() > 1 ) { g(); }"]
    );
    assert_eq!(
        afters(body, Operator::NegateCondition),
        ["!(a->count() > 1 && b)"]
    );
    assert_eq!(
        afters(body, Operator::SwapConnective),
        ["if (a->count() > 1 || b) { g(); }"]
    );
}

#[test]
fn operands_end_where_looser_marks_begin() {
    assert_eq!(
        afters("x = g(a, b || c && d, e);", Operator::DropOperand),
        [
            "x = g(a, c && d, e);",
            "x = g(a, b , e);",
            "x = g(a, b || d, e);",
            "x = g(a, b || c , e);"
        ]
    );
    assert_eq!(
        afters("return a && b ? c : d;", Operator::NegateCondition),
        ["return !(a && b )? c : d;".replace(" )?", ") ?")]
    );
}

#[test]
fn statements_are_dropped_and_swapped_under_their_own_names() {
    assert_eq!(
        of("n -= m;"),
        [
            (Operator::SkipAccounting, String::new()),
            (Operator::FlipArithmetic, "n += m;".to_owned()),
        ]
    );
    assert_eq!(of("m.lock();"), [(Operator::RemoveLock, String::new())]);
    assert_eq!(
        of("if (c) { return; }\ng();")[1],
        (Operator::DropReturn, String::new())
    );
    assert_eq!(
        afters("g();\nh();", Operator::SwapStatements),
        ["h(); g();"]
    );
    assert_eq!(of("return;"), []);
    assert_eq!(
        of("std::lock_guard<std::mutex> lock(m);"),
        [(Operator::RemoveLock, String::new())]
    );
}

#[test]
fn what_only_speaks_is_left_alone() {
    assert_eq!(of("std::cerr << a + 1;"), []);
    assert_eq!(of("(void)a;"), []);
    assert_eq!(
        of("// a < b\ng(\"a < b\", 'x');"),
        [(Operator::DropStatement, String::new())]
    );
    assert_eq!(
        afters("TORCH_INTERNAL_ASSERT(a < b);", Operator::DropStatement).len(),
        0
    );
}

#[test]
fn templates_are_no_comparisons() {
    assert_eq!(
        afters("std::set<B*, C> s = g<int>(x);", Operator::FlipComparison).len(),
        0
    );
}

#[test]
fn names_do_not_depend_on_lines_above() {
    let names = |above: &str| -> Vec<String> {
        let text = format!("{above}void f() {{\n  if (a < 1) {{\n    g();\n  }}\n}}\n");
        let stages = [Stage {
            patch: "p".to_owned(),
            text,
        }];
        generate("b.mm", above, &stages)
            .into_iter()
            .map(|mutant| mutant.name)
            .collect()
    };
    let plain = names("");
    assert!(plain.len() > 4);
    assert_eq!(plain, names("int x;\n\nint y;\n"));
    let unique: std::collections::BTreeSet<&String> = plain.iter().collect();
    assert_eq!(unique.len(), plain.len());
}

proptest! {
    #[test]
    fn no_source_is_too_strange(text in "(if|for|return|a|b|\\(|\\)|\\{|\\}|;|\"|'|//|/\\*|<| < |&&|\\|\\||!|=|,|\\?|:|1|true| |\\n|é){0,60}") {
        let stages = [Stage { patch: "p".to_owned(), text: text.clone() }];
        for mutant in generate("x.mm", "", &stages) {
            for edit in &mutant.edits {
                prop_assert!(text.get(edit.range.clone()).is_some());
            }
        }
    }
}
