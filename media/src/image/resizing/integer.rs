//! Resizes images in fixed point as Pillow and torchvision do: the width first, then the height, with bytes between the passes.
//!
//! A part of the result is computed without the rest. An image can be in a square of one colour without a copy of that square.
//!
//! The arithmetic follows Pillow's `Resample.c` (MIT-CMU, Copyright 1997-2011 Secret Labs AB and Fredrik Lundh, 2010-2026
//! Jeffrey A. Clark and contributors). torchvision differs in how many bits a weight has.

use std::ops::Range;

use super::super::view::{CHANNELS, Image, ResizeArea, Size};
use super::kernel::Kernel;
use super::taps::Line;

/// How many bytes of rows with their new width are kept at a time.
const BAND: usize = 32 << 20;

/// How many bits a weight has after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    /// Always 22.
    Pillow,
    /// The most bits for which the largest weight of a line fits into 16 bits.
    Torchvision,
}

impl Arithmetic {
    fn bits(self, line: Line) -> u32 {
        match self {
            Self::Pillow => 22,
            Self::Torchvision => {
                let largest = line.largest();
                let mut bits = 0;
                while bits < 21 && (largest * f64::from(1_u32 << (bits + 1))).round() < 32_768.0 {
                    bits += 1;
                }
                bits
            }
        }
    }
}

/// An image, and the square around it.
#[derive(Debug)]
pub(super) struct Source<'a> {
    image: &'a Image,
    colour: [u8; CHANNELS],
    size: Size,
    left: usize,
    top: usize,
}

impl<'a> Source<'a> {
    pub(super) fn new(image: &'a Image, square: Option<[u8; CHANNELS]>) -> Self {
        let inner = image.size();
        let size = square.map_or(inner, |_| Size::square(inner.longest()));
        let left = (size.width - inner.width) / 2;
        let top = (size.height - inner.height) / 2;
        Self { image, colour: square.unwrap_or_default(), size, left, top }
    }

    /// Returns the taps of each column and of each row of a part of the result.
    fn taps(&self, size: Size, window: ResizeArea, kernel: Kernel, arithmetic: Arithmetic) -> (Taps, Taps) {
        let inner = self.image.size();
        let wide = Line { from: self.size.width, to: size.width, kernel };
        let columns = window.x..window.x + window.width;
        let columns = Taps::new(wide, columns, self.left..self.left + inner.width, arithmetic);
        let high = Line { from: self.size.height, to: size.height, kernel };
        let rows = window.y..window.y + window.height;
        let rows = Taps::new(high, rows, self.top..self.top + inner.height, arithmetic);
        (columns, rows)
    }
}

/// Resizes an image to `size` and returns a part of the result.
pub(super) fn resized(
    source: &Source<'_>,
    size: Size,
    window: ResizeArea,
    kernel: Kernel,
    arithmetic: Arithmetic,
) -> Image {
    let (columns, rows) = source.taps(size, window, kernel, arithmetic);
    let background = columns.row(&[], source.colour);
    let mut bytes = Vec::with_capacity(window.size().pixels() * CHANNELS);
    for band in rows.bands((BAND / (window.width * CHANNELS).max(1)).max(1)) {
        let needed = rows.needed(&band);
        let wide: Vec<Vec<u8>> =
            needed.clone().map(|y| columns.row(source.image.row(y), source.colour)).collect();
        for tap in rows.taps.get(band).unwrap_or_default() {
            rows.column(tap, &wide, needed.start, &background, &mut bytes);
        }
    }
    Image::new(window.size(), bytes)
}

/// The pixels of a line that one pixel of the result is computed from.
#[derive(Debug)]
struct Tap {
    /// The first pixel of the image itself.
    first: usize,
    /// The weights of the image's pixels.
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
    /// The taps of the pixels in `window`; the image itself lies at `inner` of the line.
    fn new(line: Line, window: Range<usize>, inner: Range<usize>, arithmetic: Arithmetic) -> Self {
        let bits = arithmetic.bits(line);
        let one = f64::from(1_u32 << bits);
        let mut weights = Vec::new();
        let mut taps = Vec::with_capacity(window.len());
        for index in window {
            // Of the pixels 2..8, an image at 4..10 of the line has 4..8; the weights of 2 and 3 belong to the square around it.
            let pixels = line.weights(index, &mut weights);
            let start = pixels.start.clamp(inner.start, inner.end);
            let end = pixels.end.clamp(start, inner.end.max(start));
            let all = weights.iter().map(|weight| (weight * one).round() as i32);
            let kept: Vec<i32> =
                all.clone().skip(start - pixels.start.min(start)).take(end - start).collect();
            let outside = all.sum::<i32>() - kept.iter().sum::<i32>();
            taps.push(Tap { first: start - inner.start, weights: kept, outside });
        }
        Self { taps, bits }
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
            // A row of the square has no pixels of the image, and all weights apply to the square's colour.
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

    /// Appends a row of the result, computed from rows with their new width.
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

    /// Returns ranges of at least one tap that need about `rows` pixels each.
    fn bands(&self, rows: usize) -> Vec<Range<usize>> {
        let mut bands = Vec::new();
        let mut start = 0;
        let mut first = self.taps.first().map_or(0, |tap| tap.first);
        for (index, tap) in self.taps.iter().enumerate() {
            if index > start && tap.pixels().end.saturating_sub(first) > rows {
                bands.push(start..index);
                (start, first) = (index, tap.first);
            }
        }
        bands.push(start..self.taps.len());
        bands
    }

    /// Returns the pixels that a range of taps needs.
    fn needed(&self, band: &Range<usize>) -> Range<usize> {
        let taps = self.taps.get(band.clone()).unwrap_or_default();
        let with_pixels = taps.iter().filter(|tap| !tap.weights.is_empty());
        let start = with_pixels.clone().map(|tap| tap.first).min().unwrap_or_default();
        let end = with_pixels.map(|tap| tap.pixels().end).max().unwrap_or(start);
        start..end
    }
}
