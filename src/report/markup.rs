//! Text of others inside Markdown: as words, as code, as a block, so that it can do nothing there.

/// Words in a paragraph or a cell. What would mention somebody, refer to an issue or link becomes code, the rest is
/// escaped.
pub(crate) fn prose(text: &str) -> String {
    let refers = text.contains('@')
        || text.contains("://")
        || text.to_ascii_lowercase().contains("www.")
        || text
            .as_bytes()
            .windows(2)
            .any(|pair| pair[0] == b'#' && pair[1].is_ascii_digit());
    if refers {
        return code(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = ' ';
    for character in text.chars() {
        match character {
            // within a word it emphasises nothing
            '_' if before.is_alphanumeric() => shown.push('_'),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '#' | '!' => {
                shown.push('\\');
                shown.push(character);
            }
            _ => shown.push(character),
        }
        before = character;
    }
    shown
}

/// A code span that its content cannot end, and that does not end a table's cell.
pub(crate) fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(text, '`') + 1);
    let text = text.replace('|', "\\|");
    let space = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A block of code that its content cannot end.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

pub(crate) fn html_escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        // a mention or a reference needs these signs as themselves
        .replace('@', "@\u{2060}")
        .replace('#', "#\u{2060}")
}

fn longest_run(text: &str, of: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for character in text.chars() {
        run = if character == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
