//! Finds out what true means in the mask of an audio encoder.
//!
//! Processors mark audio with true, and a model inverts the mask before its encoder gets it. An export may contain that part of
//! the model or only the encoder, with the same names. So the graph is tested once, at the first audio clip.

use alloquy_engine::media_processor::{MediaTensor, TensorData};

/// What a mask marks with true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrueIs {
    Audio,
    Padding,
}

/// The most frames of a clip that the graph is tested with: about a second.
const FRAMES: usize = 96;

impl TrueIs {
    /// Returns the meaning of true, from the features of two different clips whose masks are true everywhere. Equal features mean
    /// that the encoder ignored both clips as padding.
    pub(super) fn of_features(one: &[f32], other: &[f32]) -> Self {
        if one == other { Self::Padding } else { Self::Audio }
    }

    /// Returns a tensor of the processor as the encoder takes it: a mask is inverted if true is padding.
    pub(super) fn masked(self, tensor: MediaTensor) -> MediaTensor {
        match (self, tensor.values) {
            (Self::Padding, TensorData::Bool(mask)) => {
                let values = TensorData::Bool(mask.into_iter().map(|is_audio| !is_audio).collect());
                MediaTensor { values, ..tensor }
            }
            (_, values) => MediaTensor { values, ..tensor },
        }
    }
}

/// Returns whether any of the tensors is a mask of booleans.
pub(super) fn is_masked(tensors: &[MediaTensor]) -> bool {
    tensors.iter().any(|tensor| matches!(tensor.values, TensorData::Bool(_)))
}

/// Returns two clips that show what true means: the start of a clip, or all of it where an axis is fixed, with a mask of true; and the same with other
/// samples.
pub(super) fn probe_clips(
    tensors: &[MediaTensor],
    is_fixed: impl Fn(&MediaTensor) -> bool,
) -> [Vec<MediaTensor>; 2] {
    let mut one = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        let start = if is_fixed(tensor) { tensor.clone() } else { beginning(tensor) };
        one.push(all_true(start));
    }
    let other = one.iter().cloned().map(changed).collect();
    [one, other]
}

/// Returns the first frames of the first segment; a tensor without frames is returned whole.
fn beginning(tensor: &MediaTensor) -> MediaTensor {
    let MediaTensor { name, shape, values } = tensor;
    let [_, frames, rest @ ..] = shape.as_slice() else { return tensor.clone() };
    let frames = (*frames).min(FRAMES);
    let count = frames * rest.iter().product::<usize>();
    let values = match values {
        TensorData::F32(values) => TensorData::F32(values.iter().take(count).copied().collect()),
        TensorData::Bool(values) => TensorData::Bool(values.iter().take(count).copied().collect()),
        _ => return tensor.clone(),
    };
    MediaTensor { name: name.clone(), shape: [&[1, frames], rest].concat(), values }
}

/// Sets all of a mask to true.
fn all_true(tensor: MediaTensor) -> MediaTensor {
    match tensor.values {
        TensorData::Bool(mask) => MediaTensor { values: TensorData::Bool(vec![true; mask.len()]), ..tensor },
        values => MediaTensor { values, ..tensor },
    }
}

/// Adds a pattern that no normalisation removes.
fn changed(tensor: MediaTensor) -> MediaTensor {
    match tensor.values {
        TensorData::F32(values) => {
            let added = values.iter().enumerate().map(|(index, value)| value + (index % 7) as f32);
            MediaTensor { values: TensorData::F32(added.collect()), ..tensor }
        }
        values => MediaTensor { values, ..tensor },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audio() -> Vec<MediaTensor> {
        let features = TensorData::F32((0..2 * 100 * 3).map(|index| index as f32).collect());
        let mask = TensorData::Bool((0..200).map(|index| index % 100 < 90).collect());
        vec![
            MediaTensor { name: "input_features".into(), shape: vec![2, 100, 3], values: features },
            MediaTensor { name: "input_features_mask".into(), shape: vec![2, 100], values: mask },
        ]
    }

    #[test]
    fn a_graph_is_tested_with_the_start_of_a_clip_where_it_takes_that() {
        for (is_fixed, segments, frames) in [(true, 2, 100), (false, 1, FRAMES)] {
            let [one, other] = probe_clips(&audio(), |_| is_fixed);
            for clip in [&one, &other] {
                assert_eq!(
                    (&clip[0].shape, &clip[1].shape),
                    (&vec![segments, frames, 3], &vec![segments, frames])
                );
                assert_eq!(clip[1].values, TensorData::Bool(vec![true; segments * frames]));
            }
            assert_ne!(one[0], other[0]);
        }
    }

    #[test]
    fn a_mask_is_inverted_if_true_is_padding() {
        let mask = |values: [bool; 2]| MediaTensor {
            name: "mask".into(),
            shape: vec![1, 2],
            values: TensorData::Bool(values.to_vec()),
        };
        assert_eq!(TrueIs::of_features(&[1.0], &[2.0]).masked(mask([true, false])), mask([true, false]));
        assert_eq!(TrueIs::of_features(&[1.0], &[1.0]).masked(mask([true, false])), mask([false, true]));
    }
}
