//! Evidence in, verdict out: one pure function.
