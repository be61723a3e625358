//! The patch set: manifest, patch files, metadata. Pure: no input or output.
