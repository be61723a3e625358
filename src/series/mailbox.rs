//! Patches as they come: one mail, several in a mailbox, or a plain diff; with bodies encoded for the way.
use super::mail::{base64, charset, headers, split_at_blank_line, to_text};
use encoding_rs::Encoding;
use std::borrow::Cow;

/// Why a mail cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailboxError {
    /// Several parts, of which one may be the patch.
    #[error("the mail has several parts (an attachment?); save the patch alone as a file")]
    Parts,
    /// An encoding that breaks off.
    #[error("the mail's body is no valid {0}")]
    Encoding(&'static str),
}

/// The mails of a mailbox, in order; one where it is none.
#[must_use]
pub fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut starts = vec![0];
    let mut at = 0;
    let mut after_blank = true;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        if at > 0 && after_blank && begins_mail(line) && is_header(&bytes[at + line.len()..]) {
            starts.push(at);
        }
        // a signature's last line stands before the next mail as well
        after_blank = line.iter().all(u8::is_ascii_whitespace);
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| &bytes[start..end])
        .collect()
}

/// `From <id or address> <date>`: what stands between the mails of a mailbox.
fn begins_mail(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else {
        return false;
    };
    let text = String::from_utf8_lossy(rest);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_time = |word: &&str| word.len() == 8 && word.split(':').count() == 3;
    words.len() >= 5 && words.iter().any(is_time)
}

fn is_header(bytes: &[u8]) -> bool {
    let line = bytes
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
    line.contains(&b':')
        && !name.is_empty()
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// A mail whose body is what it says, with no encoding left; anything else as it is.
///
/// # Errors
/// When the body cannot be decoded.
pub fn plain(mail: &[u8]) -> Result<Vec<u8>, MailboxError> {
    let (head, body) = split_at_blank_line(mail);
    let Some(fields) = headers(&to_text(head, "utf-8")) else {
        return Ok(mail.to_vec());
    };
    let find = |wanted: &str| {
        let found = fields
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.as_str())
    };
    if find("From").is_none() && find("Subject").is_none() {
        return Ok(mail.to_vec());
    }
    let kind = find("Content-Type").unwrap_or_default();
    if kind.to_ascii_lowercase().starts_with("multipart/") {
        return Err(MailboxError::Parts);
    }
    let encoding = find("Content-Transfer-Encoding").unwrap_or_default();
    let decoded = match encoding.trim().to_ascii_lowercase().as_str() {
        "quoted-printable" => quoted_printable(body),
        "base64" => {
            let text: String = body
                .iter()
                .filter(|byte| !byte.is_ascii_whitespace())
                .map(|&byte| char::from(byte))
                .collect();
            base64(&text).ok_or(MailboxError::Encoding("base64"))?
        }
        _ => return Ok(mail.to_vec()),
    };
    // a diff in two bytes a character is in none that it could be read in
    let (decoded, is_converted) = match wide_text(&decoded, find("Content-Type")) {
        Some(text) => (text.into_bytes(), true),
        None => (decoded, false),
    };
    let decoded = without_carriage_returns(decoded);
    let mut result = Vec::with_capacity(head.len() + decoded.len());
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        let lower = line.to_ascii_lowercase();
        if lower.starts_with(b"content-transfer-encoding:") {
            result.extend_from_slice(b"Content-Transfer-Encoding: 8bit\n");
        } else if is_converted && lower.starts_with(b"content-type:") {
            result.extend_from_slice(b"Content-Type: text/plain; charset=UTF-8\n");
        } else {
            result.extend_from_slice(line);
        }
    }
    result.push(b'\n');
    // the diff keeps its bytes, whatever the words around it are written in
    result.extend_from_slice(&decoded);
    Ok(result)
}

/// A body of UTF-16 as text.
fn wide_text(body: &[u8], content_type: Option<&str>) -> Option<String> {
    let charset = charset(content_type?)?;
    let encoding = Encoding::for_label(charset.as_bytes())?;
    let is_wide = encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE;
    is_wide.then(|| encoding.decode(body).0.into_owned())
}

/// A file without the mark that Windows' tools put at its start, in UTF-8 where they wrote UTF-16.
#[must_use]
pub fn unmarked(file: &[u8]) -> Cow<'_, [u8]> {
    match Encoding::for_bom(file) {
        Some((encoding, length)) if encoding == encoding_rs::UTF_8 => file[length..].into(),
        Some((encoding, length)) => {
            let text = encoding.decode_without_bom_handling(&file[length..]).0;
            without_carriage_returns(text.into_owned().into_bytes()).into()
        }
        None => file.into(),
    }
}

/// Mail bodies have carriage returns on their way; a diff whose every line has one was sent so.
fn without_carriage_returns(bytes: Vec<u8>) -> Vec<u8> {
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    let returns = bytes.windows(2).filter(|pair| pair == b"\r\n").count();
    if ends == 0 || ends != returns {
        return bytes;
    }
    let mut kept = Vec::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        if byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            kept.push(byte);
        }
    }
    kept
}

/// The body as it was before it was made fit for lines of 76 characters; what is no code stays.
fn quoted_printable(body: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(body.len());
    let mut at = 0;
    while let Some(&byte) = body.get(at) {
        if byte == b'=' {
            if let (Some(high), Some(low)) = (digit(body.get(at + 1)), digit(body.get(at + 2))) {
                decoded.push((high * 16 + low) as u8);
                at += 3;
                continue;
            }
            let soft = match (body.get(at + 1), body.get(at + 2)) {
                (Some(b'\n'), _) => 2,
                (Some(b'\r'), Some(b'\n')) => 3,
                _ => 0,
            };
            if soft > 0 {
                at += soft;
                continue;
            }
        }
        decoded.push(byte);
        at += 1;
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_text_becomes_plain() {
        let wide = |text: &str| -> Vec<u8> {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(u16::to_le_bytes).collect()
        };
        assert_eq!(
            &*unmarked(&wide("größer\r\n+a\r\n")),
            "größer\n+a\n".as_bytes()
        );
        assert_eq!(&*unmarked("\u{feff}a\r\nb".as_bytes()), b"a\r\nb");
        assert_eq!(&*unmarked(b"a\xff\xfe"), b"a\xff\xfe");
        assert_eq!(&*unmarked(b""), b"");
        let mail = b"From: a <a@b>\nSubject: x\nContent-Type: text/plain; charset=\"utf-16\"\n\
            Content-Transfer-Encoding: base64\n\n//5hAAoAKwBiAA==\n";
        let plain = String::from_utf8(plain(mail).unwrap()).unwrap();
        assert!(
            plain.contains("charset=UTF-8\n") && plain.ends_with("\n\na\n+b"),
            "{plain}"
        );
    }

    const ONE: &str = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n\
                       From: a <a@b>\nSubject: [PATCH] x\n\nWhy.\n---\n";
    const DIFF: &str = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a=3D\n+b\n";

    #[test]
    fn a_mailbox_is_taken_apart_between_mails_only() {
        let quoted = format!("{ONE}\n{DIFF}\n{ONE}text\nFrom here on it is prose\n{DIFF}");
        let parts = split(quoted.as_bytes());
        assert_eq!(parts.len(), 2);
        assert_eq!(parts.concat(), quoted.as_bytes());
        assert_eq!(split(DIFF.as_bytes()), [DIFF.as_bytes()]);
        assert_eq!(split(b""), [b""]);
    }

    #[test]
    fn an_encoded_body_becomes_plain() {
        let head = "From: a <a@b>\nSubject: x\nContent-Transfer-Encoding: quoted-printable\n\n";
        let mail = format!("{head}long =\nline=3D\r\n");
        let text = String::from_utf8(plain(mail.as_bytes()).unwrap()).unwrap();
        assert!(text.ends_with("\n\nlong line=\n") || text.ends_with("\n\nlong line=\r\n"));
        assert!(text.contains("Content-Transfer-Encoding: 8bit\n"));
        let coded = head.replace("quoted-printable", "base64") + "V2h5\nLgo=\n";
        assert!(plain(coded.as_bytes()).unwrap().ends_with(b"\n\nWhy.\n"));
        let broken = head.replace("quoted-printable", "base64") + "!!\n";
        assert_eq!(
            plain(broken.as_bytes()),
            Err(MailboxError::Encoding("base64"))
        );
        assert_eq!(plain(DIFF.as_bytes()).unwrap(), DIFF.as_bytes());
        let parts = "From: a\nContent-Type: multipart/mixed; boundary=x\n\n";
        assert_eq!(plain(parts.as_bytes()), Err(MailboxError::Parts));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            proptest::prop_assert_eq!(split(&bytes).concat(), bytes.clone());
            let _ = plain(&bytes);
        }
    }
}
