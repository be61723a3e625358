//! `import`, `show` and `diff`.
use crate::lab::{ALLOCATOR, Lab, git_in};
use predicates::prelude::*;

fn umpatch(lab: &Lab, arguments: &[&str]) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::cargo_bin("umpatch").unwrap();
    command
        .env("UMPATCH_CACHE", lab.root().join("cache"))
        .current_dir(lab.root())
        .args(arguments);
    command
}

fn mailbox(lab: &Lab) -> Vec<u8> {
    let mut mails = b"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n\
        From: a <a@example.org>\nSubject: [PATCH 0/3] cover letter\n\nWords.\n\n"
        .to_vec();
    for name in ["0001-first", "0002-second", "0003-third"] {
        let path = lab.series().join(format!("{name}.patch"));
        mails.extend(std::fs::read(path).unwrap());
        mails.push(b'\n');
    }
    mails
}

#[test]
fn a_mailbox_becomes_a_series_that_applies() {
    let lab = Lab::new();
    let expected = lab.apply();
    lab.unapply();
    std::fs::write(lab.root().join("pull.patch"), mailbox(&lab)).unwrap();
    let document = lab.json(umpatch(&lab, &["import", "pull.patch", "--to", "rival"]));
    assert_eq!(document["schema"], "umpatch.import/1");
    assert_eq!(document["series"], "rival");
    assert_eq!(document["left_out"], 1);
    let ids: Vec<&str> = document["patches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|patch| patch["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["first", "second", "third"]);
    let folder = lab.root().join("rival");
    let applied = lab.json(lab.umpatch(&["apply", "--patches-from", folder.to_str().unwrap()]));
    assert_eq!(applied["head"], expected["head"], "the same commits");
    // and it is no more than a folder: a second import does not write over it
    umpatch(&lab, &["import", "pull.patch", "--to", "rival"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("not empty"));
}

#[test]
fn a_plain_diff_from_standard_input_becomes_one_patch() {
    let lab = Lab::new();
    lab.edit(ALLOCATOR, "// allocator 50\n", "// another way\n");
    let diff = lab.git(&["diff"]) + "\n";
    lab.git(&["checkout", "-q", "."]);
    let mut command = umpatch(
        &lab,
        &[
            "import",
            "-",
            "--to",
            "rival",
            "--name",
            "their-way",
            "--generation",
            "classic",
        ],
    );
    command.write_stdin(diff).assert().success();
    let folder = lab.root().join("rival");
    let status = lab.json(lab.umpatch(&["status", "--patches-from", folder.to_str().unwrap()]));
    assert_eq!(status["series"], "their-way");
    assert_eq!(status["patches"][0]["state"], "clean");
    assert!(
        status["series_evidence"]
            .as_str()
            .unwrap()
            .contains("not verified")
    );
}

#[test]
fn an_encoded_mail_is_decoded() {
    let lab = Lab::new();
    let mail = std::fs::read_to_string(lab.series().join("0001-first.patch")).unwrap();
    let (head, body) = mail.split_once("\n\n").unwrap();
    let body = body.replace('=', "=3D").replace(" 50\n", " 5=\n0\n");
    let encoded = format!("{head}\nContent-Transfer-Encoding: quoted-printable\n\n{body}");
    std::fs::write(lab.root().join("mail"), encoded).unwrap();
    umpatch(&lab, &["import", "mail", "--to", "rival"])
        .assert()
        .success();
    let folder = lab.root().join("rival");
    lab.json(lab.umpatch(&["apply", "--patches-from", folder.to_str().unwrap()]));
    assert!(lab.read(ALLOCATOR).contains("fifty"));
}

#[test]
fn what_is_no_patch_is_not_imported() {
    let lab = Lab::new();
    for (name, bytes, wanted) in [
        ("empty", &b""[..], "no diff"),
        ("words", b"From: a <a@b>\nSubject: x\n\nhello\n", "no diff"),
        (
            "leaves",
            b"--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b\n",
            "leaves the tree",
        ),
        ("cut", b"--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n a\n", "cut off"),
        (
            "parts",
            b"From: a <a@b>\nSubject: x\nContent-Type: multipart/mixed; boundary=y\n\n--y\n",
            "several parts",
        ),
    ] {
        std::fs::write(lab.root().join(name), bytes).unwrap();
        let to = format!("to-{name}");
        umpatch(&lab, &["import", name, "--to", &to])
            .assert()
            .failure()
            .stderr(predicate::str::contains(wanted));
        assert!(!lab.root().join(&to).exists(), "{name} left a folder");
    }
}

#[test]
fn a_patch_is_shown_with_what_is_known_of_it() {
    let lab = Lab::new();
    let series = lab.series().display().to_string();
    umpatch(&lab, &["show", "--series", &series])
        .assert()
        .success()
        .stdout(predicate::str::contains("second").and(predicate::str::contains("tools/run.sh")));
    let document = lab.json(umpatch(&lab, &["show", "first", "--series", &series]));
    assert_eq!(document["schema"], "umpatch.show/1");
    let patch = &document["patches"][0];
    assert_eq!(patch["message"], "[MPS] First\n");
    assert_eq!(patch["files"][0]["added"], 2);
    assert_eq!(patch["files"][0]["removed"], 2);
    assert!(patch["diff"].as_str().unwrap().starts_with("diff --git"));
    // the file itself, as git takes it
    let mail = umpatch(&lab, &["show", "third", "--mail", "--series", &series])
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    assert_eq!(
        mail,
        std::fs::read(lab.series().join("0003-third.patch")).unwrap()
    );
    // the built-in series, with nothing but the program
    let ours = lab.json(umpatch(&lab, &["show"]));
    assert_eq!(ours["series"], "classic");
    assert_eq!(ours["patches"].as_array().unwrap().len(), 8);
    umpatch(&lab, &["show", "nothing", "--series", &series])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("first, second, third"));
    umpatch(&lab, &["show", "--series", "nothing"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("classic"));
}

#[test]
fn two_series_are_compared_by_what_they_change() {
    let lab = Lab::new();
    let other = lab.root().join("other");
    git_in(lab.root(), &["init", "-q", "other"]);
    for entry in std::fs::read_dir(lab.series()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, other.join(path.file_name().unwrap())).unwrap();
    }
    let relations = || -> Vec<(String, String)> {
        let document = lab.json(umpatch(&lab, &["diff", "series", "other"]));
        assert_eq!(document["schema"], "umpatch.diff/1");
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let patches = document["patches"].as_array().unwrap();
        let pairs: Vec<_> = patches
            .iter()
            .map(|patch| (text(&patch["id"]), text(&patch["relation"])))
            .collect();
        let identical = pairs.iter().all(|(_, relation)| relation == "identical");
        assert_eq!(document["identical"], identical);
        pairs
    };
    assert!(
        relations()
            .iter()
            .all(|(_, relation)| relation == "identical")
    );
    let edit = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(other.join(name)).unwrap();
        assert!(text.contains(from));
        std::fs::write(other.join(name), text.replacen(from, to, 1)).unwrap();
    };
    edit("0001-first.patch", "+// and more", "+// and less");
    edit(
        "0002-second.patch",
        "[MPS] Second",
        "[MPS] Second, reworded",
    );
    std::fs::rename(
        other.join("0003-third.patch"),
        other.join("0003-fourth.patch"),
    )
    .unwrap();
    let pairs = relations();
    let of = |id: &str| &pairs.iter().find(|(other, _)| other == id).unwrap().1;
    assert_eq!(of("first"), "changed");
    assert_eq!(of("second"), "same-change");
    assert_eq!(of("third"), "removed");
    assert_eq!(of("fourth"), "added");
    umpatch(&lab, &["diff", "series", "other"])
        .assert()
        .success()
        .stdout(predicate::str::contains("++// and less"));
}
