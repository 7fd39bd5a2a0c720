//! The renderers whose prompts can be reproduced.

/// The renderer whose prompts a template reproduces.
///
/// All of them use Hugging Face's language. They differ in the variables that a template receives, and in the points below.
/// A renderer's missing features are not reproduced: LiteRT-LM has neither `break` nor most methods, but a template with
/// them renders here.
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
    /// `apply_chat_template` of transformers 5.23: fields of messages that are null are left out, and reasoning has both of
    /// the names that templates use.
    #[default]
    HuggingFace5,
    /// `apply_chat_template` of transformers 4.57: messages reach the template as they are, and a model's special
    /// tokens without a name are the list `additional_special_tokens`.
    HuggingFace4,
    /// LiteRT-LM 0.15: as transformers 4.57, with these differences.
    ///
    /// * `is none` is true for an undefined value and false for none.
    /// * Lists and dicts print as JSON does, and texts are not sequences.
    /// * The source keeps its last line feed and its carriage returns.
    /// * `tools` and `documents` are undefined when there are none, and a conversation may be empty.
    LiteRtLm,
}

impl Dialect {
    /// Returns whether messages are made uniform.
    pub(super) fn is_uniform(self) -> bool {
        self == Self::HuggingFace5
    }

    pub(super) fn is_litert(self) -> bool {
        self == Self::LiteRtLm
    }
}
