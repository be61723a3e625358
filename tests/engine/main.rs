//! The patch engine, end to end: the binary on small git trees made here, and on the real tree where it is fetched.
mod apply;
mod faults;
mod lab;
mod oracle;
mod refusals;
mod status;
mod tree;
