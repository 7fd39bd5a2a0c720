//! Resizing in fixed point as Pillow and torchvision do it: columns first, bytes between the passes. Any part of the result can be
//! had without the rest, and what is resized can lie in a square of one colour that is never made.
//!
//! After Pillow's `Resample.c` (MIT-CMU, Copyright 1997-2011 Secret Labs AB and Fredrik Lundh, 2010-2026 Jeffrey A. Clark
//! and contributors), read for its arithmetic; torchvision's differs in how many bits a weight has.

use std::ops::Range;

use super::super::view::{CHANNELS, Picture, ResizeArea, Size};
use super::kernel::Kernel;
use super::taps::Line;

/// How many bytes of rows that were resized in width are held at once.
const BAND: usize = 32 << 20;

/// How many bits a weight has behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    /// 22, whatever the weights.
    Pillow,
    /// As many as let the largest weight of a line stay within 16 bits.
    Torchvision,
}

impl Arithmetic {
    fn bits(self, line: Line) -> u32 {
        match self {
            Self::Pillow => 22,
            Self::Torchvision => {
                let largest = line.largest();
                let fits = |bits: &u32| (largest * f64::from(1_u32 << (bits + 1))).round() < 32_768.0;
                (0..21).find(|bits| !fits(bits)).unwrap_or(21)
            }
        }
    }
}

/// A picture, and the square it lies in.
#[derive(Debug)]
pub(super) struct Source<'a> {
    picture: &'a Picture,
    colour: [u8; CHANNELS],
    size: Size,
    left: usize,
    top: usize,
}

impl<'a> Source<'a> {
    pub(super) fn new(picture: &'a Picture, square: Option<[u8; CHANNELS]>) -> Self {
        let inner = picture.size();
        let size = square.map_or(inner, |_| Size::square(inner.longest()));
        let (left, top) = ((size.width - inner.width) / 2, (size.height - inner.height) / 2);
        Self { picture, colour: square.unwrap_or_default(), size, left, top }
    }

    /// What goes into each column and each row of a part of the result.
    fn taps(&self, size: Size, window: ResizeArea, kernel: Kernel, arithmetic: Arithmetic) -> (Taps, Taps) {
        let inner = self.picture.size();
        let line = |from, to| Line { from, to, kernel };
        let columns = window.x..window.x + window.width;
        let rows = window.y..window.y + window.height;
        let (wide, high) = (line(self.size.width, size.width), line(self.size.height, size.height));
        (
            Taps::new(wide, columns, self.left..self.left + inner.width, arithmetic),
            Taps::new(high, rows, self.top..self.top + inner.height, arithmetic),
        )
    }
}

/// Resizes a picture to `size` and returns a part of the result.
pub(super) fn resized(
    source: &Source<'_>,
    size: Size,
    window: ResizeArea,
    kernel: Kernel,
    arithmetic: Arithmetic,
) -> Picture {
    let (columns, rows) = source.taps(size, window, kernel, arithmetic);
    let background = columns.row(&[], source.colour);
    let mut bytes = Vec::with_capacity(window.size().pixels() * CHANNELS);
    for band in rows.bands((BAND / (window.width * CHANNELS).max(1)).max(1)) {
        let needed = rows.needed(&band);
        let wide: Vec<Vec<u8>> =
            needed.clone().map(|y| columns.row(source.picture.row(y), source.colour)).collect();
        for tap in rows.taps.get(band).unwrap_or_default() {
            rows.column(tap, &wide, needed.start, &background, &mut bytes);
        }
    }
    Picture::new(window.size(), bytes)
}

/// What goes into one pixel.
#[derive(Debug)]
struct Tap {
    /// The first pixel of the picture itself.
    first: usize,
    /// The weights of the picture's pixels.
    weights: Vec<i32>,
    /// The sum of the weights of the square around it.
    outside: i32,
}

impl Tap {
    fn pixels(&self) -> Range<usize> {
        self.first..self.first + self.weights.len()
    }
}

#[derive(Debug)]
struct Taps {
    taps: Vec<Tap>,
    bits: u32,
}

impl Taps {
    /// The taps of the pixels in `window`; the picture itself lies at `inner` of the line.
    fn new(line: Line, window: Range<usize>, inner: Range<usize>, arithmetic: Arithmetic) -> Self {
        let bits = arithmetic.bits(line);
        let one = f64::from(1_u32 << bits);
        let fixed = |weight: f64| (weight * one).round() as i32;
        let mut weights = Vec::new();
        let tap = |index| {
            let pixels = line.weights(index, &mut weights);
            let start = pixels.start.clamp(inner.start, inner.end);
            let end = pixels.end.clamp(start, inner.end.max(start));
            let all = weights.iter().copied().map(fixed);
            let kept: Vec<i32> =
                all.clone().skip(start - pixels.start.min(start)).take(end - start).collect();
            let outside = all.sum::<i32>() - kept.iter().sum::<i32>();
            Tap { first: start - inner.start, weights: kept, outside }
        };
        Self { taps: window.map(tap).collect(), bits }
    }

    fn half(&self) -> i32 {
        1 << (self.bits - 1)
    }

    fn byte(&self, sum: i32) -> u8 {
        (sum >> self.bits).clamp(0, 255) as u8
    }

    /// A row in its new width.
    fn row(&self, row: &[u8], colour: [u8; CHANNELS]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.taps.len() * CHANNELS);
        for tap in &self.taps {
            let pixels = tap.pixels();
            let pixels = row.get(pixels.start * CHANNELS..pixels.end * CHANNELS).unwrap_or_default();
            // A row of the square alone has no pixels, and all weights are outside.
            let missing = if pixels.is_empty() { tap.weights.iter().sum() } else { 0 };
            let mut sums = colour.map(|channel| self.half() + (tap.outside + missing) * i32::from(channel));
            for (pixel, weight) in pixels.as_chunks::<CHANNELS>().0.iter().zip(&tap.weights) {
                for (sum, channel) in sums.iter_mut().zip(pixel) {
                    *sum += weight * i32::from(*channel);
                }
            }
            bytes.extend(sums.map(|sum| self.byte(sum)));
        }
        bytes
    }

    /// A row of the result, out of rows that have its width already.
    fn column(&self, tap: &Tap, wide: &[Vec<u8>], first: usize, background: &[u8], bytes: &mut Vec<u8>) {
        let mut sums: Vec<i32> =
            background.iter().map(|byte| self.half() + tap.outside * i32::from(*byte)).collect();
        let rows = wide.get(tap.first.saturating_sub(first)..).unwrap_or_default();
        for (row, weight) in rows.iter().zip(&tap.weights) {
            for (sum, byte) in sums.iter_mut().zip(row) {
                *sum += weight * i32::from(*byte);
            }
        }
        bytes.extend(sums.into_iter().map(|sum| self.byte(sum)));
    }

    /// Stretches of taps that need about `rows` pixels each, one tap at least.
    fn bands(&self, rows: usize) -> Vec<Range<usize>> {
        let mut bands = Vec::new();
        let (mut start, mut first) = (0, self.taps.first().map_or(0, |tap| tap.first));
        for (index, tap) in self.taps.iter().enumerate() {
            if index > start && tap.pixels().end.saturating_sub(first) > rows {
                bands.push(start..index);
                (start, first) = (index, tap.first);
            }
        }
        bands.push(start..self.taps.len());
        bands
    }

    /// The pixels that a stretch of taps needs.
    fn needed(&self, band: &Range<usize>) -> Range<usize> {
        let taps = self.taps.get(band.clone()).unwrap_or_default();
        let with_pixels = || taps.iter().filter(|tap| !tap.weights.is_empty());
        let start = with_pixels().map(|tap| tap.first).min().unwrap_or_default();
        let end = with_pixels().map(|tap| tap.pixels().end).max().unwrap_or(start);
        start..end
    }
}
