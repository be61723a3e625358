//! The index' cache of tree objects: what it says of the folders above an edited path is no longer right.
use super::file::ID;
use std::collections::BTreeSet;

/// Deepest nesting of folders.
const DEEPEST: usize = 200;

/// The cache without the ids of the folders above these paths; none where it cannot be read, since git can do without.
pub(super) fn without<'p>(
    bytes: &[u8],
    paths: impl Iterator<Item = &'p Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut stale: BTreeSet<&[u8]> = BTreeSet::new();
    for path in paths {
        stale.insert(b"");
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        stale.extend(ends.map(|(at, _)| &path[..at]));
    }
    let mut written = Vec::with_capacity(bytes.len());
    let rest = copy(bytes, &mut Vec::new(), &stale, &mut written, 0)?;
    rest.is_empty().then_some(written)
}

/// Copies one folder and those in it; gives what follows.
fn copy<'a>(
    bytes: &'a [u8],
    path: &mut Vec<u8>,
    stale: &BTreeSet<&[u8]>,
    written: &mut Vec<u8>,
    depth: usize,
) -> Option<&'a [u8]> {
    if depth > DEEPEST {
        return None;
    }
    let (name, rest) = until(bytes, 0)?;
    let (count, rest) = until(rest, b' ')?;
    let (folders, rest) = until(rest, b'\n')?;
    let is_valid = count.first() != Some(&b'-');
    let (id, mut rest) = match is_valid {
        true => rest.split_at_checked(ID)?,
        false => (&rest[..0], rest),
    };
    let length = path.len();
    if depth > 0 {
        if length > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(name);
    }
    let stays = is_valid && !stale.contains(path.as_slice());
    written.extend_from_slice(name);
    written.push(0);
    written.extend_from_slice(if stays { count } else { b"-1" });
    written.push(b' ');
    written.extend_from_slice(folders);
    written.push(b'\n');
    if stays {
        written.extend_from_slice(id);
    }
    let folders: usize = std::str::from_utf8(folders).ok()?.parse().ok()?;
    for _ in 0..folders {
        rest = copy(rest, path, stale, written, depth + 1)?;
    }
    path.truncate(length);
    Some(rest)
}

fn until(bytes: &[u8], end: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&byte| byte == end)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_above_an_edit_lose_their_id() {
        let id = [7; ID];
        let mut bytes = b"\x003 2\n".to_vec();
        bytes.extend(id);
        for name in ["a", "b"] {
            bytes.extend(format!("{name}\x001 0\n").bytes());
            bytes.extend(id);
        }
        let edited = without(&bytes, [b"b/x".to_vec()].iter()).unwrap();
        let mut expected = b"\x00-1 2\na\x001 0\n".to_vec();
        expected.extend(id);
        expected.extend(b"b\x00-1 0\n");
        assert_eq!(edited, expected);
        assert_eq!(without(&bytes, [].iter()).unwrap(), bytes);
        assert_eq!(without(&bytes[..bytes.len() - 1], [].iter()), None);
    }
}
