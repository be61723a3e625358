//! Robust estimates over memory curves and test outcomes. Pure: no input or output.
