//! Mutants of the patches: faults planted in the lines that the series writes, to see whether the proof finds them. Texts in,
//! texts and names out; nothing here touches a file or runs a program.
pub mod argued;
pub mod blame;
pub mod generate;
pub mod lexer;
pub mod names;
pub mod operator;
pub mod sample;
pub mod score;
mod sites;
pub mod source;
pub mod weave;

pub use blame::Stage;
pub use generate::{Mutant, generate};
pub use operator::Operator;
