//! What a prompt renders to: spans of text, each with its source.

use crate::message::{Content, Message, Part, Role, Source};

/// A prompt that was filled in: spans of text, each with its source.
///
/// It is rendered once: no function reads the text as a template again.
///
/// ```
/// use alloquy_core::prompt_library::RenderedPrompt;
/// use alloquy_core::{Role, Source};
///
/// let mut rendered = RenderedPrompt::default();
/// rendered.push("Hello ", None);
/// rendered.push("{{ 7 * 7 }}", Some(Source::Value("name".into())));
/// assert_eq!(rendered.text(), "Hello {{ 7 * 7 }}");
/// let message = rendered.message(Role::User);
/// assert_eq!(message.parts[0].source, None);
/// assert_eq!(message.parts[1].source, Some(Source::Value("name".into())));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RenderedPrompt {
    /// The spans, in order. No two neighbours have the same source, and none is empty.
    pub spans: Vec<PromptSpan>,
    /// The variables that were to be printed and have no value, in order. The text has `{{name}}` instead.
    pub missing: Vec<String>,
    /// The values that the prompt does not read, sorted.
    pub unknown: Vec<String>,
    /// The prompts that were referred to and do not exist. The text omits them.
    pub missing_prompts: Vec<String>,
}

/// A span of a rendered prompt.
///
/// [`RenderedPrompt`] contains them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSpan {
    /// The text, which is not empty.
    pub text: String,
    /// Where the text comes from; `None` if the author of the prompt wrote it.
    pub source: Option<Source>,
}

impl RenderedPrompt {
    /// Adds text at the end.
    pub fn push(&mut self, text: &str, source: Option<Source>) {
        match self.spans.last_mut().filter(|last| last.source == source) {
            Some(last) => last.text.push_str(text),
            None if text.is_empty() => {}
            None => self.spans.push(PromptSpan { text: text.to_owned(), source }),
        }
    }

    /// Returns the whole text.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Converts it to a message with a part for each span. The tokens are those of the joined text.
    pub fn message(&self, role: Role) -> Message {
        let mut parts = Vec::with_capacity(self.spans.len());
        for span in &self.spans {
            let mut part = Part::from(Content::Text(span.text.clone()));
            part.source.clone_from(&span.source);
            parts.push(part);
        }
        if parts.is_empty() {
            parts.push(Part::from(Content::Text(String::new())));
        }
        Message::new(role, parts)
    }
}
