//! What becomes of the verdict when one assumption about Metal is another.
use crate::report::document::{SettingVerdict, Trust};
use crate::report::summary;
use crate::verdict::{self, Evidence, ScenarioEvidence};

/// The verdict under each setting that scenarios ran under, the default ones first; nothing where none was varied.
pub(super) fn verdicts(scenarios: &[ScenarioEvidence], trust: Trust) -> Vec<SettingVerdict> {
    let all = of_each(scenarios, trust);
    if all.len() > 1 { all } else { Vec::new() }
}

/// The same, also where there are only the default settings.
pub(super) fn of_each(scenarios: &[ScenarioEvidence], trust: Trust) -> Vec<SettingVerdict> {
    let setting = |scenario: &ScenarioEvidence| {
        let id = &scenario.definition.id;
        id.split_once('@').map_or("", |(_, own)| own).to_owned()
    };
    let mut order: Vec<String> = Vec::new();
    for scenario in scenarios {
        let own = setting(scenario);
        if !order.contains(&own) {
            order.push(own);
        }
    }
    // the default settings are what the others are compared with
    order.sort_by_key(|own| !own.is_empty());
    order
        .into_iter()
        .map(|own| {
            let chosen: Vec<ScenarioEvidence> = scenarios
                .iter()
                .filter(|scenario| setting(scenario) == own)
                .cloned()
                .collect();
            let count = chosen.len();
            let judgement = verdict::judge(&Evidence {
                scenarios: chosen,
                trust: Some(trust),
                complete: true,
                ..Evidence::default()
            });
            SettingVerdict {
                setting: own,
                verdict: judgement.verdict,
                scenarios: count,
                reason: judgement
                    .reasons
                    .first()
                    .map(summary::reason_line)
                    .unwrap_or_default(),
            }
        })
        .collect()
}

/// Whether the verdict hangs on an assumption, and on which.
pub(super) fn note(verdicts: &[SettingVerdict]) -> Option<String> {
    let (first, others) = verdicts.split_first()?;
    let deciding: Vec<String> = others
        .iter()
        .filter(|other| other.verdict != first.verdict)
        .map(|other| {
            format!(
                "{} ({}: {})",
                other.setting,
                summary::verdict_word(other.verdict),
                other.reason
            )
        })
        .collect();
    let usual = summary::verdict_word(first.verdict);
    Some(if deciding.is_empty() {
        format!(
            "the verdict is {usual} under the default settings and under each of the {} others that were tried",
            others.len()
        )
    } else {
        format!(
            "the verdict hangs on what is assumed about Metal: {usual} under the default settings, another one under {}",
            deciding.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::{Fault, Verdict};
    use crate::run::job::{Definition, JobResult, Outcome};
    use crate::verdict::{Pair, Process};

    fn scenario(id: &str, faults: u64) -> ScenarioEvidence {
        let process = |count: u64| {
            Some(Process {
                result: JobResult {
                    faults: (count > 0)
                        .then(|| Fault {
                            kind: "hazard".to_owned(),
                            count,
                            ..Fault::default()
                        })
                        .into_iter()
                        .collect(),
                    ..JobResult::empty(if count > 0 {
                        Outcome::Faulted
                    } else {
                        Outcome::Ok
                    })
                },
                curve: None,
                live: None,
                new_buffers_per_step: None,
                counter_ran_backwards: false,
            })
        };
        ScenarioEvidence {
            definition: Definition {
                id: id.to_owned(),
                quick_steps: Some(1),
                ..Definition::default()
            },
            pairs: vec![Pair {
                seed: 1,
                baseline: process(0),
                patched: process(faults),
            }],
            steps: Some(1),
            ..ScenarioEvidence::default()
        }
    }

    #[test]
    fn the_setting_that_decides_is_named() {
        let scenarios = [
            scenario("copies@mode=eager-retire", 0),
            scenario("copies", 0),
            scenario("copies@drop_order=after-wait", 3),
        ];
        let found = verdicts(&scenarios, Trust::Simulated);
        let words: Vec<(&str, Verdict)> = found
            .iter()
            .map(|found| (&*found.setting, found.verdict))
            .collect();
        assert_eq!(
            words,
            [
                ("", Verdict::Pass),
                ("mode=eager-retire", Verdict::Pass),
                ("drop_order=after-wait", Verdict::Regression)
            ]
        );
        let note = note(&found).unwrap();
        assert!(
            note.contains("drop_order=after-wait (REGRESSION: copies"),
            "{note}"
        );
        assert!(!note.contains("eager"), "{note}");
    }

    #[test]
    fn the_same_verdict_everywhere_is_said() {
        let scenarios = [
            scenario("copies", 0),
            scenario("copies@mode=eager-retire", 0),
        ];
        let note = note(&verdicts(&scenarios, Trust::Simulated)).unwrap();
        assert!(note.contains("under each of the 1 others"), "{note}");
        assert!(verdicts(&scenarios[..1], Trust::Simulated).is_empty());
    }
}
