//! The positions of media in a decoder's prompt: their tokens, their features and their numbers.

use alloquy_core::Result;
use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput};
use alloquy_engine::media_processor::{MediaGrid, MediaOutline, MediaPlaceholder};
use alloquy_model_files::HuggingFaceTokenizer;

use crate::error::model;

/// How many axes a multimodal rotary embedding has: time, height, width.
const AXES: usize = 3;

/// The positions of one piece of media.
#[derive(Debug, Default)]
pub(crate) struct MediaPositions {
    tokens: Vec<TokenId>,
    /// The feature at each position; `None` for a position of text.
    features: Vec<Option<u32>>,
    /// The numbers of each position, from 0; empty if they are consecutive.
    numbers: Vec<[i64; AXES]>,
    /// The number of the position after the media.
    next: i64,
    /// How many features there are.
    count: u32,
    is_numbered: bool,
}

impl MediaPositions {
    /// Makes the positions of an outline, for a decoder that numbers positions on so many axes.
    pub(crate) fn of(outline: &MediaOutline, tokenizer: &HuggingFaceTokenizer, axes: usize) -> Result<Self> {
        let mut media = Self { is_numbered: axes == AXES, ..Self::default() };
        for piece in &outline.pieces {
            match piece {
                MediaPlaceholder::Text(text) => {
                    media.add_text(&tokenizer.encode(&[TokenizerInput::Text(text)])?);
                }
                MediaPlaceholder::Positions { token, count, grid } => {
                    let Some(id) = tokenizer.token(token) else {
                        return Err(model(format!(
                            "the tokenizer has no token {token:?}, which marks media"
                        )));
                    };
                    media.add_features(id, *count, *grid)?;
                }
            }
        }
        Ok(media)
    }

    pub(crate) fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// Returns how many features it has.
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// Returns the difference between the number of the next position and the count of positions.
    pub(crate) fn shift(&self) -> i64 {
        self.next - self.tokens.len() as i64
    }

    pub(crate) fn feature(&self, position: usize) -> Option<usize> {
        self.features.get(position).copied().flatten().map(|feature| feature as usize)
    }

    /// Returns the number of a position on an axis, counted from the first position.
    pub(crate) fn number(&self, axis: usize, position: usize) -> i64 {
        let numbers = self.numbers.get(position).and_then(|numbers| numbers.get(axis));
        numbers.copied().unwrap_or(position as i64)
    }

    /// Returns approximately how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.tokens.len() * size_of::<(TokenId, Option<u32>)>() + size_of_val(self.numbers.as_slice())
    }

    fn add_text(&mut self, tokens: &[TokenId]) {
        self.tokens.extend_from_slice(tokens);
        self.features.resize(self.tokens.len(), None);
        self.number_text(tokens.len());
    }

    fn add_features(&mut self, token: TokenId, count: usize, grid: Option<MediaGrid>) -> Result<()> {
        self.tokens.resize(self.tokens.len() + count, token);
        let first = self.count;
        self.count = first.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        self.features.extend((first..self.count).map(Some));
        match grid.filter(|_| self.is_numbered) {
            Some(grid) if grid_positions(grid) == Some(count) => self.number_grid(grid),
            Some(MediaGrid { time, height, width, .. }) => {
                return Err(model(format!("media of {time} x {height} x {width} positions take {count}")));
            }
            None => self.number_text(count),
        }
        Ok(())
    }

    /// Gives positions consecutive numbers, the same on all axes.
    fn number_text(&mut self, count: usize) {
        let end = self.next + count as i64;
        if self.is_numbered {
            self.numbers.extend((self.next..end).map(|number| [number; AXES]));
        }
        self.next = end;
    }

    /// Numbers positions by their time, row and column. The positions after them continue after the longer of the two sides,
    /// however long a video is: `get_rope_index` of transformers 5.23 does so. In the paper on Qwen2-VL, section 2.1, they
    /// continue after the highest of all numbers.
    ///
    /// For example, an image of 2 by 3 positions from number 5 on gives `[5, 5, 5] [5, 5, 6] [5, 5, 7] [5, 6, 5] [5, 6, 6]
    /// [5, 6, 7]`, and the next position has number 8.
    fn number_grid(&mut self, grid: MediaGrid) {
        let start = self.next;
        for time in 0..grid.time {
            // In single precision, like the reference.
            let time = start + (time as f32 * grid.time_step as f32) as i64;
            for row in 0..grid.height as i64 {
                let columns = 0..grid.width as i64;
                self.numbers.extend(columns.map(|column| [time, start + row, start + column]));
            }
        }
        self.next = start + grid.height.max(grid.width) as i64;
    }
}

/// Returns how many positions a grid has; `None` if the number overflows.
fn grid_positions(grid: MediaGrid) -> Option<usize> {
    grid.time.checked_mul(grid.height)?.checked_mul(grid.width)
}
