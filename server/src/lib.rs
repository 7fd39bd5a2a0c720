//! Serves the models and the stored conversations of Alloquy over HTTP, for the clients of OpenAI, Anthropic and Ollama.
//!
//! ```no_run
//! use alloquy_server::{Server, ServedModel};
//! use alloquy_testing::EchoModel;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).build()?;
//! server.serve(tokio::net::TcpListener::bind("127.0.0.1:8080").await?).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A client needs only the address:
//!
//! ```sh
//! curl http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \
//!   -d '{"model": "echo", "messages": [{"role": "user", "content": "Hello"}]}'
//! ```
//!
//! # Routes
//!
//! | route | what it does |
//! |---|---|
//! | `POST /v1/chat/completions` | answers a list of messages, whole or as a stream; with `"store": true` the conversation is kept |
//! | `GET /v1/chat/completions` | lists the stored ones |
//! | `GET`, `POST`, `DELETE /v1/chat/completions/{id}` | one of them, its metadata, its end |
//! | `GET /v1/chat/completions/{id}/messages` | the messages that were sent |
//! | `POST /v1/responses` | answers items, whole, as a stream or in the background; a response's id is its place in the tree |
//! | `GET`, `DELETE /v1/responses/{id}` | a stored response or its events, its end |
//! | `POST /v1/responses/{id}/cancel`, `GET /v1/responses/{id}/input_items` | ends one in the background; what was sent |
//! | `POST /v1/responses/input_tokens`, `POST /v1/responses/compact` | the number of a prompt's tokens; a conversation made shorter |
//! | `POST /v1/conversations`, `GET`, `POST`, `DELETE /v1/conversations/{id}` | conversations and their metadata |
//! | `GET`, `POST /v1/conversations/{id}/items`, `GET`, `DELETE /v1/conversations/{id}/items/{item}` | the items of the path to the head |
//! | `POST /v1/messages`, `POST /v1/messages/count_tokens` | Anthropic's Messages, whole or as a stream, and the number of their tokens |
//! | `POST /api/chat`, `POST /api/generate` | Ollama's chats and prompts, as lines or whole |
//! | `GET /api/tags`, `GET /api/ps`, `POST /api/show`, `GET /api/version` | the models, as Ollama's clients know them |
//! | `POST /v1/embeddings`, `POST /api/embed` | the vectors of texts |
//! | `POST /v1/rerank` | the order of texts by how well they answer a question |
//! | `GET /v1/models`, `GET /v1/models/{name}` | the models |
//! | `/v1/alloquy/conversations` | stored conversations as trees: turns, branches, the head, notes, copies, documents, costs |
//! | `GET /v1/alloquy/conversations/{id}/events`, `GET /v1/alloquy/events` | changes as they happen, resumable |
//! | `GET`, `PUT`, `DELETE /v1/alloquy/conversations/{id}/snapshot` | what a model has computed of a conversation, for other servers and for later ([`ServerBuilder::snapshots`]) |
//! | `GET /v1/alloquy/search`, `POST /v1/alloquy/import` | finds messages, stores conversations of a document |
//! | `/v1/alloquy/prompts`, `/v1/alloquy/flows` | the prompts and the flows of the host ([`ServerBuilder::prompts`], [`ServerBuilder::flow`]) |
//! | `GET /v1/alloquy/tools` | the tools of the host, which a turn or a response names ([`ServerBuilder::tools`]) |
//! | `GET /v1/alloquy/usage`, `GET /v1/alloquy/page` | the limits of a key and what is used; the models and what they can do |
//! | `GET /` | the page with the conversations ([`ServerBuilder::page`]) |
//! | `GET /openapi.json` | all of these with the forms of their requests and answers |
//! | `GET /health`, `GET /ready` | whether the process runs, and whether it takes requests |
//! | `GET /metrics` | what is counted and measured, for Prometheus |
//!
//! # What holds for each request
//!
//! * **Nothing is ignored in silence.** An unknown field is a 400 that names it, and so is a value that has no effect here. What a model
//!   did not do as asked is in `alloquy.warnings` of its reply.
//! * **Every error has one body**: `{"error": {"message", "type", "param", "code"}}`, also for unknown addresses and damaged JSON. Below
//!   `/v1/messages` and `/api` it is that of the protocol.
//! * **A client that leaves ends its reply**, and a client that does not read ends it after a while. Where the conversation is stored, the
//!   text so far is kept.
//! * **A model is never unloaded while it writes.** [`ServerBuilder::memory`] has the rules.
//! * **Without keys, only this machine is served.** [`KeyFile`] has the rest: each key is an owner, with limits of its own.
//!
//! # Where to read on
//!
//! [`Server`] and [`ServerBuilder`]; [`ServedModel`] and [`ModelSource`] for models that are loaded on demand; [`ServedEmbedder`] for models of vectors, and [`ServedReranker`] for rerankers; [`ServedTools`] for tools that requests name; [`RequestLimits`] for
//! sizes and times. `docs/server.md` in the repository describes every route.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod access;
mod admission;
mod app;
mod body;
mod builder;
mod call_arguments;
mod caller;
mod charged;
mod chat_completions;
mod client_tools;
mod client_trace;
mod connections;
mod conversations;
mod current_prompts;
mod deleted_object;
mod embedders;
mod embeddings;
mod error;
mod error_form;
mod flow_runs;
mod flow_set;
mod handle;
mod health;
mod held_streams;
mod host_tools;
mod image;
mod items;
mod keys;
mod known_tag;
mod limited_model;
mod limits;
mod logprobs;
mod managers;
mod media_policy;
mod messages;
mod metrics;
mod metrics_page;
mod metrics_token;
mod model_list;
mod models;
mod no_model;
mod observation;
mod ollama;
mod open_approvals;
mod openapi;
mod operation;
mod origin;
mod page;
mod paging;
mod prompt_settings;
mod prompts;
mod reply_report;
mod rerank;
mod rerankers;
mod response_runs;
mod responses;
mod routes;
mod running;
mod served_tools;
mod server;
mod service_manager;
mod snapshots;
mod streaming;
mod tally;
mod text_or;
mod times;
mod tool_list;
mod trees;
mod turn_options;
mod usage;
mod watched_store;

pub use builder::ServerBuilder;
pub use client_trace::ClientTrace;
pub use embedders::ServedEmbedder;
pub use handle::{CheckedLibrary, ServerHandle};
pub use keys::{Key, KeyFile, KeyLimits};
pub use limits::RequestLimits;
pub use models::{ModelSource, OpenedModel, ServedModel};
pub use rerankers::ServedReranker;
pub use served_tools::ServedTools;
pub use server::Server;
