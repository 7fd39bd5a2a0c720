//! Tensors by the type of their values. Knows no media.

use alloquy_engine::media_processor::{MediaTensor, TensorData};

/// A tensor of single precision.
pub(crate) fn floats(name: &str, shape: &[usize], values: Vec<f32>) -> MediaTensor {
    tensor(name, shape, TensorData::F32(values))
}

/// A tensor of whole numbers.
#[cfg(feature = "image")]
pub(crate) fn integers(name: &str, shape: &[usize], values: Vec<i64>) -> MediaTensor {
    tensor(name, shape, TensorData::I64(values))
}

/// A tensor of truth values.
#[cfg(feature = "audio")]
pub(crate) fn truths(name: &str, shape: &[usize], values: Vec<bool>) -> MediaTensor {
    tensor(name, shape, TensorData::Bool(values))
}

/// A tensor of values of any type.
pub(crate) fn tensor(name: &str, shape: &[usize], values: TensorData) -> MediaTensor {
    MediaTensor { name: name.to_owned(), shape: shape.to_vec(), values }
}
