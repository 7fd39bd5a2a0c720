//! Guards for conversations with language models: middleware that holds while a reply streams.

pub mod clock;
pub mod facts;
pub mod fallback;
pub mod limits;
pub mod redact;
mod replay;
pub mod reply_cache;
pub mod spans;
pub mod validate;
