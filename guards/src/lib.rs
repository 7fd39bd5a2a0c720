//! Guards for conversations with language models: middleware that holds while a reply streams.

pub mod clock;
pub mod limits;
pub mod redact;
mod replay;
pub mod validate;
