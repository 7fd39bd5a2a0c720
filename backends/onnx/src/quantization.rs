//! Number types that a caller chooses in place of those of an export.

use std::fmt;

/// The number type of the cache of keys and values.
///
/// ```
/// use alloquy_onnx::KvCacheType;
///
/// assert_eq!(KvCacheType::default(), KvCacheType::Exported);
/// assert_eq!(KvCacheType::Int8.to_string(), "int8");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KvCacheType {
    /// As the model was exported.
    #[default]
    Exported,
    /// Numbers of 8 bits with one scale for the keys and one for the values of each layer.
    Int8,
}

/// The number type of products with weights of 4 or 8 bits (`MatMulNBits`).
///
/// ```
/// use alloquy_onnx::MatMulType;
///
/// assert_eq!(MatMulType::default(), MatMulType::Exported);
/// assert_eq!(MatMulType::Int8.to_string(), "int8");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MatMulType {
    /// As the model was exported: `f32` unless the export has an accuracy level.
    #[default]
    Exported,
    /// Numbers of 8 bits, which is `accuracy_level` 4, where the export has no level.
    Int8,
}

impl fmt::Display for KvCacheType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Exported => "exported",
            Self::Int8 => "int8",
        })
    }
}

impl fmt::Display for MatMulType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Exported => "exported",
            Self::Int8 => "int8",
        })
    }
}

/// What a caller chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quantization {
    pub(crate) cache: KvCacheType,
    pub(crate) products: MatMulType,
}

impl fmt::Display for Quantization {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cache, self.products) {
            (KvCacheType::Exported, MatMulType::Exported) => formatter.write_str("number types as exported"),
            (KvCacheType::Int8, MatMulType::Exported) => formatter.write_str("a cache of int8"),
            (KvCacheType::Exported, MatMulType::Int8) => formatter.write_str("products in int8"),
            (KvCacheType::Int8, MatMulType::Int8) => formatter.write_str("a cache and products of int8"),
        }
    }
}
