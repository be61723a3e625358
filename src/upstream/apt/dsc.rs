//! A source package's description (`.dsc`): which files belong to it, with their checksums.
use super::super::checksum::Checksum;
use super::deb822::{self, Paragraph};

/// A file of a source package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// A plain file name.
    pub name: String,
    /// In bytes.
    pub size: u64,
    /// Of its bytes.
    pub sha256: Checksum,
}

/// A description that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDescription {
    /// No paragraph with the field.
    #[error("it has no list of SHA-256 checksums")]
    NoChecksums,
    /// A line of the list is not `checksum size name`.
    #[error("the line {0:?} of its list of checksums makes no sense")]
    BadLine(String),
    /// No upstream tarball in the list.
    #[error("it names no upstream tarball")]
    NoTarball,
}

/// The files that a `.dsc` names, signed or not. (The signature is apt's to check: it holds the checksum of the `.dsc`.)
///
/// # Errors
/// When the list is missing or makes no sense.
pub fn files(text: &str) -> Result<Vec<SourceFile>, BadDescription> {
    let paragraph = deb822::parse(text)
        .into_iter()
        .find(|paragraph| paragraph.get("Checksums-Sha256").is_some())
        .ok_or(BadDescription::NoChecksums)?;
    checksums(&paragraph)
}

/// The files of a paragraph's `Checksums-Sha256`.
///
/// # Errors
/// When the list is missing or makes no sense.
pub fn checksums(paragraph: &Paragraph) -> Result<Vec<SourceFile>, BadDescription> {
    let list = paragraph
        .get("Checksums-Sha256")
        .ok_or(BadDescription::NoChecksums)?;
    list.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let bad = || BadDescription::BadLine(line.to_owned());
            let [sum, size, name] = line
                .split_whitespace()
                .collect::<Vec<_>>()
                .try_into()
                .map_err(|_| bad())?;
            // the name becomes a path of ours
            if name.contains('/') || name.starts_with('.') || name.contains('\0') {
                return Err(bad());
            }
            Ok(SourceFile {
                name: name.to_owned(),
                size: size.parse().map_err(|_| bad())?,
                sha256: sum.parse().map_err(|_| bad())?,
            })
        })
        .collect()
}

/// The upstream tarball among the files: not Debian's own changes, not an additional component, not a signature.
///
/// # Errors
/// When there is none.
pub fn upstream_tarball(files: &[SourceFile]) -> Result<&SourceFile, BadDescription> {
    files
        .iter()
        .find(|file| file.name.contains(".orig.tar.") && !file.name.ends_with(".asc"))
        .ok_or(BadDescription::NoTarball)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SUM: &str = "099a9601bc40d67656e75735c44abedb0fbe92d08817852ab7472eebb7e6ddff";

    #[test]
    fn the_upstream_tarball_of_a_signed_description() {
        let text = format!(
            "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nFormat: 3.0 (quilt)\nSource: pytorch\nChecksums-Sha256:\n \
             {SUM} 5 pytorch_2.6.0+dfsg.orig-extra.tar.xz\n {SUM} 27212640 pytorch_2.6.0+dfsg.orig.tar.xz\n {SUM} 7 \
             pytorch_2.6.0+dfsg-7.debian.tar.xz\nFiles:\n 00 1 x\n\n-----BEGIN PGP SIGNATURE-----\n\nabc=\n-----END PGP \
             SIGNATURE-----\n"
        );
        let files = files(&text).unwrap();
        assert_eq!(files.len(), 3);
        let tarball = upstream_tarball(&files).unwrap();
        assert_eq!(tarball.name, "pytorch_2.6.0+dfsg.orig.tar.xz");
        assert_eq!(
            (tarball.size, tarball.sha256.to_string().as_str()),
            (27_212_640, SUM)
        );
    }

    #[test]
    fn names_that_are_paths_are_refused() {
        for name in ["../x.orig.tar.xz", "/etc/x", ".hidden"] {
            let text = format!("Checksums-Sha256:\n {SUM} 5 {name}\n");
            assert!(
                matches!(files(&text), Err(BadDescription::BadLine(_))),
                "{name}"
            );
        }
        assert_eq!(files("Source: x\n"), Err(BadDescription::NoChecksums));
        assert_eq!(upstream_tarball(&[]), Err(BadDescription::NoTarball));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(.|\n)*") {
            let _ = files(&text);
        }

        #[test]
        fn names_that_are_taken_are_plain(name in "[./a-z]{1,12}") {
            let text = format!("Checksums-Sha256:\n {SUM} 5 {name}\n");
            if let Ok(files) = files(&text) {
                prop_assert!(files.iter().all(|file| !file.name.contains('/') && file.name != ".."));
            }
        }
    }
}
