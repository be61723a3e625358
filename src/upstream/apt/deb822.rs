//! Paragraphs of `Field: value` lines, the form of Debian's control files: source lists, indices, `.dsc`.

/// One paragraph: fields in order, names as written, values with their continuation lines joined by newlines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paragraph {
    fields: Vec<(String, String)>,
}

impl Paragraph {
    /// The value of a field, by its name in any case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The words of a field's value; none where the field is absent.
    pub fn words(&self, name: &str) -> impl Iterator<Item = &str> {
        self.get(name).unwrap_or_default().split_whitespace()
    }

    /// All fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Sets a field, or adds it at the end.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self
            .fields
            .iter_mut()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
        {
            Some((_, old)) => *old = value,
            None => self.fields.push((name.to_owned(), value)),
        }
    }

    /// Removes a field.
    pub fn remove(&mut self, name: &str) {
        self.fields
            .retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }
}

impl std::fmt::Display for Paragraph {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (key, value) in &self.fields {
            let mut lines = value.split('\n');
            let first = lines.next().unwrap_or_default();
            let space = if first.is_empty() { "" } else { " " };
            writeln!(formatter, "{key}:{space}{first}")?;
            for line in lines {
                // an empty line would end the paragraph
                let line = if line.trim().is_empty() { "." } else { line };
                writeln!(formatter, " {line}")?;
            }
        }
        Ok(())
    }
}

/// The paragraphs of a text. Lines that are neither fields nor continuations are passed over, as are comments.
#[must_use]
pub fn parse(text: &str) -> Vec<Paragraph> {
    let mut paragraphs = Vec::new();
    let mut current = Paragraph::default();
    for line in text.lines() {
        if line.trim().is_empty() {
            if !current.fields.is_empty() {
                paragraphs.push(std::mem::take(&mut current));
            }
        } else if line.starts_with('#') {
            // a comment, also in the middle of a value
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = current.fields.last_mut() {
                value.push('\n');
                value.push_str(&line[1..]);
            }
        } else if let Some((key, value)) = line.split_once(':') {
            let key = key.trim();
            if !key.is_empty() && !key.contains(char::is_whitespace) {
                current
                    .fields
                    .push((key.to_owned(), value.trim().to_owned()));
            }
        }
    }
    if !current.fields.is_empty() {
        paragraphs.push(current);
    }
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_comments_and_continuations() {
        let text = "# list\nTypes: deb\nURIs: http://mirror.example/debian\n# why\n  http://other.example/debian\n\n\n\
                    Key:\n -----BEGIN\n .\n abc\n";
        let paragraphs = parse(text);
        assert_eq!(paragraphs.len(), 2);
        assert_eq!(paragraphs[0].get("types"), Some("deb"));
        assert_eq!(paragraphs[0].words("uris").count(), 2);
        assert_eq!(paragraphs[1].get("Key"), Some("\n-----BEGIN\n.\nabc"));
        assert_eq!(paragraphs[1].to_string(), "Key:\n -----BEGIN\n .\n abc\n");
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".*") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_written_reads_back(
            fields in proptest::collection::vec(
                ("[A-Za-z][A-Za-z0-9-]{0,8}", "[!-~]([ -~]{0,10}[!-~])?(\n[!-~]{1,8}){0,2}"), 1..5)
        ) {
            let mut paragraph = Paragraph::default();
            for (key, value) in &fields {
                paragraph.set(key, value.clone());
            }
            prop_assert_eq!(parse(&paragraph.to_string()), vec![paragraph]);
        }
    }
}
