//! The number types of caches, which are kept and copied as bytes and never computed with.

use ort::value::{TensorElementType, TensorValueTypeMarker, Value};
use zerocopy::IntoBytes;

use crate::element::Element;

/// A number type of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheElement {
    Float(Element),
    /// Numbers of 8 bits, whose scales are in the graph.
    Int8,
    /// Bytes with two numbers of 4 bits each, whose scales are in the graph.
    PackedInt4,
}

impl CacheElement {
    /// The end of an error message about any other type.
    pub(crate) const SUPPORTED: &str =
        "only f32, f16, bf16, int8, and uint8 with two numbers of 4 bits in each byte, are supported";

    /// Returns the number type of a type of ONNX Runtime; `None` for one that is not supported.
    pub(crate) fn of(kind: TensorElementType) -> Option<Self> {
        match kind {
            TensorElementType::Int8 => Some(Self::Int8),
            TensorElementType::Uint8 => Some(Self::PackedInt4),
            kind => Element::of(kind).map(Self::Float),
        }
    }

    /// Returns the same type as ONNX Runtime names it.
    pub(crate) fn kind(self) -> TensorElementType {
        match self {
            Self::Float(element) => element.kind(),
            Self::Int8 => TensorElementType::Int8,
            Self::PackedInt4 => TensorElementType::Uint8,
        }
    }

    /// Returns how many bytes one element of a tensor takes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Float(element) => element.size(),
            Self::Int8 | Self::PackedInt4 => 1,
        }
    }

    /// Returns how many numbers one element of a tensor has.
    pub(crate) fn numbers(self) -> usize {
        match self {
            Self::Float(_) | Self::Int8 => 1,
            Self::PackedInt4 => 2,
        }
    }

    /// Views a tensor of such numbers as bytes.
    pub(crate) fn bytes<T>(self, tensor: &Value<T>) -> ort::Result<&[u8]>
    where
        T: TensorValueTypeMarker + ?Sized,
    {
        match self {
            Self::Float(element) => element.bytes(tensor),
            Self::Int8 => Ok(tensor.try_extract_tensor::<i8>()?.1.as_bytes()),
            Self::PackedInt4 => Ok(tensor.try_extract_tensor::<u8>()?.1),
        }
    }

    /// As [`bytes`](Self::bytes), for writing.
    pub(crate) fn bytes_mut<T>(self, tensor: &mut Value<T>) -> ort::Result<&mut [u8]>
    where
        T: TensorValueTypeMarker + ?Sized,
    {
        match self {
            Self::Float(element) => element.bytes_mut(tensor),
            Self::Int8 => Ok(tensor.try_extract_tensor_mut::<i8>()?.1.as_mut_bytes()),
            Self::PackedInt4 => Ok(tensor.try_extract_tensor_mut::<u8>()?.1),
        }
    }
}
