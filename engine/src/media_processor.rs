//! What a model is fed of a picture, a sound or a film, and what stands for it in a prompt. Knows no file format and no model.

use std::fmt::Debug;

use alloquy_core::Result;
use alloquy_core::media::{Digest, Media, MediaKind};
use alloquy_core::report::Degradation;

/// Makes of media what the encoders of one model are fed.
///
/// An engine that has one takes [`Unit::Media`](alloquy_core::prompt::Unit::Media). The prompt is told what stands around the media, and
/// the session what stands for them; neither knows a picture from a sound.
///
/// # Contract
/// Pure: the same media give the same outline and the same tensors, and nothing but their bytes is read. The positions of
/// the outline are as many as the encoder gives features for the tensors. Media from outside are input that may be hostile:
/// limits are kept before anything is decoded. [`Media::frames`] of a film are one piece of media.
///
/// ```
/// use alloquy_core::{Media, Result};
/// use alloquy_core::media::{Digest, MediaKind};
/// use alloquy_engine::media_processor::{MediaOutline, MediaPiece, MediaProcessor, MediaTensor, TensorData};
///
/// /// Feeds the first byte of a picture.
/// #[derive(Debug)]
/// struct FirstByte;
///
/// impl MediaProcessor for FirstByte {
///     fn identity(&self) -> Digest {
///         Digest::of(b"the first byte, version 1")
///     }
///
///     fn kinds(&self) -> &[MediaKind] {
///         &[MediaKind::Image]
///     }
///
///     fn outline(&self, _: &Media) -> Result<MediaOutline> {
///         Ok(MediaOutline::of(MediaPiece::positions("<image>", 1)))
///     }
///
///     fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
///         let first = media.bytes().and_then(|bytes| bytes.first()).copied().unwrap_or_default();
///         let values = TensorData::F32(vec![f32::from(first)]);
///         Ok(vec![MediaTensor { name: "pixel_values".into(), shape: vec![1, 1], values }])
///     }
/// }
///
/// let picture = Media::new("image/png", vec![7, 8]);
/// assert_eq!(FirstByte.outline(&picture)?.pieces.len(), 1);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub trait MediaProcessor: Send + Sync + Debug {
    /// Returns what tells the processor from every other: two of one identity make the same of the same media.
    ///
    /// What an encoder gave and what a session computed are kept under it, so that whatever can change a number counts: the
    /// version of the processor, its options, the files that it was made from.
    fn identity(&self) -> Digest;

    /// Returns the kinds of media that the model takes.
    fn kinds(&self) -> &[MediaKind];

    /// Returns what stands for the media in a prompt.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](alloquy_core::ErrorKind::Unsupported) for media of a kind or a format that is not taken,
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for media that are damaged, empty or beyond a limit, and whose
    /// bytes are not loaded.
    fn outline(&self, media: &Media) -> Result<MediaOutline>;

    /// Returns what the encoder of their kind is fed.
    ///
    /// # Errors
    /// As [`MediaProcessor::outline`].
    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>>;
}

/// What stands for one piece of media in a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediaOutline {
    /// Text before the first position; it is encoded together with what stands before it in the prompt.
    pub before: String,
    /// The positions, and the texts between them. The first and the last are positions.
    pub pieces: Vec<MediaPiece>,
    /// Text behind the last position; it is encoded together with what follows.
    pub after: String,
    /// What was not done as the media would have it, such as fewer pixels.
    pub degradations: Vec<Degradation>,
}

impl MediaOutline {
    /// The outline of media for which one stretch of positions stands, and nothing else.
    pub fn of(piece: MediaPiece) -> Self {
        Self { pieces: vec![piece], ..Self::default() }
    }

    /// Returns how many positions the encoder's features take.
    pub fn features(&self) -> usize {
        let count = |piece: &MediaPiece| match piece {
            MediaPiece::Positions { count, .. } => *count,
            MediaPiece::Text(_) => 0,
        };
        self.pieces.iter().map(count).sum()
    }
}

/// A piece of a [`MediaOutline`].
#[derive(Clone, Debug, PartialEq)]
pub enum MediaPiece {
    /// Text between positions; control tokens in it count as such.
    Text(String),
    /// Positions that take the encoder's next features.
    Positions {
        /// The text of the token that stands at each of them, such as `<|image_pad|>`.
        token: String,
        /// How many there are.
        count: usize,
        /// How they lie in time and in the picture, for models that number positions by that.
        grid: Option<MediaGrid>,
    },
}

impl MediaPiece {
    /// Positions without a grid.
    pub fn positions(token: impl Into<String>, count: usize) -> Self {
        Self::Positions { token: token.into(), count, grid: None }
    }
}

/// How the features of a picture or a film lie: row by row, picture by picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaGrid {
    /// How many pictures, or groups of them, follow each other.
    pub time: usize,
    /// How many rows of features each has.
    pub height: usize,
    /// How many columns.
    pub width: usize,
    /// How far positions in time lie apart: 1 for pictures, what the model's numbering of films says for those.
    pub time_step: f64,
}

/// A tensor for an encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaTensor {
    /// What Hugging Face's processor calls it, such as `pixel_values`.
    pub name: String,
    /// How long each axis is, the outermost first.
    pub shape: Vec<usize>,
    /// The values, in row-major order.
    pub values: TensorData,
}

/// The values of a [`MediaTensor`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TensorData {
    /// Single precision.
    F32(Vec<f32>),
    /// Integers of 64 bits.
    I64(Vec<i64>),
    /// Integers of 32 bits.
    I32(Vec<i32>),
    /// Truth values.
    Bool(Vec<bool>),
}
