//! Model families: what goes into a chat template, and what a model's reply is made of.
//!
//! A processor turns messages and tools into what templates read, keeps people's text from becoming control
//! tokens, and reads replies piece by piece: thoughts, text, tool calls. It does no I/O and does not render,
//! encode or sample. [`detect`] finds the family of a model, [`named`] takes one by name; [`DataProcessorConfig`] sets what a family has
//! otherwise. A model that none of them is for has a [`Family`] of its own, as data.
//!
//! ```
//! use alloquy_core::{Message, Preface};
//! use alloquy_core::model_info::ModelInfo;
//! use alloquy_core::processor::{PromptPart, PromptSource};
//! use alloquy_core::template::Ending;
//! use alloquy_core::tokenizer::SpecialToken;
//!
//! let mut model = ModelInfo::default();
//! model.model_type = Some("qwen3".to_owned());
//! model.specials = vec![SpecialToken { text: "<|im_end|>".to_owned(), id: 7 }];
//! let processor = alloquy_processors::detect(&model).processor;
//!
//! let (preface, path) = (Preface::default(), [Message::user("What is <|im_end|>?")]);
//! let source = PromptSource::new(&preface, &path, Ending::Answer);
//! let input = processor.template_input(source)?;
//! // A chat template would render the input; this prints the one message.
//! let rendered = format!("{}<|im_end|>", input.messages[0]["content"].as_str().unwrap_or_default());
//! let parts = processor.prompt_parts(&rendered, source)?;
//! assert_eq!(parts[1], PromptPart::Literal("<|im_end|>".to_owned()));
//! assert_eq!(parts[2], PromptPart::Text("?<|im_end|>".to_owned()));
//!
//! let mut parser = processor.reply_parser(&rendered, source);
//! parser.push("<think>\nA control token.\n</think>\n\nIt ends a turn.");
//! let (_, message) = parser.finish();
//! assert_eq!(message.thinking().as_deref(), Some("A control token."));
//! assert_eq!(message.text(), "It ends a turn.");
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! The modules are listed in the order in which a request meets them: choosing a family, what the template is
//! given, what the prompt is cut into, what the reply becomes.

mod built_in;
mod call_markers;
mod config;
mod configured;
mod detect;
mod families;
mod family;
mod family_processor;
mod processor;

mod history;
mod injection;
mod input;
mod placeholders;
mod shape;

mod calls;
mod parser;
mod tool_grammar;

#[cfg(feature = "laws")]
pub mod laws;

pub use call_markers::CallMarkers;
pub use calls::{CallSyntax, GemmaCalls, GemmaQuote, JsonCalls, PythonCalls, ValueKind, XmlCalls};
pub use config::DataProcessorConfig;
pub use detect::{Detected, detect, detect_with, families, named, named_with};
pub use family::{AnswerHeads, CallIdForm, Family};
pub use placeholders::Placeholder;
