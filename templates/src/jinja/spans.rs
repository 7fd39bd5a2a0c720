//! Finds the assistant's text in a rendered prompt: the insides of `{% generation %}`.
//!
//! Reference: the `AssistantTracker` of transformers 5.23.0, whose spans are in code points.

use std::ops::Range;

use super::input::Variables;
use super::polyfill::AppliedPolyfill;
#[allow(unused_imports, reason = "for the documentation")]
use super::polyfill::Polyfill;

/// The variable that is printed at the start of a span; without a value it prints nothing.
pub(super) const START: &str = "__alloquy_generation_start";
/// The variable that is printed at the end of a span.
pub(super) const END: &str = "__alloquy_generation_end";

/// A prompt, with the spans that the assistant wrote.
///
/// ```
/// use alloquy_core::template::TemplateInput;
/// use alloquy_templates::JinjaTemplate;
/// use serde_json::{Map, json};
///
/// let source = "{% for m in messages %}<{% generation %}{{ m.content }}{% endgeneration %}>{% endfor %}";
/// let template = JinjaTemplate::from_source(source, Map::new())?;
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "assistant", "content": "Thé"}));
/// let rendered = template.render_spans(&input)?;
/// assert_eq!((rendered.text.as_str(), rendered.generated), ("<Thé>", vec![1..4]));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered {
    /// The prompt, the same that [`render`](alloquy_core::template::PromptTemplate::render) returns.
    pub text: String,
    /// The insides of `{% generation %}`, in code points of the text, in order. Empty if the template has no such marks.
    pub generated: Vec<Range<usize>>,
    /// What was changed in the conversation, if [`Polyfill`] allows it.
    pub polyfills: Vec<AppliedPolyfill>,
    /// The name of the template: `default`, or `tool_use` for conversations with tools if the model brings one for them.
    pub template: &'static str,
}

/// Two characters that mark the ends of spans.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    start: char,
    end: char,
}

impl Marks {
    /// Chooses two characters for private use that the conversation does not contain.
    pub(super) fn new(variables: &Variables<'_>) -> Option<Self> {
        let mut unused = ('\u{10f000}'..='\u{10fffd}').filter(|mark| !variables.have(*mark));
        Some(Self { start: unused.next()?, end: unused.next()? })
    }

    pub(super) fn add_to(self, variables: &mut Variables<'_>) {
        variables.marks = vec![(START, self.start.to_string()), (END, self.end.to_string())];
    }

    /// Removes the marks from `text`. A span within another is a span of its own.
    pub(super) fn read(self, text: &str) -> Rendered {
        let mut rendered = Rendered::default();
        let mut open = Vec::new();
        let mut position = 0;
        for character in text.chars() {
            if character == self.start {
                open.push(rendered.generated.len());
                rendered.generated.push(position..position);
            } else if character == self.end {
                let span = open.pop().and_then(|index: usize| rendered.generated.get_mut(index));
                if let Some(span) = span {
                    span.end = position;
                }
            } else {
                rendered.text.push(character);
                position += 1;
            }
        }
        rendered
    }
}
