//! Images, audio and video as a decoder takes them: positions, and the features that an encoder makes.

mod encoder;
mod mask;
pub(crate) mod media_chunk;
mod media_positions;
mod options;
mod reader;
mod recent;
mod tensor;

pub(crate) use options::{MediaOptions, Opened};
pub(crate) use reader::MediaReader;
pub use reader::MediaStatistics;
