//! Which processes a run consists of: from the scenarios that the programs list to jobs in their order. Pure.
use crate::error::Explain;
use crate::exit::Exit;
use crate::run::catalogue::Catalogue;
use crate::run::job::{Arm, Class, Definition, Flavour, Job};
use crate::run::scenarios::Setting;
use crate::run::shard::{self, Durations, Shard};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How much runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// Minutes: short runs of the scenarios that find most.
    #[default]
    Quick,
    /// Every scenario at full length, and under the other settings of what is assumed about Metal.
    Full,
}

impl Suite {
    /// Pairs of processes for each scenario, unless the user says otherwise. On the simulated device a seed gives the same
    /// counters each time: pairs vary the seed, they do not average noise.
    const fn pairs(self) -> u32 {
        match self {
            Self::Quick => 2,
            Self::Full => 5,
        }
    }

    /// Pairs with AddressSanitizer. The race that it looks for shows in most runs of an unmended tree, not in all.
    const fn sanitized_pairs(self) -> u32 {
        match self {
            Self::Quick => 6,
            Self::Full => 12,
        }
    }
}

/// Whether and where sanitizers are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Sanitize {
    /// On the scenarios that look for races; ThreadSanitizer in the full suite only.
    #[default]
    Races,
    /// On every chosen scenario, beside the plain runs.
    All,
    /// Nowhere.
    Never,
}

/// What the user chose.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// How much runs.
    pub suite: Suite,
    /// Only these scenarios, as `ID`, `ID@key=value,key=value`, `ID+address` or `ID+thread`; empty: those of the suite.
    pub scenarios: Vec<String>,
    /// Settings for every scenario.
    pub settings: BTreeMap<String, String>,
    /// Pairs of processes for each scenario; absent: the suite's.
    pub pairs: Option<u32>,
    /// The first pair's seed; the others follow it.
    pub seed: u64,
    /// Steps of each process; absent: the suite's.
    pub steps: Option<u64>,
    /// Whether and where sanitizers are used.
    pub sanitize: Sanitize,
    /// Which assumptions about Metal are varied.
    pub assumptions: Assumptions,
}

/// Which assumptions about Metal are varied, one at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Assumptions {
    /// Those of the suite: a few in the full one, none in the quick one.
    #[default]
    OfTheSuite,
    /// Each, with each of its values, in every scenario that a seed decides.
    Each,
}

/// What is going to run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The scenarios, under the ids that the jobs use.
    pub scenarios: Vec<Definition>,
    /// The jobs, in order.
    pub jobs: Vec<Job>,
}

impl Plan {
    /// The flavours that the jobs need.
    #[must_use]
    pub fn flavours(&self) -> BTreeSet<Flavour> {
        self.jobs.iter().map(|job| job.flavour).collect()
    }

    /// One part of it. A scenario stays whole, since both arms of a pair have to meet the same machine; parts are balanced by
    /// what the scenarios took in an earlier run, and by their number of processes where that is not known.
    #[must_use]
    pub fn part(&self, shard: Shard, durations: &Durations) -> Self {
        let processes = |id: &str| self.jobs.iter().filter(|job| job.scenario == id).count() as f64;
        let recorded: Vec<Option<f64>> = self
            .scenarios
            .iter()
            .map(|row| durations.scenarios.get(&row.id).copied())
            .collect();
        let weights: Vec<f64> = self
            .scenarios
            .iter()
            .zip(shard::weights(&recorded))
            .map(|(row, seconds)| seconds * processes(&row.id))
            .collect();
        let parts = shard::deal(&weights, shard.count());
        let own: BTreeSet<&str> = self
            .scenarios
            .iter()
            .zip(parts)
            .filter(|(_, part)| shard.has(*part))
            .map(|(row, _)| row.id.as_str())
            .collect();
        Self {
            scenarios: self
                .scenarios
                .iter()
                .filter(|row| own.contains(row.id.as_str()))
                .cloned()
                .collect(),
            jobs: self
                .jobs
                .iter()
                .filter(|job| own.contains(job.scenario.as_str()))
                .cloned()
                .collect(),
        }
    }
}

/// The selection cannot be met.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// There is no scenario of this name.
    #[error("there is no scenario {id}")]
    Unknown {
        /// The name that was given.
        id: String,
        /// Names that look like it.
        similar: Vec<String>,
    },
    /// A setting is not `key=value`.
    #[error("{text} is not key=value")]
    Setting {
        /// What was given.
        text: String,
    },
    /// No pairs, nothing to compare.
    #[error("--pairs 0 leaves nothing to compare")]
    NoPairs,
}

impl Explain for PlanError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown { similar, .. } => {
                let mut hints = Vec::new();
                if !similar.is_empty() {
                    hints.push(format!("did you mean {}?", similar.join(" or ")));
                }
                hints.push("`umpatch scenarios` lists all".to_owned());
                hints
            }
            Self::Setting { .. } | Self::NoPairs => Vec::new(),
        }
    }
}

/// Assumptions about Metal that a full run varies, one at a time.
const VARIANTS: [&str; 4] = [
    "drop_order=before-handlers",
    "drop_order=after-wait",
    "retain_rule=per-command",
    "graph_commit_every=32",
];

/// One row of the report to be.
struct Row {
    definition: Definition,
    settings: BTreeMap<String, String>,
    flavour: Flavour,
}

/// Makes the plan.
///
/// # Errors
/// When a scenario or setting of the selection does not exist or cannot be read.
pub fn plan(catalogue: &Catalogue, selection: &Selection) -> Result<Plan, PlanError> {
    if selection.pairs == Some(0) {
        return Err(PlanError::NoPairs);
    }
    let rows = if selection.scenarios.is_empty() {
        of_suite(catalogue, selection)
    } else {
        named(catalogue, selection)?
    };
    let mut jobs = Vec::new();
    let rounds = rows
        .iter()
        .map(|row| pairs(row, selection))
        .max()
        .unwrap_or(0);
    for pair in 0..rounds {
        for (index, row) in rows.iter().enumerate() {
            if pair >= pairs(row, selection) {
                continue;
            }
            // neither arm is always the first: whatever drifts with time would look like a difference
            let order = if (index + pair as usize).is_multiple_of(2) {
                [Arm::Baseline, Arm::Patched]
            } else {
                [Arm::Patched, Arm::Baseline]
            };
            jobs.extend(order.map(|arm| job(row, arm, pair, selection)));
        }
    }
    Ok(Plan {
        scenarios: rows.into_iter().map(|row| row.definition).collect(),
        jobs,
    })
}

fn pairs(row: &Row, selection: &Selection) -> u32 {
    selection.pairs.unwrap_or(match row.flavour {
        Flavour::Plain => selection.suite.pairs(),
        Flavour::Training => 1,
        Flavour::Address => selection.suite.sanitized_pairs(),
        Flavour::Thread => selection.suite.pairs(),
        // one process runs thousands of seeds
        Flavour::Explorer | Flavour::ExplorerAddress | Flavour::ExplorerThread => 1,
    })
}

fn job(row: &Row, arm: Arm, pair: u32, selection: &Selection) -> Job {
    Job {
        scenario: row.definition.id.clone(),
        arm,
        pair,
        seed: selection.seed.wrapping_add(u64::from(pair)),
        flavour: row.flavour,
        steps: selection.steps.or(steps(row, selection.suite)),
        settings: row.settings.clone(),
        subset: None,
    }
}

/// The scenario's own steps; with a sanitizer the explorer has time for fewer seeds.
fn steps(row: &Row, suite: Suite) -> Option<u64> {
    const SANITIZED_SHARE: u64 = 20;
    let steps = match suite {
        Suite::Quick => row.definition.quick_steps,
        Suite::Full => row.definition.full_steps,
    };
    match row.flavour {
        Flavour::ExplorerAddress | Flavour::ExplorerThread => {
            steps.map(|steps| (steps / SANITIZED_SHARE).max(1))
        }
        _ => steps,
    }
}

/// Whether a scenario also runs with AddressSanitizer: where threads race, unless the user says otherwise.
fn wants_sanitizer(definition: &Definition, selection: &Selection) -> bool {
    match selection.sanitize {
        Sanitize::All => true,
        Sanitize::Races => definition.class == Class::Stress,
        Sanitize::Never => false,
    }
}

/// Whether the explorer also runs with sanitizers.
fn sanitizes_explorer(selection: &Selection) -> bool {
    match selection.sanitize {
        Sanitize::All => true,
        Sanitize::Races => selection.scenarios.is_empty() && selection.suite == Suite::Full,
        Sanitize::Never => false,
    }
}

fn of_suite(catalogue: &Catalogue, selection: &Selection) -> Vec<Row> {
    let mut rows = Vec::new();
    let with =
        |definition: &Definition, flavour| row(definition, selection.settings.clone(), flavour);
    for definition in &catalogue.native {
        if selection.suite == Suite::Quick && !definition.quick {
            continue;
        }
        rows.push(with(definition, Flavour::Plain));
        if wants_sanitizer(definition, selection) {
            rows.push(with(definition, Flavour::Address));
            if selection.suite == Suite::Full || selection.sanitize == Sanitize::All {
                rows.push(with(definition, Flavour::Thread));
            }
        }
        rows.extend(variants(definition, catalogue, selection));
    }
    for definition in &catalogue.explorer {
        rows.push(with(definition, Flavour::Explorer));
        if sanitizes_explorer(selection) {
            rows.push(with(definition, Flavour::ExplorerAddress));
            rows.push(with(definition, Flavour::ExplorerThread));
        }
    }
    if selection.suite == Suite::Full {
        let training = catalogue.training.iter();
        rows.extend(training.map(|definition| with(definition, Flavour::Training)));
    }
    rows
}

/// The scenario under other assumptions about Metal, one at a time.
fn variants(definition: &Definition, catalogue: &Catalogue, selection: &Selection) -> Vec<Row> {
    let (varies, assumptions): (bool, Vec<&str>) = match (selection.assumptions, selection.suite) {
        (Assumptions::OfTheSuite, Suite::Quick) => return Vec::new(),
        (Assumptions::OfTheSuite, Suite::Full) => (
            matches!(
                definition.class,
                Class::GpuOnly | Class::CpuWrite | Class::Copy
            ),
            VARIANTS.to_vec(),
        ),
        (Assumptions::Each, _) => (
            !definition.is_chance(),
            catalogue.assumptions.iter().map(String::as_str).collect(),
        ),
    };
    if !varies || definition.positive_control {
        return Vec::new();
    }
    assumptions
        .into_iter()
        .filter_map(|variant| {
            let (key, value) = variant.split_once('=')?;
            if definition.fixes.iter().any(|fixed| fixed == key) {
                return None;
            }
            let mut settings = selection.settings.clone();
            // what the user fixed is not varied
            settings
                .insert(key.to_owned(), value.to_owned())
                .is_none()
                .then(|| row(definition, settings, Flavour::Plain).named(&format!("@{variant}")))
        })
        .collect()
}

fn named(catalogue: &Catalogue, selection: &Selection) -> Result<Vec<Row>, PlanError> {
    let mut rows: Vec<Row> = Vec::new();
    for given in &selection.scenarios {
        let (name, own) = given.split_once('@').unwrap_or((given, ""));
        let (definition, flavour) = find(name, catalogue)?;
        let mut settings = selection.settings.clone();
        settings.extend(parse_settings(
            own.split(',').filter(|part| !part.is_empty()),
        )?);
        let mut new = vec![row(definition, settings.clone(), flavour)];
        if flavour == Flavour::Plain && wants_sanitizer(definition, selection) {
            new.push(row(definition, settings.clone(), Flavour::Address));
            if selection.sanitize == Sanitize::All {
                new.push(row(definition, settings, Flavour::Thread));
            }
        }
        if flavour == Flavour::Explorer && sanitizes_explorer(selection) {
            let sanitized = [Flavour::ExplorerAddress, Flavour::ExplorerThread];
            new.extend(sanitized.map(|flavour| row(definition, new[0].settings.clone(), flavour)));
        }
        for row in &mut new {
            if !own.is_empty() {
                row.definition.id.push_str(&format!("@{own}"));
            }
        }
        if own.is_empty() && flavour == Flavour::Plain && selection.assumptions == Assumptions::Each
        {
            new.extend(variants(definition, catalogue, selection));
        }
        for row in new {
            // given twice, run once
            if rows
                .iter()
                .all(|known| known.definition.id != row.definition.id)
            {
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// The scenario and flavour that a name with or without a suffix means; the native one where there are two.
fn find<'a>(name: &str, catalogue: &'a Catalogue) -> Result<(&'a Definition, Flavour), PlanError> {
    let (id, wanted) = [Flavour::Address, Flavour::Thread, Flavour::Training]
        .into_iter()
        .find_map(|flavour| Some((name.strip_suffix(flavour.suffix())?, Some(flavour))))
        .unwrap_or((name, None));
    let among = |listed: &'a [Definition]| listed.iter().find(|definition| definition.id == id);
    let native = among(&catalogue.native);
    let training = || among(&catalogue.training).map(|found| (found, Flavour::Training));
    let explorer = || {
        let flavour = match wanted {
            Some(Flavour::Address) => Flavour::ExplorerAddress,
            Some(Flavour::Thread) => Flavour::ExplorerThread,
            _ => Flavour::Explorer,
        };
        among(&catalogue.explorer).map(|found| (found, flavour))
    };
    match wanted {
        Some(Flavour::Training) => training(),
        Some(flavour) => native.map(|found| (found, flavour)).or_else(explorer),
        None => native
            .map(|found| (found, Flavour::Plain))
            .or_else(training)
            .or_else(explorer),
    }
    .ok_or_else(|| PlanError::Unknown {
        id: name.to_owned(),
        similar: similar(id, &catalogue.native),
    })
}

fn row(definition: &Definition, settings: BTreeMap<String, String>, flavour: Flavour) -> Row {
    Row {
        definition: definition.clone(),
        settings,
        flavour,
    }
    .named(flavour.suffix())
}

impl Row {
    fn named(mut self, suffix: &str) -> Self {
        self.definition.id.push_str(suffix);
        self
    }
}

/// Every other value of what the settings assume, as `key=value`.
#[must_use]
pub fn alternatives(settings: &[Setting]) -> Vec<String> {
    settings
        .iter()
        .flat_map(|setting| {
            let values = setting.alternatives.iter();
            values.map(|value| format!("{}={value}", setting.name))
        })
        .collect()
}

/// Reads `key=value` settings.
///
/// # Errors
/// When one has no `=` or no key.
pub fn parse_settings<'a>(
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<BTreeMap<String, String>, PlanError> {
    texts
        .into_iter()
        .map(|text| match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok((key.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(PlanError::Setting {
                text: text.to_owned(),
            }),
        })
        .collect()
}

fn similar(id: &str, listed: &[Definition]) -> Vec<String> {
    let mut near: Vec<(f32, &str)> = listed
        .iter()
        .map(|definition| {
            let ratio = similar::TextDiff::from_chars(id, definition.id.as_str()).ratio();
            (ratio, definition.id.as_str())
        })
        .filter(|(ratio, _)| *ratio > 0.6)
        .collect();
    near.sort_by(|left, right| right.0.total_cmp(&left.0));
    near.into_iter()
        .take(3)
        .map(|(_, id)| id.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> Catalogue {
        let definition = |id: &str, class, quick| Definition {
            id: id.to_owned(),
            class,
            quick,
            quick_steps: Some(100),
            full_steps: Some(2000),
            ..Definition::default()
        };
        Catalogue {
            explorer: Vec::new(),
            native: vec![
                definition("steady", Class::GpuOnly, true),
                definition("release-race", Class::Stress, true),
                definition("long", Class::Correctness, false),
            ],
            training: vec![
                definition("steady", Class::GpuOnly, true),
                definition("llama-tiny", Class::GpuOnly, true),
            ],
            assumptions: vec![
                "drop_order=after-wait".to_owned(),
                "mode=eager-retire".to_owned(),
            ],
        }
    }

    fn ids(plan: &Plan) -> Vec<&str> {
        plan.scenarios
            .iter()
            .map(|scenario| scenario.id.as_str())
            .collect()
    }

    #[test]
    fn quick_is_short_and_looks_for_races() {
        let plan = plan(&listed(), &Selection::default()).unwrap();
        assert_eq!(
            ids(&plan),
            ["steady", "release-race", "release-race+address"]
        );
        assert_eq!(plan.jobs.len(), 2 * (2 + 2 + 6));
        assert!(plan.jobs.iter().all(|job| job.steps == Some(100)));
        assert_eq!(plan.flavours().len(), 2);
    }

    #[test]
    fn full_varies_what_is_assumed() {
        let selection = Selection {
            suite: Suite::Full,
            settings: BTreeMap::from([("drop_order".to_owned(), "after-wait".to_owned())]),
            ..Selection::default()
        };
        let plan = plan(&listed(), &selection).unwrap();
        assert_eq!(
            ids(&plan),
            [
                "steady",
                "steady@retain_rule=per-command",
                "steady@graph_commit_every=32",
                "release-race",
                "release-race+address",
                "release-race+thread",
                "long",
                "steady+training",
                "llama-tiny+training"
            ]
        );
    }

    #[test]
    fn all_sanitizers_run_on_every_scenario_of_either_suite() {
        for suite in [Suite::Quick, Suite::Full] {
            let selection = Selection {
                suite,
                sanitize: Sanitize::All,
                ..Selection::default()
            };
            let plan = plan(&listed(), &selection).unwrap();
            let names = ids(&plan);
            for name in ["steady", "release-race"] {
                for with in ["address", "thread"] {
                    let wanted = format!("{name}+{with}");
                    assert!(names.contains(&wanted.as_str()), "{suite:?}: {names:?}");
                }
            }
        }
    }

    #[test]
    fn the_explorer_runs_once_and_with_sanitizers_in_the_full_suite() {
        let catalogue = Catalogue {
            explorer: vec![Definition {
                id: "schedules".to_owned(),
                quick_steps: Some(5000),
                full_steps: Some(40_000),
                ..Definition::default()
            }],
            ..Catalogue::default()
        };
        let steps = |plan: &Plan| -> Vec<(Flavour, Option<u64>)> {
            let patched = plan.jobs.iter().filter(|job| job.arm == Arm::Patched);
            patched.map(|job| (job.flavour, job.steps)).collect()
        };
        let quick = plan(&catalogue, &Selection::default()).unwrap();
        assert_eq!(steps(&quick), [(Flavour::Explorer, Some(5000))]);
        let mut selection = Selection {
            suite: Suite::Full,
            ..Selection::default()
        };
        let full = plan(&catalogue, &selection).unwrap();
        assert_eq!(
            steps(&full),
            [
                (Flavour::Explorer, Some(40_000)),
                (Flavour::ExplorerAddress, Some(2000)),
                (Flavour::ExplorerThread, Some(2000)),
            ]
        );
        selection.scenarios = vec!["schedules+thread".to_owned()];
        let named = plan(&catalogue, &selection).unwrap();
        assert_eq!(steps(&named), [(Flavour::ExplorerThread, Some(2000))]);
        selection.scenarios = vec!["schedules".to_owned()];
        let named = plan(&catalogue, &selection).unwrap();
        assert_eq!(steps(&named), [(Flavour::Explorer, Some(40_000))]);
        selection.sanitize = Sanitize::All;
        assert_eq!(plan(&catalogue, &selection).unwrap().jobs.len(), 6);
    }

    #[test]
    fn each_assumption_is_varied_where_a_seed_decides() {
        let selection = Selection {
            assumptions: Assumptions::Each,
            sanitize: Sanitize::Never,
            ..Selection::default()
        };
        assert_eq!(
            ids(&plan(&listed(), &selection).unwrap()),
            [
                "steady",
                "steady@drop_order=after-wait",
                "steady@mode=eager-retire",
                "release-race",
            ]
        );
        let mut fixing = listed();
        for definition in &mut fixing.native {
            definition.fixes = vec!["mode".to_owned()];
        }
        assert_eq!(
            ids(&plan(&fixing, &selection).unwrap()),
            ["steady", "steady@drop_order=after-wait", "release-race"]
        );
        let named = Selection {
            scenarios: vec!["long".to_owned(), "steady@mode=x".to_owned()],
            ..selection
        };
        assert_eq!(
            ids(&plan(&listed(), &named).unwrap()),
            [
                "long",
                "long@drop_order=after-wait",
                "long@mode=eager-retire",
                "steady@mode=x",
            ]
        );
    }

    #[test]
    fn a_name_means_the_native_scenario_unless_there_is_none() {
        let selection = Selection {
            scenarios: ["steady", "llama-tiny", "steady+training", "steady+address"]
                .map(str::to_owned)
                .to_vec(),
            ..Selection::default()
        };
        assert_eq!(
            ids(&plan(&listed(), &selection).unwrap()),
            [
                "steady",
                "llama-tiny+training",
                "steady+training",
                "steady+address"
            ]
        );
    }

    #[test]
    fn pairs_share_a_seed_and_take_turns() {
        let selection = Selection {
            scenarios: vec![
                "steady@mode=asynchronous".to_owned(),
                "steady@mode=asynchronous".to_owned(),
            ],
            seed: 7,
            pairs: Some(2),
            ..Selection::default()
        };
        let plan = plan(&listed(), &selection).unwrap();
        let jobs: Vec<_> = plan.jobs.iter().map(|job| (job.arm, job.seed)).collect();
        use Arm::{Baseline, Patched};
        assert_eq!(
            jobs,
            [(Baseline, 7), (Patched, 7), (Patched, 8), (Baseline, 8)]
        );
        assert_eq!(plan.jobs[0].settings["mode"], "asynchronous");
        assert_eq!(plan.jobs[0].scenario, "steady@mode=asynchronous");
    }

    #[test]
    fn parts_make_the_whole_and_are_balanced_by_what_is_recorded() {
        let whole = plan(&listed(), &Selection::default()).unwrap();
        for count in 1..=8 {
            let mut jobs = 0;
            for index in 1..=count {
                let shard: Shard = format!("{index}/{count}").parse().unwrap();
                let part = whole.part(shard, &Durations::default());
                jobs += part.jobs.len();
                let in_order: Vec<&Job> = whole
                    .jobs
                    .iter()
                    .filter(|job| part.jobs.contains(job))
                    .collect();
                assert_eq!(in_order, part.jobs.iter().collect::<Vec<_>>());
            }
            assert_eq!(jobs, whole.jobs.len());
        }
        let durations = Durations {
            scenarios: [("steady", 60.0), ("release-race", 1.0)]
                .map(|(id, seconds)| (id.to_owned(), seconds))
                .into(),
            tests: BTreeMap::new(),
        };
        // what nobody has recorded weighs the median of the rest, for each of its processes
        let of = |shard: &str| {
            let part = whole.part(shard.parse().unwrap(), &durations);
            ids(&part)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(of("1/2"), ["release-race+address"]);
        assert_eq!(of("2/2"), ["steady", "release-race"]);
    }

    #[test]
    fn a_wrong_selection_is_told() {
        let with = |scenario: &str| Selection {
            scenarios: vec![scenario.to_owned()],
            ..Selection::default()
        };
        assert_eq!(
            plan(&listed(), &with("stedy")),
            Err(PlanError::Unknown {
                id: "stedy".to_owned(),
                similar: vec!["steady".to_owned()]
            })
        );
        assert!(matches!(
            plan(&listed(), &with("steady@nonsense")),
            Err(PlanError::Setting { .. })
        ));
        let none = Selection {
            pairs: Some(0),
            ..Selection::default()
        };
        assert_eq!(plan(&listed(), &none), Err(PlanError::NoPairs));
    }
}
