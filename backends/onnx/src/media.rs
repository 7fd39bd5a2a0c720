//! What a decoder is given of pictures and sounds: their positions, and what an encoder makes of them. Knows no session.

mod encoder;
mod mask;
mod options;
mod passage;
pub(crate) mod portion;
mod reader;
mod recent;
mod tensor;

pub(crate) use options::{MediaOptions, Opened};
pub(crate) use reader::MediaReader;
pub use reader::MediaStatistics;
