//! A media processor that follows from the bytes alone: a position a byte.

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::report::Degradation;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPiece, MediaProcessor, MediaTensor, TensorData};

/// Shows a model the bytes of media, a position each, between `<begin>` and `<finish>`.
///
/// A film has those of all its pictures. Beyond [`ScriptedMedia::MOST`] bytes the rest is left out, which is told.
///
/// ```
/// use alloquy_core::Media;
/// use alloquy_engine::media_processor::MediaProcessor;
/// use alloquy_testing::ScriptedMedia;
///
/// let outline = ScriptedMedia::default().outline(&Media::new("image/png", vec![1, 2, 3]))?;
/// assert_eq!((outline.before.as_str(), outline.features()), ("\n<begin>", 3));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedMedia {
    kinds: Vec<MediaKind>,
}

impl Default for ScriptedMedia {
    /// Takes every kind.
    fn default() -> Self {
        Self::of(MediaKind::ALL)
    }
}

impl ScriptedMedia {
    /// How many bytes are shown.
    pub const MOST: usize = 100;

    /// The control tokens that stand around media, at their positions, and where a template says that media go.
    pub(crate) const SPECIALS: [&str; 4] = ["<begin>", "<soft>", "<finish>", "<media>"];

    /// Takes these kinds.
    pub fn of(kinds: impl IntoIterator<Item = MediaKind>) -> Self {
        Self { kinds: kinds.into_iter().collect() }
    }

    fn bytes(&self, media: &Media) -> Result<Vec<u8>> {
        let damaged = || Error::new(ErrorKind::Invalid, "no bytes are loaded");
        let pieces = media.frames().unwrap_or(std::slice::from_ref(media)).iter();
        let bytes: Option<Vec<_>> = pieces.map(|piece| piece.bytes().map(|bytes| bytes.to_vec())).collect();
        let bytes = bytes.ok_or_else(damaged)?.concat();
        Some(bytes).filter(|bytes| !bytes.is_empty()).ok_or_else(damaged)
    }
}

impl MediaProcessor for ScriptedMedia {
    fn identity(&self) -> Digest {
        Digest::of(format!("scripted media {:?}", self.kinds).as_bytes())
    }

    fn kinds(&self) -> &[MediaKind] {
        &self.kinds
    }

    fn outline(&self, media: &Media) -> Result<MediaOutline> {
        let wanted = self.bytes(media)?.len();
        let taken = wanted.min(Self::MOST);
        let capped = Degradation::PixelsCapped { media: media.digest(), wanted, taken };
        Ok(MediaOutline {
            before: "\n<begin>".to_owned(),
            after: "<finish>\n".to_owned(),
            degradations: (taken < wanted).then_some(capped).into_iter().collect(),
            ..MediaOutline::of(MediaPiece::positions("<soft>", taken))
        })
    }

    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
        let values: Vec<_> = self.bytes(media)?.into_iter().take(Self::MOST).map(f32::from).collect();
        let (shape, values) = (vec![1, values.len()], TensorData::F32(values));
        Ok(vec![MediaTensor { name: "pixel_values".to_owned(), shape, values }])
    }
}
