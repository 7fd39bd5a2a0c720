//! What every data processor must do.
