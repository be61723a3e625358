//! Finds where the hunks of a file go, exactly or at an offset, and makes the change. Never guesses: where two places are
//! equally near, it says so instead.
use crate::series::diff::{Direction, FileChange, Hunk};

/// The lines of a content, each with its line end.
pub(super) fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Matched {
    pub(super) bytes: Vec<u8>,
    /// The largest distance, in lines, between where a hunk says it goes and where it went.
    pub(super) offset: usize,
}

/// Why a hunk does not go anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// Index of the hunk, from 0.
    pub(super) hunk: usize,
    pub(super) reason: MismatchReason,
    /// Where it was expected, or came closest, as a line from 1.
    pub(super) line: usize,
    /// The first lines that it expects from there on.
    pub(super) expected: Vec<String>,
    /// The lines that are there.
    pub(super) actual: Vec<String>,
    /// The lines of the content that stand where the hunk would go, from 0.
    pub(super) region: std::ops::Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MismatchReason {
    NotFound,
    Ambiguous,
    NoContext,
}

/// Makes all hunks of a change in a content.
pub(super) fn apply(
    file: &FileChange,
    bytes: &[u8],
    direction: Direction,
) -> Result<Matched, Mismatch> {
    match apply_as_written(file, bytes, direction) {
        Err(mismatch) => match file.without_transport_returns() {
            Some(converted) => apply_as_written(&converted, bytes, direction).map_err(|_| mismatch),
            None => Err(mismatch),
        },
        matched => matched,
    }
}

fn apply_as_written(
    file: &FileChange,
    bytes: &[u8],
    direction: Direction,
) -> Result<Matched, Mismatch> {
    let content = lines(bytes);
    let mut result = Vec::with_capacity(bytes.len());
    let mut done = 0;
    let mut shift: isize = 0;
    let mut offset = 0;
    for (index, hunk) in file.hunks.iter().enumerate() {
        let stated = hunk.position(direction);
        let expected = stated.saturating_add_signed(shift);
        let before: Vec<&[u8]> = hunk.before(direction).collect();
        let place = Place::new(hunk, &before, stated, &content);
        let found = place.find(expected, done).map_err(|reason| Mismatch {
            hunk: index,
            ..place.explain(expected, done, reason)
        })?;
        shift = found.cast_signed() - stated.cast_signed();
        offset = offset.max(shift.unsigned_abs());
        content[done..found]
            .iter()
            .for_each(|line| result.extend_from_slice(line));
        hunk.after(direction)
            .for_each(|line| result.extend_from_slice(line));
        done = found + before.len();
    }
    content[done..]
        .iter()
        .for_each(|line| result.extend_from_slice(line));
    Ok(Matched {
        bytes: result,
        offset,
    })
}

/// The content with the hunks that fit, and conflict markers where one does not.
pub(super) fn marked(file: &FileChange, bytes: &[u8], patch: &str) -> Vec<u8> {
    let content = lines(bytes);
    let mut result: Vec<u8> = Vec::with_capacity(bytes.len());
    let (mut done, mut shift): (usize, isize) = (0, 0);
    for hunk in &file.hunks {
        let stated = hunk.position(Direction::Forward);
        let expected = stated.saturating_add_signed(shift);
        let before: Vec<&[u8]> = hunk.before(Direction::Forward).collect();
        let after: Vec<&[u8]> = hunk.after(Direction::Forward).collect();
        let place = Place::new(hunk, &before, stated, &content);
        match place.find(expected, done) {
            Ok(found) => {
                shift = found.cast_signed() - stated.cast_signed();
                result.extend(content[done..found].concat());
                result.extend(after.concat());
                done = found + before.len();
            }
            Err(reason) => {
                let region = place.explain(expected, done, reason).region;
                let start = region.start.clamp(done, content.len());
                let end = region.end.clamp(start, content.len());
                result.extend(content[done..start].concat());
                three_sides(&mut result, &content[start..end], &before, &after, patch);
                done = end;
            }
        }
    }
    result.extend(content[done..].concat());
    result
}

/// What the tree has, what the patch was made for and what it makes of it, without the lines that all three share.
fn three_sides(
    result: &mut Vec<u8>,
    ours: &[&[u8]],
    base: &[&[u8]],
    theirs: &[&[u8]],
    patch: &str,
) {
    let shortest = ours.len().min(base.len()).min(theirs.len());
    let alike = |at: &usize| ours[*at] == base[*at] && base[*at] == theirs[*at];
    let first = (0..shortest).take_while(alike).count();
    let alike_back = |at: &usize| {
        let of = |side: &[&[u8]]| side[side.len() - 1 - at].to_vec();
        of(ours) == of(base) && of(base) == of(theirs)
    };
    let last = (0..shortest - first).take_while(alike_back).count();
    result.extend(ours[..first].concat());
    let mut line = |text: &[u8]| {
        if result.last().is_some_and(|byte| *byte != b'\n') {
            result.push(b'\n');
        }
        result.extend_from_slice(text);
    };
    line(b"<<<<<<< tree\n");
    line(&ours[first..ours.len() - last].concat());
    line(b"||||||| what the patch was made for\n");
    line(&base[first..base.len() - last].concat());
    line(b"=======\n");
    line(&theirs[first..theirs.len() - last].concat());
    line(format!(">>>>>>> patch {patch}\n").as_bytes());
    result.extend(ours[ours.len() - last..].concat());
}

/// How many hunks of a change are in a content each by itself, whatever becomes of the others.
pub(super) fn count_matching(file: &FileChange, bytes: &[u8], direction: Direction) -> usize {
    let content = lines(bytes);
    let goes = |hunk: &&Hunk| {
        let before: Vec<&[u8]> = hunk.before(direction).collect();
        let stated = hunk.position(direction);
        Place::new(hunk, &before, stated, &content)
            .find(stated, 0)
            .is_ok()
    };
    file.hunks.iter().filter(goes).count()
}

/// What a hunk asks of the place where it goes.
struct Place<'a> {
    before: &'a [&'a [u8]],
    content: &'a [&'a [u8]],
    at_start: bool,
    at_end: bool,
}

impl<'a> Place<'a> {
    fn new(hunk: &Hunk, before: &'a [&'a [u8]], stated: usize, content: &'a [&'a [u8]]) -> Self {
        Self {
            before,
            content,
            // as git has it: a hunk at the first line has to be at the first line, one without context after it at the end
            at_start: stated == 0,
            at_end: hunk.trailing_context() == 0,
        }
    }

    fn fits(&self, position: usize) -> bool {
        let end = position + self.before.len();
        end <= self.content.len()
            && !(self.at_start && position != 0)
            && !(self.at_end && end != self.content.len())
            && self.content[position..end] == *self.before
    }

    /// The nearest fitting place at or after `floor`.
    fn find(&self, expected: usize, floor: usize) -> Result<usize, MismatchReason> {
        if self.before.is_empty() {
            // nothing says where it goes, except in an empty file
            return match self.content.is_empty() {
                true => Ok(0),
                false => Err(MismatchReason::NoContext),
            };
        }
        let Some(last) = self.content.len().checked_sub(self.before.len()) else {
            return Err(MismatchReason::NotFound);
        };
        if last < floor {
            return Err(MismatchReason::NotFound);
        }
        let expected = expected.clamp(floor, last);
        for distance in 0..=last {
            let below = expected.checked_sub(distance).filter(|&at| at >= floor);
            let above = Some(expected + distance).filter(|&at| at <= last);
            let below = below.filter(|&at| self.fits(at));
            let above = above.filter(|&at| self.fits(at));
            match (below, above) {
                (Some(one), Some(other)) if one != other => return Err(MismatchReason::Ambiguous),
                (Some(at), _) | (_, Some(at)) => return Ok(at),
                (None, None) => {}
            }
        }
        Err(MismatchReason::NotFound)
    }

    /// Where the hunk came closest: the place where most of its lines are, the expected one among equals.
    fn explain(&self, expected: usize, floor: usize, reason: MismatchReason) -> Mismatch {
        let score = |position: usize| {
            let there = self.content[position..].iter();
            self.before
                .iter()
                .zip(there)
                .filter(|(a, b)| a == b)
                .count()
        };
        let expected = expected.min(self.content.len().saturating_sub(1));
        let window =
            floor.max(expected.saturating_sub(WINDOW))..self.content.len().min(expected + WINDOW);
        let nearest = window
            .map(|at| (score(at), std::cmp::Reverse(at.abs_diff(expected)), at))
            .max()
            .filter(|(score, _, _)| *score > 0)
            .map_or(expected, |(_, _, at)| at);
        let differs = self
            .before
            .iter()
            .zip(self.content.iter().skip(nearest))
            .position(|(a, b)| a != b)
            .unwrap_or(0);
        let quote = |lines: &[&[u8]]| {
            lines
                .iter()
                .skip(differs)
                .take(QUOTED)
                .map(|line| {
                    String::from_utf8_lossy(line)
                        .trim_end_matches('\n')
                        .to_owned()
                })
                .collect()
        };
        Mismatch {
            hunk: 0,
            reason,
            line: nearest + differs + 1,
            expected: quote(self.before),
            actual: quote(self.content.get(nearest..).unwrap_or_default()),
            region: nearest..(nearest + self.before.len()).min(self.content.len()),
        }
    }
}

/// How far from its place a hunk's closest match is looked for when a conflict is explained.
const WINDOW: usize = 2_000;
/// How many lines of either side a conflict shows.
const QUOTED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::parse::parse;

    fn change(diff: &str) -> FileChange {
        parse(format!("--- a/f\n+++ b/f\n{diff}").as_bytes())
            .unwrap()
            .files
            .remove(0)
    }

    fn numbered(range: std::ops::RangeInclusive<u32>) -> String {
        range.map(|number| format!("line {number}\n")).collect()
    }

    const MIDDLE: &str =
        "@@ -5,5 +5,6 @@\n line 5\n line 6\n-line 7\n+seven\n+more\n line 8\n line 9\n";

    #[test]
    fn a_hunk_goes_where_it_says() {
        let matched = apply(
            &change(MIDDLE),
            numbered(1..=20).as_bytes(),
            Direction::Forward,
        )
        .unwrap();
        assert_eq!(matched.offset, 0);
        let text = String::from_utf8(matched.bytes.clone()).unwrap();
        assert!(text.contains("line 6\nseven\nmore\nline 8\n"));
        let back = apply(&change(MIDDLE), &matched.bytes, Direction::Reverse).unwrap();
        assert_eq!(back.bytes, numbered(1..=20).as_bytes());
    }

    #[test]
    fn a_hunk_is_found_at_an_offset() {
        let shifted = format!("x\nx\nx\n{}", numbered(1..=20));
        let matched = apply(&change(MIDDLE), shifted.as_bytes(), Direction::Forward).unwrap();
        assert_eq!(matched.offset, 3);
    }

    #[test]
    fn two_places_equally_near_are_none() {
        let block = "line 5\nline 6\nline 7\nline 8\nline 9\n";
        let text = format!("{block}-\n-\n-\n{block}-\n");
        // the blocks begin at lines 1 and 9, the hunk says 5
        let mismatch = apply(&change(MIDDLE), text.as_bytes(), Direction::Forward).unwrap_err();
        assert_eq!(mismatch.reason, MismatchReason::Ambiguous);
    }

    #[test]
    fn a_hunk_without_context_is_refused_in_a_file_that_is_not_empty() {
        let insertion = change("@@ -3,0 +4 @@\n+new\n");
        let mismatch =
            apply(&insertion, numbered(1..=5).as_bytes(), Direction::Forward).unwrap_err();
        assert_eq!(mismatch.reason, MismatchReason::NoContext);
    }

    #[test]
    fn a_mismatch_shows_both_sides() {
        let text = numbered(1..=20).replace("line 7\n", "line seven\n");
        let mismatch = apply(&change(MIDDLE), text.as_bytes(), Direction::Forward).unwrap_err();
        assert_eq!(mismatch.line, 7);
        assert_eq!(mismatch.expected[0], "line 7");
        assert_eq!(mismatch.actual[0], "line seven");
    }

    #[test]
    fn a_missing_newline_at_the_end_counts() {
        let diff = change("@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n");
        let matched = apply(&diff, b"a\nb", Direction::Forward).unwrap();
        assert_eq!(matched.bytes, b"a\nc\n");
        assert!(apply(&diff, b"a\nb\n", Direction::Forward).is_err());
    }

    #[test]
    fn carriage_returns_added_on_the_way_are_taken_off() {
        let diff = "--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n";
        let file = parse(diff.as_bytes()).unwrap().files.remove(0);
        assert_eq!(
            apply(&file, b"a\nb\n", Direction::Forward).unwrap().bytes,
            b"a\nc\n"
        );
        assert_eq!(
            apply(&file, b"a\r\nb\r\n", Direction::Forward)
                .unwrap()
                .bytes,
            b"a\r\nc\r\n"
        );
    }
}
