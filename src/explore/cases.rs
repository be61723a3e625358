//! What the patches promise, as what some seeds stand for.
use crate::run::catalogue::Catalogue;
use crate::series::PatchId;
use crate::share::{self, ShareError};
use std::collections::BTreeMap;

/// The native driver's scenarios that patches promise and one process can judge by itself. Where nobody promises anything,
/// as in stock, there are none.
///
/// # Errors
/// When umpatch's own files are missing.
pub fn cases(promises: &BTreeMap<String, Vec<PatchId>>) -> Result<Vec<String>, ShareError> {
    let catalogue = Catalogue::read(&share::root()?.join("harness"));
    Ok(catalogue
        .native
        .into_iter()
        .filter(|scenario| scenario.deterministic && !scenario.positive_control)
        .map(|scenario| scenario.id)
        .filter(|id| promises.contains_key(id))
        .collect())
}
