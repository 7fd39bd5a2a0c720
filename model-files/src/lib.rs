//! Reads a model's description files and its tokenizer, without weights and without a runtime.
//!
//! A model is a folder as the Hugging Face Hub has it ([`ModelFolder`]), or files in memory ([`ModelFiles`]).
//! [`describe`] reads what the description files say (the architecture, the length of the context, the recommended sampling)
//! in milliseconds, whatever the model's size. [`HuggingFaceTokenizer`] reads `tokenizer.json`: it encodes prompts as
//! Hugging Face's `tokenizers` does, with parts that can never become control tokens, and decodes replies token by token.
//! [`model_info`] joins both. That is all that rendering and counting a prompt needs, so a backend whose graph runs elsewhere needs
//! this crate alone.
//!
//! ```
//! use alloquy_core::tokenizer::{Piece, Tokenizer};
//! use alloquy_model_files::{HuggingFaceTokenizer, ModelFiles, describe_files};
//!
//! let files = ModelFiles::new("little")
//!     .file("config.json", br#"{"model_type": "llama", "max_position_embeddings": 512}"#.as_slice())
//!     .file("tokenizer.json", br#"{"added_tokens": [], "decoder": {"type": "ByteLevel", "add_prefix_space": true,
//!         "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"H": 0, "i": 1}, "merges": []}}"#.as_slice());
//! let info = describe_files(&files)?;
//! assert_eq!((info.model_type.as_deref(), info.context_length), (Some("llama"), 512));
//! let tokenizer = HuggingFaceTokenizer::from_json(files.read("tokenizer.json")?)?;
//! assert_eq!(tokenizer.encode(&[Piece::Text("Hi")])?, [0, 1]);
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! The modules, in the order in which a folder becomes a description: `folder` and `files` hold the texts, `description` looks facts
//! up in them, `generation_config` and `model_info` say what the facts mean, and `tokenizer` is by itself. A folder may come from
//! strangers: [`bounded`] reads regular files of limited length, and a tokenizer that would make endlessly much of a text is
//! refused.

pub mod bounded;
mod describe;
mod description;
mod error;
mod files;
mod folder;
mod generation_config;
mod model_info;
mod tokenizer;

pub use describe::{describe, describe_files};
pub use description::{Description, FactPlace, missing_fact};
pub use files::ModelFiles;
pub use folder::ModelFolder;
pub use model_info::{context_length, model_info};
pub use tokenizer::HuggingFaceTokenizer;
