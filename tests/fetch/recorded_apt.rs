//! apt as recorded: what it says when things go wrong, word for word, from a program in its place.
use crate::sandbox::{Sandbox, sha256, small_tree, tarball, xz};
use std::fs;

/// A machine whose apt is ours: `update` and `source` are shell commands that stand for these two of apt-get.
fn machine(update: &str, source: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let list = sandbox.path("sources.list");
    fs::write(
        &list,
        "deb [signed-by=/k.gpg] http://mirror.example/debian bookworm main\n",
    )
    .unwrap();
    sandbox.program(
        "apt-config",
        &format!(
            "echo \"LIST='{}'\"; echo \"PARTS='/nowhere'\"",
            list.display()
        ),
    );
    let orig = xz(&tarball(small_tree()));
    let dsc = format!(
        "Format: 3.0 (quilt)\nSource: pytorch\nVersion: 2.6.0+dfsg-7\nChecksums-Sha256:\n {} {} pytorch_2.6.0+dfsg.orig.tar.xz\n",
        sha256(&orig),
        orig.len()
    );
    fs::create_dir(sandbox.path("pool")).unwrap();
    fs::write(sandbox.path("pool/pytorch_2.6.0+dfsg.orig.tar.xz"), &orig).unwrap();
    fs::write(sandbox.path("pool/pytorch_2.6.0+dfsg-7.dsc"), &dsc).unwrap();
    sandbox.program(
        "apt-cache",
        &format!(
            "cat <<'END'\nPackage: pytorch\nBinary: python3-torch\nVersion: 2.6.0+dfsg-7\nDirectory: pool\nChecksums-Sha256:\n {} {} \
             pytorch_2.6.0+dfsg-7.dsc\n {} {} pytorch_2.6.0+dfsg.orig.tar.xz\n\nEND",
            sha256(dsc.as_bytes()),
            dsc.len(),
            sha256(&orig),
            orig.len()
        ),
    );
    sandbox.program(
        "apt-get",
        &format!(
            "POOL={pool}\necho \"$@\" >> {log}\n[ \"$LC_ALL\" = C ] || exit 9\n\
             case \"$*\" in\n  *SourceParts=/dev/null*Dir::State::Lists=*update) {update};;\n  *source*pytorch=2.6.0+dfsg-7) {source};;\n  \
             *) echo \"E: Invalid operation $*\"; exit 100;;\nesac",
            pool = sandbox.path("pool").display(),
            log = sandbox.path("calls").display(),
        ),
    );
    sandbox
}

const WORKS: &str = "cp $POOL/* .";

#[test]
fn the_release_comes_and_is_verified_and_then_needs_apt_no_more() {
    let sandbox = machine("true", WORKS);
    let document = sandbox.run(&["fetch", "--json"]).expect(0).json();
    assert_eq!(document["tree"]["version"], "2.6.0");
    assert_eq!(document["origin"]["provider"], "debian");
    assert_eq!(document["origin"]["suite"], "trixie");
    assert_eq!(document["origin"]["package_version"], "2.6.0+dfsg-7");
    let list = sandbox.run(&["fetch", "--list", "--json"]).expect(0).json();
    assert_eq!(list["cached"].as_array().unwrap().len(), 1);
    assert!(list["available"].as_array().unwrap().len() > 1);
    // the source list is the machine's, with the suite replaced
    let lists: Vec<_> = walkdir::WalkDir::new(sandbox.path("cache/downloads/apt"))
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_name() == "list.sources")
        .map(|entry| fs::read_to_string(entry.path()).unwrap())
        .collect();
    assert!(lists.iter().any(|list| {
        list.contains("Types: deb-src\nSuites: trixie\nComponents: main\nURIs: http://mirror.example/debian\nSigned-By: /k.gpg\n")
    }));
    // the tree is gone, the download is kept: no program is asked
    fs::remove_dir_all(&sandbox.trees()[0]).unwrap();
    sandbox.program("apt-get", "exit 100");
    sandbox.program("apt-cache", "exit 100");
    let again = sandbox.run(&["fetch", "--json", "2.6.0"]).expect(0).json();
    assert_eq!(again["base"], document["base"]);
}

#[test]
fn no_network_is_told() {
    let words = "echo \"Err:1 http://mirror.example/debian trixie InRelease\n  Temporary failure resolving 'mirror.example'\"; \
                 echo 'W: Failed to fetch http://mirror.example/debian/dists/trixie/InRelease  Temporary failure resolving' >&2; exit 0";
    let sandbox = machine(words, WORKS);
    sandbox
        .run(&["fetch"])
        .fails(4, &["cannot be reached", "apt.log", "resumes"]);
    let log = fs::read_to_string(sandbox.path("cache/downloads/apt.log")).unwrap();
    assert!(log.contains("Temporary failure resolving"));
    // asked once, not once for every suite
    assert_eq!(
        fs::read_to_string(sandbox.path("calls"))
            .unwrap()
            .lines()
            .count(),
        1
    );
}

#[test]
fn files_that_are_gone_are_told_with_what_else_there_is() {
    let words = "echo 'E: Failed to fetch http://mirror.example/p.dsc  404  Not Found [IP: 192.0.2.1 80]' >&2; exit 100";
    let sandbox = machine("true", words);
    sandbox.run(&["fetch"]).fails(
        4,
        &["lists PyTorch 2.6.0", "no longer holds its files (404)"],
    );
    // only the distribution's own part is gone: upstream's tarball is all that is wanted
    let sandbox = machine("true", &format!("{WORKS}; {words}"));
    sandbox.run(&["fetch"]).expect(0);
}

#[test]
fn an_unknown_version_is_answered_with_the_known_ones() {
    let sandbox = machine("true", WORKS);
    sandbox.run(&["fetch", "2.99.0"]).fails(
        2,
        &[
            "no suite lists PyTorch 2.99.0",
            "2.6.0 in trixie",
            "umpatch fetch 2.6.0",
        ],
    );
    sandbox
        .run(&["fetch", "two"])
        .fails(2, &["no PyTorch version"]);
}

#[test]
fn an_unknown_suite_is_told() {
    let words = "echo 'Err:2 http://mirror.example/debian nosuch Release\n  404  Not Found'; \
                 echo \"E: The repository 'http://mirror.example/debian nosuch Release' does not have a Release file.\" >&2; exit 100";
    let sandbox = machine(words, WORKS);
    sandbox
        .run(&["fetch", "--suite", "nosuch"])
        .fails(2, &["suite nosuch", "does not offer"]);
}

#[test]
fn a_signature_that_is_not_trusted_stops_it() {
    let words = "echo \"W: GPG error: http://mirror.example/debian trixie InRelease: The following signatures couldn't be verified \
                 because the public key is not available: NO_PUBKEY 0123\" >&2; \
                 echo \"E: The repository 'http://mirror.example/debian trixie InRelease' is not signed.\" >&2; exit 100";
    machine(words, WORKS)
        .run(&["fetch"])
        .fails(4, &["signature cannot be trusted", "keyring"]);
}

#[test]
fn wrong_bytes_are_found_by_us_and_by_apt() {
    let words =
        "echo 'E: Failed to fetch http://mirror.example/p.tar.xz  Hash Sum mismatch' >&2; exit 100";
    machine("true", words)
        .run(&["fetch"])
        .fails(4, &["not what the signed index names"]);
    // apt says nothing, but the tarball is not the one of the description
    let sandbox = machine(
        "true",
        "cp $POOL/* .; echo x >> pytorch_2.6.0+dfsg.orig.tar.xz",
    );
    sandbox.run(&["fetch"]).fails(
        4,
        &["pytorch_2.6.0+dfsg.orig.tar.xz has the wrong checksum"],
    );
    // nor the description the one of the index
    let sandbox = machine("true", "cp $POOL/* .; echo >> pytorch_2.6.0+dfsg-7.dsc");
    sandbox
        .run(&["fetch"])
        .fails(4, &["pytorch_2.6.0+dfsg-7.dsc has the wrong checksum"]);
    assert!(sandbox.trees().is_empty());
}

#[test]
fn a_download_that_was_cut_goes_on_where_it_was() {
    // the first time half of it comes, and the connection breaks
    let sandbox = machine(
        "true",
        "cp $POOL/*.dsc .; ORIG=pytorch_2.6.0+dfsg.orig.tar.xz; \
         if [ -e $ORIG ]; then echo resumed >> $POOL/../calls; cp $POOL/$ORIG .; \
         else head -c 100 $POOL/$ORIG > $ORIG; echo 'E: Failed to fetch http://mirror.example/x  Connection failed' >&2; exit 100; fi",
    );
    sandbox.run(&["fetch"]).fails(4, &["cannot be reached"]);
    assert!(sandbox.trees().is_empty());
    sandbox.run(&["fetch"]).expect(0);
    let calls = fs::read_to_string(sandbox.path("calls")).unwrap();
    assert!(calls.contains("resumed"), "{calls}");
}

#[test]
fn a_machine_without_apt_or_without_an_archive_is_told() {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", sandbox.path("bin").to_str().unwrap());
    sandbox
        .run(&["fetch"])
        .fails(4, &["apt-config", "umpatch fetch git URL"]);
    let sandbox = machine("true", WORKS);
    fs::write(
        sandbox.path("sources.list"),
        "deb http://mirror.example/vendor vendor-suite main\ndeb http://mirror.example/debian bookworm-security main\n",
    )
    .unwrap();
    sandbox
        .run(&["fetch"])
        .fails(4, &["not configured with an archive", "source list"]);
}
