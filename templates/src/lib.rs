//! Chat templates: Jinja as Hugging Face renders it, and MLC conversation templates.
//!
//! A chat template turns the messages of a conversation, as JSON, into the text of a prompt. Most models bring one as a Jinja
//! file. This crate renders it with the same bytes as `apply_chat_template` of transformers, within limits for time and
//! memory, because templates come from strangers.
//!
//! ```
//! use alloquy_core::model_info::ModelInfo;
//! use alloquy_core::template::TemplateInput;
//! use alloquy_templates::{TemplateOrigin, detect};
//! use serde_json::json;
//!
//! // The files of a model folder, as `alloquy-model-files` reads them.
//! let source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}{% endfor %}\
//!               {% if add_generation_prompt %}<|assistant|>{% endif %}";
//! let mut model = ModelInfo::default();
//! model.files.insert("chat_template.jinja".into(), source.into());
//! model.files.insert("tokenizer_config.json".into(), r#"{"eos_token": "</s>"}"#.into());
//!
//! let detected = detect(&model)?;
//! assert_eq!(detected.origin, TemplateOrigin::ChatTemplateJinja);
//!
//! let mut input = TemplateInput::default();
//! input.messages.push(json!({"role": "user", "content": "Hello"}));
//! assert_eq!(detected.template.render(&input)?, "<|user|>Hello</s><|assistant|>");
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # Templates
//!
//! Each of them is a [`PromptTemplate`](alloquy_core::template::PromptTemplate). [`detect`] chooses the one of a model:
//!
//! | template | for models with |
//! |---|---|
//! | [`JinjaTemplate`] | a Jinja chat template in one of the places that [`sources`] lists |
//! | [`ConversationTemplate`] | an `mlc-chat-config.json`, or a name that MLC knows, such as `vicuna_v1.1` |
//! | [`CompletionTemplate`] | neither: the texts of the messages are the prompt |
//!
//! [`detect_with`] and [`JinjaTemplate::builder_of`] configure a Jinja template:
//!
//! * [`Dialect`]: whether it renders as transformers 5, transformers 4 or LiteRT-LM do.
//! * [`Polyfill`]: what happens to a part of the conversation that the template does not print. By default that is an error,
//!   so that no system message or tool disappears unnoticed.
//! * [`NowSource`]: the time that `strftime_now` prints.
//! * [`Limits`]: the steps, the bytes of output and the bytes of source that are allowed.
//!
//! [`JinjaTemplate::capabilities`] measures what a template prints, such as tools, reasoning or documents, by rendering
//! small conversations. [`JinjaTemplate::render_spans`] also returns which parts of the prompt the assistant wrote.
//!
//! # Prompt texts
//!
//! [`PromptText`] is a text with variables, as authors of prompts write it: `Hello {{name}}((, you have {{count}} messages))`.
//! It uses the same engine, within the default limits, and reports which parts of the prompt come from which value. The
//! texts print what those of dataknobs print, with these differences:
//!
//! * A value is never rendered again, whatever it contains.
//! * Comments and raw blocks stay as they are. Optional sections are found outside of Jinja's code only.
//! * `prompt_ref` passes its arguments, not the values of the text that calls it.
//! * An undefined field, as in `{{ user.age }}`, is printed as it is written. A filter gets an empty text instead.
//! * The name of a loop's variable hides a value of the same name.
//!
//! # Limits
//!
//! * A render that exceeds a limit is an error, never a truncated prompt. A panic of the template engine is an error, too.
//! * A template cannot load files, other templates or extensions.
//! * The crate produces text. Tokenizing it, and keeping control tokens out of the texts of users, is the task of
//!   `alloquy-processors`.
//!
//! `docs/templates.md` lists every known difference from transformers, and `docs/mlc.md` those from MLC. The tests compare
//! the output with both for hundreds of public templates.

mod completion;
mod detect;
mod files;
mod jinja;
pub mod mlc;
pub mod sources;
mod special_tokens;

pub use completion::CompletionTemplate;
pub use detect::{Detected, detect, detect_with};
pub use jinja::{
    AppliedPolyfill, ArgumentForms, Capabilities, DEFAULT_OUTPUT_BYTES, DEFAULT_SOURCE_BYTES, DEFAULT_STEPS,
    Dialect, JinjaTemplate, JinjaTemplateBuilder, Limits, NoReferences, NowSource, Polyfill, PromptReference,
    PromptReferences, PromptSyntax, PromptText, Rendered, SystemRole, format_to_jinja,
};
pub use mlc::ConversationTemplate;
pub use sources::{TemplateOrigin, TemplateSource};
pub use special_tokens::of as special_tokens;
