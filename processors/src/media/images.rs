//! Pictures as tensors.
