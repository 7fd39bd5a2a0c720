//! The frames of a video that a model sees, and their times.

use alloquy_core::Media;

/// Frames with their times in seconds.
#[derive(Debug)]
pub(super) struct Frames<'a> {
    frames: Vec<(&'a Media, f64)>,
}

impl<'a> Frames<'a> {
    /// Takes at most `most` frames, spread evenly. Frames without a time follow each other at `rate`.
    pub(super) fn new(all: &'a [Media], most: usize, rate: f64) -> Self {
        let taken = all.len().min(most.max(1));
        let mut frames = Vec::with_capacity(taken);
        for index in 0..taken {
            let index = index * all.len() / taken;
            if let Some(frame) = all.get(index) {
                let time = frame.time().map_or(index as f64 / rate, |time| time.as_secs_f64());
                frames.push((frame, time));
            }
        }
        Self { frames }
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a Media, f64)> {
        self.frames.iter().copied()
    }

    /// The frames in groups; the last may be smaller.
    pub(super) fn groups(&self, length: usize) -> impl Iterator<Item = &[(&'a Media, f64)]> {
        self.frames.chunks(length.max(1))
    }

    /// Returns the mean time between two frames in seconds, from the times of the first and the last.
    pub(super) fn interval(&self) -> Option<f64> {
        let span = self.frames.last()?.1 - self.frames.first()?.1;
        (span > 0.0).then(|| span / (self.frames.len() - 1) as f64)
    }
}
