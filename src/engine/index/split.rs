//! The part of a split index that says how it changes the index that it builds on.
use super::file::{ID, IndexError};

/// Which index this one builds on, and which of its entries are left out or replaced.
pub(super) struct Link {
    /// The other index' id; zero where there is none.
    pub(super) base: [u8; ID],
    deleted: Vec<usize>,
    replaced: Vec<usize>,
}

/// Most bits that a bitmap may have, lest a number that lies takes the memory.
const MOST: usize = 1 << 26;

impl Link {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, IndexError> {
        let (base, rest) = bytes.split_first_chunk::<ID>().ok_or(IndexError::Split)?;
        let (deleted, replaced) = match rest {
            [] => (Vec::new(), Vec::new()),
            rest => {
                let (deleted, rest) = bitmap(rest)?;
                (deleted, bitmap(rest)?.0)
            }
        };
        Ok(Self {
            base: *base,
            deleted,
            replaced,
        })
    }
}

/// The bits of a compressed bitmap that are set, and what follows it.
fn bitmap(bytes: &[u8]) -> Result<(Vec<usize>, &[u8]), IndexError> {
    let number = |bytes: &[u8], at: usize| -> Result<usize, IndexError> {
        let four = bytes
            .get(at..at + 4)
            .and_then(|four| four.first_chunk::<4>());
        four.map(|four| u32::from_be_bytes(*four) as usize)
            .ok_or(IndexError::Split)
    };
    let (bits, count) = (number(bytes, 0)?, number(bytes, 4)?);
    let end = count
        .checked_mul(8)
        .and_then(|length| length.checked_add(8))
        .filter(|end| *end <= bytes.len() && bits <= MOST)
        .ok_or(IndexError::Split)?;
    let words: Vec<u64> = bytes[8..end]
        .chunks_exact(8)
        .filter_map(|word| word.first_chunk::<8>())
        .map(|word| u64::from_be_bytes(*word))
        .collect();
    let mut set = Vec::new();
    let mut at = 0usize;
    let mut words = words.into_iter();
    while let Some(marker) = words.next() {
        let run = (marker >> 1 & 0xffff_ffff) as usize * 64;
        if run > MOST || at > MOST {
            return Err(IndexError::Split);
        }
        if marker & 1 == 1 {
            set.extend(at..(at + run).min(bits));
        }
        at += run;
        for _ in 0..marker >> 33 {
            let word = words.next().ok_or(IndexError::Split)?;
            set.extend(
                (0..64)
                    .filter(|bit| word >> bit & 1 == 1)
                    .map(|bit| at + bit),
            );
            at += 64;
        }
    }
    // the position of the last marker follows
    number(bytes, end)?;
    Ok((set, &bytes[end + 4..]))
}

/// The same by position.
pub(super) struct Positions {
    deleted: Vec<bool>,
    replaced: Vec<bool>,
}

impl Positions {
    pub(super) fn new(link: &Link, count: usize) -> Result<Self, IndexError> {
        let mark = |positions: &[usize]| {
            let mut marks = vec![false; count];
            for &position in positions {
                *marks.get_mut(position).ok_or(IndexError::Split)? = true;
            }
            Ok(marks)
        };
        Ok(Self {
            deleted: mark(&link.deleted)?,
            replaced: mark(&link.replaced)?,
        })
    }

    pub(super) fn is_deleted(&self, position: usize) -> bool {
        self.deleted.get(position) == Some(&true)
    }

    pub(super) fn is_replaced(&self, position: usize) -> bool {
        self.replaced.get(position) == Some(&true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_of_runs_and_words() {
        // one marker: a run of one word of ones, then one literal word with bits 0 and 2
        let marker: u64 = 1 | 1 << 1 | 1 << 33;
        let mut bytes = Vec::new();
        bytes.extend(128u32.to_be_bytes());
        bytes.extend(2u32.to_be_bytes());
        bytes.extend(marker.to_be_bytes());
        bytes.extend(5u64.to_be_bytes());
        bytes.extend(0u32.to_be_bytes());
        let (set, rest) = bitmap(&bytes).unwrap();
        assert_eq!(set, (0..64).chain([64, 66]).collect::<Vec<_>>());
        assert!(rest.is_empty());
        for cut in 0..bytes.len() {
            assert!(bitmap(&bytes[..cut]).is_err());
        }
    }
}
