//! The patch engine: everything is computed in the object database, then one switch. Only this module writes to a checkout.
mod apply;
mod arms;
mod carry;
mod change;
mod checkout;
mod conflict;
mod error;
mod extensions;
mod fault;
mod files;
#[cfg(fuzzing)]
pub mod fuzzing;
mod history;
mod import;
mod index;
mod load;
mod locate;
mod matching;
mod merge;
mod patch_text;
mod plan;
mod preimages;
mod pull_requests;
mod record;
mod reference_locks;
mod refresh;
mod status;
mod stop;
mod survey;
mod switch;
mod unapply;

pub use crate::series::Selection;
pub use apply::{
    Applied, ApplyOptions, Conflicts, Outcome, PatchFate, PatchOutcome, Resume, Resumed, apply,
    resume,
};
pub use arms::{Arms, SourceSet, Tree, arms};
pub use carry::{Carried, CarriedPatch, CarriedState, carry};
pub use change::Fit;
pub use conflict::{Blamed, Conflict, ConflictPlace};
pub use error::EngineError;
pub use import::{ImportRequest, Imported, ImportedPatch, import};
pub use index::IndexError;
pub use load::{Source, folder_series, named, series};
pub use locate::root;
pub use pull_requests::{Branch, Proposal, PullRequest, base_file, propose, write_branches};
pub use record::Form;
pub use refresh::{RefreshMode, RefreshState, Refreshed, RefreshedPatch, refresh};
pub use status::{PatchStatus, State, Status, status, status_of_archive};
pub use switch::Recovered;
pub use unapply::unapply;
