//! Stock against itself: the program of the baseline in both arms, to measure what equal arms differ by.
use super::{Built, Programs};
use crate::error::Failure;
use crate::progress::Progress;
use crate::report::document::{Arms, Compared, Trust};
use crate::run::job::{Arm, Definition, Flavour};
use crate::run::scenarios::Guard;
use crate::run::tests::{Pretence, Suite};
use std::collections::BTreeMap;
use std::path::Path;

/// Both arms are the baseline of these.
pub(super) struct EqualArms(pub(super) Box<dyn Programs>);

impl Programs for EqualArms {
    fn trust(&self) -> Trust {
        self.0.trust()
    }

    fn guard(&self) -> &dyn Guard {
        self.0.guard()
    }

    fn pretence(&self) -> Option<Pretence> {
        self.0.pretence()
    }

    fn parts(&self) -> BTreeMap<String, String> {
        self.0.parts()
    }

    fn compared(&self) -> Arms<Compared> {
        let baseline = self.0.compared().baseline;
        Arms {
            patched: Compared {
                name: format!("{}, once more", baseline.name),
                ..baseline.clone()
            },
            baseline,
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.0.notes();
        notes.push(
            "both arms are stock: what differs here is what equal arms differ by, and says nothing about patches"
                .to_owned(),
        );
        notes
    }

    fn promises(&self) -> BTreeMap<String, Vec<String>> {
        BTreeMap::new()
    }

    fn training(&self) -> Vec<Definition> {
        self.0.training()
    }

    fn explorer(&self) -> Vec<Definition> {
        self.0.explorer()
    }

    fn build(
        &self,
        _arm: Arm,
        flavour: Flavour,
        progress: &dyn Progress,
    ) -> Result<Option<Built>, Failure> {
        self.0.build(Arm::Baseline, flavour, progress)
    }

    fn tests(
        &self,
        _arm: Arm,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<(Suite, Vec<String>), Failure> {
        self.0.tests(Arm::Baseline, folder, progress)
    }
}
