//! Chooses the frames of a video that a model sees, as the model's processor does.

use alloquy_core::{Error, ErrorKind, Result};

/// How many frames a second a video has, and how many of them are wanted.
///
/// ```
/// use alloquy_media::{FrameCount, FrameRate};
///
/// assert_ne!(FrameRate::of(30.0), FrameRate::of(30.0).wanted(1.0));
/// assert_eq!(FrameRate::of(30.0).count(8).wanted, Some(FrameCount::Count(8)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FrameRate {
    /// How many frames a second of the video has.
    pub video: f64,
    /// How many frames are wanted; `None` for the number that the model's authors recommend.
    pub wanted: Option<FrameCount>,
}

/// How many frames are wanted.
///
/// [`FrameRate`] has an example.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FrameCount {
    /// So many for each second.
    PerSecond(f64),
    /// So many in total.
    Count(usize),
}

impl FrameRate {
    /// A video with so many frames a second, sampled as the model's authors recommend.
    pub fn of(video: f64) -> Self {
        Self { video, wanted: None }
    }

    /// Sets how many frames are wanted for each second.
    #[must_use]
    pub fn wanted(mut self, per_second: f64) -> Self {
        self.wanted = Some(FrameCount::PerSecond(per_second));
        self
    }

    /// Sets how many frames are wanted in total.
    #[must_use]
    pub fn count(mut self, frames: usize) -> Self {
        self.wanted = Some(FrameCount::Count(frames));
        self
    }

    pub(super) fn is_sane(&self) -> bool {
        is_positive(self.video)
            && match self.wanted {
                None => true,
                Some(FrameCount::PerSecond(rate)) => is_positive(rate),
                Some(FrameCount::Count(count)) => count > 0,
            }
    }

    /// Returns how many frames of `total` are wanted, before any bound.
    pub(super) fn frames(&self, total: usize, usual: f64) -> f64 {
        let per_second = match self.wanted {
            Some(FrameCount::PerSecond(rate)) => rate,
            Some(FrameCount::Count(_)) | None => usual,
        };
        total as f64 / self.video * per_second
    }
}

/// The bounds on how many frames are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) least: usize,
    pub(super) most: usize,
    /// How many frames become one group.
    pub(super) group: usize,
    /// How many frames a second are usual.
    pub(super) usual: f64,
}

impl Bounds {
    /// Qwen2-VL and Qwen2.5-VL: whole groups, evenly from the first on (`Qwen2VLVideoProcessor.sample_frames`).
    pub(super) fn even(self, total: usize, rate: FrameRate) -> Result<Vec<usize>> {
        let count = match rate.wanted {
            Some(FrameCount::Count(count)) => {
                (count as f64 / self.group as f64).round_ties_even() as usize * self.group
            }
            Some(FrameCount::PerSecond(_)) | None => {
                let most = self.whole_groups(self.most.min(total) as f64);
                let frames = rate.frames(total, self.usual).max(self.least as f64);
                self.whole_groups(frames.min(most as f64).min(total as f64))
            }
        };
        if count == 0 || count > total {
            return Err(impossible(total, count));
        }
        let step = total as f64 / count as f64;
        // The reference rounds to single precision too.
        Ok((0..count).map(|index| (step * index as f64) as f32 as usize).collect())
    }

    /// Rounds a number of frames down to whole groups.
    fn whole_groups(self, frames: f64) -> usize {
        (frames / self.group as f64).floor() as usize * self.group
    }

    /// Qwen3-VL: from the first to the last (`Qwen3VLVideoProcessor.sample_frames`).
    pub(super) fn spread(self, total: usize, rate: FrameRate) -> Vec<usize> {
        let count = match rate.wanted {
            Some(FrameCount::Count(count)) => count,
            Some(FrameCount::PerSecond(_)) | None => {
                let frames = rate.frames(total, self.usual) as usize;
                frames.max(self.least).min(self.most).min(total)
            }
        };
        let step = (total - 1) as f64 / count.saturating_sub(1).max(1) as f64;
        let mut frames: Vec<usize> =
            (0..count).map(|index| (index as f64 * step).round_ties_even() as usize).collect();
        if count > 1
            && let Some(last) = frames.last_mut()
        {
            *last = total - 1;
        }
        frames
    }

    /// Gemma 4: a fixed number, evenly from the first on (`default_sample_indices_fn`); all frames of a video that has fewer.
    pub(super) fn fixed(self, total: usize, rate: FrameRate) -> Result<Vec<usize>> {
        let count = match rate.wanted {
            Some(FrameCount::Count(count)) if count > total => return Err(impossible(total, count)),
            Some(FrameCount::Count(count)) => count,
            Some(FrameCount::PerSecond(_)) => (rate.frames(total, self.usual) as usize).clamp(1, total),
            None => self.most.min(total),
        };
        Ok((0..count).map(|index| index * total / count).collect())
    }
}

fn is_positive(rate: f64) -> bool {
    rate.is_finite() && rate > 0.0
}

fn impossible(total: usize, wanted: usize) -> Error {
    Error::new(ErrorKind::Invalid, format!("{wanted} frames cannot be taken out of a video of {total}"))
}
