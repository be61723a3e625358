//! Source packages through the machine's own apt configuration: any suite, no root, no change to the machine.
//!
//! apt runs with a source list of ours, derived from the machine's (see [`sources`]), and with its lists and cache in our
//! cache. It checks the archive's signature and every checksum; the checksums of what is used are verified again here.
mod complaint;
mod deb822;
mod dsc;
mod error;
mod program;
mod sources;

pub use complaint::Complaint;
pub use dsc::BadDescription;
pub use error::AptError;

use super::checksum::Checksum;
use super::version::Version;
use crate::paths;
use crate::progress::Progress;
use dsc::SourceFile;
use error::storage;
use program::{Log, Place, codename, configured_lists, output};
use serde::{Deserialize, Serialize};
use sources::Archive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The source package.
pub const PACKAGE: &str = "pytorch";

/// Debian's suites from the one with the default version on; asked in this order until the version is found.
const SUITES: [&str; 7] = [
    "trixie",
    "testing",
    "sid",
    "bookworm",
    "experimental",
    "stable",
    "bullseye",
];

/// For how long an index is used before apt is asked for a newer one.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// A version that a suite lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The upstream release.
    pub version: Version,
    /// The distribution's version of the package.
    pub package_version: String,
    /// The suite that lists it.
    pub suite: String,
}

/// A listing with what is needed to download it.
#[derive(Debug, Clone)]
struct Found {
    listing: Listing,
    /// The description, as the signed index names it.
    description: SourceFile,
    place: Place,
}

/// A tarball that was downloaded and verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tarball {
    /// Where it is.
    pub path: PathBuf,
    /// Its checksum.
    pub sha256: Checksum,
    /// What it is.
    pub listing: Listing,
}

/// What the suites offer.
#[derive(Debug, Default)]
pub struct Offer {
    /// What they list, in the order of the suites.
    pub listings: Vec<Listing>,
    /// Suites that could not be asked, with the reason.
    pub silent: Vec<(String, Complaint)>,
}

/// The machine's apt, pointed into our cache.
#[derive(Debug)]
pub struct Apt {
    archives: Vec<Archive>,
    /// The suites to ask, in order.
    suites: Vec<String>,
    downloads: PathBuf,
    log: Log,
}

impl Apt {
    /// Reads the machine's configuration. `suite` restricts the search to one suite.
    ///
    /// # Errors
    /// When apt is missing or not configured with a distribution's archive, or the cache cannot be written.
    pub fn of_machine(suite: Option<&str>) -> Result<Self, AptError> {
        let downloads = paths::cache().join("downloads");
        std::fs::create_dir_all(&downloads).map_err(storage("write", &downloads))?;
        let (list, folder) = configured_lists()?;
        let codename = codename();
        let known = |name: &str| {
            SUITES.contains(&name)
                || name == "unstable"
                || name == "oldstable"
                || codename.as_deref() == Some(name)
        };
        let archives = sources::distributions(sources::read(&list, &folder), &known);
        if archives.is_empty() {
            return Err(AptError::NoArchive);
        }
        let suites = match suite {
            Some(suite) => vec![suite.to_owned()],
            None => search_order(&archives, &known),
        };
        let log = Log(downloads.join("apt.log"));
        Ok(Self {
            archives,
            suites,
            downloads,
            log,
        })
    }

    /// What the suites list: a suite that cannot be asked is told with its reason.
    ///
    /// # Errors
    /// When the archive cannot be reached at all, or the cache not be written.
    pub fn list(&self, progress: &dyn Progress) -> Result<Offer, AptError> {
        let mut search = Search::default();
        for suite in &self.suites {
            self.ask_next(suite, &mut search, progress)?;
        }
        let listings = search.found.into_iter().map(|found| found.listing);
        Ok(Offer {
            listings: listings.collect(),
            silent: search.silent,
        })
    }

    /// Downloads and verifies the upstream tarball of a version. What a cut left is taken up again.
    ///
    /// # Errors
    /// When no suite lists the version, its files are gone, apt fails, or a checksum is wrong.
    pub fn tarball(&self, version: &Version, progress: &dyn Progress) -> Result<Tarball, AptError> {
        if let Some(tarball) = self.downloaded(version) {
            return Ok(tarball);
        }
        let mut search = Search::default();
        let mut gone: Option<Listing> = None;
        for suite in &self.suites {
            self.ask_next(suite, &mut search, progress)?;
            for found in &search.found {
                let listing = &found.listing;
                let tried = gone
                    .as_ref()
                    .is_some_and(|gone| gone.package_version == listing.package_version);
                if &listing.suite != suite || &listing.version != version || tried {
                    continue;
                }
                match self.download(found, progress) {
                    Err(AptError::Gone { listing, .. }) => {
                        // another suite may have it in another package, or list another version
                        gone.get_or_insert(*listing);
                    }
                    result => return result,
                }
            }
        }
        let log = self.log.0.clone();
        Err(match gone {
            Some(listing) => AptError::Gone {
                listing: Box::new(listing),
                others: search.versions_but(version),
                log,
            },
            None => AptError::UnknownVersion {
                version: version.clone(),
                offered: search.versions_but(version),
                silent: search.silent,
                log,
            },
        })
    }

    /// A tarball of the version that an earlier run downloaded and verified.
    fn downloaded(&self, version: &Version) -> Option<Tarball> {
        let entries = std::fs::read_dir(self.downloads.join(PACKAGE)).ok()?;
        entries.flatten().find_map(|entry| {
            let text = std::fs::read_to_string(entry.path().join(VERIFIED)).ok()?;
            let verified: Verified = serde_json::from_str(&text).ok()?;
            let path = entry.path().join(&verified.file);
            let wanted = &verified.listing.version == version
                && self.suites.contains(&verified.listing.suite);
            (wanted && Checksum::of_file(&path).is_ok_and(|sum| sum == verified.sha256)).then_some(
                Tarball {
                    path,
                    sha256: verified.sha256,
                    listing: verified.listing,
                },
            )
        })
    }

    /// Asks one more suite. That it is not offered, or cannot be had while others could, is noted and no failure.
    fn ask_next(
        &self,
        suite: &str,
        search: &mut Search,
        progress: &dyn Progress,
    ) -> Result<(), AptError> {
        progress.stage(&format!("ask suite {suite} for {PACKAGE}"));
        match self.ask(suite) {
            Ok(found) => search.found.extend(found),
            Err(AptError::Failed { complaint, .. })
                if self.suites.len() > 1
                    && (complaint == Complaint::NoSuchSuite || !search.found.is_empty())
                    && complaint != Complaint::Storage =>
            {
                search.silent.push((suite.to_owned(), complaint));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// What a suite lists, from the first archive that offers it.
    fn ask(&self, suite: &str) -> Result<Vec<Found>, AptError> {
        let mut failure = None;
        for archive in &self.archives {
            let list = archive.source_list(suite);
            let name = format!(
                "{suite}-{}",
                &Checksum::of(list.as_bytes()).to_string()[..8]
            );
            let place = Place(self.downloads.join("apt").join(name));
            match self.update(&place, suite, &list) {
                Ok(()) => return self.listed(&place, suite),
                Err(error @ AptError::Failed { .. }) => failure = failure.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        Err(failure.unwrap_or(AptError::NoArchive))
    }

    /// Brings the index of a suite, unless a fresh one is there.
    fn update(&self, place: &Place, suite: &str, list: &str) -> Result<(), AptError> {
        let stamp = place.0.join("updated");
        let age = std::fs::metadata(&stamp)
            .and_then(|metadata| metadata.modified())
            .ok()
            .and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age < FRESH) {
            return Ok(());
        }
        for folder in ["lists/partial", "cache/archives/partial"] {
            let folder = place.0.join(folder);
            std::fs::create_dir_all(&folder).map_err(storage("write", &folder))?;
        }
        let sources = place.sources();
        std::fs::write(&sources, list).map_err(storage("write", &sources))?;
        let finished = self.log.run(&place.apt("apt-get").arg("update"))?;
        let output = output(&finished);
        // apt calls an unreachable archive a warning and ends well
        if finished.status.success() && !output.contains("Failed to fetch") {
            return std::fs::write(&stamp, "").map_err(storage("write", &stamp));
        }
        let complaint = Complaint::of(&output);
        if complaint == Complaint::Unreachable && stamp.exists() {
            // an old index is better than none
            return Ok(());
        }
        Err(self.failed(suite, complaint))
    }

    fn listed(&self, place: &Place, suite: &str) -> Result<Vec<Found>, AptError> {
        let program = place
            .apt("apt-cache")
            .args(["showsrc", "--only-source", PACKAGE]);
        let finished = self.log.run(&program)?;
        let found = deb822::parse(&finished.text())
            .iter()
            .filter(|paragraph| paragraph.get("Package") == Some(PACKAGE))
            .filter_map(|paragraph| {
                let package_version = paragraph.get("Version")?.to_owned();
                let plain =
                    |letter: char| letter.is_ascii_alphanumeric() || ".+~-:".contains(letter);
                if !package_version.chars().all(plain) || package_version.starts_with(['.', '-']) {
                    return None;
                }
                let description = dsc::checksums(paragraph)
                    .ok()?
                    .into_iter()
                    .find(|file| has_ending(&file.name, "dsc"))?;
                Some(Found {
                    listing: Listing {
                        version: Version::of_package(&package_version)?,
                        package_version,
                        suite: suite.to_owned(),
                    },
                    description,
                    place: place.clone(),
                })
            })
            .collect();
        Ok(found)
    }

    fn download(&self, found: &Found, progress: &dyn Progress) -> Result<Tarball, AptError> {
        let listing = &found.listing;
        let folder = self.downloads.join(PACKAGE).join(&listing.package_version);
        std::fs::create_dir_all(&folder).map_err(storage("write", &folder))?;
        progress.stage(&format!("download {PACKAGE} {}", listing.package_version));
        let program = found
            .place
            .apt("apt-get")
            .args(["source", "--download-only", "--only-source"])
            .arg(format!("{PACKAGE}={}", listing.package_version))
            .folder(&folder);
        let finished = self.log.run(&program)?;
        let complaint = (!finished.status.success()).then(|| Complaint::of(&output(&finished)));
        let missing = |_| match complaint {
            Some(Complaint::Gone) => AptError::Gone {
                listing: Box::new(listing.clone()),
                others: Vec::new(),
                log: self.log.0.clone(),
            },
            complaint => self.failed(&listing.suite, complaint.unwrap_or(Complaint::Other)),
        };
        // Debian's own part of the package may be gone while the upstream tarball is there: only the latter is needed
        let description = folder.join(&found.description.name);
        let text = std::fs::read(&description).map_err(missing)?;
        Self::verify(&description, &found.description)?;
        let unusable = |source| AptError::Description {
            package_version: listing.package_version.clone(),
            source,
        };
        let files = dsc::files(&String::from_utf8_lossy(&text)).map_err(unusable)?;
        let tarball = dsc::upstream_tarball(&files).map_err(unusable)?;
        let path = folder.join(&tarball.name);
        let size = std::fs::metadata(&path).map_err(missing)?.len();
        if size < tarball.size && complaint.is_some() {
            // cut: kept, so that the next run goes on from there
            return Err(missing(std::io::ErrorKind::UnexpectedEof.into()));
        }
        Self::verify(&path, tarball)?;
        let verified = Verified {
            file: tarball.name.clone(),
            sha256: tarball.sha256.clone(),
            listing: listing.clone(),
        };
        let record = folder.join(VERIFIED);
        serde_json::to_vec_pretty(&verified)
            .map_err(std::io::Error::other)
            .and_then(|json| std::fs::write(&record, json))
            .map_err(storage("write", &record))?;
        Ok(Tarball {
            path,
            sha256: verified.sha256,
            listing: verified.listing,
        })
    }

    /// Compares a file with what it should be; removes it when it is something else.
    fn verify(path: &Path, expected: &SourceFile) -> Result<(), AptError> {
        let found = Checksum::of_file(path).map_err(storage("read", path))?;
        if found == expected.sha256 {
            return Ok(());
        }
        let _ = std::fs::remove_file(path);
        Err(AptError::Mismatch {
            file: expected.name.clone(),
            expected: expected.sha256.clone(),
            found,
        })
    }

    fn failed(&self, suite: &str, complaint: Complaint) -> AptError {
        AptError::Failed {
            suite: suite.to_owned(),
            complaint,
            log: self.log.0.clone(),
        }
    }
}

/// The name of the record beside a download that was verified.
const VERIFIED: &str = "verified.json";

/// A download that was verified.
#[derive(Debug, Serialize, Deserialize)]
struct Verified {
    file: String,
    sha256: Checksum,
    listing: Listing,
}

/// What asking the suites gave.
#[derive(Debug, Default)]
struct Search {
    found: Vec<Found>,
    /// Suites that could not be asked.
    silent: Vec<(String, Complaint)>,
}

impl Search {
    /// One listing of each version other than `version`.
    fn versions_but(&self, version: &Version) -> Vec<Listing> {
        let mut listings: Vec<Listing> = Vec::new();
        for found in &self.found {
            let listing = &found.listing;
            let known = listings
                .iter()
                .any(|other| other.version == listing.version);
            if &listing.version != version && !known {
                listings.push(listing.clone());
            }
        }
        listings
    }
}

fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|found| found == ending)
}

/// Debian's suites, then those that the machine is configured for and that are not among them.
fn search_order(archives: &[Archive], known: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut suites: Vec<String> = SUITES.iter().map(|&suite| suite.to_owned()).collect();
    for suite in archives.iter().flat_map(Archive::suites) {
        if known(suite) && !suites.contains(suite) {
            suites.push(suite.clone());
        }
    }
    suites
}
