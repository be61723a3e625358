//! Which commits changed the lines in which a patch does not fit: the way back from the tree to the version that the patch
//! was made for.
use super::conflict::{Blamed, Conflict, ConflictPlace, Seen};
use super::matching::lines;
use git2::{Commit, Oid, Repository};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long history is looked into for all places of a conflict: an answer that comes late helps nobody.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many commits one place names at most.
const MOST: usize = 5;

/// Adds to each place of a conflict the commits that changed it, as far as the history is there.
pub(super) fn blame(conflict: &mut Conflict, repository: &Repository, head: Oid) {
    let end = Instant::now() + PATIENCE;
    for place in &mut conflict.places {
        if let Some(found) = of_place(place, repository, head, end) {
            place.blame = found;
        }
    }
}

fn of_place(
    place: &ConflictPlace,
    repository: &Repository,
    head: Oid,
    end: Instant,
) -> Option<Vec<Blamed>> {
    let Seen {
        bytes,
        region,
        made_for,
    } = place.seen.as_ref()?;
    let path = place.path.as_path();
    let mut commit = repository.find_commit(head).ok()?;
    let mut blob = blob_of(&commit, path)?;
    let committed = repository.find_blob(blob).ok()?.content().to_vec();
    // from the content in which it was tried (earlier patches, uncommitted changes) to that of HEAD
    let (mut region, _) = before(&committed, bytes, region)?;
    let mut content = committed;
    let mut found = Vec::new();
    let is_made_for = |blob: Oid| {
        let id = made_for.as_deref().filter(|id| id.len() >= 7);
        id.is_some_and(|id| blob.to_string().starts_with(id))
    };
    while found.len() < MOST && Instant::now() < end && !is_made_for(blob) {
        // the parent that has the file as it is, else the first
        let parents: Vec<Commit<'_>> = commit.parents().collect();
        let same = parents
            .iter()
            .position(|parent| blob_of(parent, path) == Some(blob));
        if let Some(at) = same {
            commit = parents.into_iter().nth(at)?;
            continue;
        }
        let Some(parent) = parents.into_iter().next() else {
            // history ends here: what came before is not known
            break;
        };
        let Some(older) = blob_of(&parent, path) else {
            found.push(describe(&commit));
            break;
        };
        let earlier = repository.find_blob(older).ok()?.content().to_vec();
        let (mapped, touched) = before(&earlier, &content, &region)?;
        if touched {
            found.push(describe(&commit));
        }
        region = mapped;
        content = earlier;
        blob = older;
        commit = parent;
    }
    Some(found)
}

fn blob_of(commit: &Commit<'_>, path: &Path) -> Option<Oid> {
    Some(commit.tree().ok()?.get_path(path).ok()?.id())
}

fn describe(commit: &Commit<'_>) -> Blamed {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let date = jiff::Timestamp::from_second(commit.time().seconds())
        .map(|time| time.strftime("%Y-%m-%d").to_string());
    Blamed {
        commit: commit.id().to_string(),
        summary: text(commit.summary_bytes().unwrap_or_default()),
        author: text(commit.author().name_bytes()),
        date: date.unwrap_or_default(),
    }
}

/// Where a region of lines was in the earlier version, and whether lines in it or beside it were changed since.
fn before(earlier: &[u8], later: &[u8], region: &Range<usize>) -> Option<(Range<usize>, bool)> {
    if earlier == later {
        return Some((region.clone(), false));
    }
    let (old, new) = (lines(earlier), lines(later));
    let mut touched = false;
    let (mut start, mut end) = (None, region.end);
    for operation in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let (from, to) = (operation.old_range(), operation.new_range());
        // lines that went count where they would stand, at the region's edges too
        let meets = match to.is_empty() {
            true => region.start <= to.start && to.start <= region.end,
            false => to.start < region.end && region.start < to.end,
        };
        let is_equal = matches!(operation, DiffOp::Equal { .. });
        touched |= meets && !is_equal;
        if start.is_none() && region.start < to.end.max(to.start + 1) {
            start = Some(match is_equal {
                true => from.start + region.start.saturating_sub(to.start),
                false => from.start,
            });
        }
        if region.end > to.start || (region.is_empty() && region.start >= to.start) {
            end = match is_equal {
                true => from.start + region.end.min(to.end) - to.start.min(region.end),
                false => from.end,
            };
        }
    }
    let start = start.unwrap_or(old.len()).min(old.len());
    Some((start..end.clamp(start, old.len()), touched))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(names: &[&str]) -> Vec<u8> {
        names
            .iter()
            .map(|name| format!("{name}\n"))
            .collect::<String>()
            .into_bytes()
    }

    #[test]
    fn a_region_is_followed_back_through_changes_above_it() {
        let old = text(&["a", "b", "c", "d", "e"]);
        let new = text(&["x", "y", "a", "b", "c", "d", "e"]);
        assert_eq!(before(&old, &new, &(4..6)), Some((2..4, false)));
    }

    #[test]
    fn a_change_within_is_seen() {
        let old = text(&["a", "b", "c", "d", "e"]);
        let new = text(&["a", "b", "C", "d", "e"]);
        assert_eq!(before(&old, &new, &(1..4)), Some((1..4, true)));
        assert_eq!(before(&old, &new, &(3..5)), Some((3..5, false)));
    }

    #[test]
    fn lines_that_went_are_seen_where_they_were() {
        let old = text(&["a", "b", "c", "d", "e"]);
        let new = text(&["a", "b", "d", "e"]);
        let (region, touched) = before(&old, &new, &(1..3)).unwrap();
        assert!(touched && region.contains(&2), "{region:?}");
    }

    proptest::proptest! {
        #[test]
        fn any_region_stays_within_the_file(
            old in "[ab\n]{0,12}",
            new in "[ab\n]{0,12}",
            start in 0usize..8,
            length in 0usize..5,
        ) {
            let end = start + length;
            if let Some((region, _)) = before(old.as_bytes(), new.as_bytes(), &(start..end))
                && old != new {
                proptest::prop_assert!(region.end <= lines(old.as_bytes()).len());
            }
        }
    }
}
