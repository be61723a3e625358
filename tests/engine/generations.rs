//! Trees of other generations, as far as their files are there: small files of ours with the structure of theirs.
use crate::lab::{ALLOCATOR, HEADER, Lab};
use std::path::{Path, PathBuf};

const INTERFACE: &str = "aten/src/ATen/mps/MPSAllocatorInterface.h";

fn header(kinds: &str, more: &str) -> String {
    format!("struct BufferPool {{\n  enum class Kind {{\n    {kinds}\n  }};\n}};\n{more}\n")
}

/// A folder with the touched files of a version, and nothing else.
fn tree(lab: &Lab, version: &str, header: &str, interface: &str) -> PathBuf {
    let root = lab.root().join(format!("tree-{version}"));
    for (path, text) in [
        ("version.txt", format!("{version}a0\n")),
        (HEADER, header.to_owned()),
        (INTERFACE, format!("bool waitForEvents();\n{interface}\n")),
        (
            ALLOCATOR,
            "void MPSHeapAllocatorImpl::init_allocator() {}\n".to_owned(),
        ),
    ] {
        let to = root.join(path);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::write(to, text).unwrap();
    }
    root
}

fn status(lab: &Lab, tree: &Path) -> serde_json::Value {
    let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
    command
        .env("UMPATCH_CACHE", lab.root().join("cache"))
        .arg("-C")
        .arg(tree)
        .arg("status");
    lab.json(command)
}

fn words(document: &serde_json::Value) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let patches = document["patches"].as_array().unwrap();
    for patch in patches {
        assert!(!patch["evidence"].as_array().unwrap().is_empty(), "{patch}");
    }
    patches
        .iter()
        .map(|patch| (text(&patch["id"]), text(&patch["state"])))
        .collect()
}

fn expect(document: &serde_json::Value, states: [&str; 8]) {
    let ids = [
        "release-race",
        "copy-values",
        "empty-cache",
        "pending-free",
        "shared-default",
        "memcpy-copy",
        "release-empty-heaps",
        "memory-figures",
    ];
    let expected: Vec<(String, String)> = ids
        .iter()
        .zip(states)
        .map(|(id, state)| ((*id).to_owned(), state.to_owned()))
        .collect();
    assert_eq!(words(document), expected);
}

const SHARED: &str = "SHARED_SMALL,\n    SHARED_LARGE,\n    SCALAR,";

#[test]
fn a_unified_tree_has_one_patch_and_the_others_are_not_carried() {
    let lab = Lab::new();
    let header = header(SHARED, "bool release_buffer(BufferBlock* block);");
    let tree = tree(
        &lab,
        "2.12.0",
        &header,
        "IMPSAllocator* getIMPSAllocator();",
    );
    let document = status(&lab, &tree);
    assert_eq!(document["tree"]["generation"], "unified");
    assert_eq!(document["target"]["evidence"], "headers-checked");
    expect(
        &document,
        [
            "unsupported",
            "unsupported",
            "unsupported",
            "unsupported",
            "landed",
            "unsupported",
            "unsupported",
            "unsupported",
        ],
    );
}

#[test]
fn a_placement_tree_has_its_own_way_for_most() {
    let lab = Lab::new();
    let more = "d.type = MTLHeapTypePlacement;\nid<MTLBuffer> malloc_host(size_t size);\n\
                bool allow_in_flight_reuse;\nbool wait_for_pending_free_buffers(BufferPool& pool);";
    let interface = "IMPSAllocator* getIMPSAllocator();";
    let place = tree(&lab, "2.15.0", &header(SHARED, more), interface);
    let document = status(&lab, &place);
    assert_eq!(document["tree"]["generation"], "placement");
    expect(
        &document,
        [
            "superseded",
            "unsupported",
            "partly-landed",
            "superseded",
            "landed",
            "unsupported",
            "unsupported",
            "unsupported",
        ],
    );
    // a claim that the code does not bear out is not made
    let less = more.replace("malloc_host", "malloc_other");
    let other = tree(&lab, "2.16.0", &header(SHARED, &less), interface);
    let document = status(&lab, &other);
    assert!(document["target"].is_null(), "2.16 was never looked at");
    assert_eq!(words(&document)[3].1, "unsupported");
    let evidence = document["patches"][3]["evidence"][0].as_str().unwrap();
    assert!(evidence.contains("malloc_host"), "{evidence}");
}

#[test]
fn a_tree_of_2_2_is_classic_in_another_layout_and_nothing_is_claimed_of_it() {
    let lab = Lab::new();
    let header = header(
        "PRIVATE_SMALL,\n    PRIVATE_LARGE,\n    SHARED_SMALL,\n    SHARED_LARGE,\n    SCALAR,",
        "  uint32_t retainCount() const { return [buffer retainCount]; }",
    );
    let interface = "IMPSAllocator* getIMPSAllocator(bool sharedAllocator = false);";
    let tree = tree(&lab, "2.2.0", &header, interface);
    let document = status(&lab, &tree);
    assert_eq!(document["tree"]["generation"], "classic");
    assert_eq!(document["target"]["evidence"], "headers-checked");
    expect(&document, ["conflict"; 8]);
    for patch in document["patches"].as_array().unwrap() {
        assert!(!patch["conflict"]["places"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_tree_of_2_1_is_older_than_the_set() {
    let lab = Lab::new();
    let tree = tree(&lab, "2.1.0", "struct BufferPool {};\n", "");
    std::fs::write(tree.join(INTERFACE), "IMPSAllocator* getIMPSAllocator();\n").unwrap();
    let document = status(&lab, &tree);
    assert_eq!(document["tree"]["generation"], "unsupported");
    expect(&document, ["unsupported"; 8]);
    let reason = document["generation_evidence"][0].as_str().unwrap();
    assert!(reason.contains("neither events nor"), "{reason}");
}

#[test]
fn an_archive_of_the_touched_files_is_enough() {
    let lab = Lab::new();
    for (name, inside, top) in [
        ("around.tar.gz", "pytorch", "pytorch/"),
        ("bare.tar.gz", ".", ""),
    ] {
        let root = lab.root().join(format!("pack-{name}"));
        for path in [ALLOCATOR, HEADER, INTERFACE] {
            let to = root.join(top).join(path);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(lab.path(path), to).unwrap();
        }
        let archive = lab.root().join(name);
        let packed = std::process::Command::new("tar")
            .arg("-czf")
            .arg(&archive)
            .arg("-C")
            .arg(&root)
            .args(if inside == "." { ["aten"] } else { [inside] })
            .status()
            .unwrap();
        assert!(packed.success());
        let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
        command
            .env("UMPATCH_CACHE", lab.root().join("cache"))
            .arg("-C")
            .arg(&archive)
            .args(["status", "--patches-from"])
            .arg(lab.series());
        let document = lab.json(command);
        assert_eq!(words(&document)[0].1, "clean", "{name}");
        assert_eq!(words(&document)[1].1, "clean", "{name}");
        assert_eq!(document["tree"]["path"], archive.to_str().unwrap());
    }
    // one that is cut off, and one that holds something else
    let whole = std::fs::read(lab.root().join("bare.tar.gz")).unwrap();
    let cut = lab.root().join("cut.tar.gz");
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let other = lab.root().join("other.tar.gz");
    std::process::Command::new("tar")
        .arg("-czf")
        .arg(&other)
        .arg("-C")
        .arg(lab.root())
        .arg("series")
        .status()
        .unwrap();
    for archive in [cut, other] {
        let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
        command.arg("-C").arg(&archive).arg("status");
        command.assert().code(2);
    }
}
