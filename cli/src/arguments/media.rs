//! Options for reading media. Reads none.

use std::time::Duration;

use alloquy::ModelBuilder;
use alloquy::media::{AlphaHandling, AudioLimits, AudioOptions, ImageBackend, MediaLimits, MediaOptions};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::names;
use crate::limits::{count, number};

/// How media are prepared for models that accept them, and which are refused.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Media")]
pub(crate) struct MediaSettings {
    /// How many pixels Qwen-VL is fed of an image or a frame at most; 3211264 unless set, which become 4,096 positions of
    /// Qwen2.5-VL. 0 leaves it to the model's files
    #[arg(long, value_name = "N", env = "ALLOQUY_PIXEL_CAP", value_parser = count::<usize>("pixel-cap"))]
    pub(crate) pixel_cap: Option<usize>,

    /// How many positions Gemma 4 gives an image at most: 70, 140, 280, 560 or 1120; what the model's files say unless
    /// set
    #[arg(long, value_name = "N", env = "ALLOQUY_VISUAL_TOKENS", value_parser = count::<usize>("visual-tokens"))]
    pub(crate) visual_tokens: Option<usize>,

    /// Whether Gemma 3 looks at crops of wide and tall images too, each as many positions as the image: on or off; what
    /// the model's files say unless set
    #[arg(long, value_enum, value_name = "WHEN", env = "ALLOQUY_PAN_AND_SCAN", hide_possible_values = true)]
    pub(crate) pan_and_scan: Option<PanAndScan>,

    /// The library whose resizing of images is reproduced to the bit: torchvision, as Hugging Face's processors by default,
    /// or pillow; torchvision unless set
    #[arg(long, value_enum, value_name = "NAME", env = "ALLOQUY_IMAGE_BACKEND", hide_possible_values = true)]
    pub(crate) image_backend: Option<Backend>,

    /// What happens to transparency: white lays images on white, drop shows the colours under it; what the model's
    /// processor does unless set
    #[arg(long, value_enum, value_name = "HOW", env = "ALLOQUY_ALPHA", hide_possible_values = true)]
    pub(crate) alpha: Option<Transparency>,

    /// How many frames a second of a video has whose frames do not say when they are shown; 24 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_FRAMES_PER_SECOND", value_parser = number("frames-per-second"))]
    pub(crate) frames_per_second: Option<f64>,

    /// Refuse images and audio clips of more bytes; 67108864 (64 MiB) unless set, and at most
    #[arg(long, value_name = "N", env = "ALLOQUY_MEDIA_BYTES", value_parser = count::<u64>("media-bytes"))]
    pub(crate) media_bytes: Option<u64>,

    /// Refuse images of more pixels, before they are decoded; 100000000 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_MEDIA_PIXELS", value_parser = count::<usize>("media-pixels"))]
    pub(crate) media_pixels: Option<usize>,

    /// Refuse audio clips of more seconds, before they are decoded; 600 unless set
    #[arg(long, value_name = "SECONDS", env = "ALLOQUY_MEDIA_SECONDS", value_parser = count::<u64>("media-seconds"))]
    pub(crate) media_seconds: Option<u64>,

    /// What computes the encoder of images and videos, as for --provider; the decoder's providers unless set
    #[arg(long, value_name = "NAME", env = "ALLOQUY_VISION_PROVIDER")]
    pub(crate) vision_provider: Option<String>,

    /// What computes the encoder of audio, as for --provider; the decoder's providers unless set
    #[arg(long, value_name = "NAME", env = "ALLOQUY_AUDIO_PROVIDER")]
    pub(crate) audio_provider: Option<String>,

    /// How many bytes of encoded media are cached, so that nothing is encoded twice; 268435456 (256 MiB) unless set, 0 caches
    /// none
    #[arg(long, value_name = "N", env = "ALLOQUY_MEDIA_CACHE", value_parser = count::<usize>("media-cache"))]
    pub(crate) media_cache: Option<usize>,
}

/// Whether crops of an image are encoded too.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PanAndScan {
    On,
    Off,
}

/// The library whose resizing is reproduced.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Backend {
    Torchvision,
    Pillow,
}

/// What happens to transparency.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transparency {
    White,
    Drop,
}

impl MediaSettings {
    /// Returns the options for converting media into tensors.
    fn options(&self) -> MediaOptions {
        let mut options = MediaOptions::default()
            .limits(self.limits())
            .audio(AudioOptions { limits: self.audio_limits(), ..AudioOptions::default() });
        if let Some(pixels) = self.pixel_cap {
            options = options.pixel_cap(if pixels == 0 { None } else { Some(pixels) });
        }
        if let Some(frames) = self.frames_per_second {
            options = options.frames_per_second(frames);
        }
        if let Some(tokens) = self.visual_tokens {
            options = options.visual_tokens(tokens);
        }
        if let Some(when) = self.pan_and_scan {
            options = options.pan_and_scan(when == PanAndScan::On);
        }
        if let Some(backend) = self.image_backend {
            options = options.backend(backend.into());
        }
        if let Some(alpha) = self.alpha {
            options = options.alpha(alpha.into());
        }
        options
    }

    fn limits(&self) -> MediaLimits {
        let usual = MediaLimits::default();
        MediaLimits {
            bytes: self.bytes().unwrap_or(usual.bytes),
            pixels: self.media_pixels.unwrap_or(usual.pixels),
            ..usual
        }
    }

    fn audio_limits(&self) -> AudioLimits {
        let usual = AudioLimits::default();
        AudioLimits {
            bytes: self.bytes().unwrap_or(usual.bytes),
            duration: self.media_seconds.map_or(usual.duration, Duration::from_secs),
            ..usual
        }
    }

    fn bytes(&self) -> Option<usize> {
        self.media_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Adds to a model the options for its media, the providers of its encoders, and the size of its media cache.
    pub(crate) fn added_to(&self, builder: ModelBuilder) -> ModelBuilder {
        let mut builder = builder.media(self.options());
        if let Some(providers) = &self.vision_provider {
            builder = builder.vision_providers(names(providers));
        }
        if let Some(providers) = &self.audio_provider {
            builder = builder.audio_providers(names(providers));
        }
        if let Some(bytes) = self.media_cache {
            builder = builder.media_cache(bytes);
        }
        builder
    }
}

impl From<Backend> for ImageBackend {
    fn from(backend: Backend) -> Self {
        match backend {
            Backend::Torchvision => Self::Torchvision,
            Backend::Pillow => Self::Pillow,
        }
    }
}

impl From<Transparency> for AlphaHandling {
    fn from(transparency: Transparency) -> Self {
        match transparency {
            Transparency::White => Self::White,
            Transparency::Drop => Self::Drop,
        }
    }
}
