//! The text of a patch, from blobs alone: no configuration, no attributes and no installed git has a say in it.
use super::EngineError;
use super::checkout::Checkout;
use git2::{Delta, DiffDelta, DiffFile, DiffOptions, FileMode, Oid, Patch};

/// How changes are shown: three lines of context, full ids.
pub(super) fn options() -> DiffOptions {
    let mut options = DiffOptions::new();
    options
        .context_lines(3)
        .interhunk_lines(0)
        .id_abbrev(40)
        .indent_heuristic(true)
        .force_text(true)
        .old_prefix("a/")
        .new_prefix("b/");
    options
}

/// A file's change in numbers.
pub(super) struct Changed {
    pub(super) name: String,
    pub(super) added: usize,
    pub(super) removed: usize,
}

/// Width of the diffstat.
const WIDTH: usize = 72;

/// The table of files that stands before the diffs.
pub(super) fn diffstat(files: &[Changed]) -> String {
    let name = files.iter().map(|file| file.name.chars().count()).max();
    let most = files.iter().map(|file| file.added + file.removed).max();
    let (name, most) = (name.unwrap_or(0), most.unwrap_or(0));
    let digits = most.to_string().len();
    let room = WIDTH.saturating_sub(name + digits + 5).max(10);
    let scaled = |count: usize| match most > room {
        // whatever was changed has a sign
        true if count > 0 => (count * room / most).max(1),
        _ => count,
    };
    let mut text = String::new();
    for file in files {
        let total = file.added + file.removed;
        let signs = "+".repeat(scaled(file.added)) + &"-".repeat(scaled(file.removed));
        let line = format!(" {:<name$} | {total:>digits$} {signs}", file.name);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let plural = |count: usize, word: &str, sign: &str| {
        let ending = if count == 1 { "" } else { "s" };
        format!(", {count} {word}{ending}({sign})")
    };
    let (added, removed) = files.iter().fold((0, 0), |(added, removed), file| {
        (added + file.added, removed + file.removed)
    });
    let ending = if files.len() == 1 { "" } else { "s" };
    text.push_str(&format!(" {} file{ending} changed", files.len()));
    if added > 0 || removed == 0 {
        text.push_str(&plural(added, "insertion", "+"));
    }
    if removed > 0 || added == 0 {
        text.push_str(&plural(removed, "deletion", "-"));
    }
    text.push('\n');
    text
}

/// The line of the diffstat that tells of a file that came, went, moved or changed its mode.
pub(super) fn summary_of(delta: &DiffDelta<'_>, name: &str) -> String {
    let (old, new) = (delta.old_file().mode(), delta.new_file().mode());
    match delta.status() {
        Delta::Added => format!(" create mode {:06o} {name}\n", u32::from(new)),
        Delta::Deleted => format!(" delete mode {:06o} {name}\n", u32::from(old)),
        Delta::Renamed => format!(" rename {name}\n"),
        _ if old != new => format!(
            " mode change {:06o} => {:06o} {name}\n",
            u32::from(old),
            u32::from(new)
        ),
        _ => String::new(),
    }
}

/// A file's path; paths that are not UTF-8 are in no patch of ours.
pub(super) fn path_of(file: &DiffFile<'_>) -> Result<String, EngineError> {
    let path = file.path_bytes().unwrap_or_default();
    String::from_utf8(path.to_vec())
        .map_err(|_| EngineError::git("make a diff")(git2::Error::from_str("a path is not UTF-8")))
}

/// git's header lines, up to the hunks.
pub(super) fn header_of(delta: &DiffDelta<'_>) -> Result<String, EngineError> {
    let (from, to) = (delta.old_file(), delta.new_file());
    let (old, new) = (path_of(&from)?, path_of(&to)?);
    let quoted = |prefix: &str, path: &str| quote(&format!("{prefix}{path}"));
    let mut text = format!("diff --git {} {}\n", quoted("a/", &old), quoted("b/", &new));
    let (before, after) = (u32::from(from.mode()), u32::from(to.mode()));
    let (mut old_side, mut new_side) = (quoted("a/", &old), quoted("b/", &new));
    match delta.status() {
        Delta::Added => {
            text.push_str(&format!("new file mode {after:06o}\n"));
            "/dev/null".clone_into(&mut old_side);
        }
        Delta::Deleted => {
            text.push_str(&format!("deleted file mode {before:06o}\n"));
            "/dev/null".clone_into(&mut new_side);
        }
        _ if before != after => {
            text.push_str(&format!("old mode {before:06o}\nnew mode {after:06o}\n"));
        }
        _ => {}
    }
    if delta.status() == Delta::Renamed {
        let same = from.id() == to.id();
        // how alike they are is no instruction
        let alike = if same { "similarity index 100%\n" } else { "" };
        text.push_str(&format!(
            "{alike}rename from {}\nrename to {}\n",
            quote(&old),
            quote(&new)
        ));
    }
    if from.id() != to.id() {
        let mode = match (delta.status(), before == after) {
            (Delta::Added | Delta::Deleted, _) | (_, false) => String::new(),
            _ => format!(" {after:06o}"),
        };
        text.push_str(&format!("index {}..{}{mode}\n", from.id(), to.id()));
        // an empty file that comes or goes has no hunks, and then no names either
        let empty = |id: Oid| id.is_zero() || id == super::checkout::blob_id(b"");
        if !(empty(from.id()) && empty(to.id())) {
            let tab = |side: &str| if side.contains(' ') { "\t" } else { "" };
            text.push_str(&format!(
                "--- {old_side}{}\n+++ {new_side}{}\n",
                tab(&old_side),
                tab(&new_side)
            ));
        }
    }
    Ok(text)
}

/// A path as git writes it: in quotes where it holds what would be misread.
fn quote(path: &str) -> String {
    let is_plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if path.bytes().all(is_plain) {
        return path.to_owned();
    }
    let mut text = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            byte if is_plain(byte) => text.push(char::from(byte)),
            byte => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

/// The hunks of a change.
pub(super) fn text_of(checkout: &Checkout, delta: &DiffDelta<'_>) -> Result<Vec<u8>, EngineError> {
    let reading = || EngineError::git("make a diff");
    let content = |file: &DiffFile<'_>| -> Result<Vec<u8>, EngineError> {
        if file.id().is_zero() || file.mode() == FileMode::Commit {
            return Ok(Vec::new());
        }
        let blob = checkout
            .repository
            .find_blob(file.id())
            .map_err(reading())?;
        Ok(blob.content().to_vec())
    };
    let (old, new) = (content(&delta.old_file())?, content(&delta.new_file())?);
    if old == new {
        return Ok(Vec::new());
    }
    // buffers belong to no repository: no diff driver is looked for
    let patch = Patch::from_buffers(&old, None, &new, None, Some(&mut options()));
    let mut patch = patch.map_err(reading())?;
    let mut text = Vec::new();
    let mut started = false;
    patch
        .print(&mut |_, hunk, line| {
            started |= hunk.is_some();
            if started {
                if matches!(line.origin(), ' ' | '+' | '-') {
                    text.push(line.origin() as u8);
                }
                text.extend_from_slice(line.content());
            }
            true
        })
        .map_err(reading())?;
    Ok(text)
}

/// How many lines of hunks begin with a sign.
pub(super) fn count(hunks: &[u8], sign: u8) -> usize {
    hunks
        .split(|&byte| byte == b'\n')
        .filter(|line| line.first() == Some(&sign))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diffstat_fits_its_width() {
        let file = |name: &str, added, removed| Changed {
            name: name.to_owned(),
            added,
            removed,
        };
        let text = diffstat(&[file("a/long/name.mm", 300, 2), file("b", 1, 0)]);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.ends_with(" 2 files changed, 301 insertions(+), 2 deletions(-)\n"));
        assert!(
            diffstat(&[file("x", 0, 0)])
                .ends_with(" 1 file changed, 0 insertions(+), 0 deletions(-)\n")
        );
    }

    #[test]
    fn odd_names_are_quoted_as_git_does() {
        assert_eq!(quote("a/b c"), "a/b c");
        assert_eq!(quote("a/ä\"\t"), "\"a/\\303\\244\\\"\\t\"");
    }
}
