//! Holds decoded images, three bytes a pixel and row by row, and the views that models take of them.

/// The size of an image in pixels.
///
/// [`ImageProcessor`](crate::ImageProcessor) has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Size {
    /// How many columns.
    pub width: usize,
    /// How many rows.
    pub height: usize,
}

impl Size {
    /// A size of `width` columns and `height` rows.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, height }
    }

    pub(crate) fn square(side: usize) -> Self {
        Self::new(side, side)
    }

    /// Returns how many pixels that are.
    pub fn pixels(self) -> usize {
        self.width.saturating_mul(self.height)
    }

    /// The same, neither side shorter.
    pub(crate) fn at_least(self, side: usize) -> Self {
        Self::new(self.width.max(side), self.height.max(side))
    }

    pub(crate) fn longest(self) -> usize {
        self.width.max(self.height)
    }

    pub(crate) fn shortest(self) -> usize {
        self.width.min(self.height)
    }

    pub(crate) fn whole(self) -> ResizeArea {
        ResizeArea { x: 0, y: 0, width: self.width, height: self.height }
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} x {}", self.width, self.height)
    }
}

/// A part of an image, in pixels.
///
/// ```
/// use alloquy_media::{ResizeArea, Size};
///
/// let area = ResizeArea { x: 10, y: 0, width: 200, height: 100 };
/// assert_eq!(area.size(), Size::new(200, 100));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResizeArea {
    /// The first column.
    pub x: usize,
    /// The first row.
    pub y: usize,
    /// How many columns.
    pub width: usize,
    /// How many rows.
    pub height: usize,
}

impl ResizeArea {
    /// Returns the size.
    pub fn size(self) -> Size {
        Size::new(self.width, self.height)
    }
}

/// Red, green and blue.
pub(crate) const CHANNELS: usize = 3;

/// A part of an image, stretched.
///
/// [`ImageProcessor`](crate::ImageProcessor) has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImageView {
    /// The part of the image.
    pub part: ResizeArea,
    /// The colour of the square that the part is put into the middle of, where it is.
    pub square: Option<[u8; CHANNELS]>,
    /// The size that it is stretched to.
    pub size: Size,
    /// What is cut out of that; each goes into the encoder by itself.
    pub windows: Vec<ResizeArea>,
}

impl ImageView {
    /// The whole of a part, stretched.
    pub(crate) fn stretched(part: ResizeArea, size: Size) -> Self {
        Self { part, square: None, size, windows: vec![size.whole()] }
    }

    pub(crate) fn windows(mut self, windows: Vec<ResizeArea>) -> Self {
        self.windows = windows;
        self
    }

    pub(crate) fn square(mut self, colour: Option<[u8; CHANNELS]>) -> Self {
        self.square = colour;
        self
    }

    /// The size of what is stretched.
    pub(crate) fn source(&self) -> Size {
        match self.square {
            Some(_) => Size::square(self.part.size().longest()),
            None => self.part.size(),
        }
    }
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    size: Size,
    bytes: Vec<u8>,
}

impl Image {
    /// An image of `bytes`; what is missing is black.
    pub(crate) fn new(size: Size, mut bytes: Vec<u8>) -> Self {
        bytes.resize(size.pixels() * CHANNELS, 0);
        Self { size, bytes }
    }

    /// An image of one colour.
    pub(crate) fn filled(size: Size, colour: [u8; CHANNELS]) -> Self {
        Self { size, bytes: colour.repeat(size.pixels()) }
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The bytes of so many rows; none where some are outside.
    pub(crate) fn band(&self, y: usize, rows: usize) -> &[u8] {
        let stride = self.size.width * CHANNELS;
        self.bytes.get(y * stride..(y + rows) * stride).unwrap_or_default()
    }

    /// The bytes of a row; none outside.
    pub(crate) fn row(&self, y: usize) -> &[u8] {
        let stride = self.size.width * CHANNELS;
        self.bytes.get(y * stride..(y + 1) * stride).unwrap_or_default()
    }

    /// The bytes of a part of a row; none outside.
    pub(crate) fn span(&self, y: usize, x: usize, width: usize) -> &[u8] {
        self.row(y).get(x * CHANNELS..(x + width) * CHANNELS).unwrap_or_default()
    }

    /// A part of the image.
    pub(crate) fn cut(&self, area: ResizeArea) -> Self {
        let rows: Vec<&[u8]> =
            (area.y..area.y + area.height).map(|y| self.span(y, area.x, area.width)).collect();
        Self::new(area.size(), rows.concat())
    }

    /// The image in the middle of a square of one colour.
    pub(crate) fn squared(&self, colour: [u8; CHANNELS]) -> Self {
        let side = self.size.longest();
        let left = (side - self.size.width) / 2;
        let top = (side - self.size.height) / 2;
        let mut square = Self::filled(Size::square(side), colour);
        for y in 0..self.size.height {
            let start = ((y + top) * side + left) * CHANNELS;
            if let Some(row) = square.bytes.get_mut(start..start + self.size.width * CHANNELS) {
                row.copy_from_slice(self.row(y));
            }
        }
        square
    }
}
