//! Sounds as tensors.
