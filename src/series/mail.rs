//! The mail around a patch: who wrote it, when, and the commit message that it carries.
use encoding_rs::Encoding;

/// Who wrote a patch and when, and what the commit says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The author's name.
    pub name: String,
    /// The author's address.
    pub email: String,
    /// When, in seconds since 1970.
    pub seconds: i64,
    /// The author's distance from UTC in minutes.
    pub offset_minutes: i32,
    /// The first line, with `[MPS]` and without `[PATCH 1/5]`.
    pub subject: String,
    /// The paragraphs after it, without a line end at the end.
    pub body: String,
}

/// What a patch without a mail around it is committed as: fixed, so that commits are the same everywhere.
pub const NAME: &str = "umpatch";
/// The address that goes with [`NAME`].
pub const EMAIL: &str = "umpatch@localhost";
/// 2000-01-01 in UTC, the date that goes with [`NAME`].
pub const SECONDS: i64 = 946_684_800;

/// What some editors put before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Why a preamble that looks like a mail cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// An encoded body, and with it an encoded diff.
    #[error("the mail's body is encoded ({0}); save the patch as plain text")]
    Encoded(String),
}

impl Message {
    /// The message of a patch without a mail: a plain diff.
    #[must_use]
    pub fn plain(subject: &str, body: &str) -> Self {
        Self {
            name: NAME.to_owned(),
            email: EMAIL.to_owned(),
            seconds: SECONDS,
            offset_minutes: 0,
            subject: subject.trim().to_owned(),
            body: body.trim().to_owned(),
        }
    }

    /// The commit message.
    #[must_use]
    pub fn text(&self) -> String {
        if self.body.is_empty() {
            format!("{}\n", self.subject)
        } else {
            format!("{}\n\n{}\n", self.subject, self.body)
        }
    }

    /// Reads the preamble of a patch file; none when it is no mail.
    ///
    /// # Errors
    /// When the body is encoded.
    pub fn from_preamble(preamble: &[u8]) -> Result<Option<Self>, MailError> {
        let preamble = preamble.strip_prefix(BYTE_ORDER_MARK).unwrap_or(preamble);
        let (head, rest) = split_at_blank_line(preamble);
        let Some(headers) = headers(&to_text(head, "utf-8")) else {
            return Ok(None);
        };
        let find = |wanted: &str| {
            headers
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
                .map(|(_, value)| value.as_str())
        };
        let (Some(subject), Some(from)) = (find("Subject"), find("From")) else {
            return Ok(None);
        };
        if let Some(encoding) = find("Content-Transfer-Encoding") {
            let encoding = encoding.trim().to_ascii_lowercase();
            if encoding == "base64" || encoding == "quoted-printable" {
                return Err(MailError::Encoded(encoding));
            }
        }
        let charset = find("Content-Type").and_then(charset).unwrap_or_default();
        let text = to_text(rest, &charset);
        let mut rest = text.as_str();
        let mut from = from.to_owned();
        // an author that is not the sender stands at the top of the body
        let trimmed = rest.trim_start_matches(['\n', '\r']);
        if let Some(line) = trimmed.strip_prefix("From: ") {
            let (author, after) = line.split_once('\n').unwrap_or((line, ""));
            if author.contains('<') {
                author.trim().clone_into(&mut from);
                rest = after;
            }
        }
        let (name, email) = address(&from);
        let (seconds, offset_minutes) = find("Date").and_then(date).unwrap_or((SECONDS, 0));
        Ok(Some(Self {
            name,
            email,
            seconds,
            offset_minutes,
            subject: strip_patch_tag(&decode_words(subject)),
            body: body(rest),
        }))
    }
}

/// Longest line of a header that is written.
const WIDTH: usize = 76;

impl Message {
    /// The mail's headers and message, up to the line `---`, as `git format-patch --zero-commit` writes them but without a
    /// `[PATCH]` tag.
    #[must_use]
    pub fn emit(&self) -> String {
        let plain = self.subject.is_ascii() && self.name.is_ascii() && self.body.is_ascii();
        let mut mail = String::from(
            "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n",
        );
        let special = self
            .name
            .contains(['"', ',', ';', ':', '(', ')', '@', '\\']);
        let name = match (is_plain(&self.name), special) {
            (false, _) => encoded(&self.name),
            (true, true) => format!(
                "\"{}\"",
                self.name.replace('\\', "\\\\").replace('"', "\\\"")
            ),
            (true, false) => self.name.clone(),
        };
        mail.push_str(&format!("From: {name} <{}>\n", self.email));
        mail.push_str(&format!("Date: {}\n", self.date()));
        let subject = match is_plain(&self.subject) {
            true => self.subject.clone(),
            false => encoded(&self.subject),
        };
        mail.push_str(&folded(&format!("Subject: {subject}")));
        if !plain {
            mail.push_str(
                "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n",
            );
        }
        mail.push('\n');
        if !self.body.is_empty() {
            mail.push_str(&self.body);
            mail.push('\n');
        }
        mail.push_str("---\n");
        mail
    }

    fn date(&self) -> String {
        let offset = jiff::tz::Offset::from_seconds(self.offset_minutes.saturating_mul(60))
            .unwrap_or(jiff::tz::Offset::UTC);
        let time =
            jiff::Timestamp::from_second(self.seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let zoned = time.to_zoned(jiff::tz::TimeZone::fixed(offset));
        zoned.strftime("%a, %-d %b %Y %H:%M:%S %z").to_string()
    }
}

/// Whether a text stands in a header as it is: what looks like an encoded word would be decoded when it is read.
fn is_plain(text: &str) -> bool {
    text.is_ascii() && !text.contains("=?") && !text.contains(|c: char| c.is_control())
}

/// A header line broken before words that would make it too long.
fn folded(header: &str) -> String {
    let mut text = String::new();
    let mut length = 0;
    let mut before = "";
    for (index, word) in header.split(' ').enumerate() {
        // a line that begins or ends with white space would lose it
        let is_whole = |word: &str| !word.is_empty() && word.trim() == word;
        if index > 0 {
            if length + 1 + word.len() > WIDTH && is_whole(before) && is_whole(word) {
                text.push_str("\n ");
                length = 1;
            } else {
                text.push(' ');
                length += 1;
            }
        }
        text.push_str(word);
        length += word.len();
        before = word;
    }
    text.push('\n');
    text
}

/// Text as encoded words of RFC 2047, each short enough for a line.
fn encoded(text: &str) -> String {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        let mut buffer = [0; 4];
        let escaped: String = match c {
            ' ' => "_".to_owned(),
            'a'..='z' | 'A'..='Z' | '0'..='9' => c.to_string(),
            _ => c
                .encode_utf8(&mut buffer)
                .bytes()
                .map(|byte| format!("={byte:02X}"))
                .collect(),
        };
        if word.len() + escaped.len() > 50 {
            words.push(std::mem::take(&mut word));
        }
        word.push_str(&escaped);
    }
    words.push(word);
    let words: Vec<String> = words
        .iter()
        .map(|word| format!("=?UTF-8?q?{word}?="))
        .collect();
    words.join(" ")
}

/// The bytes before and after the first blank line that is not at the start.
pub(super) fn split_at_blank_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let start = bytes
        .iter()
        .position(|byte| !matches!(byte, b'\n' | b'\r'))
        .unwrap_or(bytes.len());
    let bytes = &bytes[start..];
    let mut end = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        if line == b"\n" || line == b"\r\n" {
            return (&bytes[..end], &bytes[end + line.len()..]);
        }
        end += line.len();
    }
    (bytes, b"")
}

/// Header lines, unfolded; none when some line is no header line.
pub(super) fn headers(text: &str) -> Option<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if index == 0 && line.starts_with("From ") {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            let (_, value) = found.last_mut()?;
            value.push(' ');
            value.push_str(line.trim());
            continue;
        }
        let (name, value) = line.split_once(':')?;
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_name {
            return None;
        }
        found.push((name.to_owned(), value.trim().to_owned()));
    }
    Some(found)
}

/// The message: up to the line `---`, without blank lines around it.
fn body(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .take_while(|line| *line != "---")
        .collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

pub(super) fn charset(content_type: &str) -> Option<String> {
    let lower = content_type.to_ascii_lowercase();
    let value = lower.split("charset=").nth(1)?;
    Some(
        value
            .trim_matches('"')
            .split([';', '"', ' '])
            .next()?
            .to_owned(),
    )
}

/// Bytes as text; a byte that fits no encoding becomes the replacement character.
pub(super) fn to_text(bytes: &[u8], charset: &str) -> String {
    // what the web calls so is windows-1252, which mail tells apart
    if matches!(charset, "iso-8859-1" | "latin1") {
        return bytes.iter().map(|&byte| char::from(byte)).collect();
    }
    let encoding = Encoding::for_label(charset.as_bytes()).unwrap_or(encoding_rs::UTF_8);
    encoding.decode(bytes).0.into_owned()
}

/// `[PATCH v2 1/5] [MPS] x` is `[MPS] x`.
fn strip_patch_tag(subject: &str) -> String {
    let mut rest = subject.trim();
    while let Some((tag, after)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        if !tag.split_whitespace().any(|word| word.starts_with("PATCH")) {
            break;
        }
        rest = after.trim_start();
    }
    rest.to_owned()
}

/// The inside of a quoted string, without the backslashes that protect quotes and backslashes.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        plain.push(match c {
            '\\' => rest.next().unwrap_or(c),
            _ => c,
        });
    }
    plain
}

/// What git and its library take off the ends of a name before they write it into a commit.
const fn is_crud(c: char) -> bool {
    matches!(
        c,
        '\0'..=' ' | ',' | ':' | ';' | '<' | '>' | '"' | '\\' | '\''
    )
}

/// `Name <address>` as a header has it, the name perhaps in quotes or encoded; characters that git refuses are left out.
fn address(text: &str) -> (String, String) {
    let (name, email) = match text.rsplit_once('<') {
        Some((name, email)) => (name.trim(), email.split('>').next().unwrap_or(email)),
        None => ("", text),
    };
    let clean = |text: &str| -> String {
        text.chars()
            .filter(|c| !matches!(c, '<' | '>') && !c.is_control())
            .collect::<String>()
            .trim_matches(is_crud)
            .to_owned()
    };
    // quotes that come out of an encoded word are part of the name
    let name = match name.strip_prefix('"').and_then(|n| n.strip_suffix('"')) {
        Some(inside) => decode_words(&unescaped(inside)),
        None => decode_words(name),
    };
    let name = clean(&name);
    let email = clean(email);
    let name = if name.is_empty() { email.clone() } else { name };
    match (name.is_empty(), email.is_empty()) {
        (true, _) => (NAME.to_owned(), EMAIL.to_owned()),
        (_, true) => (name, EMAIL.to_owned()),
        _ => (name, email),
    }
}

fn date(text: &str) -> Option<(i64, i32)> {
    let zoned = jiff::fmt::rfc2822::DateTimeParser::new()
        .relaxed_weekday(true)
        .parse_zoned(text)
        .ok()?;
    let seconds = zoned.timestamp().as_second();
    // git's library writes no other times into a commit
    u32::try_from(seconds).ok()?;
    Some((seconds, zoned.offset().seconds() / 60))
}

/// Decodes the encoded words of RFC 2047; one that cannot be decoded is kept as it stands.
fn decode_words(text: &str) -> String {
    let mut decoded = String::new();
    let mut rest = text;
    let mut after_word = false;
    while let Some(start) = rest.find("=?") {
        let (before, word) = rest.split_at(start);
        match encoded_word(word) {
            Some((value, length)) => {
                // white space between two encoded words is no part of the text
                if !(after_word && before.trim().is_empty()) {
                    decoded.push_str(before);
                }
                decoded.push_str(&value);
                rest = &word[length..];
                after_word = true;
            }
            None => {
                decoded.push_str(before);
                decoded.push_str("=?");
                rest = &word[2..];
                after_word = false;
            }
        }
    }
    decoded.push_str(rest);
    decoded.chars().filter(|c| !c.is_control()).collect()
}

/// `=?charset?q?text?=`: its value and its length.
fn encoded_word(word: &str) -> Option<(String, usize)> {
    let mut parts = word.strip_prefix("=?")?.splitn(3, '?');
    let (charset, encoding, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let end = rest.find("?=")?;
    let text = &rest[..end];
    let bytes = match encoding {
        "q" | "Q" => quoted_printable(text)?,
        "b" | "B" => base64(text)?,
        _ => return None,
    };
    let charset = charset.split('*').next()?.to_ascii_lowercase();
    let value = if matches!(charset.as_str(), "iso-8859-1" | "latin1") {
        to_text(&bytes, &charset)
    } else {
        let encoding = Encoding::for_label(charset.as_bytes())?;
        encoding
            .decode_without_bom_handling_and_without_replacement(&bytes)?
            .into_owned()
    };
    let length = 2 + charset_length(word)? + 1 + encoding.len() + 1 + end + 2;
    Some((value, length))
}

fn charset_length(word: &str) -> Option<usize> {
    word.get(2..)?.find('?')
}

fn quoted_printable(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'_' => b' ',
            b'=' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
                u8::try_from(value).ok()?
            }
            _ => byte,
        });
    }
    Some(bytes)
}

pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut pending, mut bits) = (0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        pending = (pending << 6 | u32::from(value)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(pending >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIL: &str = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n\
        From: =?UTF-8?q?J=C3=BCrgen?= =?utf-8?B?IE0u?= <j@example.org>\n\
        Date: Tue, 2 Jan 2024 03:04:05 +0130\n\
        Subject: [PATCH v2 1/5] [MPS] Keep the mutex while\n iterating\n\n\
        Why it is so.\n\nMore.\n---\n a.mm | 2 +-\n\n";

    #[test]
    fn a_mail_gives_author_date_and_message() {
        let message = Message::from_preamble(MAIL.as_bytes()).unwrap().unwrap();
        assert_eq!(message.name, "Jürgen M.");
        assert_eq!(message.email, "j@example.org");
        assert_eq!(
            (message.seconds, message.offset_minutes),
            (1_704_159_245, 90)
        );
        assert_eq!(message.subject, "[MPS] Keep the mutex while iterating");
        assert_eq!(
            message.text(),
            "[MPS] Keep the mutex while iterating\n\nWhy it is so.\n\nMore.\n"
        );
    }

    #[test]
    fn what_is_written_is_read_the_same() {
        for (name, subject, body) in [
            ("A B", "[MPS] Short", ""),
            (
                "Doe, \"Jo\" M",
                "[MPS] A subject that is so long that it has to be broken over more than one line of the mail",
                "Why.\n\nMore.",
            ),
            ("a \"quoted\" ä", "[MPS] Quotes that are the name's own", ""),
            ("back\\slash \"and\" more", "[MPS] Quotes within", ""),
            (
                "=?utf-8?q?a?=",
                "[MPS] What looks  encoded =?utf-8?q?is?= not, and runs      of white space stay in         a long one, however long it is",
                "",
            ),
            (
                "Jürgen Ł",
                "[MPS] Größe und noch mehr Wörter, damit es länger als eine Zeile der Mail wird",
                "Größe\n",
            ),
        ] {
            let message = Message {
                name: name.to_owned(),
                email: "a@b".to_owned(),
                seconds: 1_704_159_245,
                offset_minutes: -330,
                subject: subject.to_owned(),
                body: body.trim().to_owned(),
            };
            let mail = message.emit();
            assert!(
                mail.contains("Date: Mon, 1 Jan 2024 20:04:05 -0530\n"),
                "{mail}"
            );
            assert_eq!(
                Message::from_preamble(mail.as_bytes()),
                Ok(Some(message)),
                "{mail}"
            );
        }
    }

    #[test]
    fn carriage_returns_change_nothing() {
        let crlf = MAIL.replace('\n', "\r\n");
        assert_eq!(
            Message::from_preamble(crlf.as_bytes()),
            Message::from_preamble(MAIL.as_bytes())
        );
    }

    #[test]
    fn no_mail_is_no_mail() {
        for text in [
            "",
            "Index: x\n====\n",
            "Some words.\n\nMore: words\n",
            "\n\n",
        ] {
            assert_eq!(
                Message::from_preamble(text.as_bytes()),
                Ok(None),
                "{text:?}"
            );
        }
    }

    #[test]
    fn an_encoded_body_is_refused() {
        let mail = MAIL.replace("Date:", "Content-Transfer-Encoding: base64\nDate:");
        assert!(Message::from_preamble(mail.as_bytes()).is_err());
    }

    #[test]
    fn latin_and_unknown_words() {
        assert_eq!(decode_words("=?iso-8859-1?Q?caf=E9_x?= y"), "café x y");
        assert_eq!(decode_words("=?koi8-r?Q?=E9?= y"), "И y");
        assert_eq!(decode_words("=?GB18030?B?0N64tL661fk=?="), "修复竞争");
        assert_eq!(decode_words("=?windows-1252?Q?=80?="), "€");
        for unknown in [
            "=?unknown-8bit?Q?=E9?= y",
            "=?utf-8?Q?=E9?= y",
            "=?gb18030?B?////?=",
        ] {
            assert_eq!(decode_words(unknown), unknown);
        }
        assert_eq!(decode_words("=? =?= ?="), "=? =?= ?=");
    }

    #[test]
    fn a_body_in_another_encoding_and_a_mark_before_it() {
        let mut mail = MAIL
            .replace("Date:", "Content-Type: text/plain; charset=GB18030\nDate:")
            .into_bytes();
        let at = mail.windows(3).position(|bytes| bytes == b"Why").unwrap();
        mail.splice(at..at + 3, [0xd0, 0xde, 0xb8, 0xb4]);
        mail.splice(0..0, [0xef, 0xbb, 0xbf]);
        let message = Message::from_preamble(&mail).unwrap().unwrap();
        assert_eq!(message.body, "修复 it is so.\n\nMore.");
        assert_eq!(message.name, "Jürgen M.");
    }

    #[test]
    fn names_are_what_a_commit_can_hold() {
        for (from, name, email) in [
            ("'quoted' <a@b>", "quoted", "a@b"),
            ("=?utf-8?q?=22X=22?= <a@b>", "X", "a@b"),
            ("\\ <a@b>", "a@b", "a@b"),
            ("; <;>", NAME, EMAIL),
            ("<<>> \"a\\\"b\" <>", "a\\\"b", EMAIL),
            ("Sammy Davis Jr. <a@b>", "Sammy Davis Jr.", "a@b"),
        ] {
            assert_eq!(address(from), (name.to_owned(), email.to_owned()), "{from}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_library_writes_a_name_as_it_is(from in "[ -~äß]{0,24}") {
            let (name, email) = address(&from);
            let signature = git2::Signature::new(&name, &email, &git2::Time::new(1, 0)).unwrap();
            proptest::prop_assert_eq!(signature.name_bytes(), name.as_bytes());
            proptest::prop_assert_eq!(signature.email_bytes(), email.as_bytes());
        }
    }

    #[test]
    fn a_time_that_no_commit_can_have_is_none() {
        for (year, expected) in [
            ("2024", 1_704_159_245),
            ("1960", SECONDS),
            ("9999", SECONDS),
        ] {
            let mail = MAIL.replace("2024", year);
            let message = Message::from_preamble(mail.as_bytes()).unwrap().unwrap();
            assert_eq!(message.seconds, expected, "{year}");
        }
    }

    #[test]
    fn only_the_patch_tag_goes() {
        assert_eq!(strip_patch_tag("[RFC PATCH 1/2][MPS] x"), "[MPS] x");
        assert_eq!(strip_patch_tag("[MPS] [PATCH] x"), "[MPS] [PATCH] x");
    }

    #[test]
    fn an_author_in_the_body_wins() {
        let mail = MAIL.replace("\n\nWhy", "\n\nFrom: \"Doe, Jo\" <jo@example.org>\n\nWhy");
        let message = Message::from_preamble(mail.as_bytes()).unwrap().unwrap();
        assert_eq!(message.name, "Doe, Jo");
        assert_eq!(message.body, "Why it is so.\n\nMore.");
    }
}
