//! What every conversation store must do.
