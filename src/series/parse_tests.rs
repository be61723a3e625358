//! Every form that a patch may have goes through the parser and comes out as the same bytes; nothing makes it panic.
use super::diff::{HeaderEnds, Kind, LineKind, Mode};
use super::mail::Message;
use super::parse::{Reason, parse};
use proptest::prelude::*;

const HUNK: &str = "@@ -1,3 +1,3 @@ void f()\n a\n-b\n+c\n d\n";

fn reason(text: &str) -> Reason {
    parse(text.as_bytes()).unwrap_err().reason
}

fn round(text: &str) -> super::diff::PatchFile {
    let patch = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error} in:\n{text}"));
    assert_eq!(String::from_utf8_lossy(&patch.emit()), text);
    patch
}

#[test]
fn a_mail_is_kept_whole() {
    let text = format!(
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\n\
         body\n--- not a header\n---\n f | 2 +-\n 1 file changed\n\ndiff --git a/f b/f\nindex 1234567..89abcde 100644\n\
         --- a/f\n+++ b/f\n{HUNK}-- \n2.39.2\n\n"
    );
    let patch = round(&text);
    assert_eq!(patch.files.len(), 1);
    assert_eq!(patch.trailer, b"-- \n2.39.2\n\n");
    assert_eq!(patch.files[0].old_blob.as_deref(), Some("1234567"));
    assert_eq!(
        patch.files[0].old_mode, None,
        "the index line states a mode, it changes none"
    );
}

#[test]
fn names_lose_their_prefix_whatever_it_is() {
    for (old, new) in [
        ("a/x/f", "b/x/f"),
        ("i/x/f", "w/x/f"),
        ("x/f", "x/f"),
        ("pytorch.orig/x/f", "pytorch/x/f"),
        (
            "0/x/f\t2024-01-02 03:04:05.000000000 +0000",
            "E/x/f\t2024-01-02 03:04:06.000000000 +0000",
        ),
        ("x/f.orig", "x/f"),
        ("\"a/x/f\"", "b/x/f"),
    ] {
        let patch = round(&format!("--- {old}\n+++ {new}\n{HUNK}"));
        assert_eq!(patch.files[0].new.as_str(), "x/f", "{old} {new}");
        assert_eq!(patch.files[0].kind, Kind::Modify);
    }
    assert_eq!(reason(&format!("--- a/x\n+++ b/y\n{HUNK}")), Reason::Names);
}

#[test]
fn files_come_go_and_move() {
    let patch = round(
        "diff --git a/new b/new\nnew file mode 100755\nindex 0000000..1234567\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n\
         diff --git a/old b/old\ndeleted file mode 100644\nindex 1234567..0000000\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
         diff --git a/from b/to\nsimilarity index 90%\nrename from from\nrename to to\nindex 1234567..89abcde 100644\n--- a/from\n+++ b/to\n@@ -1 +1 @@\n-x\n+y\n\
         diff --git a/tool b/tool\nold mode 100644\nnew mode 100755\n\
         diff --git a/empty file b/empty file\nnew file mode 100644\nindex 0000000..e69de29\n\
         diff --git a/one b/two\nsimilarity index 100%\ncopy from one\ncopy to two\n\
         diff --git a/link b/link\nnew file mode 120000\nindex 0000000..1234567\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n",
    );
    let seen: Vec<_> = patch
        .files
        .iter()
        .map(|file| (file.kind, file.old.as_str(), file.new.as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            (Kind::Create, "new", "new"),
            (Kind::Delete, "old", "old"),
            (Kind::Rename, "from", "to"),
            (Kind::Modify, "tool", "tool"),
            (Kind::Create, "empty file", "empty file"),
            (Kind::Copy, "one", "two"),
            (Kind::Create, "link", "link"),
        ]
    );
    assert_eq!(patch.files[0].new_mode, Some(Mode::Executable));
    assert_eq!(patch.files[3].new_mode, Some(Mode::Executable));
    assert_eq!(patch.files[6].new_mode, Some(Mode::Symlink));
    assert_eq!(patch.files[6].hunks[0].lines[0].text, b"target");
}

#[test]
fn gnu_diff_says_by_date_that_a_file_is_new() {
    let patch = round(
        "diff -ruN a/f b/f\n--- a/f\t1970-01-01 01:00:00.000000000 +0100\n+++ b/f\t2024-01-02 03:04:05 +0000\n@@ -0,0 +1 @@\n+x\n",
    );
    assert_eq!(patch.files[0].kind, Kind::Create);
    let patch = round("Index: f\n=====\n--- f\n+++ f\n@@ -0,0 +1 @@\n+x\n");
    assert_eq!(
        patch.files[0].kind,
        Kind::Modify,
        "nothing says that it is new"
    );
}

#[test]
fn odd_forms_come_out_as_they_went_in() {
    // carriage returns, an empty context line without its space, no newline at the end in another language, a last line cut
    round(&format!("--- a/f\n+++ b/f\n{HUNK}").replace('\n', "\r\n"));
    round("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n\n-b\n+c\n d\n");
    round("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-b\n\\ Kein Zeilenumbruch\n+c\n\\ Kein Zeilenumbruch\n");
    round("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-b\n+c");
    round("--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-b\r\n+c\r\n");
    let crlf = parse(
        format!("--- a/f\n+++ b/f\n{HUNK}")
            .replace('\n', "\r\n")
            .as_bytes(),
    )
    .unwrap();
    assert_eq!(crlf.files[0].ends, HeaderEnds::CarriageReturn);
    let content = parse(b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-b\r\n+c\r\n").unwrap();
    assert_eq!(content.files[0].ends, HeaderEnds::LineFeed);
    assert_eq!(content.files[0].hunks[0].lines[1].text, b"c\r\n");
    assert_eq!(content.files[0].hunks[0].lines[1].kind, LineKind::Added);
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_line() {
    let file = "--- a/f\n+++ b/f\n";
    assert_eq!(reason(""), Reason::NoDiff);
    assert_eq!(reason("Just words.\n"), Reason::NoDiff);
    assert_eq!(reason(HUNK), Reason::OrphanHunk);
    let names = "diff --git a/f b/f\nindex 1111111..2222222 100644\n";
    assert_eq!(reason(names), Reason::NoHunks);
    assert_eq!(reason(&format!("{names}{file}")), Reason::NoHunks);
    assert_eq!(
        reason("diff --git a/f b/f\nnew file mode 100644\nindex 0000000..2222222\n"),
        Reason::NoHunks
    );
    for whole in [
        "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
        "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
        "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..e69de29\n",
        "diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29bb2d1d6434b8b29ae775ad8c2e48c5391..0000000000000000000000000000000000000000\n",
    ] {
        assert!(parse(whole.as_bytes()).is_ok(), "{whole}");
    }
    assert_eq!(
        reason(&format!("{file}@@ -1,9 +1,9 @@\n a\n")),
        Reason::CutOff { missing: 8 }
    );
    assert_eq!(
        reason(&format!("{file}@@ -1 +1 @@\n-a\n+b\n+c\n")),
        Reason::Surplus
    );
    assert_eq!(
        reason(&format!("{file}@@ -1 +1 @@\n-a\n-b\n+c\n")),
        Reason::Surplus
    );
    assert_eq!(
        reason(&format!("{file}@@ -x +1 @@\n-a\n")),
        Reason::HunkHeader
    );
    assert_eq!(
        reason(&format!("{file}@@ -0,1 +1 @@\n-a\n+b\n")),
        Reason::HunkHeader
    );
    assert_eq!(
        reason(&format!("{file}@@ -99999999999999999999 +1 @@\n-a\n+b\n")),
        Reason::HunkHeader
    );
    assert_eq!(
        reason(&format!("{file}@@ -9 +9 @@\n-a\n+b\n@@ -3 +3 @@\n-a\n+b\n")),
        Reason::Overlap
    );
    assert!(matches!(
        reason(&format!("{file}@@ -1,2 +1 @@\n-a\n*b\n")),
        Reason::BadLine { .. }
    ));
    assert_eq!(reason("diff --cc f\nindex 1,2..3\n"), Reason::Combined);
    assert!(matches!(
        reason("diff --git a/f b/f\nindex 12345..6789a 100644\nBinary files a/f and b/f differ\n"),
        Reason::Binary { .. }
    ));
    assert!(matches!(
        reason("Binary files a/f and b/f differ\n"),
        Reason::Binary { .. }
    ));
    assert_eq!(
        reason("diff --git a/f b/f\nold mode 160000\nnew mode 160000\n"),
        Reason::Submodule
    );
    assert_eq!(
        reason("diff --git a/f b/f\nnew file mode 040000\n"),
        Reason::Mode
    );
    for path in ["../f", "/f", "x/../../f", ".git/f", "x/.GIT/f"] {
        let text = format!("--- a/{path}\n+++ b/{path}\n{HUNK}");
        assert!(matches!(reason(&text), Reason::Path(_)), "{path}");
        let text = format!("diff --git a/f b/{path}\nrename from f\nrename to {path}\n");
        assert!(matches!(reason(&text), Reason::Path(_)), "{path}");
    }
    let mails = format!(
        "{file}{HUNK}-- \n2\n\nFrom 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
    );
    assert_eq!(reason(&mails), Reason::Mailbox);
    let error = parse(format!("words\n\n{file}@@ -1,9 +1,9 @@\n a\n").as_bytes()).unwrap_err();
    assert_eq!(error.line, 7);
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        Just(String::new()),
        Just("\tä\r".to_owned()),
        Just("-- ".to_owned()),
        Just("@@ -1 +1 @@".to_owned()),
        Just("diff --git a/f b/f".to_owned()),
    ]
}

/// A sound diff of one file, with whatever text in its lines.
fn file_diff() -> impl Strategy<Value = String> {
    let hunk_line = (prop_oneof![Just(' '), Just('-'), Just('+')], line());
    let hunk = prop::collection::vec(hunk_line, 1..8);
    (
        "[a-z]{1,6}(/[a-z]{1,6}){0,2}",
        prop::collection::vec(hunk, 1..4),
        any::<bool>(),
    )
        .prop_map(|(path, hunks, git)| {
            let mut text = if git {
                format!("diff --git a/{path} b/{path}\nindex 0123456..789abcd 100644\n")
            } else {
                String::new()
            };
            text.push_str(&format!("--- a/{path}\n+++ b/{path}\n"));
            let (mut old, mut new) = (1, 1);
            for hunk in hunks {
                let count = |skip| hunk.iter().filter(|(kind, _)| *kind != skip).count();
                let (olds, news) = (count('+'), count('-'));
                let start = |at: usize, lines: usize| if lines == 0 { at - 1 } else { at };
                text.push_str(&format!(
                    "@@ -{},{olds} +{},{news} @@ x\n",
                    start(old, olds),
                    start(new, news)
                ));
                for (kind, line) in &hunk {
                    text.push_str(&format!("{kind}{line}\n"));
                }
                old += olds + 3;
                new += news + 3;
            }
            text
        })
}

proptest! {
    #[test]
    fn sound_patches_come_out_as_they_went_in(
        preamble in prop::collection::vec("[ -,.-~]{0,20}", 0..5),
        files in prop::collection::vec(file_diff(), 1..4),
        carriage in any::<bool>(),
    ) {
        prop_assume!(!preamble.iter().any(|line| line.starts_with("@@ ") || line.starts_with("diff ")));
        let mut text = preamble.iter().map(|line| format!("{line}\n")).collect::<String>();
        text.push_str(&files.concat());
        text.push_str("-- \n2.47\n");
        if carriage {
            text = text.replace('\n', "\r\n");
        }
        let patch = parse(text.as_bytes()).unwrap();
        prop_assert_eq!(patch.files.len(), files.len());
        let emitted = patch.emit();
        prop_assert_eq!(String::from_utf8_lossy(&emitted), text);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(patch) = parse(&bytes) {
            prop_assert_eq!(patch.emit(), bytes.clone());
        }
        let _ = Message::from_preamble(&bytes);
    }

    #[test]
    fn damage_never_panics_and_what_is_accepted_is_kept(
        files in prop::collection::vec(file_diff(), 1..3),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..6),
    ) {
        let mut bytes = files.concat().into_bytes();
        for (at, byte, what) in cuts {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at),
            }
        }
        if let Ok(patch) = parse(&bytes) {
            prop_assert_eq!(patch.emit(), bytes);
        }
    }

    #[test]
    fn mails_never_panic(text in "(From |Subject: |=\\?utf-8\\?q\\?|\\?=|\n|\r|[ -~]|ä){0,60}") {
        let _ = Message::from_preamble(text.as_bytes());
        let _ = parse(text.as_bytes());
    }
}
