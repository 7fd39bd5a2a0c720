//! Converts a processor's tensors to the number types and the names that graphs have.

use alloquy_engine::media_processor::{MediaTensor, TensorData};
use half::{bf16, f16};
use ort::value::{DynValue, Tensor, TensorElementType};

/// Names of the same tensor in Hugging Face's processors, transformers.js and ONNX Runtime GenAI.
const ALIASES: [&[&str]; 6] = [
    &["pixel_values", "pixel_values_videos"],
    &["image_grid_thw", "video_grid_thw", "grid_thw"],
    &["image_position_ids", "video_position_ids", "pixel_position_ids"],
    &["pixel_attention_mask", "image_attention_mask", "attention_mask"],
    &["input_features", "audio_values", "audio_embeds"],
    &["input_features_mask", "feature_attention_mask", "audio_attention_mask", "attention_mask"],
];

/// Returns whether two names are names of the same tensor.
pub(super) fn are_alike(left: &str, right: &str) -> bool {
    left == right || ALIASES.iter().any(|alike| alike.contains(&left) && alike.contains(&right))
}

/// Converts a tensor to a number type; `None` if that would change its values.
pub(super) fn value(tensor: MediaTensor, kind: TensorElementType) -> ort::Result<Option<DynValue>> {
    let MediaTensor { shape, values, .. } = tensor;
    Ok(Some(match (values, kind) {
        (TensorData::F32(numbers), TensorElementType::Float32) => made(shape, numbers)?,
        (TensorData::F32(numbers), TensorElementType::Float16) => {
            made(shape, numbers.into_iter().map(f16::from_f32).collect())?
        }
        (TensorData::F32(numbers), TensorElementType::Bfloat16) => {
            made(shape, numbers.into_iter().map(bf16::from_f32).collect())?
        }
        (values, kind) => match (integers(values), kind) {
            (Some(numbers), TensorElementType::Int64) => made(shape, numbers)?,
            (Some(numbers), TensorElementType::Int32) => {
                match numbers.into_iter().map(i32::try_from).collect() {
                    Ok(numbers) => made::<i32>(shape, numbers)?,
                    Err(_) => return Ok(None),
                }
            }
            (Some(numbers), TensorElementType::Bool) => {
                made(shape, numbers.into_iter().map(|number| number != 0).collect())?
            }
            _ => return Ok(None),
        },
    }))
}

fn made<T>(shape: Vec<usize>, numbers: Vec<T>) -> ort::Result<DynValue>
where
    T: ort::value::PrimitiveTensorElementType + std::fmt::Debug + Clone + 'static,
{
    Ok(Tensor::from_array((shape, numbers))?.into_dyn())
}

fn integers(values: TensorData) -> Option<Vec<i64>> {
    Some(match values {
        TensorData::I64(numbers) => numbers,
        TensorData::I32(numbers) => numbers.into_iter().map(i64::from).collect(),
        TensorData::Bool(values) => values.into_iter().map(i64::from).collect(),
        _ => return None,
    })
}

/// Returns the number type of a tensor, for messages.
pub(super) fn kind_of(values: &TensorData) -> &'static str {
    match values {
        TensorData::F32(_) => "f32",
        TensorData::I64(_) => "i64",
        TensorData::I32(_) => "i32",
        TensorData::Bool(_) => "bool",
        _ => "unknown",
    }
}
