//! Chooses some mutants of many: the same ones for the same seed, whatever their order.
use sha2::{Digest, Sha256};

/// Which mutants are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sample {
    /// All.
    All,
    /// So many, chosen by a seed.
    Some {
        /// How many.
        count: usize,
        /// The seed.
        seed: u64,
    },
}

impl Sample {
    /// The numbers of the chosen names, in their order.
    #[must_use]
    pub fn choose(&self, names: &[&str]) -> Vec<usize> {
        let Self::Some { count, seed } = self else {
            return (0..names.len()).collect();
        };
        let mut ranked: Vec<(Vec<u8>, usize)> = names
            .iter()
            .enumerate()
            .map(|(index, name)| (rank(*seed, name), index))
            .collect();
        ranked.sort();
        let mut chosen: Vec<usize> = ranked
            .into_iter()
            .take(*count)
            .map(|(_, index)| index)
            .collect();
        chosen.sort_unstable();
        chosen
    }
}

fn rank(seed: u64, name: &str) -> Vec<u8> {
    let mut hasher = Sha256::new();
    hasher.update(seed.to_le_bytes());
    hasher.update(name);
    hasher.finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_and_new_names_change_little() {
        let names: Vec<String> = (0..100).map(|number| format!("m{number}")).collect();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let sample = Sample::Some { count: 10, seed: 7 };
        let chosen = sample.choose(&all);
        assert_eq!(chosen.len(), 10);
        assert_eq!(chosen, sample.choose(&all));
        assert_ne!(chosen, Sample::Some { count: 10, seed: 8 }.choose(&all));
        // without one that was not chosen, the others stay
        let gone = (0..100).find(|index| !chosen.contains(index)).unwrap();
        let fewer: Vec<&str> = all
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != gone)
            .map(|(_, name)| *name)
            .collect();
        let again: Vec<&str> = sample
            .choose(&fewer)
            .into_iter()
            .map(|index| fewer[index])
            .collect();
        let before: Vec<&str> = chosen.iter().map(|index| all[*index]).collect();
        assert_eq!(again, before);
        assert_eq!(Sample::All.choose(&all).len(), 100);
        assert_eq!(
            Sample::Some {
                count: 500,
                seed: 1
            }
            .choose(&all)
            .len(),
            100
        );
    }
}
