//! Processes, the journal of events, and the runners of scenarios and tests.
pub mod process;
