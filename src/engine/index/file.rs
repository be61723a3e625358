//! git's index as a value: read from its bytes, edited entry by entry, and written so that all other entries keep theirs.
//!
//! Versions 2, 3 and 4 are understood, split indexes too (they are written whole). Caches that an edit would make wrong are
//! left out, as git makes them anew; the cache of trees stays for the folders without an edit.
use super::cache_tree;
use super::split::{self, Link};
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;

/// Why an index cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// It ends too early, or holds what no index holds.
    #[error("the index is damaged ({0})")]
    Damaged(&'static str),
    /// A version that is not known.
    #[error("the index has version {0}, which is not known")]
    Version(u32),
    /// An extension without which the entries cannot be understood.
    #[error("the index has the extension {0:?}, which is not known")]
    Extension(String),
    /// It builds on another file.
    #[error("the index is split, and its other half cannot be used")]
    Split,
    /// Folders outside of a sparse checkout are one entry each.
    #[error("the index is sparse, and {0} lies in a folder that it leaves out")]
    Sparse(String),
}

const DAMAGED: fn(&'static str) -> IndexError = IndexError::Damaged;

/// The ten numbers of an entry that say what the file was like: times, device, inode, mode, owner, size.
pub(super) type Numbers = [u32; 10];

/// Places in [`Numbers`].
pub(super) const MTIME: usize = 2;
pub(super) const MODE: usize = 6;
pub(super) const SIZE: usize = 9;

const ASSUME_VALID: u16 = 1 << 15;
const EXTENDED: u16 = 1 << 14;
const STAGE: u16 = 3 << 12;
const SKIP_WORKTREE: u16 = 1 << 14;
/// The mode of a folder that a sparse index holds as one entry.
const FOLDER: u32 = 0o040_000;
/// Length of an object's id.
pub(super) const ID: usize = 20;
/// Length of an entry before its flags.
const FIXED: usize = 40 + ID;

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(super) numbers: Numbers,
    pub(super) id: [u8; ID],
    flags: u16,
    extended: u16,
    name: (u32, u32),
}

impl IndexEntry {
    pub(crate) fn mode(&self) -> u32 {
        self.numbers[MODE]
    }

    pub(crate) fn id(&self) -> [u8; ID] {
        self.id
    }

    /// Whether a sparse checkout leaves the file out of the work tree.
    pub(crate) fn is_left_out(&self) -> bool {
        self.extended & SKIP_WORKTREE != 0
    }

    fn stage(&self) -> u16 {
        (self.flags & STAGE) >> 12
    }
}

/// What becomes of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edit {
    Set { numbers: Numbers, id: [u8; ID] },
    Remove,
}

struct Extension {
    name: [u8; 4],
    bytes: Vec<u8>,
}

/// An index.
pub(crate) struct IndexFile {
    version: u32,
    names: Vec<u8>,
    entries: Vec<IndexEntry>,
    extensions: Vec<Extension>,
}

/// An index's bytes, and where in them the numbers of each edited entry are.
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    pub(super) places: BTreeMap<Vec<u8>, usize>,
}

impl IndexFile {
    /// An index without entries.
    pub(crate) fn empty() -> Self {
        Self {
            version: 2,
            names: Vec::new(),
            entries: Vec::new(),
            extensions: Vec::new(),
        }
    }

    /// Reads an index; `shared` gives the bytes of the other half of a split one by its id.
    ///
    /// # Errors
    /// When it is damaged, or of a kind that is not known.
    pub(crate) fn parse(
        bytes: &[u8],
        shared: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, IndexError> {
        let (mut index, link) = Self::parse_half(bytes)?;
        if let Some(link) = link.filter(|link| link.base != [0; ID]) {
            let base = shared(&hex::encode(link.base)).ok_or(IndexError::Split)?;
            let (base, below) = Self::parse_half(&base)?;
            if below.is_some() {
                return Err(IndexError::Split);
            }
            index = index.on(&base, &link)?;
        }
        if !index.is_sorted() {
            return Err(DAMAGED("its entries are not in order"));
        }
        Ok(index)
    }

    fn parse_half(bytes: &[u8]) -> Result<(Self, Option<Link>), IndexError> {
        let content = checked(bytes)?;
        let mut reader = Reader { bytes: content };
        if reader.take(4)? != b"DIRC" {
            return Err(DAMAGED("it does not begin as one"));
        }
        let version = reader.number()?;
        if !(2..=4).contains(&version) {
            return Err(IndexError::Version(version));
        }
        let count = reader.number()? as usize;
        // an entry has more bytes than this, so that a number that lies does not take the memory
        let mut entries = Vec::with_capacity(count.min(content.len() / FIXED));
        let mut names = Vec::with_capacity(content.len() / 2);
        let mut previous = (0, 0);
        for _ in 0..count {
            let entry = reader.entry(version, &mut names, previous)?;
            previous = entry.name;
            entries.push(entry);
        }
        let mut extensions = Vec::new();
        let mut link = None;
        while !reader.bytes.is_empty() {
            let name = reader.array::<4>()?;
            let length = reader.number()? as usize;
            let bytes = reader.take(length)?;
            match &name {
                b"link" => link = Some(Link::parse(bytes)?),
                b"TREE" | b"REUC" | b"sdir" => extensions.push(Extension {
                    name,
                    bytes: bytes.to_vec(),
                }),
                // by its first letter an extension says whether it may be left out
                [b'A'..=b'Z', ..] => {}
                _ => {
                    let name = String::from_utf8_lossy(&name).into_owned();
                    return Err(IndexError::Extension(name));
                }
            }
        }
        let index = Self {
            version,
            names,
            entries,
            extensions,
        };
        Ok((index, link))
    }

    /// The whole of a split index, whose changes against `base` these entries are.
    fn on(self, base: &Self, link: &Link) -> Result<Self, IndexError> {
        let mut whole = Self {
            // flags of later versions may be in either half
            version: self.version.max(base.version),
            names: Vec::new(),
            entries: Vec::new(),
            extensions: self.extensions.clone_all(),
        };
        let mut own = self.entries.iter().peekable();
        let mut kept: Vec<(&[u8], IndexEntry)> = Vec::with_capacity(base.entries.len());
        let positions = split::Positions::new(link, base.entries.len())?;
        for (position, entry) in base.entries.iter().enumerate() {
            let mut entry = *entry;
            let name = base.name(&entry);
            if positions.is_replaced(position) {
                let replacement = own.next().ok_or(IndexError::Split)?;
                if replacement.name.1 != 0 {
                    return Err(IndexError::Split);
                }
                entry = *replacement;
                entry.flags = (entry.flags & !0xfff) | name_length(name.len());
            }
            if !positions.is_deleted(position) {
                kept.push((name, entry));
            }
        }
        let mut kept = kept.into_iter().peekable();
        let order = |a: (&[u8], &IndexEntry), b: (&[u8], &IndexEntry)| {
            a.0.cmp(b.0).then(a.1.stage().cmp(&b.1.stage()))
        };
        loop {
            let first = match (kept.peek(), own.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((name, entry)), Some(other)) => {
                    order((name, entry), (self.name(other), other))
                }
            };
            match first {
                std::cmp::Ordering::Less => {
                    if let Some((name, entry)) = kept.next() {
                        whole.push(entry, name);
                    }
                }
                greater => {
                    if greater == std::cmp::Ordering::Equal {
                        kept.next();
                    }
                    if let Some(entry) = own.next() {
                        whole.push(*entry, self.name(entry));
                    }
                }
            }
        }
        Ok(whole)
    }

    fn push(&mut self, mut entry: IndexEntry, name: &[u8]) {
        entry.name = (length(self.names.len()), length(name.len()));
        self.names.extend_from_slice(name);
        self.entries.push(entry);
    }

    fn name(&self, entry: &IndexEntry) -> &[u8] {
        let (start, length) = (entry.name.0 as usize, entry.name.1 as usize);
        self.names.get(start..start + length).unwrap_or_default()
    }

    fn is_sorted(&self) -> bool {
        self.entries.windows(2).all(|pair| {
            let [a, b] = pair else { return true };
            (self.name(a), a.stage()) < (self.name(b), b.stage())
        })
    }

    /// Whether a merge left conflicts behind.
    pub(crate) fn has_conflicts(&self) -> bool {
        self.entries.iter().any(|entry| entry.stage() != 0)
    }

    /// The entry of a path.
    pub(crate) fn find(&self, path: &str) -> Option<&IndexEntry> {
        let wanted = (path.as_bytes(), 0);
        let at = self
            .entries
            .binary_search_by(|entry| (self.name(entry), entry.stage()).cmp(&wanted));
        at.ok().and_then(|at| self.entries.get(at))
    }

    /// All entries with their paths.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], &IndexEntry)> {
        self.entries.iter().map(|entry| (self.name(entry), entry))
    }

    /// Lets git compare the content of these entries anew, whatever their times say.
    pub(super) fn distrust(&mut self, mut which: impl FnMut(&[u8], &IndexEntry) -> bool) {
        for at in 0..self.entries.len() {
            let entry = self.entries[at];
            if which(self.name(&entry), &entry) {
                self.entries[at].numbers[SIZE] = 0;
            }
        }
    }

    /// The index with edits, as bytes without their checksum.
    ///
    /// # Errors
    /// When an edit cannot be made in such an index.
    pub(super) fn write(&self, edits: &BTreeMap<Vec<u8>, Edit>) -> Result<Written, IndexError> {
        for path in edits.keys() {
            if self.is_in_folder_entry(path) {
                let path = String::from_utf8_lossy(path).into_owned();
                return Err(IndexError::Sparse(path));
            }
        }
        let mut writer = Writer::new(self.version, self.names.len() + self.entries.len() * 72);
        let mut edits_left = edits.iter().peekable();
        for entry in &self.entries {
            let name = self.name(entry);
            while let Some((path, edit)) = edits_left.next_if(|(path, _)| path.as_slice() < name) {
                writer.edited(path, edit, None);
            }
            match edits_left.next_if(|(path, _)| path.as_slice() == name) {
                Some((path, edit)) => writer.edited(path, edit, Some(entry)),
                None => writer.entry(entry, name),
            }
        }
        edits_left.for_each(|(path, edit)| writer.edited(path, edit, None));
        let mut written = writer.finish();
        for extension in &self.extensions {
            let bytes = match &extension.name {
                b"TREE" => match cache_tree::without(&extension.bytes, edits.keys()) {
                    Some(bytes) => bytes,
                    None => continue,
                },
                _ => extension.bytes.clone(),
            };
            written.bytes.extend_from_slice(&extension.name);
            written
                .bytes
                .extend_from_slice(&length(bytes.len()).to_be_bytes());
            written.bytes.extend_from_slice(&bytes);
        }
        Ok(written)
    }

    /// Whether a folder above the path is one entry of a sparse index.
    pub(super) fn is_in_folder_entry(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        ends.map(|(at, _)| &path[..=at]).any(|folder| {
            self.entries
                .binary_search_by(|entry| self.name(entry).cmp(folder))
                .is_ok_and(|at| self.entries[at].mode() == FOLDER)
        })
    }
}

trait CloneAll {
    fn clone_all(&self) -> Self;
}

impl CloneAll for Vec<Extension> {
    fn clone_all(&self) -> Self {
        let copy = |extension: &Extension| Extension {
            name: extension.name,
            bytes: extension.bytes.clone(),
        };
        self.iter().map(copy).collect()
    }
}

impl IndexFile {
    /// The index as it is, with its checksum.
    ///
    /// # Errors
    /// Never for what was parsed.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, IndexError> {
        let written = self.write(&BTreeMap::new())?;
        let sum = written.checksum();
        Ok([written.bytes, sum.to_vec()].concat())
    }
}

impl Written {
    /// Puts the numbers of a file as it is now into its entry.
    pub(super) fn renew(&mut self, path: &[u8], numbers: Numbers) {
        if let Some(&at) = self.places.get(path) {
            put_numbers(&mut self.bytes[at..at + 40], &numbers);
        }
    }

    /// The checksum that follows the bytes.
    pub(super) fn checksum(&self) -> [u8; ID] {
        Sha1::digest(&self.bytes).into()
    }
}

/// The bytes before the checksum, if that is right; git may be set up to write none.
fn checked(bytes: &[u8]) -> Result<&[u8], IndexError> {
    let at = bytes
        .len()
        .checked_sub(ID)
        .ok_or(DAMAGED("it is too short"))?;
    let (content, sum) = bytes.split_at(at);
    if sum != [0; ID] && <[u8; ID]>::from(Sha1::digest(content)) != sum {
        return Err(DAMAGED("its checksum is wrong"));
    }
    Ok(content)
}

fn length(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn name_length(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX).min(0xfff)
}

fn put_numbers(place: &mut [u8], numbers: &Numbers) {
    for (bytes, number) in place.chunks_exact_mut(4).zip(numbers) {
        bytes.copy_from_slice(&number.to_be_bytes());
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], IndexError> {
        if count > self.bytes.len() {
            return Err(DAMAGED("it ends too early"));
        }
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], IndexError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn number(&mut self) -> Result<u32, IndexError> {
        self.array().map(u32::from_be_bytes)
    }

    fn entry(
        &mut self,
        version: u32,
        names: &mut Vec<u8>,
        previous: (u32, u32),
    ) -> Result<IndexEntry, IndexError> {
        let before = self.bytes.len();
        let fixed = self.take(FIXED)?;
        let mut numbers = [0; 10];
        for (number, bytes) in numbers.iter_mut().zip(fixed.chunks_exact(4)) {
            *number = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        let mut id = [0; ID];
        id.copy_from_slice(&fixed[40..]);
        let flags = u16::from_be_bytes(self.array()?);
        let extended = match flags & EXTENDED {
            0 => 0,
            _ if version < 3 => return Err(DAMAGED("an entry has flags of a later version")),
            _ => u16::from_be_bytes(self.array()?),
        };
        let start = names.len();
        if version == 4 {
            let dropped = self.varying()?;
            let kept = (previous.1 as usize)
                .checked_sub(dropped)
                .ok_or(DAMAGED("a name is shortened by more than it has"))?;
            let from = previous.0 as usize;
            names.extend_from_within(from..from + kept);
        }
        let end = self
            .bytes
            .iter()
            .position(|&byte| byte == 0)
            .ok_or(DAMAGED("a name has no end"))?;
        names.extend_from_slice(self.take(end)?);
        if version == 4 {
            self.take(1)?;
        } else {
            let length = before - self.bytes.len();
            // at least one NUL, up to a multiple of eight
            self.take(8 - length % 8)?;
        }
        Ok(IndexEntry {
            numbers,
            id,
            flags,
            extended,
            name: (length(start), length(names.len() - start)),
        })
    }

    /// A number of varying length, as in packs.
    fn varying(&mut self) -> Result<usize, IndexError> {
        let mut byte = self.array::<1>()?[0];
        let mut value = usize::from(byte & 127);
        while byte & 128 != 0 {
            if value > usize::MAX >> 8 {
                return Err(DAMAGED("a number is too large"));
            }
            byte = self.array::<1>()?[0];
            value = ((value + 1) << 7) | usize::from(byte & 127);
        }
        Ok(value)
    }
}

struct Writer {
    version: u32,
    count: u32,
    previous: Vec<u8>,
    written: Written,
}

impl Writer {
    fn new(version: u32, room: usize) -> Self {
        let mut bytes = Vec::with_capacity(room);
        bytes.extend_from_slice(b"DIRC");
        bytes.extend_from_slice(&version.to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        Self {
            version,
            count: 0,
            previous: Vec::new(),
            written: Written {
                bytes,
                places: BTreeMap::new(),
            },
        }
    }

    fn edited(&mut self, path: &[u8], edit: &Edit, present: Option<&IndexEntry>) {
        let Edit::Set { numbers, id } = edit else {
            return;
        };
        let kept = present.map_or(0, |entry| entry.flags & ASSUME_VALID);
        let left_out = present.filter(|entry| entry.is_left_out());
        let extended = left_out.map_or(0, |entry| entry.extended);
        let marker = if extended == 0 { 0 } else { EXTENDED };
        let entry = IndexEntry {
            numbers: *numbers,
            id: *id,
            flags: kept | marker | name_length(path.len()),
            extended,
            name: (0, 0),
        };
        let at = self.written.bytes.len();
        self.written.places.insert(path.to_vec(), at);
        self.entry(&entry, path);
    }

    fn entry(&mut self, entry: &IndexEntry, name: &[u8]) {
        let bytes = &mut self.written.bytes;
        let start = bytes.len();
        bytes.resize(start + 40, 0);
        put_numbers(&mut bytes[start..], &entry.numbers);
        bytes.extend_from_slice(&entry.id);
        bytes.extend_from_slice(&entry.flags.to_be_bytes());
        if entry.flags & EXTENDED != 0 {
            bytes.extend_from_slice(&entry.extended.to_be_bytes());
        }
        if self.version == 4 {
            let same = self
                .previous
                .iter()
                .zip(name)
                .take_while(|(a, b)| a == b)
                .count();
            put_varying(bytes, self.previous.len() - same);
            bytes.extend_from_slice(&name[same..]);
            bytes.push(0);
            self.previous.clear();
            self.previous.extend_from_slice(name);
        } else {
            bytes.extend_from_slice(name);
            let length = bytes.len() - start;
            bytes.resize(bytes.len() + 8 - length % 8, 0);
        }
        self.count += 1;
    }

    fn finish(mut self) -> Written {
        self.written.bytes[8..12].copy_from_slice(&self.count.to_be_bytes());
        self.written
    }
}

fn put_varying(bytes: &mut Vec<u8>, mut value: usize) {
    let mut digits = vec![(value & 127) as u8];
    loop {
        value >>= 7;
        if value == 0 {
            break;
        }
        value -= 1;
        digits.push((value & 127) as u8 | 128);
    }
    bytes.extend(digits.iter().rev());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn no_half(_: &str) -> Option<Vec<u8>> {
        None
    }

    fn made(version: u32, names: &std::collections::BTreeSet<String>) -> IndexFile {
        let mut index = IndexFile::empty();
        index.version = version;
        let edits = names
            .iter()
            .map(|name| {
                let edit = Edit::Set {
                    numbers: [7; 10],
                    id: [9; ID],
                };
                (name.as_bytes().to_vec(), edit)
            })
            .collect();
        let written = index.write(&edits).unwrap();
        let sum = written.checksum();
        let bytes = [written.bytes, sum.to_vec()].concat();
        IndexFile::parse(&bytes, &mut no_half).unwrap()
    }

    proptest! {
        #[test]
        fn edits_change_their_entries_and_no_others(
            version in 2u32..=4,
            names in proptest::collection::btree_set("[a-c/]{1,6}", 0..20),
            edits in proptest::collection::btree_map("[a-c/]{1,6}", any::<bool>(), 0..6),
        ) {
            let index = made(version, &names);
            let edits_made: BTreeMap<Vec<u8>, Edit> = edits
                .iter()
                .map(|(name, set)| {
                    let edit = if *set {
                        Edit::Set { numbers: [1; 10], id: [2; ID] }
                    } else {
                        Edit::Remove
                    };
                    (name.as_bytes().to_vec(), edit)
                })
                .collect();
            let written = index.write(&edits_made).unwrap();
            let sum = written.checksum();
            let bytes = [written.bytes, sum.to_vec()].concat();
            let again = IndexFile::parse(&bytes, &mut no_half).unwrap();
            let mut expected: BTreeMap<String, [u8; ID]> =
                names.iter().map(|name| (name.clone(), [9; ID])).collect();
            for (name, set) in &edits {
                if *set {
                    expected.insert(name.clone(), [2; ID]);
                } else {
                    expected.remove(name);
                }
            }
            let found: BTreeMap<String, [u8; ID]> = again
                .entries()
                .map(|(name, entry)| (String::from_utf8(name.to_vec()).unwrap(), entry.id()))
                .collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(again.bytes().unwrap(), bytes);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = IndexFile::parse(&bytes, &mut no_half);
            // past the checksum
            let whole = [b"DIRC\0\0\0\x04\0\0\0\x02".to_vec(), bytes, vec![0; ID]].concat();
            let _ = IndexFile::parse(&whole, &mut no_half);
        }
    }

    #[test]
    fn a_wrong_checksum_is_seen() {
        let mut bytes = made(2, &["a".to_owned()].into()).bytes().unwrap();
        bytes[50] ^= 1;
        assert!(IndexFile::parse(&bytes, &mut no_half).is_err());
    }
}
