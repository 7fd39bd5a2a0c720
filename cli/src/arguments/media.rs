//! How media are read before a model is shown them. Reads none.

use std::time::Duration;

use alloquy::ModelBuilder;
use alloquy::media::{AlphaHandling, AudioLimits, AudioOptions, ImageBackend, MediaLimits, MediaOptions};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::names;
use crate::limits::{count, number};

/// What models that see and hear are fed, and what is refused.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Media")]
pub(crate) struct MediaSettings {
    /// How many pixels Qwen-VL is fed of a picture or a frame at most; 3211264 unless set, which become 4,096 positions of
    /// Qwen2.5-VL. 0 leaves it to the model's files
    #[arg(long, value_name = "N", env = "ALLOQUY_PIXEL_CAP", value_parser = count::<usize>("pixel-cap"))]
    pub(crate) pixel_cap: Option<usize>,

    /// How many positions Gemma 4 gives a picture at most: 70, 140, 280, 560 or 1120; what the model's files say unless
    /// set
    #[arg(long, value_name = "N", env = "ALLOQUY_VISUAL_TOKENS", value_parser = count::<usize>("visual-tokens"))]
    pub(crate) visual_tokens: Option<usize>,

    /// Whether Gemma 3 looks at crops of wide and tall pictures too, each as many positions as the picture: on or off; what
    /// the model's files say unless set
    #[arg(long, value_enum, value_name = "WHEN", env = "ALLOQUY_PAN_AND_SCAN", hide_possible_values = true)]
    pub(crate) pan_and_scan: Option<PanAndScan>,

    /// Whose resizing of pictures is followed to the bit: torchvision, as Hugging Face's processors by default, or pillow;
    /// torchvision unless set
    #[arg(long, value_enum, value_name = "NAME", env = "ALLOQUY_IMAGE_BACKEND", hide_possible_values = true)]
    pub(crate) image_backend: Option<Backend>,

    /// What becomes of transparency: white lays pictures on white, drop shows the colours under it; what the model's
    /// processor does unless set
    #[arg(long, value_enum, value_name = "HOW", env = "ALLOQUY_ALPHA", hide_possible_values = true)]
    pub(crate) alpha: Option<Transparency>,

    /// How many frames a second of a film has whose frames do not say when they are shown; 24 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_FRAMES_PER_SECOND", value_parser = number("frames-per-second"))]
    pub(crate) frames_per_second: Option<f64>,

    /// Refuse pictures and sounds of more bytes; 67108864 (64 MiB) unless set, and at most
    #[arg(long, value_name = "N", env = "ALLOQUY_MEDIA_BYTES", value_parser = count::<u64>("media-bytes"))]
    pub(crate) media_bytes: Option<u64>,

    /// Refuse pictures of more pixels, before they are decoded; 100000000 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_MEDIA_PIXELS", value_parser = count::<usize>("media-pixels"))]
    pub(crate) media_pixels: Option<usize>,

    /// Refuse sounds of more seconds, before they are decoded; 600 unless set
    #[arg(long, value_name = "SECONDS", env = "ALLOQUY_MEDIA_SECONDS", value_parser = count::<u64>("media-seconds"))]
    pub(crate) media_seconds: Option<u64>,

    /// What computes the encoder of pictures and films, as --provider has it; what the decoder is asked for unless set
    #[arg(long, value_name = "NAME", env = "ALLOQUY_VISION_PROVIDER")]
    pub(crate) vision_provider: Option<String>,

    /// What computes the encoder of sounds, as --provider has it; what the decoder is asked for unless set
    #[arg(long, value_name = "NAME", env = "ALLOQUY_AUDIO_PROVIDER")]
    pub(crate) audio_provider: Option<String>,

    /// How many bytes of what encoders gave are kept, so that what is shown again is not encoded again; 268435456 (256 MiB)
    /// unless set, 0 keeps none
    #[arg(long, value_name = "N", env = "ALLOQUY_MEDIA_CACHE", value_parser = count::<usize>("media-cache"))]
    pub(crate) media_cache: Option<usize>,
}

/// Whether crops are looked at.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PanAndScan {
    On,
    Off,
}

/// Whose resizing is followed.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Backend {
    Torchvision,
    Pillow,
}

/// What becomes of transparency.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transparency {
    White,
    Drop,
}

impl MediaSettings {
    /// Returns how media are made into tensors.
    fn options(&self) -> MediaOptions {
        let usual = MediaOptions::default();
        let cap = self.pixel_cap.map_or(usual.pixel_cap, |pixels| Some(pixels).filter(|pixels| *pixels > 0));
        let frames = self.frames_per_second.unwrap_or(usual.frames_per_second);
        let options = usual
            .limits(self.limits())
            .pixel_cap(cap)
            .frames_per_second(frames)
            .audio(AudioOptions { limits: self.audio_limits(), ..AudioOptions::default() });
        let options = self.visual_tokens.into_iter().fold(options, MediaOptions::visual_tokens);
        let scanned = self.pan_and_scan.map(|when| when == PanAndScan::On);
        let options = scanned.into_iter().fold(options, MediaOptions::pan_and_scan);
        let options = self.image_backend.map(Into::into).into_iter().fold(options, MediaOptions::backend);
        self.alpha.map(Into::into).into_iter().fold(options, MediaOptions::alpha)
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

    /// Adds to a model how its media are read, what runs its encoders, and what is kept of them.
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
