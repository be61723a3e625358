//! umpatch: a versioned patch set for PyTorch's Metal (MPS) allocator that carries its own proof.
//!
//! The modules read as the pipeline: where a tree comes from ([`upstream`]), what the patches are ([`series`]), how they
//! are applied ([`engine`]), built ([`build`]) for a [`device`], run ([`run`]), measured ([`stats`]), [`compare`]d, judged
//! ([`verdict`]), reported ([`report`]) and bundled for upstream ([`bundle`]). Only [`cli`] prints.
pub mod baseline;
pub mod build;
pub mod bundle;
pub mod calibrate;
pub mod cli;
pub mod compare;
pub mod device;
pub mod engine;
pub mod error;
pub mod exit;
pub mod explore;
pub mod merge;
pub mod mutate;
pub mod paths;
pub mod progress;
pub mod provision;
pub mod report;
pub mod run;
pub mod series;
pub mod share;
pub mod stats;
pub mod upstream;
pub mod verdict;
pub mod verify;
