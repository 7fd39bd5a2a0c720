//! Test doubles: models and engines that follow a script, a byte tokenizer, a store that fails.

mod byte_tokenizer;
mod cached_prompt;
mod counting_allocator;
mod draws;
mod echo_model;
mod fault_store;
mod guessing_engine;
mod hub_server;
mod noise_engine;
mod read_reply;
mod scripted_engine;
mod scripted_media;
mod scripted_model;
mod tagged;

pub use byte_tokenizer::ByteTokenizer;
pub use counting_allocator::CountingAllocator;
pub use draws::Draws;
pub use echo_model::EchoModel;
pub use fault_store::{FaultStore, StoreCall};
pub use guessing_engine::GuessingEngine;
pub use hub_server::{HubFaults, HubRequest, HubServer};
pub use noise_engine::NoiseEngine;
pub use read_reply::{ReadReply, join_deltas};
pub use scripted_engine::ScriptedEngine;
pub use scripted_media::ScriptedMedia;
pub use scripted_model::{ScriptedModel, ScriptedReply};
pub use tagged::{TaggedProcessor, TaggedTemplate};
