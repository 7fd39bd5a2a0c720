//! A media processor with one position for each byte.

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::report::Warning;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::media_processor::{
    MediaOutline, MediaPlaceholder, MediaProcessor, MediaTensor, TensorData,
};

/// Shows a model the bytes of media, a position each, between `<begin>` and `<finish>`.
///
/// A video has those of all its images. Bytes beyond the first [`ScriptedMedia::MOST`] are left out, which the outline
/// reports.
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
    /// Accepts every kind.
    fn default() -> Self {
        Self::of(MediaKind::ALL)
    }
}

impl ScriptedMedia {
    /// How many bytes of media are used.
    pub const MOST: usize = 100;

    /// The control tokens before media, at their positions and after them, and the one that a template prints for media.
    pub(crate) const SPECIALS: [&str; 4] = ["<begin>", "<soft>", "<finish>", "<media>"];

    /// Accepts these kinds.
    pub fn of(kinds: impl IntoIterator<Item = MediaKind>) -> Self {
        Self { kinds: kinds.into_iter().collect() }
    }

    fn bytes(&self, media: &Media) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for piece in media.frames().unwrap_or(std::slice::from_ref(media)) {
            let Some(loaded) = piece.bytes() else { return Err(not_loaded()) };
            bytes.extend_from_slice(loaded);
        }
        if bytes.is_empty() { Err(not_loaded()) } else { Ok(bytes) }
    }
}

fn not_loaded() -> Error {
    Error::new(ErrorKind::Invalid, "no bytes are loaded")
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
        let capped = Warning::PixelsCapped { media: media.digest(), wanted, taken };
        Ok(MediaOutline {
            before: "\n<begin>".to_owned(),
            after: "<finish>\n".to_owned(),
            warnings: (taken < wanted).then_some(capped).into_iter().collect(),
            ..MediaOutline::of(MediaPlaceholder::positions("<soft>", taken))
        })
    }

    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
        let values: Vec<_> = self.bytes(media)?.into_iter().take(Self::MOST).map(f32::from).collect();
        let shape = vec![1, values.len()];
        let values = TensorData::F32(values);
        Ok(vec![MediaTensor { name: "pixel_values".to_owned(), shape, values }])
    }
}
