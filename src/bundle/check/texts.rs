//! The texts of a pull request against upstream's taste: title, message, sections, links, length, what is still empty. Pure.
use super::State;
use crate::bundle::body::SECTIONS;
use crate::bundle::slots;
use crate::report::document::Trust;

/// Characters of a title that upstream's list of commits shows.
const TITLE: usize = 72;
/// Columns of a commit message.
const MESSAGE: usize = 80;
/// Words of a body that a reviewer reads; tables and code apart.
const WORDS: usize = 700;
/// Characters that a body may have at all.
const CHARACTERS: usize = 65_536;
/// Where links may go.
const HOSTS: [&str; 3] = ["github.com", "pytorch.org", "developer.apple.com"];

type Row = (&'static str, State, String);

/// The checks of one pull request.
pub(super) fn check(title: &str, mail: &str, body: &str, trust: Trust) -> Vec<Row> {
    vec![
        of("title", title_complaints(title), || title.to_owned()),
        of("commit message", message_complaints(mail), || {
            format!("at most {MESSAGE} columns")
        }),
        of("sections", section_complaints(body, trust), || {
            format!("all {}", SECTIONS.len())
        }),
        of("links", link_complaints(body), || "well formed".to_owned()),
        of("length", length_complaints(body), || {
            format!("{} words of prose", words(body))
        }),
        people(body),
    ]
}

fn of(name: &'static str, complaints: Vec<String>, fine: impl Fn() -> String) -> Row {
    if complaints.is_empty() {
        (name, State::Ok, fine())
    } else {
        (name, State::Failed, complaints.join("; "))
    }
}

fn title_complaints(title: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if !title.starts_with("[MPS] ") {
        complaints.push("does not begin with [MPS]".to_owned());
    }
    let characters = title.chars().count();
    if characters > TITLE {
        complaints.push(format!("{characters} characters, {TITLE} are shown"));
    }
    if title.ends_with('.') {
        complaints.push("ends with a full stop".to_owned());
    }
    complaints
}

/// The message of a mail: between its headers and the line `---`.
fn message_complaints(mail: &str) -> Vec<String> {
    let message = mail.split_once("\n\n").map_or("", |(_, rest)| rest);
    let message = message.split("\n---\n").next().unwrap_or_default();
    if message.trim().is_empty() {
        return vec!["it says nothing beyond its subject".to_owned()];
    }
    message
        .lines()
        .filter(|line| line.chars().count() > MESSAGE)
        .map(|line| format!("a line of {} columns", line.chars().count()))
        .collect()
}

fn section_complaints(body: &str, trust: Trust) -> Vec<String> {
    let mut complaints: Vec<String> = SECTIONS
        .iter()
        .filter(|section| {
            let after = body
                .split_once(&format!("{section}\n"))
                .map(|(_, rest)| rest.split("\n## ").next().unwrap_or_default());
            after.is_none_or(|text| text.trim().is_empty())
        })
        .map(|section| format!("nothing under {section:?}"))
        .collect();
    if trust != Trust::Hardware && !body.contains("no figure here was measured on a Mac") {
        complaints.push("it does not say that no figure was measured on a Mac".to_owned());
    }
    complaints
}

/// Links, references and paths.
fn link_complaints(body: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let fixes: Vec<&str> = body
        .lines()
        .filter_map(|line| line.strip_prefix("Fixes"))
        .collect();
    if fixes.is_empty() && slots::empty(body) == 0 {
        complaints.push("no line `Fixes #…`".to_owned());
    }
    for issue in fixes {
        if !is_issue(issue.trim()) {
            complaints.push(format!("`Fixes{issue}` names no issue"));
        }
    }
    for word in body.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '<' | '>' | '`'))
    {
        if let Some((scheme, rest)) = word.split_once("://") {
            let host = rest.split(['/', ':', '?', '#']).next().unwrap_or_default();
            let known = HOSTS
                .iter()
                .any(|known| host == *known || host.ends_with(&format!(".{known}")));
            if scheme != "https" {
                complaints.push(format!("{word} is not https"));
            } else if !known {
                complaints.push(format!(
                    "{word} leads to a host that reviewers do not expect"
                ));
            }
        } else if is_local(word) {
            complaints.push(format!("{word} is a path of one machine"));
        }
    }
    complaints
}

/// `#1`, `owner/name#1` or the issue's address.
fn is_issue(text: &str) -> bool {
    const ADDRESS: &str = "https://github.com/pytorch/pytorch/issues/";
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = text.strip_prefix(ADDRESS) {
        return digits(number);
    }
    match text.split_once('#') {
        Some(("", number)) => digits(number),
        Some((place, number)) => {
            let parts: Vec<&str> = place.split('/').collect();
            digits(number) && parts.len() == 2 && parts.iter().all(|part| !part.is_empty())
        }
        None => false,
    }
}

/// Whether a word is an absolute path, or sets something to one.
fn is_local(word: &str) -> bool {
    word.split(['=', ':', ',', '`', '"', '\'', '(', ')', '[', ']'])
        .filter_map(|part| part.strip_prefix('/')?.split_once('/'))
        .any(|(folder, _)| folder.starts_with(|first: char| first.is_alphanumeric()))
}

fn length_complaints(body: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let words = words(body);
    if words > WORDS {
        complaints.push(format!("{words} words of prose, {WORDS} are enough"));
    }
    let characters = body.chars().count();
    if characters > CHARACTERS {
        complaints.push(format!("{characters} characters, {CHARACTERS} are allowed"));
    }
    complaints
}

/// Words outside of code and tables.
fn words(body: &str) -> usize {
    let mut fenced = false;
    let mut count = 0;
    for line in body.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with('|') {
            count += line.split_whitespace().count();
        }
    }
    count
}

fn people(body: &str) -> Row {
    match slots::empty(body) {
        0 => ("for a person", State::Ok, "everything is filled".to_owned()),
        empty => (
            "for a person",
            State::ForAPerson,
            format!("{empty} places to fill before it is sent"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn good() -> String {
        let mut body = "Fixes #12\n\nhttps://github.com/pytorch/pytorch/issues/7\n".to_owned();
        for section in SECTIONS {
            body.push_str(&format!("\n{section}\n\nwords\n"));
        }
        body
    }

    fn failed(body: &str, trust: Trust) -> Vec<&'static str> {
        check("[MPS] Do it", "h: 1\n\nWhy.\n---\n", body, trust)
            .into_iter()
            .filter(|(_, state, _)| *state == State::Failed)
            .map(|(name, _, _)| name)
            .collect()
    }

    #[test]
    fn a_good_body_passes_and_each_fault_is_found() {
        assert!(failed(&good(), Trust::Hardware).is_empty());
        assert_eq!(failed(&good(), Trust::Simulated), ["sections"]);
        assert_eq!(
            failed(
                &good().replace("## Lint\n\nwords", "## Lint\n"),
                Trust::Hardware
            ),
            ["sections"]
        );
        for (fault, name) in [
            ("Fixes 12", "links"),
            ("Fixes #x", "links"),
            ("http://github.com/x", "links"),
            ("https://example.org/x", "links"),
            ("https://github.com.example.org/x", "links"),
            ("see /home/me/x", "links"),
            ("set TMPDIR=/scratch/me/x first", "links"),
        ] {
            let body = good().replace("Fixes #12", fault);
            assert_eq!(failed(&body, Trust::Hardware), [name], "{fault}");
        }
        let long = format!("{}{}", good(), "word ".repeat(800));
        assert_eq!(failed(&long, Trust::Hardware), ["length"]);
        let slot = format!("{}{}", good(), slots::slot("x"));
        let rows = check("[MPS] Do it", "h: 1\n\nWhy.\n---\n", &slot, Trust::Hardware);
        assert!(rows.iter().any(|row| row.1 == State::ForAPerson));
    }

    #[test]
    fn titles_and_messages() {
        assert!(title_complaints("[MPS] Keep it").is_empty());
        assert_eq!(title_complaints("Keep it.").len(), 2);
        assert_eq!(
            title_complaints(&format!("[MPS] {}", "x".repeat(80))).len(),
            1
        );
        assert_eq!(message_complaints("a: b\n\n\n---\n").len(), 1);
        let long = format!("a: b\n\n{}\n---\n{}\n", "x".repeat(81), "y".repeat(200));
        assert_eq!(message_complaints(&long).len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_judged(title in any::<String>(), mail in any::<String>(), body in any::<String>()) {
            prop_assert_eq!(check(&title, &mail, &body, Trust::Simulated).len(), 6);
        }
    }
}
