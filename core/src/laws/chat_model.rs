//! What every chat model must do.
