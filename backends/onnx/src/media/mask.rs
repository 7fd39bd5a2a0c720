//! What an encoder of sounds means by true in its mask. Knows no session and no position.
//!
//! Processors mark with true what is sound, and a model inverts that before its encoder has it. An export may hold the model's
//! part, or the encoder's alone, under the same name; so the graph is asked, once.

use alloquy_engine::media_processor::{MediaTensor, TensorData};

/// What stands where a mask is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrueIs {
    Sound,
    Padding,
}

/// How many frames the graph is asked with at most: about a second.
const FRAMES: usize = 96;

impl TrueIs {
    /// Says what true is, by whether anything is heard of two sounds that true stands beside everywhere.
    pub(super) fn told_by(one: &[f32], other: &[f32]) -> Self {
        match one == other {
            true => Self::Padding,
            false => Self::Sound,
        }
    }

    /// Returns a tensor as the encoder has it.
    pub(super) fn masked(self, tensor: MediaTensor) -> MediaTensor {
        match (self, tensor.values) {
            (Self::Padding, TensorData::Bool(mask)) => {
                let values = TensorData::Bool(mask.into_iter().map(|is_sound| !is_sound).collect());
                MediaTensor { values, ..tensor }
            }
            (_, values) => MediaTensor { values, ..tensor },
        }
    }
}

/// Says whether any of the tensors is a mask of truth values.
pub(super) fn is_masked(tensors: &[MediaTensor]) -> bool {
    tensors.iter().any(|tensor| matches!(tensor.values, TensorData::Bool(_)))
}

/// The beginning of a sound, or where an axis is fixed all of it, with true beside all; and another sound of that length.
pub(super) fn questions(
    tensors: &[MediaTensor],
    is_fixed: impl Fn(&MediaTensor) -> bool,
) -> [Vec<MediaTensor>; 2] {
    let begun = |tensor: &MediaTensor| match is_fixed(tensor) {
        true => tensor.clone(),
        false => beginning(tensor),
    };
    let one: Vec<_> = tensors.iter().map(|tensor| answerable(begun(tensor))).collect();
    let other = one.iter().cloned().map(changed).collect();
    [one, other]
}

/// The first frames of the first stretch; of what has no frames, all.
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

fn answerable(tensor: MediaTensor) -> MediaTensor {
    match tensor.values {
        TensorData::Bool(mask) => MediaTensor { values: TensorData::Bool(vec![true; mask.len()]), ..tensor },
        values => MediaTensor { values, ..tensor },
    }
}

/// Adds a pattern that no normalisation takes out again.
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

    fn sound() -> Vec<MediaTensor> {
        let features = TensorData::F32((0..2 * 100 * 3).map(|index| index as f32).collect());
        let mask = TensorData::Bool((0..200).map(|index| index % 100 < 90).collect());
        vec![
            MediaTensor { name: "input_features".into(), shape: vec![2, 100, 3], values: features },
            MediaTensor { name: "input_features_mask".into(), shape: vec![2, 100], values: mask },
        ]
    }

    #[test]
    fn a_graph_is_asked_with_the_beginning_where_it_takes_that() {
        for (is_fixed, stretches, frames) in [(true, 2, 100), (false, 1, FRAMES)] {
            let [one, other] = questions(&sound(), |_| is_fixed);
            for asked in [&one, &other] {
                assert_eq!(
                    (&asked[0].shape, &asked[1].shape),
                    (&vec![stretches, frames, 3], &vec![stretches, frames])
                );
                assert_eq!(asked[1].values, TensorData::Bool(vec![true; stretches * frames]));
            }
            assert_ne!(one[0], other[0]);
        }
    }

    #[test]
    fn a_mask_is_turned_around_where_true_is_padding() {
        let mask = |values: [bool; 2]| MediaTensor {
            name: "mask".into(),
            shape: vec![1, 2],
            values: TensorData::Bool(values.to_vec()),
        };
        assert_eq!(TrueIs::told_by(&[1.0], &[2.0]).masked(mask([true, false])), mask([true, false]));
        assert_eq!(TrueIs::told_by(&[1.0], &[1.0]).masked(mask([true, false])), mask([false, true]));
    }
}
