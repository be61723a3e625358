//! What makes two runs comparable, as a key.
use super::design::Contest;
use super::plan::Assumptions;
use super::{Request, Scenarios};
use crate::device::Device;
use crate::report::document::Fingerprint;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The fingerprint of a run: what the programs are, on which device, and what was selected.
#[must_use]
pub fn of(request: &Request, device: Device, programs: &BTreeMap<String, String>) -> Fingerprint {
    let selection = &request.selection;
    let mut parts = programs.clone();
    let mut part = |name: &str, value: String| {
        parts.insert(name.to_owned(), value);
    };
    part("device", device.to_string());
    for (name, value) in [
        ("os", std::env::consts::OS),
        ("chip", std::env::consts::ARCH),
    ] {
        // a device that is a machine of its own tells its own
        if !programs.contains_key(name) {
            part(name, value.to_owned());
        }
    }
    part("suite", word(&selection.suite));
    part("sanitize", word(&selection.sanitize));
    part("seed", selection.seed.to_string());
    part(
        "scenarios",
        if selection.scenarios.is_empty() {
            "those of the suite".to_owned()
        } else {
            selection.scenarios.join(" ")
        },
    );
    part(
        "settings",
        selection
            .settings
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>()
            .join(" "),
    );
    let number = |value: Option<u64>| {
        value.map_or_else(|| "the suite's".to_owned(), |value| value.to_string())
    };
    part("pairs", number(selection.pairs.map(u64::from)));
    part("steps", number(selection.steps));
    let tests = match &request.tests {
        None => "none".to_owned(),
        Some(wanted) => wanted.fingerprint(),
    };
    part("tests", tests);
    let scenarios = match request.scenarios {
        Scenarios::Run => "run",
        Scenarios::Leave => "left",
    };
    part("scenarios-run", scenarios.to_owned());
    // said only where it is used: the keys of other runs stay what they are
    if let Some(bytes) = request.design.detect {
        part("detect", format!("{bytes}"));
    }
    if let Some(budget) = request.design.budget {
        part("budget", format!("{} s", budget.as_secs_f64()));
    }
    if selection.assumptions == Assumptions::Each {
        part("assumptions", "each".to_owned());
    }
    if request.ablate.is_some() {
        part("ablation", "yes".to_owned());
    }
    if request.design.arms == Contest::StockWithItself {
        part("arms", "equal".to_owned());
    }
    part("require-hardware", request.require_hardware.to_string());
    if let Some(shard) = request.shard {
        part(SHARD, shard.to_string());
        part(BALANCE, request.durations.digest());
    }
    Fingerprint {
        key: key(&parts),
        parts,
    }
}

/// The part of a key that says which part of a shared run it is.
const SHARD: &str = "shard";
/// The part of a key that says by which durations the parts are balanced.
const BALANCE: &str = "shard-balance";

/// The key of one part without what tells it from the other parts: equal for all that belong together.
#[must_use]
pub fn of_any_part(fingerprint: &Fingerprint) -> Fingerprint {
    without(fingerprint, &[SHARD])
}

/// The key of the whole run that a part belongs to: that of one machine.
#[must_use]
pub fn of_whole(fingerprint: &Fingerprint) -> Fingerprint {
    without(fingerprint, &[SHARD, BALANCE])
}

fn without(fingerprint: &Fingerprint, names: &[&str]) -> Fingerprint {
    let mut parts = fingerprint.parts.clone();
    parts.retain(|name, _| !names.contains(&name.as_str()));
    Fingerprint {
        key: key(&parts),
        parts,
    }
}

fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// SHA-256 over the parts, in hexadecimal.
#[must_use]
pub fn key(parts: &BTreeMap<String, String>) -> String {
    let mut hasher = Sha256::new();
    for (name, value) in parts {
        // lengths first: no two sets of parts can read as the same bytes
        for text in [name, value] {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    hex::encode(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let with = |pairs: &[(&str, &str)]| {
            key(&pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect())
        };
        let one = with(&[("seed", "1")]);
        assert_eq!(one, with(&[("seed", "1")]));
        assert_ne!(one, with(&[("seed", "2")]));
        assert_ne!(with(&[("a", "bc")]), with(&[("ab", "c")]));
        assert_eq!(one.len(), 64);
    }

    #[test]
    fn a_part_knows_its_whole() {
        let of = |pairs: &[(&str, &str)]| {
            let parts = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            Fingerprint {
                key: key(&parts),
                parts,
            }
        };
        let whole = of(&[("seed", "1")]);
        let first = of(&[("seed", "1"), (SHARD, "1/2"), (BALANCE, "a")]);
        let second = of(&[("seed", "1"), (SHARD, "2/2"), (BALANCE, "a")]);
        assert_eq!(of_whole(&first), whole);
        assert_eq!(of_any_part(&first), of_any_part(&second));
        let unlike = of(&[("seed", "1"), (SHARD, "2/2"), (BALANCE, "b")]);
        assert_ne!(of_any_part(&first).key, of_any_part(&unlike).key);
    }
}
