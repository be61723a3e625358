//! `umpatch fetch`.
use super::{Console, Global, Outcome};
use crate::error::Failure;
use crate::exit::Exit;
use crate::upstream::apt::{Apt, Listing, Offer};
use crate::upstream::git::{Depth, Location};
use crate::upstream::{
    self, Arrival, Cached, Checksum, DEFAULT_VERSION, Fetched, NoRepository, Origin, Request, Tree,
    Version,
};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// Bring an upstream PyTorch tree
///
/// Without a subcommand the release comes as a source package, through this machine's own apt configuration: any suite of
/// its archive, without root, without a change to the machine. The tree becomes a git repository with one commit, which is
/// the same on every machine. Other commands use the tree that was fetched last.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  umpatch fetch                                 the default release
  umpatch fetch 2.6.0 --suite trixie            from one suite only
  umpatch fetch --list                          what the suites list, and what is here already
  umpatch fetch git URL --ref v2.6.0            one commit of a repository
  umpatch fetch archive pytorch.tar.gz --sha256 HEX
  umpatch fetch dir ~/src/pytorch               a checkout of yours, used in place")]
pub(super) struct Arguments {
    /// The release [default: 2.6.0]
    #[arg(value_name = "VERSION")]
    release: Option<Version>,
    /// Ask this suite only
    #[arg(long)]
    suite: Option<String>,
    /// Show what the suites list and what is here already; bring nothing
    #[arg(long)]
    list: bool,
    #[command(subcommand)]
    from: Option<From>,
}

#[derive(Debug, clap::Subcommand)]
enum From {
    /// A release as a source package (as without a subcommand)
    Debian {
        /// The release
        #[arg(value_name = "VERSION", default_value = DEFAULT_VERSION)]
        release: Version,
        /// Ask this suite only
        #[arg(long)]
        suite: Option<String>,
    },
    /// One commit of a git repository, by its address or path
    Git {
        /// An address that git can fetch from, or a folder
        repository: String,
        /// A branch, a tag or a commit
        #[arg(long = "ref", value_name = "REF", default_value = "HEAD")]
        reference: String,
        /// Bring the whole history too, without old files (a partial clone)
        #[arg(long)]
        history: bool,
    },
    /// A .tar, .tar.gz, .tar.xz or .zip of a tree
    Archive {
        /// The file
        file: PathBuf,
        /// What its SHA-256 must be
        #[arg(long, value_name = "HEX")]
        sha256: Option<Checksum>,
    },
    /// A folder that is here already, used in place
    Dir {
        /// The folder
        path: PathBuf,
        /// Make it a git repository with one commit of all its files, where it is none
        #[arg(long)]
        init: bool,
    },
}

/// What `--json` prints for a tree that was brought.
#[derive(Serialize)]
struct Brought<'a> {
    schema: &'static str,
    #[serde(flatten)]
    fetched: &'a Fetched,
}

/// What `--list --json` prints.
#[derive(Serialize)]
struct Lists<'a> {
    schema: &'static str,
    /// Trees in the cache.
    cached: &'a [Cached],
    /// What the suites list.
    available: &'a [Listing],
    /// Suites that could not be asked.
    silent: Vec<Silent<'a>>,
    /// The tree that was fetched last.
    last: Option<&'a Tree>,
}

/// A suite that could not be asked.
#[derive(Serialize)]
struct Silent<'a> {
    suite: &'a str,
    reason: &'a str,
}

const SCHEMA: &str = "umpatch.fetch/1";

/// Runs the command.
pub(super) fn run(global: &Global, own: Arguments, console: &Console) -> Outcome {
    if global.tree.is_some() {
        return Err(
            Failure::usage("`fetch` brings a tree of its own: -C names none")
                .hint("to use a folder that is here already: `umpatch fetch dir PATH`"),
        );
    }
    if own.list {
        return list(own.suite.as_deref(), console);
    }
    let request = request(own)?;
    let progress = console.progress();
    let fetched = upstream::fetch(&request, progress.as_ref())?;
    drop(progress);
    let document = Brought {
        schema: SCHEMA,
        fetched: &fetched,
    };
    console.result(&document, &text(&fetched));
    Ok(Exit::Verified)
}

fn request(own: Arguments) -> Result<Request, Failure> {
    if own.from.is_some() && (own.release.is_some() || own.suite.is_some()) {
        return Err(Failure::usage(
            "VERSION and --suite do not go before a subcommand",
        ));
    }
    Ok(match own.from {
        None => Request::Debian {
            version: match own.release {
                Some(release) => release,
                None => default_version()?,
            },
            suite: own.suite,
        },
        Some(From::Debian { release, suite }) => Request::Debian {
            version: release,
            suite,
        },
        Some(From::Git {
            repository,
            reference,
            history,
        }) => Request::Git {
            location: Location::parse(&repository)?,
            reference: Some(reference),
            depth: if history {
                Depth::Partial
            } else {
                Depth::Shallow
            },
        },
        Some(From::Archive { file, sha256 }) => Request::Archive { file, sha256 },
        Some(From::Dir { path, init }) => Request::Folder {
            path,
            otherwise: if init {
                NoRepository::Create
            } else {
                NoRepository::Refuse
            },
        },
    })
}

fn default_version() -> Result<Version, Failure> {
    DEFAULT_VERSION
        .parse()
        .map_err(|error: upstream::BadVersion| Failure::usage(error.to_string()))
}

fn text(fetched: &Fetched) -> String {
    let Fetched { cached, arrival } = fetched;
    let tree = &cached.tree;
    let how = match arrival {
        Arrival::Brought => "brought",
        Arrival::Cached => "in the cache already",
        Arrival::InPlace => "used in place",
    };
    let mut text = format!(
        "PyTorch {} ({how})\n  tree        {}\n  origin      {}\n  base        {}\n  generation  {}\n",
        tree.version,
        tree.path.display(),
        origin(&cached.record.origin),
        cached.record.base,
        tree.generation,
    );
    for reason in &tree.reasons {
        let _ = writeln!(text, "              {reason}");
    }
    text
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Debian { listing, sha256 } => format!(
            "source package {} of suite {}, tarball sha256 {sha256}",
            listing.package_version, listing.suite
        ),
        Origin::Git { address, reference } => format!("git {address} at {reference}"),
        Origin::Archive { name, sha256 } => format!("archive {name}, sha256 {sha256}"),
        Origin::Folder => "this folder".to_owned(),
    }
}

fn list(suite: Option<&str>, console: &Console) -> Outcome {
    let cached = upstream::cached();
    let last = upstream::last_fetched()?;
    let progress = console.progress();
    // what is here can be shown without an archive
    let asked = Apt::of_machine(suite).and_then(|apt| apt.list(progress.as_ref()));
    drop(progress);
    let (offer, failure) = match asked {
        Ok(offer) => (offer, None),
        Err(error) => (Offer::default(), Some(Failure::from(error))),
    };
    let document = Lists {
        schema: SCHEMA,
        cached: &cached,
        available: &offer.listings,
        silent: offer
            .silent
            .iter()
            .map(|(suite, complaint)| Silent {
                suite,
                reason: complaint.meaning(),
            })
            .collect(),
        last: last.as_ref(),
    };
    if let Some(mut failure) = failure {
        if cached.is_empty() {
            return Err(failure);
        }
        failure
            .chain
            .insert(0, "only what is here already is shown".to_owned());
        console.note(&format!("warning: {failure}"));
    }
    console.result(&document, &lists_text(&document));
    Ok(Exit::Verified)
}

fn lists_text(lists: &Lists<'_>) -> String {
    let mut text = String::from("here already:\n");
    for cached in lists.cached {
        let tree = &cached.tree;
        let last = lists.last.is_some_and(|last| last.path == tree.path);
        let _ = writeln!(
            text,
            "  {:<8} {:<11} {}{}\n           {}",
            tree.version,
            tree.generation.name(),
            tree.path.display(),
            if last { "  (fetched last)" } else { "" },
            origin(&cached.record.origin),
        );
    }
    if lists.cached.is_empty() {
        text.push_str("  nothing\n");
    }
    text.push_str("listed as source packages:\n");
    for listing in lists.available {
        let _ = writeln!(
            text,
            "  {:<8} {:<14} {}",
            listing.version.to_string(),
            listing.suite,
            listing.package_version
        );
    }
    if lists.available.is_empty() {
        text.push_str("  nothing\n");
    }
    for silent in &lists.silent {
        let _ = writeln!(text, "  {:<8} {:<14} {}", "-", silent.suite, silent.reason);
    }
    text
}
