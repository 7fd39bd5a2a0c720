//! Stand-ins for tests: a byte tokenizer, an engine that follows a script, and what goes with them.

mod byte_tokenizer;
mod echo_model;
mod fault_store;
mod noise_engine;
mod scripted_engine;
mod tagged;

pub use byte_tokenizer::ByteTokenizer;
pub use echo_model::EchoModel;
pub use fault_store::{FaultStore, StoreCall};
pub use noise_engine::NoiseEngine;
pub use scripted_engine::ScriptedEngine;
pub use tagged::{TaggedProcessor, TaggedTemplate};
