//! Compiles the tree for a device: the simulated-device build, later the full PyTorch build.
