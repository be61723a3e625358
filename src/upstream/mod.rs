//! Where a PyTorch tree comes from, and what generation of the allocator it holds.
