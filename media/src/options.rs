//! What a host settles about media, and the limits that hold before anything is decoded.

#[cfg(feature = "audio")]
use crate::audio::AudioOptions;

/// How media are made into tensors. The default is what the model's publishers run, with limits.
///
/// ```
/// # #[cfg(feature = "image")] {
/// use alloquy_media::{AlphaHandling, ImageBackend, MediaOptions};
///
/// let options = MediaOptions::default().backend(ImageBackend::Pillow).pan_and_scan(true);
/// let options = options.alpha(AlphaHandling::Drop);
/// assert_eq!(options.limits.pixels, 100_000_000);
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "image"), derive(Default))]
#[non_exhaustive]
pub struct MediaOptions {
    /// What is refused before it is decoded.
    #[cfg(feature = "image")]
    pub limits: MediaLimits,
    /// Whose resizing is followed to the bit.
    #[cfg(feature = "image")]
    pub backend: ImageBackend,
    /// How transparency is handled. `None` does as the model's processor: LFM2-VL's drops it, all others put the image on white.
    #[cfg(feature = "image")]
    pub alpha: Option<AlphaHandling>,
    /// Whether Gemma 3 looks at crops of wide and tall images too; `None` leaves it to the model's files.
    #[cfg(feature = "image")]
    pub pan_and_scan: Option<bool>,
    /// The most pixels of an image or a frame for Qwen-VL. The bound of the model's files applies for `None`. They allow 12,845,056
    /// and more: a photograph of 12 megapixels takes 15,552 positions. An image that is made smaller for the cap is reported as [`Warning::PixelsCapped`](alloquy_core::report::Warning::PixelsCapped).
    #[cfg(feature = "image")]
    pub pixel_cap: Option<usize>,
    /// How many positions an image may take in Gemma 4: 70, 140, 280, 560 or 1120. `None` leaves it to the model's files.
    #[cfg(feature = "image")]
    pub visual_tokens: Option<usize>,
    /// How many frames of a video a second has where the frames do not say when they are shown. 24 is what Hugging Face's
    /// processors assume.
    #[cfg(feature = "image")]
    pub frames_per_second: f64,
    /// What holds for audio.
    #[cfg(feature = "audio")]
    pub audio: AudioOptions,
}

#[cfg(feature = "image")]
impl Default for MediaOptions {
    fn default() -> Self {
        Self {
            limits: MediaLimits::default(),
            backend: ImageBackend::default(),
            alpha: None,
            pan_and_scan: None,
            pixel_cap: Some(PIXEL_CAP),
            visual_tokens: None,
            frames_per_second: 24.0,
            #[cfg(feature = "audio")]
            audio: AudioOptions::default(),
        }
    }
}

/// 4,096 positions of Qwen2.5-VL, 3,136 of Qwen3-VL: an image of 1920 x 1080 goes in whole.
#[cfg(feature = "image")]
const PIXEL_CAP: usize = 4_096 * 28 * 28;

/// What holds for images and videos.
#[cfg(feature = "image")]
impl MediaOptions {
    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: MediaLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whose resizing is followed.
    #[must_use]
    pub fn backend(mut self, backend: ImageBackend) -> Self {
        self.backend = backend;
        self
    }

    /// Sets what becomes of transparency.
    #[must_use]
    pub fn alpha(mut self, alpha: AlphaHandling) -> Self {
        self.alpha = Some(alpha);
        self
    }

    /// Sets whether Gemma 3 looks at crops too.
    #[must_use]
    pub fn pan_and_scan(mut self, pan_and_scan: bool) -> Self {
        self.pan_and_scan = Some(pan_and_scan);
        self
    }

    /// Sets the most pixels of an image for Qwen-VL; `None` for what the model's files allow.
    #[must_use]
    pub fn pixel_cap(mut self, pixels: Option<usize>) -> Self {
        self.pixel_cap = pixels;
        self
    }

    /// Sets how many positions an image may take in Gemma 4.
    #[must_use]
    pub fn visual_tokens(mut self, positions: usize) -> Self {
        self.visual_tokens = Some(positions);
        self
    }

    /// Sets how many frames a second has where the frames do not say.
    #[must_use]
    pub fn frames_per_second(mut self, frames: f64) -> Self {
        self.frames_per_second = frames;
        self
    }
}

/// What holds for audio.
#[cfg(feature = "audio")]
impl MediaOptions {
    /// Sets what holds for audio.
    #[must_use]
    pub fn audio(mut self, audio: AudioOptions) -> Self {
        self.audio = audio;
        self
    }
}

/// What is refused by its header alone.
///
/// ```
/// let limits = alloquy_media::MediaLimits { pixels: 1_000_000, ..Default::default() };
/// assert_eq!(limits.bytes, 64 << 20);
/// ```
#[cfg(feature = "image")]
#[derive(Clone, Debug, PartialEq)]
pub struct MediaLimits {
    /// How many bytes a file may have: 64 MiB.
    pub bytes: usize,
    /// How many pixels an image may have: 100 million. A decoded image takes four bytes for each at most, so that one
    /// with 16 bits a channel may have half as many.
    pub pixels: usize,
    /// How many times longer one side of an image may be than the other: 10,000.
    pub ratio: usize,
    /// How many frames a video may have: 1,024.
    pub frames: usize,
}

#[cfg(feature = "image")]
impl Default for MediaLimits {
    fn default() -> Self {
        Self { bytes: 64 << 20, pixels: 100_000_000, ratio: 10_000, frames: 1_024 }
    }
}

/// Whose resizing and rounding are followed to the bit. They differ by two levels of 255 at most.
#[cfg(feature = "image")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageBackend {
    /// torchvision's, which Hugging Face's processors use by default.
    #[default]
    Torchvision,
    /// Pillow's up to 12.1: the horizontal pass first.
    Pillow,
}

/// What becomes of transparency.
///
/// [`MediaOptions`] has an example.
#[cfg(feature = "image")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlphaHandling {
    /// The image lies on white.
    #[default]
    White,
    /// The colours are taken as they are, hidden ones too.
    Drop,
}
