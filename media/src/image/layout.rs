//! How the numbers of images lie in a tensor: channel by channel, or patch by patch. Knows no model.

use super::values::{Table, at};
use super::view::{CHANNELS, Image, Size};
use crate::spread;

/// Channel by channel: `[3, height, width]`, image after image.
pub(crate) fn planes(images: &[Image], table: &Table) -> Vec<f32> {
    let length: usize = images.iter().map(|image| image.bytes().len()).sum();
    let mut values = Vec::with_capacity(length);
    for image in images {
        for channel in 0..CHANNELS {
            let numbers = table.channel(channel);
            let pixels = image.bytes().as_chunks::<CHANNELS>().0;
            values.extend(pixels.iter().map(|pixel| at(numbers, of(pixel, channel))));
        }
    }
    values
}

fn of(pixel: &[u8; CHANNELS], channel: usize) -> u8 {
    pixel.get(channel).copied().unwrap_or_default()
}

/// Square patches row by row, in each of them pixel by pixel: `[patches, side * side * 3]`.
fn append(image: &Image, side: usize, table: &Table, values: &mut Vec<f32>) {
    let (rows, columns) = grid(image, side);
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        for y in row * side..(row + 1) * side {
            let pixels = image.span(y, column * side, side).as_chunks::<CHANNELS>().0;
            for pixel in pixels {
                values.extend_from_slice(&table.pixel(*pixel));
            }
        }
    }
}

/// The patches of each image, filled up with zeros to as many as the encoder takes of one.
pub(crate) fn filled(images: &[Image], side: usize, most: usize, table: &Table) -> Vec<f32> {
    let length = most * side * side * CHANNELS;
    let mut values = Vec::with_capacity(images.len() * length);
    for (index, image) in images.iter().enumerate() {
        append(image, side, table, &mut values);
        values.resize((index + 1) * length, 0.0);
    }
    values
}

/// Returns how many rows and columns of patches an image has.
pub(crate) fn grid(image: &Image, side: usize) -> (usize, usize) {
    (image.size().height / side, image.size().width / side)
}

/// The column and the row of each patch, in their order.
pub(crate) fn positions(rows: usize, columns: usize) -> Vec<i64> {
    (0..rows).flat_map(|y| (0..columns).flat_map(move |x| [x as i64, y as i64])).collect()
}

/// How Qwen-VL cuts a group of frames into patches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merged {
    /// How long a patch is.
    pub(crate) side: usize,
    /// How many patches in a row become one position.
    pub(crate) merge: usize,
    /// How many frames a patch goes through.
    pub(crate) frames: usize,
}

impl Merged {
    /// Returns how many numbers the patches of a group of frames of this size have.
    pub(crate) fn length(&self, size: Size) -> usize {
        size.pixels() * CHANNELS * self.frames
    }

    /// Fills in the patches of a group of frames, those of one position together, in each of them channel by channel, frame by
    /// frame, row by row. Frames that are missing at the end are the last one again.
    pub(crate) fn fill(&self, group: &[Image], table: &Table, values: &mut [f32]) {
        let Some(first) = group.first() else { return };
        let columns = first.size().width / (self.side * self.merge);
        let row = columns * self.merge * self.merge * self.patch();
        spread::rows(values, row, |row, values| self.row(group, row, table, values));
    }

    /// Returns how many numbers a patch has.
    fn patch(&self) -> usize {
        CHANNELS * self.frames * self.side * self.side
    }

    /// The patches of a row of positions.
    fn row(&self, group: &[Image], row: usize, table: &Table, values: &mut [f32]) {
        let position = self.merge * self.merge;
        for (index, patch) in values.chunks_exact_mut(self.patch()).enumerate() {
            let column = index / position;
            let within = index % position;
            let dy = within / self.merge;
            let dx = within % self.merge;
            let at = ((column * self.merge + dx) * self.side, (row * self.merge + dy) * self.side);
            for (channel, values) in patch.chunks_exact_mut(self.frames * self.side * self.side).enumerate() {
                self.channel(group, at, (channel, table.channel(channel)), values);
            }
        }
    }

    /// A channel of a patch, frame by frame.
    fn channel(
        &self,
        group: &[Image],
        at: (usize, usize),
        numbers: (usize, &[f32; 256]),
        values: &mut [f32],
    ) {
        let plane = self.side * self.side;
        for index in 0..self.frames {
            let (before, rest) = values.split_at_mut(index * plane);
            let Some(values) = rest.get_mut(..plane) else { return };
            match (group.get(index), before.len().checked_sub(plane).and_then(|last| before.get(last..))) {
                (Some(image), _) => self.plane(image, at, numbers, values),
                (None, Some(last)) => values.copy_from_slice(last),
                // There is a first frame.
                (None, None) => {}
            }
        }
    }

    fn plane(
        &self,
        image: &Image,
        (x, y): (usize, usize),
        (channel, numbers): (usize, &[f32; 256]),
        values: &mut [f32],
    ) {
        for (row, values) in (y..).zip(values.chunks_exact_mut(self.side)) {
            let pixels = image.span(row, x, self.side).as_chunks::<CHANNELS>().0;
            for (value, pixel) in values.iter_mut().zip(pixels) {
                *value = at(numbers, of(pixel, channel));
            }
        }
    }
}
