//! The number types of caches and logits. All code that differs between them is here.

use std::ops::Range;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use ort::value::{TensorElementType, TensorValueTypeMarker, Value};
use zerocopy::IntoBytes;

/// A number type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F32,
    F16,
    Bf16,
}

impl Element {
    /// The end of an error message about any other type.
    pub(crate) const SUPPORTED: &str = "only f32, f16 and bf16 are supported";

    /// Returns the number type of a type of ONNX Runtime; `None` for one that is not supported.
    pub(crate) fn of(kind: TensorElementType) -> Option<Self> {
        Some(match kind {
            TensorElementType::Float32 => Self::F32,
            TensorElementType::Float16 => Self::F16,
            TensorElementType::Bfloat16 => Self::Bf16,
            _ => return None,
        })
    }

    /// Returns the same type as ONNX Runtime names it.
    pub(crate) fn kind(self) -> TensorElementType {
        match self {
            Self::F32 => TensorElementType::Float32,
            Self::F16 => TensorElementType::Float16,
            Self::Bf16 => TensorElementType::Bfloat16,
        }
    }

    /// Returns how many bytes one number takes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::F32 => size_of::<f32>(),
            Self::F16 | Self::Bf16 => size_of::<u16>(),
        }
    }

    /// Views a tensor of such numbers as bytes.
    pub(crate) fn bytes<T>(self, tensor: &Value<T>) -> ort::Result<&[u8]>
    where
        T: TensorValueTypeMarker + ?Sized,
    {
        Ok(match self {
            Self::F32 => tensor.try_extract_tensor::<f32>()?.1.as_bytes(),
            Self::F16 => tensor.try_extract_tensor::<f16>()?.1.as_bytes(),
            Self::Bf16 => tensor.try_extract_tensor::<bf16>()?.1.as_bytes(),
        })
    }

    /// As [`bytes`](Self::bytes), for writing.
    pub(crate) fn bytes_mut<T>(self, tensor: &mut Value<T>) -> ort::Result<&mut [u8]>
    where
        T: TensorValueTypeMarker + ?Sized,
    {
        Ok(match self {
            Self::F32 => tensor.try_extract_tensor_mut::<f32>()?.1.as_mut_bytes(),
            Self::F16 => tensor.try_extract_tensor_mut::<f16>()?.1.as_mut_bytes(),
            Self::Bf16 => tensor.try_extract_tensor_mut::<bf16>()?.1.as_mut_bytes(),
        })
    }

    /// Rounds numbers to this type and writes them into a tensor from place `start` on. Numbers beyond its end are dropped.
    pub(crate) fn narrow<T>(self, tensor: &mut Value<T>, start: usize, from: &[f32]) -> ort::Result<()>
    where
        T: TensorValueTypeMarker + ?Sized,
    {
        match self {
            Self::F32 => copy(tensor.try_extract_tensor_mut::<f32>()?.1, start, from, |number| number),
            Self::F16 => copy(tensor.try_extract_tensor_mut::<f16>()?.1, start, from, f16::from_f32),
            Self::Bf16 => copy(tensor.try_extract_tensor_mut::<bf16>()?.1, start, from, bf16::from_f32),
        }
        Ok(())
    }

    /// Replaces `into` by some of a tensor's numbers. Every type fits into 32 bits without rounding.
    pub(crate) fn widen<T>(
        self,
        tensor: &Value<T>,
        range: Range<usize>,
        into: &mut Vec<f32>,
    ) -> ort::Result<()>
    where
        T: TensorValueTypeMarker + ?Sized,
    {
        into.resize(range.len(), 0.0);
        match self {
            Self::F32 => into.copy_from_slice(part(tensor.try_extract_tensor()?.1, range)?),
            Self::F16 => {
                part::<f16>(tensor.try_extract_tensor()?.1, range)?.convert_to_f32_slice(into);
            }
            Self::Bf16 => {
                part::<bf16>(tensor.try_extract_tensor()?.1, range)?.convert_to_f32_slice(into);
            }
        }
        Ok(())
    }
}

fn copy<T>(values: &mut [T], start: usize, from: &[f32], narrow: impl Fn(f32) -> T) {
    let places = values.get_mut(start..).unwrap_or_default();
    for (place, &number) in places.iter_mut().zip(from) {
        *place = narrow(number);
    }
}

fn part<T>(values: &[T], range: Range<usize>) -> ort::Result<&[T]> {
    match values.get(range.clone()) {
        Some(part) => Ok(part),
        None => Err(ort::Error::new(format!("a tensor has {} numbers, not {}", values.len(), range.end))),
    }
}
