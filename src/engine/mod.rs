//! Plans on git objects, switches a checkout once, and can be killed at any point.
