//! What every session must do.
