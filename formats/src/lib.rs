//! Messages and whole conversations in the formats people have: what another program wrote is read, and what is here is
//! written for it. Data in and data out: no file, no network and no model.
//!
//! ```
//! use alloquy_core::Message;
//! use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits};
//! use alloquy_formats::messages::{self, Dialect, MediaRules};
//! use serde_json::json;
//!
//! // The messages of a request to OpenAI's API, as LiteRT-LM would have them.
//! let request = json!({"messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}]});
//! let transcript = messages::read(Dialect::OpenAi, &request, &MediaRules::default())?;
//! assert_eq!(transcript.messages[1], Message::user("Hi"));
//! let preface = messages::write(Dialect::LiteRt, &transcript)?;
//! assert_eq!(preface["messages"][1]["role"], "user");
//!
//! // A conversation that somebody noted, as a tree for a store.
//! let notes = "# Tea\n\n## User\n\nGreen or black?\n\n## Assistant\n\nGreen.\n";
//! let format = ArchiveFormat::recognized(notes)?;
//! let read = archive::read(format, notes, &ArchiveLimits::default())?;
//! let tea = read.into_iter().next().ok_or("no conversation")??.archive;
//! assert_eq!((tea.nodes.len(), &tea.record.metadata["title"]), (2, &json!("Tea")));
//!
//! // What a format has no place for is not dropped without a word.
//! let written = archive::write(ArchiveFormat::ChatMl, &tea, &ArchiveLimits::default())?;
//! assert_eq!(written.omitted[0].to_string(), "metadata is left out");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`messages`]: lists of messages in five dialects, media in them under rules, and what a request asks of its reply.
//! * [`archive`]: whole conversations with their branches, and what had to be repaired or left out.

pub mod archive;
pub mod messages;
