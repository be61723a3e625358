//! Deals tests out to workers. Pure.
use super::fleet::Feed;
use super::ledger::{Id, Ledger};
use crate::run::job::Arm;
use std::collections::{HashSet, VecDeque};

/// Most tests that a worker is given at once.
const CHUNK: usize = 20;

/// Cuts tests into chunks for whoever is free: small enough that the workers end at about the same time.
pub(super) fn shared(ids: &[String], workers: usize) -> Feed {
    let size = (ids.len() / (workers.max(1) * 4)).clamp(1, CHUNK);
    Feed::Shared(ids.chunks(size).map(<[String]>::to_vec).collect())
}

/// The patched arm's tests in the lanes and the order in which the baseline ran them, so that a test meets the same
/// history in both; tests that the baseline does not have come last, in the file's order.
pub(super) fn like_baseline(ledger: &Ledger, wanted: &[Id], workers: usize) -> Feed {
    let workers = workers.max(1);
    let baseline = &ledger.arm(Arm::Baseline).rows;
    let mut known: Vec<(u32, usize, Id)> = Vec::new();
    let mut new = Vec::new();
    for id in wanted {
        match baseline.get(id) {
            Some(row) => known.push((row.order, row.lane % workers, *id)),
            None => new.push(*id),
        }
    }
    known.sort_unstable();
    let mut lanes: Vec<Vec<String>> = vec![Vec::new(); workers];
    for (_, lane, id) in known {
        lanes[lane].push(ledger.name(id).to_owned());
    }
    for id in new {
        if let Some(shortest) = lanes.iter_mut().min_by_key(|lane| lane.len()) {
            shortest.push(ledger.name(id).to_owned());
        }
    }
    Feed::Lanes(
        lanes
            .into_iter()
            .map(|lane| {
                lane.chunks(CHUNK)
                    .map(<[String]>::to_vec)
                    .collect::<VecDeque<_>>()
            })
            .collect(),
    )
}

/// The wanted ones among the collected, in the file's order, without those that have run.
pub(super) fn remaining(ledger: &Ledger, arm: Arm, chosen: Option<&HashSet<Id>>) -> Vec<Id> {
    let record = ledger.arm(arm);
    record
        .collected
        .iter()
        .filter(|id| chosen.is_none_or(|chosen| chosen.contains(id)))
        .filter(|id| !record.rows.contains_key(id))
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::event::{Pass, TestEvent};
    use crate::run::tests::outcome::Outcome;

    #[test]
    fn chunks_are_small_enough_to_share() {
        let ids: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        let Feed::Shared(chunks) = shared(&ids, 2) else {
            panic!()
        };
        assert_eq!(chunks.len(), 10);
        let ids: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
        let Feed::Shared(chunks) = shared(&ids, 2) else {
            panic!()
        };
        assert_eq!(chunks.len(), 50);
    }

    #[test]
    fn the_patched_arm_follows_the_baseline() {
        let mut ledger = Ledger::default();
        for (worker, lane) in [(0, 0), (1, 1)] {
            ledger.apply(&TestEvent::WorkerStart {
                arm: Arm::Baseline,
                pass: Pass::Main,
                lane,
                worker,
                subject: None,
            });
        }
        for (worker, id) in [(1, "c"), (0, "a"), (1, "b")] {
            ledger.apply(&TestEvent::Finish {
                worker,
                id: id.to_owned(),
                outcome: Outcome::Passed,
                seconds: 0.0,
                message: String::new(),
                excerpt: String::new(),
                output: String::new(),
            });
        }
        ledger.apply(&TestEvent::Collected {
            arm: Arm::Patched,
            ids: ["a", "b", "new", "c"].map(str::to_owned).to_vec(),
            last: true,
        });
        let wanted = remaining(&ledger, Arm::Patched, None);
        let Feed::Lanes(lanes) = like_baseline(&ledger, &wanted, 2) else {
            panic!()
        };
        let lanes: Vec<Vec<&str>> = lanes
            .iter()
            .map(|lane| lane.iter().flatten().map(String::as_str).collect())
            .collect();
        assert_eq!(lanes, [vec!["a", "new"], vec!["c", "b"]]);
    }
}
