//! The machine's own package sources, and a list of source packages that is derived from them.
//!
//! The address, the keyring and every other option of an entry are kept as they are; only the suite is replaced, and source
//! packages are asked for instead of binaries.
use super::deb822::{self, Paragraph};
use std::path::Path;

/// The component that holds PyTorch.
const COMPONENT: &str = "main";

/// One archive that the machine is configured for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Everything but types, suites and components.
    options: Paragraph,
    /// The suites that it is configured for.
    suites: Vec<String>,
    components: Vec<String>,
}

impl Archive {
    /// The suites that it is configured for.
    #[must_use]
    pub fn suites(&self) -> &[String] {
        &self.suites
    }

    /// The source list for one suite of this archive, in the deb822 form.
    #[must_use]
    pub fn source_list(&self, suite: &str) -> String {
        let mut paragraph = Paragraph::default();
        paragraph.set("Types", "deb-src");
        paragraph.set("Suites", suite);
        paragraph.set("Components", self.components.join(" "));
        for (key, value) in self.options.fields() {
            paragraph.set(key, value);
        }
        paragraph.to_string()
    }

    /// Whether this is a distribution's main archive: it has the component, and a whole suite that `known` accepts.
    /// (Security and update suites hold only parts; a vendor's archive has suites of its own.)
    fn is_distribution(&self, known: &dyn Fn(&str) -> bool) -> bool {
        self.components.iter().any(|name| name == COMPONENT)
            && self.suites.iter().any(|suite| known(suite))
    }
}

/// The archives among `all` that are a distribution's own, without doubles.
#[must_use]
pub fn distributions(all: Vec<Archive>, known: &dyn Fn(&str) -> bool) -> Vec<Archive> {
    let mut kept: Vec<Archive> = Vec::new();
    for archive in all {
        let double = kept.iter().any(|other| other.options == archive.options);
        if archive.is_distribution(known) && !double {
            kept.push(archive);
        }
    }
    kept
}

/// Reads the main list and the folder of lists. What cannot be read is passed over: apt itself would complain about it.
#[must_use]
pub fn read(list: &Path, folder: &Path) -> Vec<Archive> {
    let mut paths = vec![list.to_owned()];
    if let Ok(entries) = std::fs::read_dir(folder) {
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        names.sort();
        paths.extend(names);
    }
    let mut archives = Vec::new();
    for path in paths {
        let Ok(bytes) = std::fs::read(&path) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("sources") => archives.extend(paragraphs(&text)),
            Some("list") => archives.extend(text.lines().filter_map(one_line)),
            _ => {}
        }
    }
    archives
}

/// The archives of a deb822 `.sources` file.
fn paragraphs(text: &str) -> Vec<Archive> {
    deb822::parse(text)
        .into_iter()
        .filter(|paragraph| {
            let enabled = paragraph.get("Enabled").unwrap_or("yes");
            !["no", "false", "0", "off", "without", "disable"].contains(&enabled.trim())
        })
        .filter(|paragraph| paragraph.words("Types").any(is_type))
        .filter_map(|paragraph| {
            let words = |name: &str| paragraph.words(name).map(str::to_owned).collect();
            let mut options = paragraph.clone();
            for field in [
                "Types",
                "Suites",
                "Components",
                "Enabled",
                "Architectures",
                "Languages",
                "Targets",
            ] {
                options.remove(field);
            }
            options.get("URIs")?;
            Some(Archive {
                options,
                suites: words("Suites"),
                components: words("Components"),
            })
        })
        .collect()
}

/// The archive of one line of a `.list` file, unless it is empty or a comment.
fn one_line(line: &str) -> Option<Archive> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let (kind, rest) = line.split_once(char::is_whitespace)?;
    if !is_type(kind) {
        return None;
    }
    let rest = rest.trim_start();
    let (bracket, rest) = match rest.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let address = words.next()?;
    if address.starts_with("cdrom:") {
        return None;
    }
    let suite = words.next()?;
    let mut options = Paragraph::default();
    options.set("URIs", address);
    for option in bracket.split_whitespace() {
        let (key, value) = option.split_once('=')?;
        // the one-line form separates the values of an option by commas
        let value = value.replace(',', " ");
        match key {
            "arch" | "lang" | "target" => {}
            _ => options.set(&field_name(key), value),
        }
    }
    Some(Archive {
        options,
        suites: vec![suite.to_owned()],
        components: words.map(str::to_owned).collect(),
    })
}

fn is_type(word: &str) -> bool {
    matches!(word, "deb" | "deb-src")
}

/// `signed-by` of a one-line option is `Signed-By` of a field.
fn field_name(option: &str) -> String {
    option
        .split('-')
        .map(|part| {
            let mut letters = part.chars();
            letters
                .next()
                .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
                .unwrap_or_default()
        })
        .collect::<Vec<_>>()
        .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn known(suite: &str) -> bool {
        matches!(suite, "bookworm" | "stable")
    }

    #[test]
    fn a_deb822_entry_keeps_its_address_and_keyring() {
        let text = "Types: deb\n# a snapshot\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\n\
                    Components: main contrib\nSigned-By: /usr/share/keyrings/k.gpg\nArchitectures: amd64\n\n\
                    Types: deb\nURIs: http://mirror.example/debian-security\nSuites: bookworm-security\nComponents: main\n\n\
                    Types: deb\nEnabled: no\nURIs: http://off.example/debian\nSuites: bookworm\nComponents: main\n";
        let archives = distributions(paragraphs(text), &known);
        assert_eq!(archives.len(), 1);
        assert_eq!(
            archives[0].source_list("trixie"),
            "Types: deb-src\nSuites: trixie\nComponents: main contrib\nURIs: http://mirror.example/debian\n\
             Signed-By: /usr/share/keyrings/k.gpg\n"
        );
    }

    #[test]
    fn an_inline_key_is_kept() {
        let text = "Types: deb\nURIs: file:/x\nSuites: stable\nComponents: main\nSigned-By:\n -----BEGIN\n .\n abc\n";
        let archives = paragraphs(text);
        assert!(
            archives[0]
                .source_list("sid")
                .ends_with("Signed-By:\n -----BEGIN\n .\n abc\n")
        );
    }

    #[test]
    fn one_line_entries_and_their_options() {
        let text = "# deb http://no.example/debian bookworm main\n\
                    deb [arch=amd64,arm64 signed-by=/k.gpg trusted=yes] http://m.example/debian bookworm main # why\n\
                    deb http://vendor.example/apt vendor-bookworm main\n\
                    deb cdrom:[disc]/ bookworm main\n\
                    deb http://flat.example/ ./\n";
        let all: Vec<_> = text.lines().filter_map(one_line).collect();
        let archives = distributions(all, &known);
        assert_eq!(archives.len(), 1);
        assert_eq!(
            archives[0].source_list("sid"),
            "Types: deb-src\nSuites: sid\nComponents: main\nURIs: http://m.example/debian\nSigned-By: /k.gpg\nTrusted: yes\n"
        );
    }

    proptest! {
        #[test]
        fn any_line_is_survived(line in ".*") {
            let _ = one_line(&line);
            let _ = paragraphs(&line);
        }
    }
}
