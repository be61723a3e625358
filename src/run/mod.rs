//! Processes, the journal of events, and the runners of scenarios and tests.
pub mod catalogue;
pub mod folder;
pub mod job;
pub mod journal;
pub mod process;
pub mod recorded;
pub mod rehearsal;
pub mod scenarios;
pub mod shard;
pub mod tests;
