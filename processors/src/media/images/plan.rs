//! What is cut out of a picture, and to which size it is stretched. Knows no pixels.

use super::picture::{Area, CHANNELS, Size};

/// How a picture of some size goes into a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImagePlan {
    /// What is looked at, in the order in which the encoder is fed it.
    pub views: Vec<ImageView>,
    /// The pixels that the model's files would have it resized to, where a cap made it fewer.
    pub uncapped: Option<usize>,
}

impl ImagePlan {
    pub(crate) fn of(view: ImageView) -> Self {
        Self { views: vec![view], uncapped: None }
    }

    /// The size of the first view.
    pub(crate) fn size(&self) -> Size {
        self.views.first().map_or(Size::new(0, 0), |view| view.size)
    }
}

/// A part of a picture, stretched.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImageView {
    /// The part of the picture.
    pub part: Area,
    /// The colour of the square that the part is put into the middle of, where it is.
    pub square: Option<[u8; CHANNELS]>,
    /// The size that it is stretched to.
    pub size: Size,
    /// What is cut out of that; each goes into the encoder by itself.
    pub windows: Vec<Area>,
}

impl ImageView {
    /// The whole of a part, stretched.
    pub(crate) fn stretched(part: Area, size: Size) -> Self {
        Self { part, square: None, size, windows: vec![size.whole()] }
    }

    pub(crate) fn windows(mut self, windows: Vec<Area>) -> Self {
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
