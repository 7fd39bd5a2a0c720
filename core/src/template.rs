//! The trait of chat templates, which render messages to the text of a prompt.

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::Result;
use crate::media::Digest;
use crate::report::Warning;
use crate::tokenizer::TokenId;

/// How a rendered prompt ends.
///
/// A [`PromptTemplate`] renders each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptEnd {
    /// With the header of the assistant's turn, so that the model answers (`add_generation_prompt`).
    #[default]
    Generation,
    /// After the last message.
    Closed,
    /// Inside the last message, which the model continues (`continue_final_message`).
    Continuation,
}

/// The variables of a chat template, in the format of Hugging Face.
///
/// ```
/// use alloquy_core::template::TemplateInput;
/// use serde_json::json;
///
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "user", "content": "Hello"}));
/// assert!(input.tools.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateInput {
    /// `messages`: objects with `role`, `content` and other fields.
    pub messages: Vec<Value>,
    /// `tools`: `None` if there are none, which templates see as null.
    pub tools: Option<Vec<Value>>,
    /// `documents`: `None` if there are none.
    pub documents: Option<Vec<Value>>,
    /// How the prompt ends.
    pub ending: PromptEnd,
    /// Further variables; they override the template's own.
    pub extra: Map<String, Value>,
}

/// Renders the text of a prompt.
///
/// ```
/// use alloquy_core::Result;
/// use alloquy_core::media::Digest;
/// use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
/// use serde_json::json;
///
/// /// Renders each message as a line.
/// #[derive(Debug)]
/// struct Lines;
///
/// impl PromptTemplate for Lines {
///     fn render(&self, input: &TemplateInput) -> Result<String> {
///         let mut prompt = String::new();
///         for message in &input.messages {
///             let role = message["role"].as_str().unwrap_or_default();
///             let content = message["content"].as_str().unwrap_or_default();
///             prompt += &format!("{role}: {content}\n");
///         }
///         match input.ending {
///             PromptEnd::Generation => prompt += "assistant:",
///             PromptEnd::Closed => {}
///             // Without the line break, the model continues the last message.
///             PromptEnd::Continuation => drop(prompt.pop()),
///         }
///         Ok(prompt)
///     }
///
///     fn digest(&self) -> Digest {
///         Digest::of(b"lines, version 1")
///     }
/// }
///
/// let messages = vec![json!({"role": "user", "content": "Hi"})];
/// let input = TemplateInput { messages, ..TemplateInput::default() };
/// assert_eq!(Lines.render(&input)?, "user: Hi\nassistant:");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Contract
/// Rendering is pure: the same input gives the same text. A template that needs a clock gets it when it is created.
/// Message content is data and is never run as a template. If a template refuses a conversation, the error is
/// [`ErrorKind::Template`](crate::ErrorKind::Template) with the template's message. An `Arc` of a template is a
/// template too.
pub trait PromptTemplate: Send + Sync + Debug {
    /// Renders the whole prompt.
    fn render(&self, input: &TemplateInput) -> Result<String>;

    /// Renders a small conversation to find out what the template prints. A template with limits should use lower ones
    /// here, because there are many such calls.
    ///
    /// # Errors
    /// Those of `render`.
    fn probe(&self, input: &TemplateInput) -> Result<String> {
        self.render(input)
    }

    /// Returns the digest of the template's source; templates with the same digest render the same text.
    fn digest(&self) -> Digest;

    /// Returns which template renders `input`, if there are several: `default`, or `tool_use` for conversations with
    /// tools.
    fn name_for(&self, input: &TemplateInput) -> Option<&str> {
        let _ = input;
        None
    }

    /// Returns whether the template that renders `input` reads a variable; `true` if that is unknown.
    fn reads(&self, input: &TemplateInput, variable: &str) -> bool {
        let _ = (input, variable);
        true
    }

    /// Returns the texts that end a reply in the template's format and are not part of it; by default there are none.
    fn stop_strings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the tokens that end a reply in the template's format; by default there are none.
    fn stop_tokens(&self) -> Vec<TokenId> {
        Vec::new()
    }

    /// Returns what the rendered prompt omits from `input` or puts elsewhere. It is empty unless a template is
    /// configured to render such conversations.
    fn warnings(&self, input: &TemplateInput) -> Vec<Warning> {
        let _ = input;
        Vec::new()
    }
}

// Every method is computed, also one that the trait gets later.
#[deny(clippy::missing_trait_methods)]
impl<T: PromptTemplate + ?Sized> PromptTemplate for Arc<T> {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        (**self).render(input)
    }

    fn probe(&self, input: &TemplateInput) -> Result<String> {
        (**self).probe(input)
    }

    fn digest(&self) -> Digest {
        (**self).digest()
    }

    fn name_for(&self, input: &TemplateInput) -> Option<&str> {
        (**self).name_for(input)
    }

    fn reads(&self, input: &TemplateInput, variable: &str) -> bool {
        (**self).reads(input, variable)
    }

    fn stop_strings(&self) -> Vec<String> {
        (**self).stop_strings()
    }

    fn stop_tokens(&self) -> Vec<TokenId> {
        (**self).stop_tokens()
    }

    fn warnings(&self, input: &TemplateInput) -> Vec<Warning> {
        (**self).warnings(input)
    }
}
