//! The patch engine: everything is computed in the object database, then one switch. Only this module writes to a checkout.
mod arms;

pub use arms::{Arms, SourceSet, Tree, arms};

use crate::error::Explain;
use crate::exit::Exit;
pub use crate::series::Selection;

/// Why the engine refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Signature landed ahead of the code.
    #[error("this part of the engine is not there yet")]
    Incomplete,
}

impl Explain for EngineError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
}
