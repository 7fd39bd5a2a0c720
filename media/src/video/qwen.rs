//! Videos for Qwen2-VL, Qwen2.5-VL and Qwen3-VL. Two frames become one group, and Qwen3-VL's prompt has the time of each group.
//!
//! Constants: `Qwen2VLVideoProcessor` and `Qwen3VLVideoProcessor` of transformers 5.23, and the published files.

use std::borrow::Cow;

use alloquy_core::Result;
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaTensor};

use super::frames::Frames;
use super::rules::VideoRules;
use super::sampling::{Bounds, FrameRate};
use crate::description::Description;
use crate::image::{
    Generation, ImageView, Kernel, Loader, Patching, Resizer, Scaling, Size, Table, check_ratio, fitted,
    fitting, impossible, kernel, outline, text,
};
use crate::options::MediaOptions;

#[derive(Debug)]
pub(super) struct Qwen {
    generation: Generation,
    patching: Patching,
    bounds: Bounds,
    share: Option<Share>,
    cap: Option<usize>,
    /// How many pixels all frames may have together.
    room: usize,
    tokens_per_second: Option<f64>,
    resizer: Resizer,
    table: Table,
    start: String,
    pad: String,
    end: String,
}

/// The bound of `qwen-vl-utils` on a frame's pixels, which the model's files may switch on (`cap_pixels_per_frame`).
#[derive(Clone, Copy, Debug)]
struct Share {
    /// `max_video_tokens`.
    tokens: usize,
}

impl Qwen {
    pub(super) fn of(
        model: &Description<'_>,
        options: &MediaOptions,
        generation: Generation,
    ) -> Result<Self> {
        let settings = model.videos();
        let (pixels, tokens) = match generation {
            Generation::Three => ((4_096, 25_165_824), 768),
            Generation::Two | Generation::TwoAndAHalf | Generation::Omni => ((3_136, 12_845_056), 128_000),
        };
        let patching = Patching::of(model, &settings, generation.patch(), pixels)?;
        let shared = settings.switch("/cap_pixels_per_frame").unwrap_or_default();
        let marks = generation.marks();
        let scaling = Scaling::of(&settings, Some(generation.scaling()))?;
        Ok(Self {
            generation,
            patching,
            bounds: Bounds {
                least: settings.number_or(&["/min_frames"], 4)?,
                most: settings.number_or(&["/max_frames"], 768)?,
                group: patching.merged.frames,
                usual: settings.real("/fps").unwrap_or(2.0),
            },
            share: if shared {
                Some(Share { tokens: settings.number_or(&["/max_video_tokens"], tokens)? })
            } else {
                None
            },
            cap: options.pixel_cap,
            room: options.limits.pixels,
            tokens_per_second: model.real(&["/vision_config/tokens_per_second", "/vision/tokens_per_second"]),
            resizer: Resizer { backend: options.backend, kernel: kernel(&settings, Kernel::Bicubic)? },
            table: scaling.table(options.backend),
            start: model.token(&["/vision_start_token_id"], marks.start),
            pad: model.token(&["/video_token_id"], marks.video),
            end: model.token(&["/vision_end_token_id"], marks.end),
        })
    }

    /// Returns the size that the model's files want for frames of this size.
    fn wanted(&self, frames: usize, size: Size) -> Result<Size> {
        let Patching { least, most, .. } = self.patching;
        let unit = self.patching.unit();
        let floor = (least as f64 * 1.05) as usize;
        match self.generation {
            Generation::Three => {
                let most = match self.share {
                    None => most,
                    Some(share) => (share.tokens * unit * unit).min(most / frames).max(floor) * frames,
                };
                self.spread(frames, size, most)
            }
            Generation::Two | Generation::TwoAndAHalf | Generation::Omni => {
                let most = match self.share {
                    None => most,
                    Some(share) => {
                        let total = ((share.tokens * unit * unit) as f64 * 0.9) as usize;
                        most.min(total * self.bounds.group / frames).max(floor)
                    }
                };
                fitted(size, unit, (least, most))
            }
        }
    }

    /// Returns the size within bounds that apply to the pixels of all frames together.
    fn spread(&self, frames: usize, size: Size, most: usize) -> Result<Size> {
        let unit = self.patching.unit();
        let group = self.bounds.group;
        if frames < group {
            return Err(impossible(format!(
                "a video has {frames} frame, and the model takes {group} or more"
            )));
        }
        let size = enlarged(size, unit);
        check_ratio(size)?;
        let times = (frames as f64 / group as f64).round_ties_even() as usize * group;
        let near = fitting::rounded(size, unit);
        let volume = frames as f64 * size.pixels() as f64;
        let taken = times.saturating_mul(near.pixels());
        if taken > most {
            let factor = (volume / most as f64).sqrt();
            return Ok(fitting::sides(size, unit, |side, unit| (side / factor / unit).floor().max(1.0)));
        }
        if taken < self.patching.least {
            let factor = (self.patching.least as f64 / volume).sqrt();
            return Ok(fitting::sides(size, unit, |side, unit| (side * factor / unit).ceil()));
        }
        Ok(near)
    }

    /// Returns the size of the resized frames: the wanted one, unless it exceeds the cap, or all frames together the limit.
    fn size(&self, frames: usize, size: Size) -> Result<Size> {
        let wanted = self.wanted(frames, size)?;
        let cap = self.cap.unwrap_or(usize::MAX).min(self.room / frames.max(1));
        if wanted.pixels() <= cap {
            return Ok(wanted);
        }
        let capped = self.patching.capped(Some(cap));
        fitted(size, self.patching.unit(), (1, capped.most))
    }

    /// Returns the distance between groups of frames in the model's positions of time.
    fn time_step(&self, frames: &Frames<'_>) -> f64 {
        let usual = match self.generation {
            Generation::Two | Generation::Three => return 1.0,
            Generation::TwoAndAHalf => 2.0,
            // `position_id_per_seconds` of its configuration.
            Generation::Omni => 25.0,
        };
        let interval = frames.interval().unwrap_or(1.0 / self.bounds.usual);
        self.tokens_per_second.unwrap_or(usual) * self.bounds.group as f64 * interval
    }

    fn positions(&self, size: Size, times: usize, time_step: f64) -> MediaPlaceholder {
        let grid = self.patching.grid(size, times, time_step);
        let count = grid.time * grid.height * grid.width;
        MediaPlaceholder::Positions { token: self.pad.clone(), count, grid: Some(grid) }
    }
}

/// Enlarges a size with a side shorter than a unit.
fn enlarged(size: Size, unit: usize) -> Size {
    if size.shortest() >= unit {
        return size;
    }
    let scale = (unit as f64 / size.height as f64).max(unit as f64 / size.width as f64);
    Size::new((size.width as f64 * scale) as usize, (size.height as f64 * scale) as usize)
}

impl VideoRules for Qwen {
    fn most(&self) -> usize {
        self.bounds.most
    }

    fn sample(&self, total: usize, rate: FrameRate) -> Result<Vec<usize>> {
        match self.generation {
            Generation::Three => Ok(self.bounds.spread(total, rate)),
            Generation::Two | Generation::TwoAndAHalf | Generation::Omni => self.bounds.even(total, rate),
        }
    }

    fn outline(&self, frames: &Frames<'_>, size: Size) -> Result<MediaOutline> {
        let size = self.size(frames.len(), size)?;
        let group = self.bounds.group;
        if self.generation != Generation::Three {
            // The template prints the marks around a video. Only Qwen3-VL has marks around each group.
            let times = frames.len().div_ceil(group);
            return Ok(outline([self.positions(size, times, self.time_step(frames))]));
        }
        let mut pieces = Vec::new();
        for group in frames.groups(group) {
            // A group has the time in the middle of its frames: "<0.3 seconds>".
            let first = group.first().map_or(0.0, |(_, time)| *time);
            let last = group.last().map_or(0.0, |(_, time)| *time);
            let time = (first + last) / 2.0;
            pieces.push(text(format!("<{time:.1} seconds>{}", self.start)));
            pieces.push(self.positions(size, 1, 1.0));
            pieces.push(text(&self.end));
        }
        Ok(outline(pieces))
    }

    fn capped(&self, frames: usize, size: Size) -> Result<Option<(usize, usize)>> {
        let wanted = self.wanted(frames, size)?;
        let taken = self.size(frames, size)?;
        Ok((wanted != taken).then_some((wanted.pixels(), taken.pixels())))
    }

    fn tensors(&self, frames: &Frames<'_>, size: Size, loader: &Loader) -> Result<Vec<MediaTensor>> {
        let view = ImageView::stretched(size.whole(), self.size(frames.len(), size)?);
        let times = frames.len().div_ceil(self.bounds.group);
        let length = self.patching.merged.length(view.size);
        let mut values = vec![0.0; times * length];
        for (group, values) in frames.groups(self.bounds.group).zip(values.chunks_exact_mut(length.max(1))) {
            let mut images = Vec::new();
            for (frame, _) in group {
                images.extend(self.resizer.windows(Cow::Owned(loader.image(frame)?), &view)?);
            }
            self.patching.merged.fill(&images, &self.table, values);
        }
        Ok(self.patching.tensors(["pixel_values_videos", "video_grid_thw"], view.size, times, values))
    }
}
