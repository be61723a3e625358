//! Makes text that others wrote (test names, output, paths) harmless before any format shows it: no control characters,
//! no terminal sequences, no invisible or direction-changing characters, bounded length.
use super::figures;
use std::fmt::Write;

/// Characters of a name or id that are shown.
pub(crate) const NAME: usize = 300;
/// Characters of a sentence that are shown.
pub(crate) const SENTENCE: usize = 2_000;
/// Characters of program output that are shown.
pub(crate) const OUTPUT: usize = 4_200;

/// One line of text: line breaks become spaces, and what exceeds `limit` characters is cut from the middle.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let shown = visible(&shorten(text, limit), Breaks::Flatten);
    shown.trim().to_owned()
}

/// Text of several lines, of at most about `limit` characters.
pub(crate) fn block(text: &str, limit: usize) -> String {
    let shown = visible(&shorten(text, limit), Breaks::Keep);
    shown.trim_end().to_owned()
}

/// Keeps the start and the end of a text that is longer than `limit` bytes and says how much was cut between them.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = floor_boundary(text, limit * 2 / 3);
    let tail = ceil_boundary(text, text.len() - limit / 3);
    format!(
        "{} … [{} cut] … {}",
        &text[..head],
        figures::bytes((tail - head) as f64),
        &text[tail..]
    )
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    Keep,
    Flatten,
}

fn visible(text: &str, breaks: Breaks) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' | '\t' if breaks == Breaks::Keep => shown.push(character),
            '\n' | '\t' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => shown.push(' '),
            '\u{1b}' => skip_terminal_sequence(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            // the pictures of control characters stand at a fixed distance from them
            '\0'..='\u{1f}' => shown.extend(char::from_u32(0x2400 + character as u32)),
            '\u{7f}' => shown.push('\u{2421}'),
            _ if is_deceptive(character) => {
                let _ = write!(shown, "⟨U+{:04X}⟩", character as u32);
            }
            _ => shown.push(character),
        }
    }
    shown
}

/// Characters that cannot be seen or that reorder what surrounds them.
fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{fffe}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// After ESC: a control sequence, a string (title, hyperlink, …) up to its terminator, or a two-character sequence.
fn skip_terminal_sequence(rest: &mut Rest<'_>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            while let Some(&character) = rest.peek() {
                // an unterminated string ends with its line, so that it cannot hide what follows
                if character == '\n' {
                    return;
                }
                rest.next();
                if character == '\u{7}' || character == '\u{9c}' {
                    return;
                }
                if character == '\u{1b}' && rest.peek() == Some(&'\\') {
                    rest.next();
                    return;
                }
            }
        }
        Some(' '..='~') => {
            rest.next();
        }
        _ => {}
    }
}

/// After CSI: parameters and intermediates, then one final character.
fn skip_control_sequence(rest: &mut Rest<'_>) {
    while let Some(&character) = rest.peek() {
        match character {
            ' '..='?' => {
                rest.next();
            }
            '@'..='~' => {
                rest.next();
                return;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terminal_sequences_vanish() {
        assert_eq!(line("\x1b[1;31mred\x1b[0m", NAME), "red");
        assert_eq!(line("\x1b]0;title\x07shown", NAME), "shown");
        assert_eq!(
            line("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", NAME),
            "link"
        );
        assert_eq!(line("\u{9b}2Jshown", NAME), "shown");
        assert_eq!(block("\x1b]0;never ends\nnext", OUTPUT), "\nnext");
    }

    #[test]
    fn controls_and_invisible_characters_are_pictured() {
        assert_eq!(line("a\0b\x08c\x7f", NAME), "a␀b␈c␡");
        assert_eq!(line("a\u{202e}b\u{200b}c", NAME), "a⟨U+202E⟩b⟨U+200B⟩c");
    }

    #[test]
    fn line_breaks_stay_only_in_blocks() {
        assert_eq!(line("a\r\nb\tc", NAME), "a b c");
        assert_eq!(block("a\r\nb\tc\n\n", OUTPUT), "a\nb\tc");
    }

    #[test]
    fn long_text_says_how_much_is_missing() {
        let long = "é".repeat(5_000_000);
        let short = line(&long, NAME);
        assert!(short.chars().count() < NAME, "{}", short.len());
        assert!(short.contains("9.54 MiB cut"), "{short}");
    }

    proptest! {
        #[test]
        fn nothing_unprintable_survives(text in any::<String>(), limit in 8..400_usize) {
            let shown = line(&text, limit);
            prop_assert!(!shown.chars().any(|c| c.is_control() || is_deceptive(c)), "{shown:?}");
            let shown = block(&text, limit);
            prop_assert!(!shown.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || is_deceptive(c)));
        }
    }
}
