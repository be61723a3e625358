//! Archives that we make, good and hostile.
use super::*;
use crate::progress::Silent;
use proptest::prelude::*;
use std::error::Error;
use tar::{Builder, EntryType, Header};

/// One entry of an archive to make: name, kind, contents or link target, mode.
type Made<'a> = (&'a str, EntryType, &'a str, u32);

/// A tar with names as they are: the builder's own checks are bypassed.
fn tar_of(entries: &[Made<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, text, mode) in entries {
        let mut header = Header::new_gnu();
        let field = &mut header.as_old_mut().name;
        field[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        let linked = matches!(kind, EntryType::Symlink | EntryType::Link);
        if linked {
            let field = &mut header.as_old_mut().linkname;
            field[..text.len()].copy_from_slice(text.as_bytes());
        }
        let body = if linked { "" } else { text };
        header.set_size(body.len() as u64);
        header.set_cksum();
        builder.append(&header, body.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn unpack_bytes(
    bytes: &[u8],
    ending: &str,
    limits: Limits,
) -> (tempfile::TempDir, Result<(), ArchiveError>) {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join(format!("a{ending}"));
    std::fs::write(&archive, bytes).unwrap();
    let into = folder.path().join("into");
    std::fs::create_dir(&into).unwrap();
    let result = unpack(&archive, &into, limits, &Silent);
    (folder, result)
}

fn refused(entries: &[Made<'_>]) -> Refusal {
    let (folder, result) = unpack_bytes(&tar_of(entries), ".tar", Limits::default());
    assert!(!folder.path().join("evil").exists());
    match result {
        Err(ArchiveError::Refused { reason, .. }) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

const FILE: EntryType = EntryType::Regular;
const LINK: EntryType = EntryType::Symlink;

#[test]
fn the_folder_around_everything_is_dropped() {
    let entries = [
        ("p-1/", EntryType::Directory, "", 0o755),
        ("p-1/a/run", FILE, "x", 0o755),
        ("p-1/p-1", FILE, "y", 0o644),
        ("p-1/.git/hooks/post-checkout", FILE, "evil", 0o755),
        ("p-1/link", LINK, "a/run", 0o777),
        ("p-1/a/up", LINK, "../p-1", 0o777),
    ];
    let bytes = tar_of(&entries);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    let mut xz = xz2::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(&bytes).unwrap();
    for (bytes, ending) in [
        (bytes, ".tar"),
        (gzip.finish().unwrap(), ".tgz"),
        (xz.finish().unwrap(), ".tar.xz"),
    ] {
        let (folder, result) = unpack_bytes(&bytes, ending, Limits::default());
        result.unwrap();
        let into = folder.path().join("into");
        let read = |path: &str| std::fs::read_to_string(into.join(path)).unwrap();
        assert_eq!(read("a/run"), "x");
        assert_eq!(read("link"), "x");
        assert_eq!(read("a/up"), "y");
        assert!(!into.join(".git").exists());
        assert_eq!(std::fs::read_dir(&into).unwrap().count(), 3);
    }
}

#[test]
fn a_zip_unpacks_too() {
    use zip::write::SimpleFileOptions;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let plain = SimpleFileOptions::default();
    writer.add_directory("top/", plain).unwrap();
    writer
        .start_file("top/run", plain.unix_permissions(0o755))
        .unwrap();
    writer.write_all(b"x").unwrap();
    writer.add_symlink("top/link", "run", plain).unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    let (folder, result) = unpack_bytes(&bytes, ".zip", Limits::default());
    result.unwrap();
    let into = folder.path().join("into");
    assert_eq!(
        std::fs::read_link(into.join("link")).unwrap(),
        Path::new("run")
    );
    assert_eq!(std::fs::read(into.join("run")).unwrap(), b"x");
    let (_folder, result) = unpack_bytes(&bytes[..bytes.len() / 2], ".zip", Limits::default());
    assert!(matches!(result, Err(ArchiveError::Damaged { .. })));
}

#[test]
fn what_would_leave_is_refused() {
    assert!(matches!(
        refused(&[("../evil", FILE, "x", 0o644)]),
        Refusal::Leaves { .. }
    ));
    assert!(matches!(
        refused(&[("a/../../evil", FILE, "x", 0o644)]),
        Refusal::Leaves { .. }
    ));
    assert!(matches!(
        refused(&[("/tmp/evil", FILE, "x", 0o644)]),
        Refusal::Absolute { .. }
    ));
    for target in [
        "/etc/passwd",
        "../..",
        "b/../../..",
        "c/../x",
        ".git/config",
        "",
    ] {
        let reason = refused(&[
            ("a/link", LINK, target, 0o777),
            ("b", FILE, "x", 0o644),
            ("a/c", FILE, "", 0o644),
        ]);
        assert!(matches!(reason, Refusal::LinkLeaves { .. }), "{target}");
    }
    let pipe = refused(&[("pipe", EntryType::Fifo, "", 0o644)]);
    assert!(matches!(pipe, Refusal::Special { .. }));
    let hard = refused(&[("hard", EntryType::Link, "../evil", 0o644)]);
    assert!(matches!(hard, Refusal::Leaves { .. }));
}

#[test]
fn no_file_is_written_through_a_link() {
    // the link would lead `d/evil` elsewhere: the file's folder is made first, so the link finds its place taken
    let entries = [
        ("top", FILE, "", 0o644),
        ("d", LINK, "e", 0o777),
        ("d/evil", FILE, "x", 0o644),
    ];
    assert!(matches!(refused(&entries), Refusal::Twice { .. }));
    // the second link would really lie at the top, from where its target leaves
    let entries = [
        ("top", FILE, "", 0o644),
        ("a/b/c", LINK, "../..", 0o777),
        ("a/b/c/x", LINK, "../../../evil", 0o777),
    ];
    assert!(matches!(refused(&entries), Refusal::Twice { .. }));
}

#[test]
fn sizes_are_limited() {
    let small = Limits {
        total: 10,
        file: 6,
        entries: 3,
        ratio: 200,
    };
    let one = tar_of(&[("a", FILE, "1234567", 0o644)]);
    let (_folder, result) = unpack_bytes(&one, ".tar", small);
    assert!(matches!(
        result,
        Err(ArchiveError::Refused {
            reason: Refusal::FileTooLarge { .. },
            ..
        })
    ));
    let two = tar_of(&[("a", FILE, "123456", 0o644), ("b", FILE, "123456", 0o644)]);
    let (_folder, result) = unpack_bytes(&two, ".tar", small);
    assert!(matches!(
        result,
        Err(ArchiveError::Refused {
            reason: Refusal::TooLarge { .. },
            ..
        })
    ));
    let many = tar_of(&[("a", FILE, "", 0o644); 4]);
    let (_folder, result) = unpack_bytes(&many, ".tar", small);
    assert!(matches!(
        result,
        Err(ArchiveError::Refused {
            reason: Refusal::TooMany { .. },
            ..
        })
    ));
}

#[test]
fn a_cut_archive_is_damaged_wherever_it_is_cut() {
    let bytes = tar_of(&[
        ("a/b", FILE, &"text ".repeat(500), 0o644),
        ("c", FILE, "x", 0o644),
    ]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gzip.write_all(&bytes).unwrap();
    let gzip = gzip.finish().unwrap();
    for at in [0, 1, 20, 600, gzip.len() / 2, gzip.len() - 1] {
        let (_folder, result) = unpack_bytes(&gzip[..at], ".tar.gz", Limits::default());
        let error = result.unwrap_err();
        assert!(
            matches!(error, ArchiveError::Damaged { .. }),
            "{at}: {error}"
        );
        assert!(error.source().is_some());
    }
    let (_folder, result) = unpack_bytes(b"not an archive", ".rar", Limits::default());
    assert!(matches!(result, Err(ArchiveError::UnknownKind { .. })));
}

proptest! {
    #[test]
    fn a_name_that_is_taken_stays_below(raw in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(entry::Named::Entry(name)) = EntryName::parse(&raw) {
            let components: Vec<_> = name.as_path().components().collect();
            prop_assert!(!components.is_empty());
            prop_assert!(components.iter().all(|part| matches!(part, std::path::Component::Normal(_))));
        }
    }

    /// Links that are taken, made for real and followed, end inside the folder.
    #[test]
    fn links_that_are_taken_lead_inside(
        links in proptest::collection::vec(("[ab](/[ab]){0,2}", "(\\.\\./|\\./|[ab]/|/){0,4}[ab]"), 1..6)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("one/two");
        std::fs::create_dir_all(&root).unwrap();
        for (name, target) in &links {
            let Ok(entry::Named::Entry(name)) = EntryName::parse(name.as_bytes()) else { continue };
            let target = LinkTarget::new(target.as_bytes());
            let path = root.join(name.as_path());
            let parent = path.parent().unwrap();
            // as in the unpacker, a link never lies below another
            let real = std::fs::create_dir_all(parent).is_ok() && parent.canonicalize().unwrap() == parent;
            if real && target.stays_inside(&name).is_ok() {
                let _ = symlink(target.as_path(), &path);
            }
        }
        for entry in walkdir::WalkDir::new(&root).into_iter().flatten() {
            if let Ok(end) = entry.path().canonicalize() {
                prop_assert!(end.starts_with(&root), "{} leads to {}", entry.path().display(), end.display());
            }
        }
    }
}
