//! Stand-ins for tests: a byte tokenizer, an engine that follows a script, and what goes with them.

mod byte_tokenizer;
mod draws;
mod echo_model;
mod fault_store;
mod noise_engine;
mod read_reply;
mod resident;
mod scripted_engine;
mod scripted_media;
mod tagged;

pub use byte_tokenizer::ByteTokenizer;
pub use draws::Draws;
pub use echo_model::EchoModel;
pub use fault_store::{FaultStore, StoreCall};
pub use noise_engine::NoiseEngine;
pub use read_reply::{ReadReply, join_deltas};
pub use scripted_engine::ScriptedEngine;
pub use scripted_media::ScriptedMedia;
pub use tagged::{TaggedProcessor, TaggedTemplate};
