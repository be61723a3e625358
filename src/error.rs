//! An error as the user meets it: what, why (the chain of causes), hints, and the exit code. Libraries have their own
//! typed errors; they become a [`Failure`] at the edge, and [`crate::cli`] renders it once.
mod storage;

pub use storage::StorageError;

use crate::exit::Exit;
use std::error::Error;
use std::fmt;

/// What a library error knows beyond its text: the exit code it leads to, and what to do next.
pub trait Explain: Error {
    /// The exit code that a command ends with when it meets this error.
    fn exit(&self) -> Exit;
    /// What to do next, one line each, most useful first.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }
    /// What `--json` adds for programs.
    fn detail(&self) -> Option<serde_json::Value> {
        None
    }
}

/// An error ready to be rendered.
#[derive(Debug)]
pub struct Failure {
    /// Message of the error itself and of each cause, outermost first.
    pub chain: Vec<String>,
    /// What to do next.
    pub hints: Vec<String>,
    /// The exit code.
    pub exit: Exit,
    /// What `--json` adds for programs.
    pub detail: Option<Box<serde_json::Value>>,
}

impl Failure {
    /// A failure without a library error behind it.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            chain: vec![message.into()],
            hints: Vec::new(),
            exit,
            detail: None,
        }
    }

    /// Bad usage or input.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Adds a line that says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.chain.join(": "))
    }
}

impl<E: Explain> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut chain = vec![error.to_string()];
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // thiserror messages often quote their cause already
            if !chain.last().is_some_and(|last| last.contains(&text)) {
                chain.push(text);
            }
            source = cause.source();
        }
        Self {
            chain,
            hints: error.hints(),
            exit: error.exit(),
            detail: error.detail().map(Box::new),
        }
    }
}
