//! Messages and whole conversations in the formats of other programs: data in, data out.
//!
//! The crate converts between JSON, ChatML or Markdown and the types of [`alloquy_core`]. It has two halves:
//!
//! * [`messages`] reads and writes lists of messages: what a request to a model holds. It has five dialects
//!   ([`Dialect`](messages::Dialect)): LiteRT-LM, Gemini, OpenAI, AKI and ChatML.
//! * [`archive`] reads and writes whole conversations with their branches, for export, import and migration. It has five
//!   formats ([`ArchiveFormat`](archive::ArchiveFormat)): Alloquy's own, dataknobs, OpenAI, ChatML and Markdown.
//!
//! # Messages
//!
//! ```
//! use alloquy_core::Message;
//! use alloquy_formats::messages::{self, Dialect, MediaRules};
//! use serde_json::json;
//!
//! // The messages of a request to OpenAI's API, as a preface of LiteRT-LM.
//! let request = json!({"messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}]});
//! let transcript = messages::read(Dialect::OpenAi, &request, &MediaRules::default())?;
//! assert_eq!(transcript.messages[1], Message::user("Hi"));
//! let preface = messages::write(Dialect::LiteRt, &transcript)?;
//! assert_eq!(preface["messages"][1]["role"], "user");
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! [`messages::read`] returns a [`Transcript`](messages::Transcript): messages, tools, and the fields beside them. Its
//! [`into_request`](messages::Transcript::into_request) is what a model gets. The options of a request to OpenAI's API that
//! concern the reply, such as `response_format`, are [`OpenAiOptions`](messages::OpenAiOptions).
//!
//! A document may hold media as base64 or name them. [`MediaRules`](messages::MediaRules) limit the kinds and the bytes;
//! media that are only named are fetched by the host's [`MediaSource`](messages::MediaSource), or refused.
//!
//! # Conversations
//!
//! ```
//! use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits};
//! use serde_json::json;
//!
//! let notes = "# Tea\n\n## User\n\nGreen or black?\n\n## Assistant\n\nGreen.\n";
//! let format = ArchiveFormat::recognized(notes)?;
//! let read = archive::read(format, notes, &ArchiveLimits::default())?;
//! let tea = read.into_iter().next().ok_or("no conversation")??.archive;
//! assert_eq!(tea.nodes.len(), 2);
//! assert_eq!(tea.record.metadata["title"], json!("Tea"));
//!
//! // ChatML has no place for a title. What is left out is reported.
//! let written = archive::write(ArchiveFormat::ChatMl, &tea, &ArchiveLimits::default())?;
//! assert_eq!(written.omitted[0].to_string(), "metadata is left out");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A document with defects is read as far as possible: each change is a [`Repair`](archive::Repair). What a format has no
//! place for is an [`Omission`](archive::Omission). [`Archives`](archive::Archives) iterates over the conversations of a
//! large document, and [`import_all`](archive::import_all) stores them.
//!
//! # Limits
//!
//! * The crate opens no file and no connection, and calls no model.
//! * It accepts hostile documents: bytes, nodes and media have limits ([`ArchiveLimits`](archive::ArchiveLimits),
//!   [`MediaRules`](messages::MediaRules)), and errors quote at most some characters of a document.
//! * It renders no prompts: a chat template turns messages into text for a model, and is part of the crate
//!   `alloquy-templates`.
//! * It converts documents of one conversation or of many, and does not follow a conversation that changes.
//!
//! `docs/message-formats.md` describes the dialects field by field, `docs/import-export.md` the documents.

pub mod archive;
pub mod messages;
