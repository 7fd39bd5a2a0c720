//! Processors that do not fit their model, or make more than one segment of positions.

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::{Media, Result};
use alloquy_engine::media_processor::{
    MediaGrid, MediaOutline, MediaPlaceholder, MediaProcessor, MediaTensor,
};

use super::tiny::Family;

/// The way in which a processor of Gemma 3 is odd.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Odd {
    /// Another name for its tensor.
    Name(&'static str),
    /// Another number of positions.
    Count(usize),
    /// A token that the tokenizer does not have.
    Token,
    /// A tensor of another shape.
    Shape,
    /// No position at all.
    Nothing,
    /// A grid with another number of positions.
    Grid,
    /// Two halves, with a text between them.
    Halves,
}

impl MediaProcessor for Odd {
    fn identity(&self) -> Digest {
        Digest::of(format!("{self:?}").as_bytes())
    }

    fn kinds(&self) -> &[MediaKind] {
        &[MediaKind::Image]
    }

    fn outline(&self, media: &Media) -> Result<MediaOutline> {
        let soft = |count| MediaPlaceholder::positions("<image_soft_token>", count);
        match self {
            Self::Count(count) => Ok(MediaOutline::of(soft(*count))),
            Self::Token => Ok(MediaOutline::of(MediaPlaceholder::positions("<no such token>", 4))),
            Self::Grid => Ok(MediaOutline::of(MediaPlaceholder::Positions {
                token: "<|image_pad|>".into(),
                count: 6,
                grid: Some(MediaGrid { time: 1, height: 2, width: 2, time_step: 1.0 }),
            })),
            Self::Nothing => Ok(MediaOutline::default()),
            Self::Halves => {
                let pieces = vec![soft(2), MediaPlaceholder::Text("<start_of_image>".into()), soft(2)];
                Ok(MediaOutline { pieces, ..MediaOutline::default() })
            }
            _ => Family::Gemma3.outline(media),
        }
    }

    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
        let mut tensors = Family::Gemma3.tensors(media)?;
        match self {
            Self::Name(name) => tensors[0].name = (*name).to_owned(),
            Self::Shape => tensors[0].shape = vec![3, 56, 56],
            _ => {}
        }
        Ok(tensors)
    }
}
