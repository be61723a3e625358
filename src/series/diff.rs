//! A patch file as data: what precedes its diffs, the change of each file, what follows; and back to the same bytes.
use super::TreePath;

/// One patch file, without loss: [`PatchFile::emit`] gives the bytes that it was parsed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchFile {
    /// All before the first diff: mail headers, the message, the diffstat.
    pub preamble: Vec<u8>,
    /// The changes, in order.
    pub files: Vec<FileChange>,
    /// All after the last diff: a mail's signature.
    pub trailer: Vec<u8>,
}

/// What kind of entry a tree holds at a path.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// An ordinary file.
    Regular,
    /// An executable file.
    Executable,
    /// A symbolic link; its content is its target.
    Symlink,
}

impl Mode {
    /// The number that git stores.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Regular => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Symlink => 0o120_000,
        }
    }

    /// From the number that git stores or a patch states; none for folders and submodules.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number & 0o170_000 {
            0o100_000 if number & 0o100 != 0 => Some(Self::Executable),
            0o100_000 => Some(Self::Regular),
            0o120_000 => Some(Self::Symlink),
            _ => None,
        }
    }
}

/// What happens to the path of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The file stays where it is.
    Modify,
    /// The file is new.
    Create,
    /// The file goes.
    Delete,
    /// The file moves from `old` to `new`.
    Rename,
    /// `new` is made from `old`, which stays.
    Copy,
}

/// How the lines of a patch file end, as far as its own header lines tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderEnds {
    /// With a line feed: carriage returns in hunks belong to the content.
    LineFeed,
    /// With carriage return and line feed: those in hunks may have been added on the way.
    CarriageReturn,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Raw header lines, up to the first hunk, with anything that stands between the previous change and this one.
    pub header: Vec<u8>,
    /// What happens to the path.
    pub kind: Kind,
    /// The path before; equal to `new` unless the file moves.
    pub old: TreePath,
    /// The path after.
    pub new: TreePath,
    /// The mode before, where the patch states it.
    pub old_mode: Option<Mode>,
    /// The mode after, where the patch states it.
    pub new_mode: Option<Mode>,
    /// The blob id before, as far as the index line gives it.
    pub old_blob: Option<String>,
    /// The blob id after, as far as the index line gives it.
    pub new_blob: Option<String>,
    /// How header lines end.
    pub ends: HeaderEnds,
    /// The hunks, in order.
    pub hunks: Vec<Hunk>,
    /// The line of the patch file on which the change begins, from 1.
    pub line: usize,
}

/// One hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The raw `@@` line.
    pub header: Vec<u8>,
    /// First line before, from 1; the line after which to insert where `old_count` is 0.
    pub old_start: usize,
    /// Number of lines before.
    pub old_count: usize,
    /// First line after, from 1.
    pub new_start: usize,
    /// Number of lines after.
    pub new_count: usize,
    /// Its lines.
    pub lines: Vec<Line>,
    /// The line of the patch file on which the hunk begins, from 1.
    pub line: usize,
}

/// What a hunk's line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// The line stays.
    Context,
    /// The line goes.
    Removed,
    /// The line is new.
    Added,
}

/// How a line is written in the patch file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineForm {
    /// A prefix, the text, a line end.
    Full,
    /// An empty context line whose prefix was lost.
    Bare,
    /// The last line of the patch file, whose line end was lost.
    Unterminated,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it says.
    pub kind: LineKind,
    /// The content, with its line end; without one for the last line of a file that ends so.
    pub text: Vec<u8>,
    /// How it is written.
    pub form: LineForm,
    /// The raw line that says that the file has no newline at its end.
    pub note: Option<Vec<u8>>,
}

/// Which way a change is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From before to after.
    Forward,
    /// From after to before.
    Reverse,
}

impl PatchFile {
    /// The bytes of the patch file.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut bytes = self.preamble.clone();
        for file in &self.files {
            bytes.extend_from_slice(&file.header);
            for hunk in &file.hunks {
                bytes.extend_from_slice(&hunk.header);
                for line in &hunk.lines {
                    line.emit(&mut bytes);
                }
            }
        }
        bytes.extend_from_slice(&self.trailer);
        bytes
    }

    /// The paths that the patch reads or writes, sorted.
    #[must_use]
    pub fn paths(&self) -> Vec<TreePath> {
        let mut paths: Vec<_> = self
            .files
            .iter()
            .flat_map(|file| [file.old.clone(), file.new.clone()])
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

impl Line {
    fn emit(&self, bytes: &mut Vec<u8>) {
        if self.form != LineForm::Bare {
            bytes.push(match self.kind {
                LineKind::Context => b' ',
                LineKind::Removed => b'-',
                LineKind::Added => b'+',
            });
        }
        match self.form {
            LineForm::Unterminated => {
                bytes.extend_from_slice(self.text.strip_suffix(b"\n").unwrap_or(&self.text));
            }
            LineForm::Full | LineForm::Bare => bytes.extend_from_slice(&self.text),
        }
        if let Some(note) = &self.note {
            bytes.push(b'\n');
            bytes.extend_from_slice(note);
        }
    }

    /// Whether the line is there on a side.
    fn is_on(&self, side: Side) -> bool {
        match self.kind {
            LineKind::Context => true,
            LineKind::Removed => side == Side::Old,
            LineKind::Added => side == Side::New,
        }
    }
}

/// A side of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    New,
}

impl Hunk {
    /// The lines that have to be there before the change is made.
    pub fn before(&self, direction: Direction) -> impl Iterator<Item = &[u8]> {
        self.side(match direction {
            Direction::Forward => Side::Old,
            Direction::Reverse => Side::New,
        })
    }

    /// The lines that are there once the change is made.
    pub fn after(&self, direction: Direction) -> impl Iterator<Item = &[u8]> {
        self.side(match direction {
            Direction::Forward => Side::New,
            Direction::Reverse => Side::Old,
        })
    }

    fn side(&self, side: Side) -> impl Iterator<Item = &[u8]> {
        self.lines
            .iter()
            .filter(move |line| line.is_on(side))
            .map(|line| line.text.as_slice())
    }

    /// Where the change is made, as an index of lines from 0.
    #[must_use]
    pub fn position(&self, direction: Direction) -> usize {
        let (start, count) = match direction {
            Direction::Forward => (self.old_start, self.old_count),
            Direction::Reverse => (self.new_start, self.new_count),
        };
        // a hunk of no lines names the line after which it inserts
        if count == 0 {
            start
        } else {
            start.saturating_sub(1)
        }
    }

    /// Its lines as a patch file has them, without the `@@` line.
    #[must_use]
    pub fn emit_lines(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.lines.iter().for_each(|line| line.emit(&mut bytes));
        bytes
    }

    /// The number of context lines at the end.
    #[must_use]
    pub fn trailing_context(&self) -> usize {
        self.lines
            .iter()
            .rev()
            .take_while(|line| line.kind == LineKind::Context)
            .count()
    }
}

impl FileChange {
    /// The change read the other way round.
    #[must_use]
    pub fn path_before(&self, direction: Direction) -> &TreePath {
        match direction {
            Direction::Forward => &self.old,
            Direction::Reverse => &self.new,
        }
    }

    /// The path once the change is made.
    #[must_use]
    pub fn path_after(&self, direction: Direction) -> &TreePath {
        match direction {
            Direction::Forward => &self.new,
            Direction::Reverse => &self.old,
        }
    }

    /// The mode once the change is made, where the patch states it.
    #[must_use]
    pub fn mode_after(&self, direction: Direction) -> Option<Mode> {
        match direction {
            Direction::Forward => self.new_mode,
            Direction::Reverse => self.old_mode,
        }
    }

    /// What happens to the path in a direction.
    #[must_use]
    pub fn kind_towards(&self, direction: Direction) -> Kind {
        match (direction, self.kind) {
            (Direction::Reverse, Kind::Create | Kind::Copy) => Kind::Delete,
            (Direction::Reverse, Kind::Delete) => Kind::Create,
            (_, kind) => kind,
        }
    }

    /// The change with one carriage return less at the end of each line, for patches that were converted on their way;
    /// none where the patch's own header lines say that they were not.
    #[must_use]
    pub fn without_transport_returns(&self) -> Option<Self> {
        if self.ends == HeaderEnds::LineFeed {
            return None;
        }
        let mut file = self.clone();
        for line in file.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines) {
            if line.text.ends_with(b"\r\n") {
                line.text.truncate(line.text.len() - 2);
                line.text.push(b'\n');
            } else if line.note.is_some() && line.text.ends_with(b"\r") {
                line.text.pop();
            }
        }
        Some(file)
    }
}
