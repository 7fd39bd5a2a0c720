//! What is cut out of an image, and to which size it is stretched. Knows no pixels.

use super::view::{ImageView, Size};

/// How an image of some size goes into a model.
///
/// [`ImageProcessor`](crate::ImageProcessor) has an example.
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
