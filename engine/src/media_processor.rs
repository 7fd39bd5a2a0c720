//! Media processors: tensors of an image, an audio clip or a video for an encoder, and its place in a prompt. Knows no file format
//! and no model.

use std::fmt::Debug;

use alloquy_core::Result;
use alloquy_core::media::{Digest, Media, MediaKind};
use alloquy_core::report::Warning;

/// Makes tensors of media for the encoders of one model, and their outline in a prompt.
///
/// An engine that has one accepts [`PromptUnit::Media`](alloquy_core::prompt::PromptUnit::Media). The outline has the texts around the media,
/// which the prompt needs, and the positions, which the session needs.
///
/// # Contract
/// The same media give the same outline and the same tensors, and nothing but their bytes is read. The outline has as many
/// positions as the encoder returns features for the tensors. Media may come from an attacker, so limits are checked before
/// anything is decoded. [`Media::frames`] of a video are one piece of media.
///
/// ```
/// use alloquy_core::{Media, Result};
/// use alloquy_core::media::{Digest, MediaKind};
/// use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaProcessor, MediaTensor, TensorData};
///
/// /// Makes a tensor of the first byte of an image.
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
///         Ok(MediaOutline::of(MediaPlaceholder::positions("<image>", 1)))
///     }
///
///     fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
///         let first = media.bytes().and_then(|bytes| bytes.first()).copied().unwrap_or_default();
///         let values = TensorData::F32(vec![f32::from(first)]);
///         Ok(vec![MediaTensor { name: "pixel_values".into(), shape: vec![1, 1], values }])
///     }
/// }
///
/// let image = Media::new("image/png", vec![7, 8]);
/// assert_eq!(FirstByte.outline(&image)?.pieces.len(), 1);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub trait MediaProcessor: Send + Sync + Debug {
    /// Returns the identity of the processor: two with the same identity make the same tensors of the same media.
    ///
    /// Features and session states are kept under it. So it covers all that can change a number: the version of the processor,
    /// its options, and the files that it was made from.
    fn identity(&self) -> Digest;

    /// Returns the kinds of media that the model accepts.
    fn kinds(&self) -> &[MediaKind];

    /// Returns the texts and positions of the media in a prompt.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](alloquy_core::ErrorKind::Unsupported) for media of a kind or a format that is not accepted,
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for media that are damaged, empty, beyond a limit, or
    /// without their bytes.
    fn outline(&self, media: &Media) -> Result<MediaOutline>;

    /// Returns the tensors for the encoder of their kind.
    ///
    /// # Errors
    /// As [`MediaProcessor::outline`].
    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>>;
}

/// The texts and positions of one piece of media in a prompt.
///
/// [`MediaProcessor`] has an example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediaOutline {
    /// Text before the first position. It is encoded together with the text before it in the prompt.
    pub before: String,
    /// The positions, and the texts between them. The first and the last are positions.
    pub pieces: Vec<MediaPlaceholder>,
    /// Text after the last position. It is encoded together with the text that follows.
    pub after: String,
    /// What was changed in the media, such as fewer pixels.
    pub warnings: Vec<Warning>,
}

impl MediaOutline {
    /// Creates an outline of one run of positions.
    pub fn of(piece: MediaPlaceholder) -> Self {
        Self { pieces: vec![piece], ..Self::default() }
    }

    /// Returns how many positions the encoder's features take.
    pub fn features(&self) -> usize {
        let mut features = 0;
        for piece in &self.pieces {
            if let MediaPlaceholder::Positions { count, .. } = piece {
                features += count;
            }
        }
        features
    }
}

/// A piece of a [`MediaOutline`].
///
/// [`MediaProcessor`] has an example.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaPlaceholder {
    /// Text between positions; control tokens in it count as such.
    Text(String),
    /// Positions that take the encoder's next features.
    Positions {
        /// The text of the token at each of them, such as `<|image_pad|>`.
        token: String,
        /// How many there are.
        count: usize,
        /// Their rows and columns in the image and in time, for models whose position ids depend on these.
        grid: Option<MediaGrid>,
    },
}

impl MediaPlaceholder {
    /// Creates positions without a grid.
    pub fn positions(token: impl Into<String>, count: usize) -> Self {
        Self::Positions { token: token.into(), count, grid: None }
    }
}

/// The rows and columns of features, in the order row by row, image by image.
///
/// ```
/// use alloquy_engine::media_processor::{MediaGrid, MediaOutline, MediaPlaceholder};
///
/// // An image with two rows and three columns of features.
/// let grid = MediaGrid { time: 1, height: 2, width: 3, time_step: 1.0 };
/// let token = "<|image_pad|>".to_owned();
/// let piece = MediaPlaceholder::Positions { token, count: 6, grid: Some(grid) };
/// assert_eq!(MediaOutline::of(piece).features(), 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaGrid {
    /// How many images, or groups of images, there are in time.
    pub time: usize,
    /// How many rows of features each has.
    pub height: usize,
    /// How many columns.
    pub width: usize,
    /// The distance of position ids in time: 1 for images, and what the model's files define for videos.
    pub time_step: f64,
}

/// A tensor for an encoder.
///
/// [`MediaProcessor`] has an example.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaTensor {
    /// Its name in Hugging Face's processors, such as `pixel_values`.
    pub name: String,
    /// How long each axis is, the outermost first.
    pub shape: Vec<usize>,
    /// The values, in row-major order.
    pub values: TensorData,
}

/// The values of a [`MediaTensor`].
///
/// [`MediaProcessor`] has an example.
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
