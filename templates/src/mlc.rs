//! MLC's conversation templates, of both generations, and the `mlc-chat-config.json` that names or contains them.
//!
//! ```
//! use alloquy_core::template::{PromptTemplate, TemplateInput};
//! use alloquy_templates::mlc::ChatConfig;
//! use serde_json::json;
//!
//! let config = ChatConfig::from_json(r#"{"conv_template": "redpajama_chat", "temperature": 0.7}"#)?;
//! let template = config.template.expect("the file names a template");
//! let mut input = TemplateInput::default();
//! input.messages.push(json!({"role": "user", "content": "Hello"}));
//! assert_eq!(template.render(&input)?, "<human>: Hello\n<bot>:");
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! References: `python/mlc_llm/protocol/conversation_protocol.py` of MLC LLM for today's object, and
//! `cpp/conversation.h`, `cpp/conv_templates.cc` and `cpp/llm_chat.cc` up to May 2024 for `conv_config`.

mod chat_config;
mod context_shift;
mod current;
mod current_prompt;
mod draft;
mod fields;
mod front;
mod function_string;
mod generation;
mod legacy;
mod legacy_prompt;
mod named;
mod part;
mod registry;
mod relaxed;
mod template;
mod warning;

pub(crate) use chat_config::has_template;
pub use chat_config::{ChatConfig, MLC_CHAT_CONFIG, SpecialIds};
pub use context_shift::{ContextShift, PartLength, Restart, Shift};
pub use generation::Generation;
pub use part::{Part, PartKind};
pub use template::ConversationTemplate;
pub use warning::Warning;
