//! One interface, two devices: Metal (a Mac) and simulated (any Linux).
