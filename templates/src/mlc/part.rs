//! The parts of a prompt.

/// The kind of a part of a prompt.
///
/// [`Part`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// The texts of the prefix tokens and BOS.
    Front,
    /// The system text.
    System,
    /// A message of the user.
    User,
    /// A message of the assistant.
    Assistant,
    /// A message of another role, such as a tool.
    Other,
    /// The header of the reply to generate.
    Header,
}

/// A part of a prompt. The prompt is all of its parts, one after the other.
///
/// ```
/// use alloquy_core::template::TemplateInput;
/// use alloquy_templates::ConversationTemplate;
/// use alloquy_templates::mlc::{Part, PartKind};
/// use serde_json::json;
///
/// let template = ConversationTemplate::named("vicuna_v1.1")?.with_bos("<s>");
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "user", "content": "Hello"}));
/// let parts = template.parts(&input)?;
/// let header = Part { kind: PartKind::Header, text: "ASSISTANT:".to_owned() };
/// assert_eq!(parts.last(), Some(&header));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The kind of the part.
    pub kind: PartKind,
    /// Its text, with separators.
    pub text: String,
}
