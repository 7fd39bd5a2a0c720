//! A chat template: from messages as JSON to the text of a prompt.

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::Result;
use crate::media::Digest;
use crate::report::Degradation;
use crate::tokenizer::TokenId;

/// How a rendered prompt ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// With the header of the assistant's turn, so that the model answers (`add_generation_prompt`).
    #[default]
    Answer,
    /// After the last message.
    Closed,
    /// Inside the last message, which the model goes on writing (`continue_final_message`).
    Continue,
}

/// Everything a chat template may look at, in Hugging Face's shape.
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
    /// `messages`: objects with `role`, `content` and whatever else they carry.
    pub messages: Vec<Value>,
    /// `tools`: `None` when there are none, which templates see as null.
    pub tools: Option<Vec<Value>>,
    /// `documents`: `None` when there are none.
    pub documents: Option<Vec<Value>>,
    /// How the prompt ends.
    pub ending: Ending,
    /// Further variables; they win over those of the template's own.
    pub extra: Map<String, Value>,
}

/// Renders the text of a prompt.
///
/// # Contract
/// Rendering is pure: the same input gives the same text (a clock, where a template asks for one, is given to
/// the template when it is made). Message content is data and is never itself run as a template. A template
/// that refuses a conversation gives [`ErrorKind::Template`](crate::ErrorKind::Template) with its own words.
/// An `Arc` of a template is a template, so one chosen at run time goes wherever a known one does.
pub trait PromptTemplate: Send + Sync + Debug {
    /// Renders the whole prompt.
    fn render(&self, input: &TemplateInput) -> Result<String>;

    /// Renders a small conversation, from which somebody learns what the template prints. A template that may do only so
    /// much should allow it less here, for there are many of these.
    ///
    /// # Errors
    /// Those of `render`.
    fn probe(&self, input: &TemplateInput) -> Result<String> {
        self.render(input)
    }

    /// Returns the digest of the template's source: the same digest renders alike.
    fn digest(&self) -> Digest;

    /// Returns which template renders `input`, where there are several: `default`, or `tool_use` for
    /// conversations with tools.
    fn name_for(&self, input: &TemplateInput) -> Option<&str> {
        let _ = input;
        None
    }

    /// Says whether the template that renders `input` looks at a variable at all; a template that cannot tell says
    /// yes.
    fn reads(&self, input: &TemplateInput, variable: &str) -> bool {
        let _ = (input, variable);
        true
    }

    /// Returns the texts that end a reply in the template's format and are not part of it; none unless the template knows some.
    fn stop_strings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the tokens each of which ends a reply in the template's format; none unless the template knows some.
    fn stop_tokens(&self) -> Vec<TokenId> {
        Vec::new()
    }

    /// Returns what of `input` the rendered prompt does not say, or says elsewhere; nothing, unless a template was told
    /// to render such conversations nevertheless.
    fn degradations(&self, input: &TemplateInput) -> Vec<Degradation> {
        let _ = input;
        Vec::new()
    }
}

// A method that is provided later is passed on too.
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

    fn degradations(&self, input: &TemplateInput) -> Vec<Degradation> {
        (**self).degradations(input)
    }
}
