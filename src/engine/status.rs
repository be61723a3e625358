//! How each patch stands against a tree, with the evidence for the word. Changes nothing.
use super::change::{Fit, Standing, attempt, standing};
use super::checkout::{self, Checkout};
use super::conflict::Conflict;
use super::files::{Files, Folder, Found, Layer};
use super::load::{self, Source};
use super::matching::count_matching;
use super::plan::{Held, held};
use super::preimages::PreImages;
use super::record::{AppliedPatch, Form, Record};
use super::switch::is_pending;
use super::{EngineError, Tree, history, locate, stop};
use crate::progress::Progress;
use crate::series::diff::{Direction, Kind};
use crate::series::manifest::{GenerationPatch, Probe, ProbeState, Target, UpstreamStatus};
use crate::series::{Patch, PatchId, Series, TreePath};
use crate::upstream::archive;
use git2::{Diff, Oid, Repository};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// How a patch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// umpatch applied it, or it is in the work tree uncommitted.
    Applied,
    /// It applies.
    Clean,
    /// It applies by a merge with the version that it was made for.
    #[serde(rename = "clean-by-3-way")]
    CleanByThreeWay,
    /// It does not apply.
    Conflict,
    /// The tree has it.
    Landed,
    /// The tree has a part of it.
    PartlyLanded,
    /// The tree has something else in its place.
    Superseded,
    /// It is not for such a tree.
    Unsupported,
}

impl State {
    /// The word, as `--json` has it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Clean => "clean",
            Self::CleanByThreeWay => "clean-by-3-way",
            Self::Conflict => "conflict",
            Self::Landed => "landed",
            Self::PartlyLanded => "partly-landed",
            Self::Superseded => "superseded",
            Self::Unsupported => "unsupported",
        }
    }
}

/// How one patch stands, and why that is believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatchStatus {
    /// The patch.
    pub id: PatchId,
    /// A line for people.
    pub title: String,
    /// How it stands.
    pub state: State,
    /// Why that is believed, a sentence each.
    pub evidence: Vec<String>,
    /// The files that it touches.
    pub files: Vec<TreePath>,
    /// How it stands upstream, as its metadata says.
    pub upstream_status: UpstreamStatus,
    /// Where it does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
}

/// How a series stands against a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The tree.
    pub tree: Tree,
    /// The series.
    pub series: Option<String>,
    /// On what evidence the claim rests that the series fits this generation.
    pub series_evidence: Option<String>,
    /// What speaks for the generation, or against any.
    pub generation_evidence: Vec<String>,
    /// What is known of the tree's version, and on what that rests; none where the manifest does not name it.
    pub target: Option<Target>,
    /// The patches, in order.
    pub patches: Vec<PatchStatus>,
    /// What else there is to know.
    pub notes: Vec<String>,
}

/// The same for an archive of a tree or of the touched files alone.
///
/// # Errors
/// When the archive or the series cannot be read.
pub fn status_of_archive(
    archive: &Path,
    source: &Source,
    progress: &dyn Progress,
) -> Result<Status, EngineError> {
    let folder = tempfile::tempdir().map_err(EngineError::storage("make", std::env::temp_dir()))?;
    // the one folder around everything is dropped when it is unpacked, and for a few files that may be one of the tree's own
    let mut inner = folder.path().join("aten");
    std::fs::create_dir(&inner).map_err(EngineError::storage("make", &inner))?;
    archive::unpack(archive, &inner, archive::Limits::default(), progress)?;
    let mut root = inner.clone();
    for name in ["aten", "torch", "test"] {
        if locate::is_pytorch(&root) {
            break;
        }
        let named = folder.path().join(name);
        std::fs::rename(&inner, &named).map_err(EngineError::storage("rename", &inner))?;
        inner = named;
        folder.path().clone_into(&mut root);
    }
    if !locate::is_pytorch(&root) {
        return Err(locate::no_tree(archive));
    }
    let mut status = status(&root, source)?;
    archive.clone_into(&mut status.tree.path);
    Ok(status)
}

/// Says how each patch of a series stands against a tree: a checkout, or a folder that holds at least the touched files.
///
/// # Errors
/// When the tree or the series cannot be read.
pub fn status(root: &Path, source: &Source) -> Result<Status, EngineError> {
    let present = Present::open(root)?;
    let recognition = locate::recognise(&present);
    let tree = present.describe(&recognition);
    let entry = load::generation(recognition.generation)?;
    let known = entry.as_ref().zip(tree.version.as_deref());
    let mut status = Status {
        target: known.and_then(|(entry, version)| entry.target(version).cloned()),
        tree,
        series: None,
        series_evidence: None,
        generation_evidence: recognition.reasons.clone(),
        patches: Vec::new(),
        notes: present.notes(),
    };
    match load::series(source, &recognition) {
        Ok(series) => {
            status.patches = judge(&present, &series)?;
            status.series = Some(series.name.to_string());
            status.series_evidence = series.evidence;
        }
        Err(EngineError::Unsupported { reason, .. }) => {
            // the reason matters more than the list of patches
            let series = load::any(source).unwrap_or_default();
            let claims = match source {
                Source::BuiltIn => entry.map(|entry| entry.patch).unwrap_or_default(),
                Source::Folder(_) => Vec::new(),
            };
            without_series(&mut status, &present, series, &reason, &claims)?;
        }
        Err(error @ EngineError::WrongGeneration { .. }) => {
            let series = load::any(source)?;
            without_series(&mut status, &present, series, &error.to_string(), &[])?;
        }
        Err(error) => return Err(error),
    }
    Ok(status)
}

/// How the patches stand in a generation that the series is not for: as the manifest says where the code's shape bears it
/// out, else unsupported.
fn without_series(
    status: &mut Status,
    present: &Present,
    series: Option<Series>,
    reason: &str,
    claims: &[GenerationPatch],
) -> Result<(), EngineError> {
    let Some(series) = series else { return Ok(()) };
    status.series = Some(series.name.to_string());
    for patch in &series.patches {
        let claim = claims.iter().find(|claim| claim.id == patch.id);
        let (state, mut evidence) = match claim {
            Some(claim) => claimed(claim, present)?,
            None => (State::Unsupported, Vec::new()),
        };
        if state == State::Unsupported {
            evidence.push(reason.to_owned());
        }
        status.patches.push(describe(patch, state, evidence, None));
    }
    Ok(())
}

/// What the manifest says of a patch, if every probe bears it out.
fn claimed(
    claim: &GenerationPatch,
    present: &Present,
) -> Result<(State, Vec<String>), EngineError> {
    let mut evidence = vec![claim.reason.clone()];
    for probe in &claim.probe {
        if !probe.holds(present.text(&probe.file)?.as_deref()) {
            let wanted = [quote(probe, "has to hold", "must not hold")].concat();
            evidence = vec![format!(
                "the tree is not as it is known to be there: {}",
                wanted.join(", ")
            )];
            return Ok((State::Unsupported, evidence));
        }
        evidence.extend(quote(probe, "holds", "does not hold"));
    }
    Ok((state_of(claim.state), evidence))
}

const fn state_of(state: ProbeState) -> State {
    match state {
        ProbeState::Landed => State::Landed,
        ProbeState::PartlyLanded => State::PartlyLanded,
        ProbeState::Superseded => State::Superseded,
        ProbeState::Unsupported => State::Unsupported,
    }
}

/// What a probe looks for, in words.
fn quote(probe: &Probe, holds: &str, lacks: &str) -> Vec<String> {
    let say = |verb: &str, text: &Option<String>| {
        text.as_ref()
            .map(|text| format!("{} {verb} {text:?}", probe.file))
    };
    let there = say(holds, &probe.contains);
    there.into_iter().chain(say(lacks, &probe.absent)).collect()
}

fn describe(
    patch: &Patch,
    state: State,
    evidence: Vec<String>,
    conflict: Option<Conflict>,
) -> PatchStatus {
    PatchStatus {
        id: patch.id.clone(),
        title: patch.title.clone(),
        state,
        evidence,
        files: patch.content.paths(),
        upstream_status: patch.upstream_status.clone(),
        conflict,
    }
}

fn judge(present: &Present, series: &Series) -> Result<Vec<PatchStatus>, EngineError> {
    let all: Vec<&Patch> = series.patches.iter().collect();
    let Held {
        patches: holds,
        undone,
    } = held(&all, present)?;
    let below = Layer {
        below: present,
        changes: undone,
    };
    let mut layer = Layer::over(&below);
    let mut pre_images = PreImages::new(present.repository().map(Repository::path));
    let committed = present.committed(&all)?;
    let mut statuses = Vec::new();
    for patch in all {
        if let Some(fit) = holds.get(&patch.id) {
            if let Ok(made) = attempt(patch, &layer, Direction::Forward, Some(&mut pre_images))? {
                layer.changes.extend(made.changes);
            }
            let (state, evidence) = present.whose(patch, *fit, &committed)?;
            statuses.push(describe(patch, state, evidence, None));
            continue;
        }
        let probed = probed(patch, present)?;
        let verdict = standing(patch, &layer, Some(&mut pre_images))?;
        let status = match (verdict, probed) {
            (Standing::Present(made), _) => {
                layer.changes.extend(made.changes);
                let (state, evidence) = present.whose(patch, made.fit, &committed)?;
                describe(patch, state, evidence, None)
            }
            (Standing::Clean(made), None) => {
                layer.changes.extend(made.changes);
                let (state, evidence) = clean(patch, made.fit);
                describe(patch, state, vec![evidence], None)
            }
            (Standing::Clean(_), Some((state, mut evidence))) => {
                evidence.push("its hunks would apply all the same".to_owned());
                describe(patch, state, evidence, None)
            }
            (Standing::Neither(mut conflict), probed) => {
                if let (Some(checkout), Some((head, _))) = (&present.checkout, present.head) {
                    history::blame(&mut conflict, &checkout.repository, head);
                }
                does_not_fit(patch, &layer, present, conflict, probed)?
            }
        };
        statuses.push(status);
    }
    Ok(statuses)
}

/// The patches that the work tree does not hold, among those that are said to be applied. One whose commit is there, and
/// whose lines later commits changed, is not missed; one that only uncommitted changes undo is.
pub(super) fn absent(
    root: &Path,
    series: &Series,
    applied: &[AppliedPatch],
) -> Result<Vec<PatchId>, EngineError> {
    let present = Present::open(root)?;
    let all: Vec<&Patch> = series.patches.iter().collect();
    let held = held(&all, &present)?.patches;
    let committed = present.committed(&all)?;
    let is_applied = |id: &PatchId| applied.iter().any(|applied| applied.id == *id);
    let is_there = |status: &PatchStatus| {
        let is_found = matches!(status.state, State::Applied | State::Landed);
        held.contains_key(&status.id) || is_found && !committed.contains(&status.id)
    };
    let statuses = judge(&present, series)?.into_iter();
    Ok(statuses
        .filter(|status| is_applied(&status.id) && !is_there(status))
        .map(|status| status.id)
        .collect())
}

fn clean(patch: &Patch, fit: Fit) -> (State, String) {
    let hunks = hunks(patch);
    match fit {
        Fit::Exact => (
            State::Clean,
            format!("all {hunks} hunks apply where they say"),
        ),
        Fit::Offset(lines) => (
            State::Clean,
            format!("all {hunks} hunks apply, at most {lines} lines from where they say"),
        ),
        Fit::ThreeWay => (
            State::CleanByThreeWay,
            format!("its {hunks} hunks apply by a merge with the version that they were made for"),
        ),
    }
}

fn does_not_fit(
    patch: &Patch,
    layer: &Layer<'_>,
    present: &Present,
    conflict: Conflict,
    probed: Option<(State, Vec<String>)>,
) -> Result<PatchStatus, EngineError> {
    let headline = conflict.headline();
    if let Some(commit) = present.same_patch_id(patch) {
        let evidence = vec![format!("commit {commit} has the same patch-id")];
        return Ok(describe(patch, State::Landed, evidence, None));
    }
    if let Some((state, mut evidence)) = probed {
        evidence.push(format!("it does not apply: {headline}"));
        return Ok(describe(patch, state, evidence, Some(conflict)));
    }
    if let UpstreamStatus::SupersededBy(what) = &patch.upstream_status {
        let evidence = vec![
            format!("its metadata says that {what} supersedes it"),
            format!("it does not apply: {headline}"),
        ];
        return Ok(describe(patch, State::Superseded, evidence, Some(conflict)));
    }
    let (found, total) = hunks_present(patch, layer)?;
    if found > 0 {
        let evidence = vec![
            format!("{found} of its {total} hunks are there already"),
            format!("the rest does not apply: {headline}"),
        ];
        return Ok(describe(
            patch,
            State::PartlyLanded,
            evidence,
            Some(conflict),
        ));
    }
    Ok(describe(
        patch,
        State::Conflict,
        vec![headline],
        Some(conflict),
    ))
}

fn hunks(patch: &Patch) -> usize {
    patch
        .content
        .files
        .iter()
        .map(|file| file.hunks.len())
        .sum()
}

/// How many hunks are made already, counting only those that cannot be made any more.
fn hunks_present(patch: &Patch, files: &dyn Files) -> Result<(usize, usize), EngineError> {
    let mut found = 0;
    for change in &patch.content.files {
        let Found::File(entry) = files.find(&change.new)? else {
            continue;
        };
        if change.kind == Kind::Create {
            found += count_matching(change, &entry.bytes, Direction::Reverse);
            continue;
        }
        for hunk in &change.hunks {
            let alone = crate::series::diff::FileChange {
                hunks: vec![hunk.clone()],
                ..change.clone()
            };
            let there = count_matching(&alone, &entry.bytes, Direction::Reverse);
            let makeable = count_matching(&alone, &entry.bytes, Direction::Forward);
            if there > makeable {
                found += 1;
            }
        }
    }
    Ok((found, hunks(patch)))
}

/// What the first probe that holds says.
fn probed(patch: &Patch, files: &dyn Files) -> Result<Option<(State, Vec<String>)>, EngineError> {
    for probe in &patch.probes {
        let Some(state) = probe.state else { continue };
        if !probe.holds(files.text(&probe.file)?.as_deref()) {
            continue;
        }
        let (state, evidence) = (state_of(state), quote(probe, "holds", "does not hold"));
        return Ok(Some((state, evidence)));
    }
    Ok(None)
}

/// How many commits back a patch's commit is looked for.
const HISTORY: usize = 500;

/// What is in the folder now, and what its repository knows.
pub(super) struct Present {
    folder: Folder,
    checkout: Option<Checkout>,
    head: Option<(Oid, Oid)>,
    record: Option<Record>,
}

impl Files for Present {
    fn find(&self, path: &TreePath) -> Result<Found, EngineError> {
        match self.folder.find(path)? {
            Found::Nothing => {}
            Found::File(entry) if entry.bytes.contains(&b'\r') => {
                let stored = match (&self.checkout, self.head) {
                    (Some(checkout), Some((_, tree))) => checkout.objects(tree).find(path)?.file(),
                    _ => None,
                };
                return Ok(Found::File(entry.in_stored_form(stored.as_ref())));
            }
            found => return Ok(found),
        }
        // left out by a sparse checkout: the commit has it
        match (&self.checkout, self.head) {
            (Some(checkout), Some((_, tree))) => {
                match checkout.with_index(|index| Ok(index.leaves_out(path)))? {
                    true => checkout.objects(tree).find(path),
                    false => Ok(Found::Nothing),
                }
            }
            _ => Ok(Found::Nothing),
        }
    }
}

impl Present {
    pub(super) fn open(root: &Path) -> Result<Self, EngineError> {
        let checkout = match checkout::open(root)? {
            Some(_) => Some(Checkout::open(root)?),
            None => None,
        };
        let head = match &checkout {
            Some(checkout) => match checkout.head() {
                Ok((_, commit)) => Some((commit, checkout.tree_of(commit)?)),
                Err(EngineError::Unborn) => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        let record = match &checkout {
            Some(checkout) => checkout.state.record()?,
            None => None,
        };
        Ok(Self {
            folder: Folder {
                root: root.to_owned(),
            },
            checkout,
            head,
            record,
        })
    }

    /// The checkout and its committed tree, where there is one.
    pub(super) fn head_tree(&self) -> Option<(&Checkout, Oid)> {
        Some((self.checkout.as_ref()?, self.head?.1))
    }

    pub(super) fn repository(&self) -> Option<&Repository> {
        self.checkout.as_ref().map(|checkout| &checkout.repository)
    }

    pub(super) fn describe(&self, recognition: &crate::upstream::Recognition) -> Tree {
        Tree {
            path: self.folder.root.clone(),
            version: locate::version(self),
            generation: Some(recognition.generation.to_string()),
            commit: self.head.map(|(commit, _)| commit.to_string()),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match &self.checkout {
            None => notes.push("the folder is no git repository: no history to look into".to_owned()),
            Some(checkout) if is_pending(checkout) => notes.push(
                "an earlier umpatch was cut off: the next apply or unapply finishes it or takes it back".to_owned(),
            ),
            Some(_) => {}
        }
        let stopped = self
            .record
            .as_ref()
            .and_then(|record| record.stopped.as_ref());
        if let Some(stopped) = stopped {
            let paths: Vec<String> = stop::waiting(stopped)
                .iter()
                .map(ToString::to_string)
                .collect();
            notes.push(format!(
                "the conflict of {} waits to be resolved in {}: umpatch apply --continue, or --abort",
                stopped.patch,
                paths.join(", ")
            ));
        }
        let ahead = self
            .record
            .as_ref()
            .and_then(|record| record.ahead.as_ref());
        if let Some(ahead) = ahead {
            let left: Vec<&str> = ahead.patches.iter().map(PatchId::as_str).collect();
            notes.push(format!(
                "an earlier umpatch was cut off before {}: umpatch apply --continue, or --abort",
                left.join(", ")
            ));
        }
        notes
    }

    /// The patches that the commit holds, whatever the work tree does.
    pub(super) fn committed(&self, patches: &[&Patch]) -> Result<BTreeSet<PatchId>, EngineError> {
        match self.head_tree() {
            Some((checkout, tree)) => {
                let held = held(patches, &checkout.objects(tree))?;
                Ok(held.patches.into_keys().collect())
            }
            None => Ok(BTreeSet::new()),
        }
    }

    /// Who put a patch into the tree; `committed` are the patches that the commit holds.
    pub(super) fn whose(
        &self,
        patch: &Patch,
        fit: Fit,
        committed: &BTreeSet<PatchId>,
    ) -> Result<(State, Vec<String>), EngineError> {
        let hunks = hunks(patch);
        let place = match fit {
            Fit::Offset(lines) => format!(", at most {lines} lines from where they say"),
            Fit::Exact | Fit::ThreeWay => String::new(),
        };
        let there = format!("all {hunks} hunks are in the tree{place}");
        let recorded = self.record.as_ref().and_then(|record| {
            let applied = record
                .patches
                .iter()
                .find(|applied| applied.id == patch.id)?;
            match (record.form, &applied.commit) {
                (Form::Worktree, _) => {
                    Some("umpatch applied it to the work tree, without a commit".to_owned())
                }
                (Form::Branch, Some(commit)) => {
                    let head = self.head?.0;
                    let id = Oid::from_str(commit).ok()?;
                    let repository = self.repository()?;
                    let is_here =
                        head == id || repository.graph_descendant_of(head, id).unwrap_or(false);
                    is_here.then(|| {
                        format!(
                            "umpatch applied it as commit {}",
                            &commit[..12.min(commit.len())]
                        )
                    })
                }
                (Form::Branch, None) => None,
            }
        });
        if let Some(recorded) = recorded {
            return Ok((State::Applied, vec![recorded, there]));
        }
        let (Some(_), Some((head, _))) = (&self.checkout, self.head) else {
            return Ok((State::Landed, vec![there]));
        };
        if !committed.contains(&patch.id) {
            let uncommitted = "in the work tree, not in the commit".to_owned();
            return Ok((State::Applied, vec![there, uncommitted]));
        }
        let text = patch.message.text();
        let own = self.walk(head, |commit| {
            commit.message_bytes() == text.as_bytes()
                && commit.author().email_bytes() == patch.message.email.as_bytes()
        });
        Ok(match own {
            Some(commit) => (
                State::Applied,
                vec![there, format!("commit {commit} has its author and message")],
            ),
            None => (
                State::Landed,
                vec![there, "no commit of umpatch's made it".to_owned()],
            ),
        })
    }

    /// The first commit, by first parents, that satisfies a test.
    fn walk(&self, head: Oid, mut test: impl FnMut(&git2::Commit<'_>) -> bool) -> Option<String> {
        let repository = self.repository()?;
        let mut commit = repository.find_commit(head).ok()?;
        for _ in 0..HISTORY {
            if test(&commit) {
                return Some(commit.id().to_string()[..12].to_owned());
            }
            commit = commit.parent(0).ok()?;
        }
        None
    }

    /// A commit that makes the same change, wherever its lines were.
    fn same_patch_id(&self, patch: &Patch) -> Option<String> {
        let repository = self.repository()?;
        let head = self.head?.0;
        let wanted = Diff::from_buffer(&patch.content.emit())
            .ok()?
            .patchid(None)
            .ok()?;
        let paths = patch.content.paths();
        self.walk(head, |commit| {
            let (Ok(tree), Some(before)) = (
                commit.tree(),
                commit.parent(0).ok().and_then(|p| p.tree().ok()),
            ) else {
                return false;
            };
            let id = |tree: &git2::Tree<'_>, path: &TreePath| {
                tree.get_path(path.as_path()).map(|e| e.id()).ok()
            };
            if !paths
                .iter()
                .all(|path| id(&tree, path) != id(&before, path))
            {
                return false;
            }
            let diff = repository.diff_tree_to_tree(Some(&before), Some(&tree), None);
            diff.and_then(|diff| diff.patchid(None))
                .is_ok_and(|id| id == wanted)
        })
    }
}
