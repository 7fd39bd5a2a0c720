//! How the numbers of pictures lie in a tensor: channel by channel, or patch by patch. Knows no model.

use super::values::{Table, at};
use super::view::{CHANNELS, Picture, Size};
use crate::spread;

/// Channel by channel: `[3, height, width]`, picture after picture.
pub(crate) fn planes(pictures: &[Picture], table: &Table) -> Vec<f32> {
    let length: usize = pictures.iter().map(|picture| picture.bytes().len()).sum();
    let mut values = Vec::with_capacity(length);
    for picture in pictures {
        for channel in 0..CHANNELS {
            let numbers = table.channel(channel);
            let pixels = picture.bytes().as_chunks::<CHANNELS>().0;
            values.extend(pixels.iter().map(|pixel| at(numbers, of(pixel, channel))));
        }
    }
    values
}

fn of(pixel: &[u8; CHANNELS], channel: usize) -> u8 {
    pixel.get(channel).copied().unwrap_or_default()
}

/// Square patches row by row, in each of them pixel by pixel: `[patches, side * side * 3]`.
fn append(picture: &Picture, side: usize, table: &Table, values: &mut Vec<f32>) {
    let (rows, columns) = grid(picture, side);
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        for y in row * side..(row + 1) * side {
            let pixels = picture.span(y, column * side, side).as_chunks::<CHANNELS>().0;
            for pixel in pixels {
                values.extend_from_slice(&table.pixel(*pixel));
            }
        }
    }
}

/// The patches of each picture, filled up with zeros to as many as the encoder takes of one.
pub(crate) fn filled(pictures: &[Picture], side: usize, most: usize, table: &Table) -> Vec<f32> {
    let length = most * side * side * CHANNELS;
    let mut values = Vec::with_capacity(pictures.len() * length);
    for (index, picture) in pictures.iter().enumerate() {
        append(picture, side, table, &mut values);
        values.resize((index + 1) * length, 0.0);
    }
    values
}

/// How many rows and columns of patches a picture has.
pub(crate) fn grid(picture: &Picture, side: usize) -> (usize, usize) {
    (picture.size().height / side, picture.size().width / side)
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
    /// How many numbers the patches of a group of frames of this size have.
    pub(crate) fn length(&self, size: Size) -> usize {
        size.pixels() * CHANNELS * self.frames
    }

    /// Fills in the patches of a group of frames, those of one position together, in each of them channel by channel, frame by
    /// frame, row by row. Frames that are missing at the end are the last one again.
    pub(crate) fn fill(&self, group: &[Picture], table: &Table, values: &mut [f32]) {
        let Some(first) = group.first() else { return };
        let columns = first.size().width / (self.side * self.merge);
        let row = columns * self.merge * self.merge * self.patch();
        spread::rows(values, row, |row, values| self.row(group, row, table, values));
    }

    /// How many numbers a patch has.
    fn patch(&self) -> usize {
        CHANNELS * self.frames * self.side * self.side
    }

    /// The patches of a row of positions.
    fn row(&self, group: &[Picture], row: usize, table: &Table, values: &mut [f32]) {
        let position = self.merge * self.merge;
        for (index, patch) in values.chunks_exact_mut(self.patch()).enumerate() {
            let (column, within) = (index / position, index % position);
            let (dy, dx) = (within / self.merge, within % self.merge);
            let at = ((column * self.merge + dx) * self.side, (row * self.merge + dy) * self.side);
            for (channel, values) in patch.chunks_exact_mut(self.frames * self.side * self.side).enumerate() {
                self.channel(group, at, (channel, table.channel(channel)), values);
            }
        }
    }

    /// A channel of a patch, frame by frame.
    fn channel(
        &self,
        group: &[Picture],
        at: (usize, usize),
        numbers: (usize, &[f32; 256]),
        values: &mut [f32],
    ) {
        let plane = self.side * self.side;
        for index in 0..self.frames {
            let (before, rest) = values.split_at_mut(index * plane);
            let Some(values) = rest.get_mut(..plane) else { return };
            match (group.get(index), before.len().checked_sub(plane).and_then(|last| before.get(last..))) {
                (Some(picture), _) => self.plane(picture, at, numbers, values),
                (None, Some(last)) => values.copy_from_slice(last),
                // There is a first frame.
                (None, None) => {}
            }
        }
    }

    fn plane(
        &self,
        picture: &Picture,
        (x, y): (usize, usize),
        (channel, numbers): (usize, &[f32; 256]),
        values: &mut [f32],
    ) {
        for (row, values) in (y..).zip(values.chunks_exact_mut(self.side)) {
            let pixels = picture.span(row, x, self.side).as_chunks::<CHANNELS>().0;
            for (value, pixel) in values.iter_mut().zip(pixels) {
                *value = at(numbers, of(pixel, channel));
            }
        }
    }
}
