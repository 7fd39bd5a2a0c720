//! Rescales and normalises bytes to numbers, with the rounding of either backend.

use alloquy_core::{Error, ErrorKind, Result};

use super::view::CHANNELS;
use crate::description::Settings;
use crate::options::ImageBackend;

/// How the bytes of an image become numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaling {
    /// What a byte is multiplied by.
    pub(crate) factor: f64,
    /// Mean and standard deviation of each channel, where they are normalised.
    pub(crate) normal: Option<([f64; CHANNELS], [f64; CHANNELS])>,
}

/// The mean and the deviation of CLIP's training images (OpenAI's `clip.py`).
pub(crate) const CLIP: ([f64; 3], [f64; 3]) =
    ([0.481_454_66, 0.457_827_5, 0.408_210_73], [0.268_629_54, 0.261_302_58, 0.275_777_11]);

/// Between -1 and 1.
pub(crate) const HALVES: ([f64; 3], [f64; 3]) = ([0.5; 3], [0.5; 3]);

/// Between 0 and 1, by a division.
pub(crate) const UNIT: ([f64; 3], [f64; 3]) = ([0.0; 3], [1.0; 3]);

impl Scaling {
    /// Reads the settings; `usual` is used where there are none.
    ///
    /// # Errors
    /// As [`Settings::channels`], and [`ErrorKind::Model`] where numbers would be divided by zero.
    pub(crate) fn of(
        settings: &Settings<'_>,
        usual: Option<([f64; CHANNELS], [f64; CHANNELS])>,
    ) -> Result<Self> {
        let factor = match settings.switch("/do_rescale") {
            Some(false) => 1.0,
            Some(true) | None => settings.real("/rescale_factor").unwrap_or(1.0 / 255.0),
        };
        let normalised = settings.switch("/do_normalize").unwrap_or(usual.is_some());
        let (mean, deviation) = usual.unwrap_or(UNIT);
        let mean = settings.channels("/image_mean")?.unwrap_or(mean);
        let deviation = settings.channels("/image_std")?.unwrap_or(deviation);
        let normal = if normalised { Some((mean, deviation)) } else { None };
        let divisors = normal.iter().flat_map(|(_, deviation)| deviation).chain([&factor]);
        match divisors.copied().find(|divisor| !divisor.is_normal()) {
            None => Ok(Self { factor, normal }),
            Some(divisor) => Err(undividable(divisor)),
        }
    }

    /// The number for each byte of each channel.
    pub(crate) fn table(&self, backend: ImageBackend) -> Table {
        Table(std::array::from_fn(|channel| {
            std::array::from_fn(|byte| self.value(backend, channel, u8::try_from(byte).unwrap_or(u8::MAX)))
        }))
    }

    fn value(&self, backend: ImageBackend, channel: usize, byte: u8) -> f32 {
        match (backend, &self.normal) {
            (ImageBackend::Pillow, None) => (f64::from(byte) * self.factor) as f32,
            (ImageBackend::Pillow, Some(normal)) => {
                let rescaled = (f64::from(byte) * self.factor) as f32;
                let (mean, deviation) = of_channel(normal, channel);
                (rescaled - mean) / deviation
            }
            (ImageBackend::Torchvision, None) => f32::from(byte) * self.factor as f32,
            // torchvision brings mean and deviation to the scale of bytes first, which rounds once less than Pillow does.
            (ImageBackend::Torchvision, Some(normal)) => {
                let (mean, deviation) = of_channel(normal, channel);
                let scale = (1.0 / self.factor) as f32;
                (f32::from(byte) - mean * scale) / (deviation * scale)
            }
        }
    }
}

fn undividable(divisor: f64) -> Error {
    let message = format!("/image_std or /rescale_factor of the model's processor is {divisor}, and divides");
    Error::new(ErrorKind::Model, message)
}

fn of_channel((mean, deviation): &([f64; CHANNELS], [f64; CHANNELS]), channel: usize) -> (f32, f32) {
    let mean = mean.get(channel).copied().unwrap_or_default();
    let deviation = deviation.get(channel).copied().unwrap_or_default();
    (mean as f32, deviation as f32)
}

/// The number for each byte of each channel.
#[derive(Clone, Debug)]
pub(crate) struct Table([[f32; 256]; CHANNELS]);

impl Table {
    /// The numbers of one channel.
    pub(crate) fn channel(&self, channel: usize) -> &[f32; 256] {
        static NONE: [f32; 256] = [0.0; 256];
        self.0.get(channel).unwrap_or(&NONE)
    }

    /// The numbers of a pixel.
    pub(crate) fn pixel(&self, [red, green, blue]: [u8; CHANNELS]) -> [f32; CHANNELS] {
        let [reds, greens, blues] = &self.0;
        [at(reds, red), at(greens, green), at(blues, blue)]
    }
}

/// Returns the number for a byte.
pub(crate) fn at(numbers: &[f32; 256], byte: u8) -> f32 {
    numbers.get(usize::from(byte)).copied().unwrap_or_default()
}
