//! Reads the header of a JPEG's frame, from which the memory of the decoder follows.

use crate::image::view::Size;

/// A coefficient is a number of 16 bits.
const COEFFICIENT: u64 = 2;

/// The size of a frame, and the order of its coefficients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::image) struct Frame {
    pub(in crate::image) size: Size,
    /// How many blocks of each component are in a unit, across and down.
    sampling: Vec<(u64, u64)>,
    progressive: bool,
    /// How many components the first scan has.
    first_scan: usize,
}

impl Frame {
    /// Reads the markers up to the first scan; `None` where there is none.
    pub(in crate::image) fn of(file: &[u8]) -> Option<Self> {
        let mut frame = None;
        let mut rest = file.get(2..)?;
        loop {
            let (marker, content) = next_marker(rest)?;
            rest = content;
            if matches!(marker, 0x01 | 0xd0..=0xd9) {
                continue;
            }
            let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
            let content = rest.get(2..length)?;
            rest = rest.get(length..)?;
            match marker {
                0xc4 | 0xc8 | 0xcc => {}
                0xc0..=0xcf => {
                    frame = Some(Self::read(content, matches!(marker, 0xc2 | 0xc6 | 0xca | 0xce))?);
                }
                0xda => {
                    let first_scan = usize::from(*content.first()?);
                    return frame.map(|frame| Self { first_scan, ..frame });
                }
                _ => {}
            }
        }
    }

    fn read(content: &[u8], progressive: bool) -> Option<Self> {
        let [_, h1, h0, w1, w0, _, components @ ..] = content else { return None };
        let width = u16::from_be_bytes([*w1, *w0]);
        let height = u16::from_be_bytes([*h1, *h0]);
        let sampling = components.as_chunks::<3>().0.iter();
        let sampling =
            sampling.map(|[_, blocks, _]| (u64::from(blocks >> 4), u64::from(blocks & 15))).collect();
        Some(Self { size: Size::new(width.into(), height.into()), sampling, progressive, first_scan: 0 })
    }

    /// Returns how many components a pixel has.
    pub(in crate::image) fn components(&self) -> usize {
        self.sampling.len()
    }

    /// Returns how many bytes the coefficients take that the decoder must keep. It keeps those of progressive frames, and of frames
    /// whose components follow each other.
    pub(in crate::image) fn coefficients(&self) -> u64 {
        if !self.progressive && self.first_scan >= self.components() {
            return 0;
        }
        let across = self.sampling.iter().map(|(across, _)| *across).max().unwrap_or(1).max(1);
        let down = self.sampling.iter().map(|(_, down)| *down).max().unwrap_or(1).max(1);
        let units =
            (self.size.width as u64).div_ceil(8 * across) * (self.size.height as u64).div_ceil(8 * down);
        let blocks: u64 = self.sampling.iter().map(|(across, down)| across * down).sum();
        units * blocks * 64 * COEFFICIENT
    }
}

/// Returns the next marker, and the bytes after it.
fn next_marker(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let start = bytes.iter().position(|byte| *byte == 0xff)?;
    let (at, marker) = bytes.iter().enumerate().skip(start).find(|(_, byte)| **byte != 0xff)?;
    Some((*marker, bytes.get(at + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(frame: u8, components: &[u8], scan: u8) -> Vec<u8> {
        let count = components.len() as u8;
        let mut file =
            vec![0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, frame, 0, 8 + 3 * count, 8, 0, 16, 0, 24, count];
        for (index, blocks) in components.iter().enumerate() {
            file.extend([index as u8, *blocks, 0]);
        }
        file.extend([0xff, 0xff, 0xda, 0, 3, scan]);
        file
    }

    #[test]
    fn coefficients_are_kept_of_frames_that_come_in_several_scans() {
        let coefficients = |frame, components: &[u8], scan| {
            let frame = Frame::of(&file(frame, components, scan)).unwrap();
            assert_eq!(frame.size, Size::new(24, 16));
            frame.coefficients()
        };
        assert_eq!(coefficients(0xc0, &[0x22, 0x11, 0x11], 3), 0);
        assert_eq!(coefficients(0xc0, &[0x11, 0x11, 0x11], 1), 24 * 16 * 3 * 2);
        assert_eq!(coefficients(0xc2, &[0x11], 1), 24 * 16 * 2);
        // Two units of 16 x 16 across, one down.
        assert_eq!(coefficients(0xc2, &[0x22, 0x11, 0x11], 3), 2 * 6 * 64 * 2);
        assert_eq!(Frame::of(b"\xff\xd8\xff\xd9"), None);
    }
}
