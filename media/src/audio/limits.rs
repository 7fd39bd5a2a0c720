//! How large an audio clip may be.

use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};

/// How large an audio clip may be. The limits are checked before it is decoded, and while it is.
///
/// ```
/// use alloquy_media::AudioLimits;
///
/// let limits = AudioLimits::default();
/// assert_eq!(limits.bytes, 64 << 20);
/// assert_eq!(limits.duration.as_secs(), 600);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioLimits {
    /// How many bytes the file may have: 64 MiB.
    pub bytes: usize,
    /// How long the audio may be: ten minutes.
    pub duration: Duration,
    /// How many samples one channel may have: 2²⁶, which are 23 minutes of 48 kHz and take 256 MiB.
    pub samples: usize,
    /// How many channels: 32.
    pub channels: usize,
}

impl Default for AudioLimits {
    fn default() -> Self {
        Self { bytes: 64 << 20, duration: Duration::from_secs(600), samples: 1 << 26, channels: 32 }
    }
}

/// The supported sample rates, in hertz.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=768_000;

impl AudioLimits {
    /// Returns how many samples of a channel are allowed at a rate.
    pub(super) fn samples_at(&self, rate: u32) -> usize {
        let samples = self.duration.as_micros() * u128::from(rate) / 1_000_000;
        usize::try_from(samples).unwrap_or(usize::MAX).min(self.samples)
    }

    pub(super) fn check_bytes(&self, bytes: usize) -> Result<()> {
        match bytes {
            0 => Err(invalid("the audio has no bytes")),
            _ if bytes > self.bytes => Err(invalid(format!(
                "the audio has {bytes} bytes, more than the {} that are taken",
                self.bytes
            ))),
            _ => Ok(()),
        }
    }

    pub(super) fn check_rate(rate: u32) -> Result<()> {
        if RATES.contains(&rate) {
            return Ok(());
        }
        let low = RATES.start();
        let high = RATES.end();
        Err(invalid(format!("the audio has a sample rate of {rate} Hz, and {low} to {high} Hz are taken")))
    }

    pub(super) fn check_channels(&self, channels: usize) -> Result<()> {
        if (1..=self.channels).contains(&channels) {
            return Ok(());
        }
        Err(invalid(format!("the audio has {channels} channels, and 1 to {} are taken", self.channels)))
    }

    pub(super) fn check_samples(&self, samples: u64, rate: u32) -> Result<()> {
        let most = self.samples_at(rate);
        if samples <= most as u64 {
            return Ok(());
        }
        let seconds = samples as f64 / f64::from(rate);
        let message = format!(
            "the audio has {samples} samples or more ({seconds:.1} s at {rate} Hz), and {most} are taken: {} s, or {} samples",
            self.duration.as_secs_f64(),
            self.samples
        );
        Err(invalid(message))
    }
}

/// An error about an audio clip.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
