//! How the numbers of pictures lie in a tensor: channel by channel, or patch by patch. Knows no model.

use super::picture::{CHANNELS, Picture};
use super::values::{Table, at};

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
    /// Appends the patches of a group of frames, those of one position together, in each of them channel by channel, frame by
    /// frame, row by row. Frames that are missing at the end are the last one again.
    pub(crate) fn append(&self, group: &[Picture], table: &Table, values: &mut Vec<f32>) {
        let Some(first) = group.first() else { return };
        let unit = self.side * self.merge;
        let (rows, columns) = (first.size().height / unit, first.size().width / unit);
        values.reserve(first.bytes().len() * self.frames);
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            for (dy, dx) in (0..self.merge).flat_map(|dy| (0..self.merge).map(move |dx| (dy, dx))) {
                let (y, x) = ((row * self.merge + dy) * self.side, (column * self.merge + dx) * self.side);
                self.patch(group, (x, y), table, values);
            }
        }
    }

    fn patch(&self, group: &[Picture], at: (usize, usize), table: &Table, values: &mut Vec<f32>) {
        for channel in 0..CHANNELS {
            let mut frame = values.len();
            for index in 0..self.frames {
                match group.get(index) {
                    Some(picture) => {
                        frame = values.len();
                        self.plane(picture, at, (channel, table), values);
                    }
                    None => values.extend_from_within(frame..frame + self.side * self.side),
                }
            }
        }
    }

    fn plane(
        &self,
        picture: &Picture,
        (x, y): (usize, usize),
        (channel, table): (usize, &Table),
        values: &mut Vec<f32>,
    ) {
        let numbers = table.channel(channel);
        for row in y..y + self.side {
            let pixels = picture.span(row, x, self.side).as_chunks::<CHANNELS>().0;
            values.extend(pixels.iter().map(|pixel| at(numbers, of(pixel, channel))));
        }
    }
}
