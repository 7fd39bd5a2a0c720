//! Reads a model's description files and its tokenizer, without weights and without a runtime.
//!
//! A model is a folder, as downloaded from the Hugging Face Hub. Its description files contain the architecture, the length
//! of the context, the chat template and the recommended sampling; `tokenizer.json`, or `tokenizer.model`, contains the vocabulary. With these, a
//! program can render a prompt, count its tokens and decode a reply. Only the graph, which computes the reply, needs a
//! runtime. So a backend whose graph runs elsewhere needs this crate alone.
//!
//! ```
//! use alloquy_core::tokenizer::{TokenizerInput, Tokenizer};
//! use alloquy_model_files::{HuggingFaceTokenizer, ModelFiles, describe_files};
//!
//! let files = ModelFiles::new("little")
//!     .file("config.json", br#"{"model_type": "llama", "max_position_embeddings": 512}"#.as_slice())
//!     .file("tokenizer.json", br#"{"added_tokens": [], "decoder": {"type": "ByteLevel", "add_prefix_space": true,
//!         "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"H": 0, "i": 1}, "merges": []}}"#.as_slice());
//! let info = describe_files(&files)?;
//! assert_eq!((info.model_type.as_deref(), info.context_length), (Some("llama"), 512));
//! let tokenizer = HuggingFaceTokenizer::from_json(files.read("tokenizer.json")?)?;
//! assert_eq!(tokenizer.encode(&[TokenizerInput::Text("Hi")])?, [0, 1]);
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # Main types
//!
//! - [`describe`] reads the description files of a folder into a [`ModelInfo`](alloquy_core::model_info::ModelInfo). It takes
//!   milliseconds for a model of any size. [`describe_files`] does the same for files in memory.
//! - [`ModelFolder`] opens a folder, a folder of a Hugging Face cache, or the folder of an `.onnx` file. [`ModelFiles`] holds
//!   files in memory, for a program that embeds its model.
//! - [`HuggingFaceTokenizer`] reads the [`TokenizerFile`] and encodes prompts with the ids of Hugging Face's `tokenizers`. A piece that is
//!   [`Literal`](alloquy_core::tokenizer::TokenizerInput::Literal) never becomes a control token. It decodes replies token by token.
//! - [`TextTokenizer`] encodes whole texts and pairs of texts for models of embeddings and rerankers.
//! - [`model_info`] adds to a description what the tokenizer knows: the stop tokens and the control tokens.
//! - [`Description`] looks a fact up in the places where models keep it. A backend uses it for facts of its own.
//!
//! # Text that is literal
//!
//! A user may write `<|end|>` in a message. In the template's text, it is the token that ends a turn; in the user's text, it
//! must not be:
//!
//! ```
//! use alloquy_core::tokenizer::{TokenizerInput, Tokenizer, decode};
//! use alloquy_model_files::HuggingFaceTokenizer;
//!
//! let json = r#"{
//!     "added_tokens": [{"id": 3, "content": "<|>", "special": true, "single_word": false,
//!                       "lstrip": false, "rstrip": false, "normalized": false}],
//!     "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
//!     "model": {"type": "BPE", "vocab": {"<": 0, "|": 1, ">": 2}, "merges": []}
//! }"#;
//! let tokenizer = HuggingFaceTokenizer::from_json(json.as_bytes())?;
//! let ids = tokenizer.encode(&[TokenizerInput::Literal("<|>"), TokenizerInput::Text("<|>")])?;
//! assert_eq!(ids, [0, 1, 2, 3]);
//! assert_eq!(decode(&tokenizer, &ids)?, "<|><|>");
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # Limits
//!
//! - A folder may come from strangers. [`bounded`] reads regular files of limited length, and no path leads out of the
//!   folder. A tokenizer whose steps could make a text far too long is refused before it is run.
//! - A tokenizer is a `tokenizer.json`, or else a file of SentencePiece or tiktoken. The error for other files contains the
//!   command that converts them.
//! - Weights and graphs are never opened, and nothing is downloaded.
//!
//! # Modules
//!
//! The modules are in the order in which a folder becomes a description. `folder` and `files` have the texts, and
//! `description` looks facts up in them. `generation_config` and `model_info` interpret the facts. `tokenizer` does not depend
//! on these.

pub mod bounded;
mod describe;
mod description;
mod error;
mod files;
mod folder;
mod generation_config;
mod model_info;
mod tokenizer;
mod tokenizer_file;

pub use describe::{describe, describe_files};
pub use description::{Description, FactPlace, missing_fact};
pub use files::ModelFiles;
pub use folder::ModelFolder;
pub use model_info::{context_length, model_info};
pub use tokenizer::{HuggingFaceTokenizer, TextTokenizer, TextTokens};
pub use tokenizer_file::TokenizerFile;
