//! Limits for templates, which come with models of any origin.

/// Steps of the template engine that a render may take.
///
/// 567 public templates take fewer than 8000 each for conversations of up to eight messages.
///
/// [`Limits`] has an example.
pub const DEFAULT_STEPS: u64 = 5_000_000;

/// Steps that a template may take for a probe. Measuring its capabilities takes some sixty of them.
pub(super) const PROBE_STEPS: u64 = 50_000;

/// Bytes of text that a render may write: 16 MiB, some four million tokens.
///
/// [`Limits`] has an example.
pub const DEFAULT_OUTPUT_BYTES: usize = 16 << 20;

/// Bytes of source that a template may have: 1 MiB; the largest of 567 public ones has 20 KiB.
///
/// [`Limits`] has an example.
pub const DEFAULT_SOURCE_BYTES: usize = 1 << 20;

/// How deep lists and maps may nest. JSON from text nests at most half as deep.
pub(super) const NESTING: usize = 256;

/// Bytes that one value may print as.
pub(super) const TEXT_BYTES: usize = 32 << 20;

/// What a render may use. Exceeding it is an error; a prompt is never truncated.
///
/// ```
/// use alloquy_core::template::{PromptTemplate, TemplateInput};
/// use alloquy_templates::{JinjaTemplate, Limits};
/// use serde_json::json;
///
/// let endless = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}";
/// let template = JinjaTemplate::builder(endless).limits(Limits { steps: 1000, ..Limits::default() }).build()?;
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "user", "content": "Hello"}));
/// let error = template.render(&input).unwrap_err();
/// assert_eq!(error.to_string(), "the chat template took more than 1000 steps");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// A limit may be a multiple of the default:
///
/// ```
/// use alloquy_templates::{DEFAULT_OUTPUT_BYTES, DEFAULT_SOURCE_BYTES, DEFAULT_STEPS, Limits};
///
/// let limits = Limits {
///     steps: 2 * DEFAULT_STEPS,
///     output_bytes: 2 * DEFAULT_OUTPUT_BYTES,
///     source_bytes: 2 * DEFAULT_SOURCE_BYTES,
/// };
/// assert!(limits.steps > Limits::default().steps);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps of the engine, [`DEFAULT_STEPS`] by default.
    pub steps: u64,
    /// Bytes of the rendered text and of a variable, [`DEFAULT_OUTPUT_BYTES`] by default.
    pub output_bytes: usize,
    /// Bytes of the source, [`DEFAULT_SOURCE_BYTES`] by default.
    pub source_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: DEFAULT_STEPS, output_bytes: DEFAULT_OUTPUT_BYTES, source_bytes: DEFAULT_SOURCE_BYTES }
    }
}
