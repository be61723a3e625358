//! The two arms as sources, whatever state the tree is in.
use crate::lab::{ALLOCATOR, HEADER, Lab};
use umpatch::engine::{Arms, Selection, arms};
use umpatch::series::{PatchId, TreePath};

fn of(lab: &Lab) -> Arms {
    arms(&lab.tree(), Some(&lab.series()), &Selection::All).unwrap()
}

fn text(set: &umpatch::engine::SourceSet, path: &str) -> Option<String> {
    let bytes = set.read(&TreePath::new(path).unwrap()).unwrap()?;
    Some(String::from_utf8(bytes).unwrap())
}

#[test]
fn the_arms_are_the_same_in_every_state_of_the_tree() {
    let lab = Lab::new();
    let stock = lab.read(ALLOCATOR);
    let clean = of(&lab);
    assert_eq!(text(&clean.stock, ALLOCATOR).unwrap(), stock);
    let patched = text(&clean.patched, ALLOCATOR).unwrap();
    assert!(patched.contains("fifty"));
    assert!(text(&clean.patched, "aten/src/ATen/mps/Old.h").is_none());
    assert!(text(&clean.stock, "aten/src/ATen/mps/fresh/New.h").is_none());
    assert_eq!(clean.patches.len(), 3);
    assert!(clean.stock.changed().is_empty());
    assert_eq!(clean.patched.changed().len(), 7);
    assert_eq!(clean.differing.len(), 7);
    let same = |other: &Arms, state: &str| {
        assert_eq!(text(&other.stock, ALLOCATOR).unwrap(), stock, "{state}");
        assert_eq!(text(&other.patched, ALLOCATOR).unwrap(), patched, "{state}");
        assert_eq!(other.differing, clean.differing, "{state}");
        assert_eq!(other.patches, clean.patches, "{state}");
        assert_eq!(
            other.stock.list("").unwrap(),
            clean.stock.list("").unwrap(),
            "{state}"
        );
        assert_eq!(
            other.patched.list("aten").unwrap(),
            clean.patched.list("aten").unwrap(),
            "{state}"
        );
    };
    let git_same = |other: &Arms, state: &str| {
        same(other, state);
        assert_eq!(
            other.stock.identity().unwrap(),
            clean.stock.identity().unwrap(),
            "{state}"
        );
        assert_eq!(
            other.patched.identity().unwrap(),
            clean.patched.identity().unwrap(),
            "{state}"
        );
        assert_eq!(other.notes, Vec::<String>::new(), "{state}");
    };
    lab.apply();
    git_same(&of(&lab), "applied");
    lab.unapply();
    lab.json(lab.with_series(&["apply", "--until", "second"]));
    git_same(&of(&lab), "applied in part");
    lab.unapply();
    lab.json(lab.with_series(&["apply", "--worktree"]));
    git_same(&of(&lab), "in the work tree");
    std::fs::remove_dir_all(lab.path(".git")).unwrap();
    same(&of(&lab), "a folder with the patches");
}

#[test]
fn nothing_is_written_into_the_repository() {
    let lab = Lab::new();
    let before = lab.snapshot();
    let objects = lab.git(&["count-objects", "-v"]);
    of(&lab);
    assert_eq!(lab.snapshot(), before);
    assert_eq!(lab.git(&["count-objects", "-v"]), objects);
}

#[test]
fn uncommitted_changes_are_part_of_both_arms() {
    let lab = Lab::new();
    lab.edit(ALLOCATOR, "// allocator 199\n", "// mine\n");
    let arms = of(&lab);
    assert!(text(&arms.stock, ALLOCATOR).unwrap().contains("// mine"));
    assert!(text(&arms.patched, ALLOCATOR).unwrap().contains("// mine"));
    assert!(arms.notes[0].contains(ALLOCATOR));
    assert_ne!(
        arms.stock.identity().unwrap(),
        of(&Lab::new()).stock.identity().unwrap()
    );
}

#[test]
fn a_selection_makes_the_patched_arm() {
    let lab = Lab::new();
    let until = Selection::Until("first".parse::<PatchId>().unwrap());
    let arms = arms(&lab.tree(), Some(&lab.series()), &until).unwrap();
    assert_eq!(arms.patches.len(), 1);
    assert_eq!(text(&arms.stock, HEADER), text(&arms.patched, HEADER));
    assert!(text(&arms.patched, ALLOCATOR).unwrap().contains("fifty"));
}

#[test]
fn an_export_leaves_equal_files_alone() {
    let lab = Lab::new();
    let arms = of(&lab);
    let folder = lab.root().join("export");
    arms.patched
        .export(&["aten", "version.txt"], &folder)
        .unwrap();
    assert!(folder.join("aten/src/ATen/mps/fresh/New.h").exists());
    assert!(!folder.join("README.md").exists());
    let time = |path: &str| folder.join(path).metadata().unwrap().modified().unwrap();
    let (header, allocator) = (time(HEADER), time(ALLOCATOR));
    std::fs::write(folder.join(ALLOCATOR), "damaged\n").unwrap();
    arms.patched.export(&["aten"], &folder).unwrap();
    assert_eq!(time(HEADER), header);
    assert_ne!(time(ALLOCATOR), allocator);
}
