//! Implements data processors for model families: they prepare the input of chat templates, and read replies.
//!
//! Each family of models has its own conventions. Qwen 3 writes thinking between `<think>` and `</think>` and tool calls as JSON
//! between `<tool_call>` and `</tool_call>`; Gemma has a notation of its own; gpt-oss writes several messages with heads. A
//! [`DataProcessor`](alloquy_core::processor::DataProcessor) hides these differences. It works around the chat template:
//!
//! 1. It turns messages and tools into the input of the template, in the form that the family's templates expect.
//! 2. It cuts the rendered prompt into parts, so that text from people never becomes a control token, and puts media into
//!    their places.
//! 3. It reads the reply piece by piece, and splits it into text, thinking and tool calls.
//! 4. It writes a grammar of tool calls, for models whose output is constrained.
//!
//! # Use
//!
//! Most programs never call this crate: the crate `alloquy` detects the family when it loads a model. [`detect`] finds the
//! family of a model by its description files:
//!
//! ```
//! use alloquy_core::{Message, Preface};
//! use alloquy_core::model_info::ModelInfo;
//! use alloquy_core::processor::{PromptPart, ProcessorInput};
//! use alloquy_core::template::PromptEnd;
//! use alloquy_core::tokenizer::SpecialToken;
//!
//! let mut model = ModelInfo::default();
//! model.model_type = Some("qwen3".to_owned());
//! model.specials = vec![SpecialToken { text: "<|im_end|>".to_owned(), id: 7 }];
//! let processor = alloquy_processors::detect(&model).processor;
//!
//! let (preface, path) = (Preface::default(), [Message::user("What is <|im_end|>?")]);
//! let source = ProcessorInput::new(&preface, &path, PromptEnd::Generation);
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
//! # Tool calls
//!
//! Calls are read only if tools are offered. While a call is being written, its arguments arrive as deltas; at the end, it is
//! one part of the message:
//!
//! ```
//! use alloquy_core::model_info::ModelInfo;
//! use alloquy_core::processor::ProcessorInput;
//! use alloquy_core::template::PromptEnd;
//! use alloquy_core::{Message, Preface, ToolSpec};
//! use serde_json::json;
//!
//! let processor = alloquy_processors::named("qwen3", &ModelInfo::default())?;
//! let weather = ToolSpec::new("weather", "Returns the weather", json!({"type": "object"}));
//! let preface = Preface::default().tool(weather);
//! let path = [Message::user("How is the weather in Oslo?")];
//! let mut parser = processor.reply_parser("", ProcessorInput::new(&preface, &path, PromptEnd::Generation));
//! parser.push("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>");
//! let (_, message) = parser.finish();
//! let call = message.tool_calls().next().expect("a call");
//! assert_eq!((call.name.as_str(), &call.arguments), ("weather", &json!({"city": "Oslo"})));
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! A call that cannot be read is a malformed part with the raw text and the reason. The rest of the reply is read as usual.
//!
//! # Main types
//!
//! - [`detect`] finds the family of a model. [`named`] takes a family by name, and [`families`] lists the names.
//! - [`DataProcessorConfig`] changes a family for a tuned model: a further channel, or other markers around calls.
//! - [`Family`] describes a family as data, in Rust or JSON, for models that no family of this crate supports.
//!   `docs/adding-a-family.md` shows how.
//! - [`CallSyntax`] lists the ways in which models write calls, and [`CallMarkers`] what is around them.
//!
//! # Limits
//!
//! - A processor does no I/O. It does not render templates, encode text or sample tokens.
//! - A model that no family claims has the `generic` family: its replies are plain text without calls.
//! - Text becomes a control token only where the
//!   [`InjectionPolicy`](alloquy_core::arguments::InjectionPolicy) of the conversation or the family allows it.
//!   `docs/injection.md` describes what is checked, and how.
//!
//! # Modules
//!
//! The modules are in the order in which a request passes them: choosing a family, the input of the template, the parts of the
//! prompt, the reply.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod built_in;
mod call_markers;
mod call_texts;
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
