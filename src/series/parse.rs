//! Patch files in: mails of `git format-patch`, git diffs, plain unified diffs. Never panics, whatever it is given.
use super::diff::{FileChange, HeaderEnds, Hunk, Kind, Line, LineForm, LineKind, Mode, PatchFile};
use super::path::{PathError, TreePath};

/// Why a text is no patch that can be used; `line` counts from 1 in the patch file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ParseError {
    /// The line of the patch file.
    pub line: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// What is wrong with a patch file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Nothing in it changes a file.
    #[error("the file holds no diff")]
    NoDiff,
    /// The numbers of an `@@` line cannot be read.
    #[error("this hunk header cannot be read")]
    HunkHeader,
    /// A hunk without a file.
    #[error("a hunk without a file header before it")]
    OrphanHunk,
    /// The text ends within a hunk.
    #[error("the patch is cut off: the hunk lacks {missing} more lines")]
    CutOff {
        /// How many lines of either side are missing at least.
        missing: usize,
    },
    /// A hunk ends before its header says so.
    #[error(
        "bad hunk: {found:?} begins no hunk line, and the hunk header promises {missing} more lines"
    )]
    BadLine {
        /// The first characters found.
        found: String,
        /// How many lines of either side are missing at least.
        missing: usize,
    },
    /// A file header that promises a change of the content, and no hunk.
    #[error("the patch is cut off: this file's content changes, and there are no hunks")]
    NoHunks,
    /// A hunk goes on after the number of lines in its header.
    #[error("bad hunk: it holds more lines than its header says")]
    Surplus,
    /// Hunks that overlap or go backwards.
    #[error("bad hunk: it begins before the previous one ends")]
    Overlap,
    /// A path that is refused.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The name of the file cannot be read.
    #[error("the file's name cannot be read")]
    Name,
    /// A name in another encoding.
    #[error("the file's name is not UTF-8")]
    Encoding,
    /// The old and the new name of a plain diff differ.
    #[error("the two names differ, and nothing says that the file was renamed")]
    Names,
    /// A binary change.
    #[error("a binary change cannot be applied: {path}")]
    Binary {
        /// The file.
        path: String,
    },
    /// A change of a submodule.
    #[error("a change of a submodule cannot be applied")]
    Submodule,
    /// A mode that cannot be read.
    #[error("this file mode is not known")]
    Mode,
    /// A diff against several parents.
    #[error("a combined diff (of a merge) cannot be applied")]
    Combined,
    /// A mailbox.
    #[error("the file holds more than one mail; split it into one file each (git mailsplit)")]
    Mailbox,
    /// A mail whose body is encoded.
    #[error("the mail's body is encoded ({0}); save the patch as plain text")]
    Encoded(String),
}

/// Parses a patch file.
///
/// # Errors
/// With the line and the reason.
pub fn parse(bytes: &[u8]) -> Result<PatchFile, ParseError> {
    Parser::new(bytes).run()
}

/// Longest patch line that an error message quotes.
const QUOTED: usize = 40;

struct Parser<'a> {
    lines: Vec<&'a [u8]>,
    next: usize,
    /// First folders that plain diffs of this patch were seen to begin with, such as `orig` and `new`.
    prefixes: Vec<String>,
}

/// The facts of a file header while they are being gathered.
#[derive(Default)]
struct Header {
    kind: Option<Kind>,
    git_names: Option<Vec<u8>>,
    old_name: Option<Name>,
    new_name: Option<Name>,
    /// Names of `rename from` and the like carry no prefix.
    moved_from: Option<Name>,
    moved_to: Option<Name>,
    old_mode: Option<Mode>,
    new_mode: Option<Mode>,
    old_blob: Option<String>,
    new_blob: Option<String>,
    returns: bool,
}

/// A name as a header line gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Null,
    Path(String),
    /// A path of a file that did not exist, as GNU diff tells by its date.
    Epoch(String),
}

impl Name {
    fn path(&self) -> Option<&str> {
        match self {
            Self::Null => None,
            Self::Path(path) | Self::Epoch(path) => Some(path),
        }
    }
    fn is_absent(&self) -> bool {
        !matches!(self, Self::Path(_))
    }
}

impl Header {
    /// Whether it says that the content changes: by names of both sides, or by ids that differ. An empty file that comes
    /// or goes has neither.
    fn promises_hunks(&self) -> bool {
        const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        let is_empty = |id: &str| id.bytes().all(|byte| byte == b'0') || EMPTY.starts_with(id);
        let ids = self.old_blob.as_deref().zip(self.new_blob.as_deref());
        let differ = ids.is_some_and(|(old, new)| old != new && !(is_empty(old) && is_empty(new)));
        self.old_name.is_some() || differ
    }
}

impl<'a> Parser<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            lines: bytes.split_inclusive(|&byte| byte == b'\n').collect(),
            next: 0,
            prefixes: Vec::new(),
        }
    }

    fn error<T>(&self, reason: impl Into<Reason>) -> Result<T, ParseError> {
        Err(self.at(self.next, reason))
    }

    fn at(&self, index: usize, reason: impl Into<Reason>) -> ParseError {
        ParseError {
            line: index + 1,
            reason: reason.into(),
        }
    }

    /// A line without its end, or nothing past the last.
    fn peek(&self, ahead: usize) -> Option<&'a [u8]> {
        self.lines.get(self.next + ahead).map(|line| bare(line))
    }

    fn run(mut self) -> Result<PatchFile, ParseError> {
        let preamble = self.until_diff(Place::Preamble)?;
        let mut files: Vec<FileChange> = Vec::new();
        let mut between = Vec::new();
        while self.next < self.lines.len() {
            let mut file = self.file()?;
            let mut header = std::mem::take(&mut between);
            header.append(&mut file.header);
            file.header = header;
            files.push(file);
            between = self.until_diff(Place::AfterFile)?;
        }
        if files.is_empty() {
            return Err(self.at(0, Reason::NoDiff));
        }
        Ok(PatchFile {
            preamble,
            files,
            trailer: between,
        })
    }

    /// Everything up to the next file header.
    fn until_diff(&mut self, place: Place) -> Result<Vec<u8>, ParseError> {
        let mut skipped = Vec::new();
        while let Some(line) = self.peek(0) {
            if line.starts_with(b"diff --git ") || self.begins_plain_diff() {
                break;
            }
            if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") {
                return self.error(Reason::Combined);
            }
            if line.starts_with(b"Binary files ") && line.ends_with(b" differ") {
                return self.error(Reason::Binary { path: quoted(line) });
            }
            if line.starts_with(b"@@ -") && hunk_numbers(line).is_some() {
                return self.error(Reason::OrphanHunk);
            }
            if place == Place::AfterFile && begins_mail(line) {
                return self.error(Reason::Mailbox);
            }
            skipped.extend_from_slice(self.lines[self.next]);
            self.next += 1;
        }
        Ok(skipped)
    }

    fn begins_plain_diff(&self) -> bool {
        let is = |ahead, prefix: &[u8]| self.peek(ahead).is_some_and(|l| l.starts_with(prefix));
        is(0, b"--- ") && is(1, b"+++ ") && is(2, b"@@ -")
    }

    fn file(&mut self) -> Result<FileChange, ParseError> {
        let begin = self.next;
        let mut header = Header::default();
        self.header(&mut header)?;
        let end = self.next;
        let hunks = self.hunks()?;
        if hunks.is_empty() && header.promises_hunks() {
            return Err(self.at(begin, Reason::NoHunks));
        }
        let (kind, old, new) = self
            .names(&header, &hunks)
            .map_err(|reason| self.at(begin, reason))?;
        let (old_mode, new_mode) = match kind {
            // a created file without a mode is an ordinary one
            Kind::Create => (None, header.new_mode.or(Some(Mode::Regular))),
            Kind::Delete => (header.old_mode.or(Some(Mode::Regular)), None),
            _ => (header.old_mode, header.new_mode),
        };
        let returns = header.returns
            && hunks
                .iter()
                .all(|hunk: &Hunk| hunk.header.ends_with(b"\r\n"));
        Ok(FileChange {
            header: self.lines[begin..end].concat(),
            kind,
            old,
            new,
            old_mode,
            new_mode,
            old_blob: header.old_blob,
            new_blob: header.new_blob,
            ends: if returns {
                HeaderEnds::CarriageReturn
            } else {
                HeaderEnds::LineFeed
            },
            hunks,
            line: begin + 1,
        })
    }

    fn header(&mut self, header: &mut Header) -> Result<(), ParseError> {
        let git = self
            .peek(0)
            .and_then(|line| line.strip_prefix(b"diff --git "));
        if let Some(names) = git {
            header.git_names = Some(names.to_vec());
            header.returns = self.lines[self.next].ends_with(b"\r\n");
            self.next += 1;
            while let Some(line) = self.peek(0) {
                if !self.extended(line, header)? {
                    break;
                }
                self.next += 1;
            }
            let is = |ahead, prefix: &[u8]| self.peek(ahead).is_some_and(|l| l.starts_with(prefix));
            if !(is(0, b"--- ") && is(1, b"+++ ")) {
                return Ok(());
            }
        }
        if let (Some(old), Some(new)) = (self.peek(0), self.peek(1)) {
            header.old_name = Some(self.name(&old[4..], 0)?);
            header.new_name = Some(self.name(&new[4..], 1)?);
            if header.git_names.is_none() {
                header.returns = self.lines[self.next].ends_with(b"\r\n");
            }
            self.next += 2;
        }
        Ok(())
    }

    /// Reads one of git's extended header lines; false when the line is none.
    fn extended(&self, line: &[u8], header: &mut Header) -> Result<bool, ParseError> {
        let after = |prefix: &str| line.strip_prefix(prefix.as_bytes());
        if let Some(mode) = after("old mode ") {
            header.old_mode = Some(self.mode(mode)?);
        } else if let Some(mode) = after("new mode ") {
            header.new_mode = Some(self.mode(mode)?);
        } else if let Some(mode) = after("deleted file mode ") {
            header.kind = Some(Kind::Delete);
            header.old_mode = Some(self.mode(mode)?);
        } else if let Some(mode) = after("new file mode ") {
            header.kind = Some(Kind::Create);
            header.new_mode = Some(self.mode(mode)?);
        } else if let Some(name) = after("rename from ").or_else(|| after("rename old ")) {
            header.kind = Some(Kind::Rename);
            header.moved_from = Some(self.name(name, 0)?);
        } else if let Some(name) = after("rename to ").or_else(|| after("rename new ")) {
            header.kind = Some(Kind::Rename);
            header.moved_to = Some(self.name(name, 0)?);
        } else if let Some(name) = after("copy from ") {
            header.kind = Some(Kind::Copy);
            header.moved_from = Some(self.name(name, 0)?);
        } else if let Some(name) = after("copy to ") {
            header.kind = Some(Kind::Copy);
            header.moved_to = Some(self.name(name, 0)?);
        } else if let Some(ids) = after("index ") {
            self.index(ids, header)?;
        } else if line == b"GIT binary patch" || line.starts_with(b"Binary files ") {
            let path = header.git_names.clone().unwrap_or_default();
            return self.error(Reason::Binary {
                path: quoted(&path),
            });
        } else if after("similarity index ").is_none() && after("dissimilarity index ").is_none() {
            return Ok(false);
        }
        Ok(true)
    }

    fn index(&self, ids: &[u8], header: &mut Header) -> Result<(), ParseError> {
        let Ok(text) = std::str::from_utf8(ids) else {
            return Ok(());
        };
        let mut words = text.split(' ');
        if let Some((old, new)) = words.next().and_then(|ids| ids.split_once("..")) {
            let id = |text: &str| {
                let is_id = (4..=64).contains(&text.len())
                    && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                is_id.then(|| text.to_ascii_lowercase())
            };
            header.old_blob = id(old);
            header.new_blob = id(new);
        }
        if let Some(mode) = words.next() {
            // the mode of a file whose mode stays is no instruction, but a submodule has to be refused
            self.mode(mode.as_bytes())?;
        }
        Ok(())
    }

    fn mode(&self, text: &[u8]) -> Result<Mode, ParseError> {
        let number = std::str::from_utf8(text)
            .ok()
            .and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
        match number {
            Some(number) if number & 0o170_000 == 0o160_000 => self.error(Reason::Submodule),
            Some(number) => match Mode::from_number(number) {
                Some(mode) => Ok(mode),
                None => self.error(Reason::Mode),
            },
            None => self.error(Reason::Mode),
        }
    }

    /// A name, unquoted, without the date that may follow a tab.
    fn name(&self, raw: &[u8], ahead: usize) -> Result<Name, ParseError> {
        let wrong = |reason| self.at(self.next + ahead, reason);
        let (name, rest) = if raw.first() == Some(&b'"') {
            unquote(raw).ok_or_else(|| wrong(Reason::Name))?
        } else {
            let end = raw
                .iter()
                .position(|&byte| byte == b'\t')
                .unwrap_or(raw.len());
            (raw[..end].to_vec(), &raw[end..])
        };
        if name == b"/dev/null" {
            return Ok(Name::Null);
        }
        let text = String::from_utf8(name).map_err(|_| wrong(Reason::Encoding))?;
        let date = rest.strip_prefix(b"\t").unwrap_or_default();
        // GNU diff dates a file that is not there at the epoch, in whatever zone
        let epoch = date.starts_with(b"1970-01-01 ") || date.starts_with(b"1969-12-31 ");
        Ok(if epoch {
            Name::Epoch(text)
        } else {
            Name::Path(text)
        })
    }

    fn names(
        &mut self,
        header: &Header,
        hunks: &[Hunk],
    ) -> Result<(Kind, TreePath, TreePath), Reason> {
        if let (Some(from), Some(to)) = (&header.moved_from, &header.moved_to) {
            let from = TreePath::new(from.path().ok_or(Reason::Name)?)?;
            let to = TreePath::new(to.path().ok_or(Reason::Name)?)?;
            return Ok((header.kind.unwrap_or(Kind::Rename), from, to));
        }
        let (old, new) = match (&header.old_name, &header.new_name, &header.git_names) {
            (Some(old), Some(new), _) => (old.clone(), new.clone()),
            (_, _, Some(names)) => split_git_names(names).ok_or(Reason::Name)?,
            _ => return Err(Reason::Name),
        };
        let sole = hunks.len() == 1;
        let starts_empty = sole && hunks[0].old_start == 0 && hunks[0].old_count == 0;
        let ends_empty = sole && hunks[0].new_start == 0 && hunks[0].new_count == 0;
        let is_git = header.git_names.is_some();
        let kind = match header.kind {
            Some(kind) => kind,
            None if matches!(old, Name::Null) => Kind::Create,
            None if matches!(new, Name::Null) => Kind::Delete,
            None if !is_git && starts_empty && old.is_absent() => Kind::Create,
            None if !is_git && ends_empty && new.is_absent() => Kind::Delete,
            None => Kind::Modify,
        };
        let (old, new) = match (old.path(), new.path()) {
            (Some(old), Some(new)) => self.without_prefixes(old, new)?,
            (Some(one), None) | (None, Some(one)) => {
                let one = self.without_prefix(one);
                (one.to_owned(), one.to_owned())
            }
            (None, None) => return Err(Reason::Name),
        };
        if old != new {
            return Err(Reason::Names);
        }
        let path = TreePath::new(&new)?;
        Ok((kind, path.clone(), path))
    }

    /// `a/x` and `b/x`, `old/x` and `new/x` are x; names that are equal as they stand have no prefix.
    fn without_prefixes(&mut self, old: &str, new: &str) -> Result<(String, String), Reason> {
        if old == new {
            return Ok((old.to_owned(), new.to_owned()));
        }
        match (old.split_once('/'), new.split_once('/')) {
            (Some((first, old)), Some((second, new))) if old == new => {
                self.prefixes.extend([first.to_owned(), second.to_owned()]);
                Ok((old.to_owned(), new.to_owned()))
            }
            // diff -u x.orig x
            _ if old.strip_suffix(".orig") == Some(new) => Ok((new.to_owned(), new.to_owned())),
            _ => Err(Reason::Names),
        }
    }

    fn without_prefix<'n>(&self, name: &'n str) -> &'n str {
        match name.split_once('/') {
            Some((first, rest))
                if matches!(first, "a" | "b" | "c" | "i" | "o" | "w")
                    || self.prefixes.iter().any(|prefix| prefix == first) =>
            {
                rest
            }
            _ => name,
        }
    }

    fn hunks(&mut self) -> Result<Vec<Hunk>, ParseError> {
        let mut hunks: Vec<Hunk> = Vec::new();
        while let Some(line) = self.peek(0) {
            if line.starts_with(b"@@@") {
                return self.error(Reason::Combined);
            }
            if !line.starts_with(b"@@ -") {
                break;
            }
            let begin = self.next;
            let hunk = self.hunk(line)?;
            let overlaps = hunks.last().is_some_and(|last| {
                hunk.old_start < last.old_start.saturating_add(last.old_count)
                    || hunk.new_start < last.new_start.saturating_add(last.new_count)
            });
            if overlaps {
                return Err(self.at(begin, Reason::Overlap));
            }
            hunks.push(hunk);
        }
        if !hunks.is_empty() {
            self.refuse_surplus()?;
        }
        Ok(hunks)
    }

    /// A line that looks like part of a hunk, right after its end, means that the header's numbers are wrong.
    fn refuse_surplus(&self) -> Result<(), ParseError> {
        let Some(line) = self.peek(0) else {
            return Ok(());
        };
        let signature = line == b"-- " || line == b"--";
        let surplus = match line.first() {
            Some(b'+' | b' ') => true,
            Some(b'-') => !signature && !self.begins_plain_diff(),
            _ => false,
        };
        if surplus {
            self.error(Reason::Surplus)
        } else {
            Ok(())
        }
    }

    fn hunk(&mut self, first: &[u8]) -> Result<Hunk, ParseError> {
        let Some([old_start, old_count, new_start, new_count]) = hunk_numbers(first) else {
            return self.error(Reason::HunkHeader);
        };
        let begin = self.next;
        self.next += 1;
        let (mut old_left, mut new_left) = (old_count, new_count);
        let mut lines = Vec::new();
        while old_left > 0 || new_left > 0 {
            let missing = old_left.max(new_left);
            let Some(&raw) = self.lines.get(self.next) else {
                return self.error(Reason::CutOff { missing });
            };
            let Some(line) = hunk_line(raw) else {
                return self.error(Reason::BadLine {
                    found: quoted(bare(raw)),
                    missing,
                });
            };
            let (old, new) = match line.kind {
                LineKind::Context => (1, 1),
                LineKind::Removed => (1, 0),
                LineKind::Added => (0, 1),
            };
            let (Some(old), Some(new)) = (old_left.checked_sub(old), new_left.checked_sub(new))
            else {
                return self.error(Reason::Surplus);
            };
            (old_left, new_left) = (old, new);
            self.next += 1;
            lines.push(self.with_note(line));
        }
        Ok(Hunk {
            header: self.lines[begin].to_vec(),
            old_start,
            old_count,
            new_start,
            new_count,
            lines,
            line: begin + 1,
        })
    }

    /// Takes in the `\ No newline at end of file` that may follow a line, in whatever language it is.
    fn with_note(&mut self, mut line: Line) -> Line {
        if let Some(&note) = self.lines.get(self.next)
            && note.starts_with(b"\\ ")
            && line.form == LineForm::Full
            && line.text.ends_with(b"\n")
        {
            line.text.pop();
            line.note = Some(note.to_vec());
            self.next += 1;
        }
        line
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Preamble,
    AfterFile,
}

/// A line without its end.
fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn quoted(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .take(QUOTED)
        .collect()
}

/// `From <id> <date>` as format-patch begins a mail with.
fn begins_mail(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else {
        return false;
    };
    rest.len() > 41 && rest[..40].iter().all(u8::is_ascii_hexdigit) && rest[40] == b' '
}

fn hunk_line(raw: &[u8]) -> Option<Line> {
    let line = |kind, text: &[u8], form| {
        let mut text = text.to_vec();
        let form = if raw.ends_with(b"\n") {
            form
        } else {
            text.push(b'\n');
            LineForm::Unterminated
        };
        Some(Line {
            kind,
            text,
            form,
            note: None,
        })
    };
    match raw.first()? {
        b' ' => line(LineKind::Context, &raw[1..], LineForm::Full),
        b'-' => line(LineKind::Removed, &raw[1..], LineForm::Full),
        b'+' => line(LineKind::Added, &raw[1..], LineForm::Full),
        // mail programs strip the space of an empty context line
        b'\n' => line(LineKind::Context, raw, LineForm::Bare),
        b'\r' if raw == b"\r\n" => line(LineKind::Context, raw, LineForm::Bare),
        _ => None,
    }
}

/// The numbers of `@@ -1,2 +3,4 @@`, counts 1 where left out.
fn hunk_numbers(line: &[u8]) -> Option<[usize; 4]> {
    let rest = line.strip_prefix(b"@@ -")?;
    let end = rest.windows(3).position(|window| window == b" @@")?;
    let text = std::str::from_utf8(&rest[..end]).ok()?;
    let (old, new) = text.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let number = |text: &str| -> Option<usize> {
            let digits = (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten()
        };
        match text.split_once(',') {
            Some((start, count)) => Some((number(start)?, number(count)?)),
            None => Some((number(text)?, 1)),
        }
    };
    let ((old_start, old_count), (new_start, new_count)) = (range(old)?, range(new)?);
    let sound = (old_start > 0 || old_count == 0)
        && (new_start > 0 || new_count == 0)
        && (old_count > 0 || new_count > 0);
    sound.then_some([old_start, old_count, new_start, new_count])
}

/// The two names of a `diff --git` line, which counts only where no other line gives them: then they are equal but for
/// the prefix.
fn split_git_names(names: &[u8]) -> Option<(Name, Name)> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
    if names.first() == Some(&b'"') {
        let (old, rest) = unquote(names)?;
        let rest = rest.strip_prefix(b" ")?;
        let new = match rest.first()? {
            b'"' => unquote(rest)?.0,
            _ => rest.to_vec(),
        };
        return Some((Name::Path(text(old)?), Name::Path(text(new)?)));
    }
    let names = std::str::from_utf8(names).ok()?;
    names
        .match_indices(' ')
        .map(|(position, _)| (&names[..position], &names[position + 1..]))
        .find(|(old, new)| {
            let rest = |name: &str| name.split_once('/').map(|(_, rest)| rest.to_owned());
            old == new || (rest(old).is_some() && rest(old) == rest(new))
        })
        .map(|(old, new)| (Name::Path(old.to_owned()), Name::Path(new.to_owned())))
}

/// A C-quoted name and what follows it.
fn unquote(raw: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = raw.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((name, rest)),
            b'\\' => {
                let (&escape, after) = rest.split_first()?;
                rest = after;
                name.push(match escape {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'a' => 7,
                    b'b' => 8,
                    b'v' => 11,
                    b'f' => 12,
                    b'"' | b'\\' => escape,
                    b'0'..=b'3' => {
                        let digits = rest.get(..2)?;
                        rest = &rest[2..];
                        let mut value = escape - b'0';
                        for digit in digits {
                            if !(b'0'..=b'7').contains(digit) {
                                return None;
                            }
                            value = value * 8 + (digit - b'0');
                        }
                        value
                    }
                    _ => return None,
                });
            }
            _ => name.push(byte),
        }
    }
}
