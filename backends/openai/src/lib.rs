//! Continues prompts on a server that takes token ids and returns token ids: vLLM, SGLang, TensorRT-LLM, Dynamo,
//! llama.cpp.
//!
//! A conversation that outgrows one machine continues on an engine that is spread over many. [`RemoteDecoder`] is a
//! [`Decoder`](alloquy_engine::decoder::Decoder) like the local one. It receives the ids of a prompt and returns the ids of a
//! reply. The chat template, the protection against control tokens in texts, the exact history and the reasons of cache misses
//! stay the same. So the same conversation can continue here and there in turn.
//!
//! ```no_run
//! use alloquy_core::processor::PromptPart;
//! use alloquy_core::prompt::Prompt;
//! use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
//! use alloquy_openai::RemoteDecoder;
//! use futures::StreamExt;
//!
//! # async fn example() -> alloquy_core::Result<()> {
//! // The folder has the tokenizer and the configuration, and needs no weights.
//! let decoder = RemoteDecoder::connect("http://localhost:8080", "models/stories260k").await?;
//! let prompt = Prompt::lower(&[PromptPart::Text("Once upon a time".into())], decoder.tokenizer())?;
//! let mut events = decoder.decode(DecodeRequest::new(prompt, 20));
//! while let Some(event) = events.next().await {
//!     if let DecodeEventKind::Token { id, .. } = event?.kind {
//!         println!("{id}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What a server is asked
//!
//! - [`RemoteBuilder::connect`] finds out the [`Dialect`], the name of the model and the length of its context, and compares the
//!   ids of twenty texts. A server with another tokenizer is refused. [`RemoteDecoder::description`] reports all of it.
//! - Every option of sampling is sent with its value, because the defaults of servers are not ours. What a dialect cannot do is
//!   named by [`Decoder::ignored`](alloquy_engine::decoder::Decoder::ignored), and becomes a warning of the reply.
//! - Texts of answers are never read. An id outside the vocabulary is an error.
//! - Adapters are chosen by their names ([`RemoteDecoder::for_adapter`]).
//! - A grammar is sent where the dialect has one like it, and refused otherwise. `LanguageModel` replays each id through its own
//!   matcher, because a server may break the form.
//! - A dropped stream closes its connection, and the server stops generating.
//!
//! # Faults
//!
//! A request is sent again only before its first token: when the connection fails, when it takes too long, and for the statuses
//! 408, 429, 502, 503 and 504. It waits for `Retry-After`, or for a random time that may be twice as long each time
//! ([`RemoteRetries`]). After the first token a
//! failure is the last item of the stream, and what was said before is kept. [`RemoteTimeouts`] says how long a request waits.
//! [`RemoteServer`] has both, with the key.
//!
//! # Several servers
//!
//! [`RemoteBuilder::another`] adds servers with the same model. A request goes to the one that has the conversation in its cache,
//! or to the one with the least load for its weight. When a server fails before the first token, the request goes to another
//! one at once. The server that failed rests, and is checked before it gets requests again. [`RemoteDecoder::endpoints`] reports
//! how each is.
//!
//! # What was cached
//!
//! The number of cached tokens is the server's. [`Dialect::reports_cache_first`] says which servers send it with the first
//! token. Of the others, the first report has 0 cached tokens, and
//! [`DecodeEventKind::Cached`](alloquy_engine::decoder::DecodeEventKind::Cached) has the number that came at the end. The latest
//! prompts are remembered here, which gives a miss its reason.
//!
//! # Thinking
//!
//! A budget of thinking is kept here, and so is a grammar that begins after thinking: the first request is left where thinking
//! ends, and a second one continues after the tokens that end it. `docs/remote.md` has the details.
//!
//! # Slots of llama.cpp
//!
//! A llama.cpp server continues as many prompts at once as it has slots. Requests are sent to the slot that holds most of their
//! prompt, branches of one stem after one another, and the others wait here. [`RemoteBuilder::slots_by_server`] leaves that to the server.
//! Its slots can be saved: [`Decoder::snapshot`](alloquy_engine::decoder::Decoder::snapshot) returns a snapshot that names a file of the
//! server, if it was started with `--slot-save-path`.
//!
//! # Embeddings and reranking
//!
//! With the feature `retrieval`, `RemoteEmbedder` computes vectors of texts on a server, and `RemoteReranker` orders passages. Both are
//! members of the traits of the crate `alloquy-retrieval`.
//!
//! # Servers that take no ids
//!
//! [`RemoteChat`] is a [`ChatModel`](alloquy_core::ChatModel) over a chat endpoint: Chat Completions, Messages or Responses
//! ([`ChatProtocol`]). The server renders and encodes the prompt, so a reply has no tokens, no report of the cache, and no protection
//! against control tokens in texts.
//!
//! # Secrets
//!
//! A key comes from a variable or a file ([`ApiKey`]) and is never printed. Redirections are not followed. Of several owners,
//! each can have a salt, so that none can find out what another one has in the cache ([`RemoteDecoder::for_owner`]).

#![cfg_attr(docsrs, feature(doc_cfg))]

mod adapter;
mod admission;
mod builder;
mod chat;
mod choice;
mod decoder;
mod description;
mod dialect;
mod endpoint;
mod fault;
mod fingerprint;
mod health;
mod http;
mod inspection;
mod key;
mod likeness;
mod memory;
mod pool;
mod probe;
mod random;
mod reply;
mod request;
#[cfg(feature = "retrieval")]
mod retrieval;
mod salt;
mod saved;
mod scoring;
mod server;
mod slots;
mod source;
mod sse;
mod streamed;
mod thinking;
mod transfer;
mod wire;
mod worker;

pub use builder::RemoteBuilder;
pub use chat::{ChatProtocol, RemoteChat, RemoteChatBuilder};
pub use decoder::RemoteDecoder;
pub use description::{RemoteDescription, TokenizerCheck};
pub use dialect::Dialect;
pub use endpoint::{EndpointHealth, RemoteEndpoint};
pub use inspection::{RemoteModel, RemoteReport};
pub use key::ApiKey;
#[cfg(feature = "retrieval")]
pub use retrieval::{
    RemoteEmbedder, RemoteEmbedderBuilder, RemoteEmbedderInfo, RemoteReranker, RemoteRerankerBuilder,
    RemoteRerankerInfo,
};
pub use salt::SaltSecret;
pub use server::{RemoteRetries, RemoteServer, RemoteTimeouts};
pub use source::RemoteFiles;
