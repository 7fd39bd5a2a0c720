//! Whose prompts a template's are to be equal to.

/// The renderer that a template is rendered as by.
///
/// The language is Hugging Face's in all of them; they differ in what they hand the template and in the points
/// below. What a renderer cannot do at all (LiteRT-LM knows neither `break` nor most methods) is not imitated: such a
/// template renders here as it was meant.
///
/// ```
/// use alloquy_core::template::{PromptTemplate, TemplateInput};
/// use alloquy_templates::{Dialect, JinjaTemplate};
/// use serde_json::json;
///
/// let builder = JinjaTemplate::builder("{{ messages[0].name is defined }}");
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "user", "content": "Hello", "name": null}));
/// assert_eq!(builder.clone().build()?.render(&input)?, "False");
/// assert_eq!(builder.dialect(Dialect::HuggingFace4).build()?.render(&input)?, "True");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `apply_chat_template` of transformers 5.23: fields of messages that are null are left out, and reasoning has
    /// both of the names that templates know.
    #[default]
    HuggingFace5,
    /// `apply_chat_template` of transformers 4.57: messages reach the template as they are, and a model's special
    /// tokens without a name are the list `additional_special_tokens`.
    HuggingFace4,
    /// LiteRT-LM 0.15: as 4.57, and further `none` is a value like others to `is none`, which an undefined one is
    /// not; lists and dicts print as JSON does, texts are no sequences, the source keeps its last line feed and its
    /// carriage returns, `tools` and `documents` are undefined when there are none, and a conversation may be empty.
    LiteRtLm,
}

impl Dialect {
    /// Whether messages are made uniform.
    pub(super) fn is_uniform(self) -> bool {
        self == Self::HuggingFace5
    }

    pub(super) fn is_litert(self) -> bool {
        self == Self::LiteRtLm
    }
}
