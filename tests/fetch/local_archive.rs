//! The real apt, on an archive that we make on disk: no network, and every word is apt's own.
use crate::sandbox::{Sandbox, sha256, small_tree, tarball, xz};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const PACKAGE_VERSION: &str = "2.6.0+dfsg-1";

/// An archive with the suite `trixie`, and a machine that is configured for its suite `bookworm`.
fn machine() -> Sandbox {
    let mut sandbox = Sandbox::new();
    let archive = sandbox.path("archive");
    let pool = archive.join("pool");
    let index = archive.join("dists/trixie/main/source");
    fs::create_dir_all(&pool).unwrap();
    fs::create_dir_all(&index).unwrap();
    let orig = xz(&tarball(small_tree()));
    let debian = xz(&tarball([("debian/control", "Source: pytorch\n")]));
    let mut list = String::new();
    for (name, bytes) in [
        ("pytorch_2.6.0+dfsg.orig.tar.xz", &orig),
        ("pytorch_2.6.0+dfsg-1.debian.tar.xz", &debian),
    ] {
        fs::write(pool.join(name), bytes).unwrap();
        writeln!(list, " {} {} {name}", sha256(bytes), bytes.len()).unwrap();
    }
    let dsc = format!(
        "Format: 3.0 (quilt)\nSource: pytorch\nBinary: python3-torch\nArchitecture: any\nVersion: {PACKAGE_VERSION}\n\
         Maintainer: Nobody <nobody@localhost>\nChecksums-Sha256:\n{list}"
    );
    fs::write(pool.join("pytorch_2.6.0+dfsg-1.dsc"), &dsc).unwrap();
    let sources = format!(
        "Package: pytorch\nBinary: python3-torch\nVersion: {PACKAGE_VERSION}\nMaintainer: Nobody <nobody@localhost>\n\
         Architecture: any\nFormat: 3.0 (quilt)\nDirectory: pool\nChecksums-Sha256:\n {} {} pytorch_2.6.0+dfsg-1.dsc\n{list}\n",
        sha256(dsc.as_bytes()),
        dsc.len()
    );
    fs::write(index.join("Sources"), &sources).unwrap();
    let release = format!(
        "Origin: Test\nSuite: trixie\nCodename: trixie\nDate: Sat, 01 Jan 2022 00:00:00 UTC\nComponents: main\n\
         Architectures: amd64\nSHA256:\n {} {} main/source/Sources\n",
        sha256(sources.as_bytes()),
        sources.len()
    );
    fs::write(archive.join("dists/trixie/Release"), release).unwrap();
    let list = sandbox.path("sources.list");
    fs::write(
        &list,
        format!(
            "deb [trusted=yes] copy:{} bookworm main\n",
            archive.display()
        ),
    )
    .unwrap();
    let config = sandbox.path("apt.conf");
    fs::write(
        &config,
        format!(
            "Dir::Etc::SourceList \"{}\";\nDir::Etc::SourceParts \"/dev/null\";\n",
            list.display()
        ),
    )
    .unwrap();
    sandbox.set("APT_CONFIG", config.to_str().unwrap());
    sandbox
}

fn original(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.path("archive/pool/pytorch_2.6.0+dfsg.orig.tar.xz")
}

#[test]
fn apt_brings_the_release_from_another_suite() {
    let sandbox = machine();
    let document = sandbox.run(&["fetch", "--json", "2.6.0"]).expect(0).json();
    assert_eq!(document["origin"]["package_version"], PACKAGE_VERSION);
    let tree = Path::new(document["tree"]["path"].as_str().unwrap());
    // upstream's tree alone: nothing of the distribution's own part
    assert!(tree.join("torch/__init__.py").is_file());
    assert!(!tree.join("debian").exists());
}

#[test]
fn apt_finds_files_gone_and_changed() {
    let sandbox = machine();
    let original = original(&sandbox);
    let bytes = fs::read(&original).unwrap();
    fs::remove_file(&original).unwrap();
    sandbox
        .run(&["fetch"])
        .fails(4, &["no longer holds its files"]);
    let mut changed = bytes.clone();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    fs::write(&original, &changed).unwrap();
    sandbox.run(&["fetch"]).fails(4, &["index names"]);
    assert!(sandbox.trees().is_empty());
    fs::write(&original, &bytes).unwrap();
    sandbox.run(&["fetch"]).expect(0);
}

#[test]
fn apt_refuses_an_archive_that_nobody_signed() {
    let sandbox = machine();
    let list = sandbox.path("sources.list");
    let text = fs::read_to_string(&list)
        .unwrap()
        .replace("[trusted=yes] ", "");
    fs::write(&list, text).unwrap();
    sandbox
        .run(&["fetch"])
        .fails(4, &["signature cannot be trusted"]);
}
