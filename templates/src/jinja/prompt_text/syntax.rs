//! How a prompt text is written.

use serde::{Deserialize, Serialize};

/// How a prompt text is written.
///
/// ```
/// use alloquy_core::prompt_library::Values;
/// use alloquy_templates::{NoReferences, PromptSyntax, PromptText};
///
/// let values = Values::new().set("name", "Ann");
/// for (text, syntax, expected) in [
///     ("Hello {{name}}(( from {{city}}))", PromptSyntax::Mixed, "Hello Ann"),
///     ("Hello {{ name|upper }} ((ok))", PromptSyntax::Jinja, "Hello ANN ((ok))"),
///     ("Hello {name}, {{ok}}", PromptSyntax::Format, "Hello Ann, {ok}"),
///     ("Hello {{name}}", PromptSyntax::Plain, "Hello {{name}}"),
/// ] {
///     let rendered = PromptText::new(text, syntax)?.render(&values, &NoReferences)?;
///     assert_eq!(rendered.text(), expected);
/// }
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptSyntax {
    /// Jinja with optional sections: `((…))` vanishes if every variable in it is empty. `{{ name }}` keeps its spaces.
    #[default]
    Mixed,
    /// Jinja only.
    Jinja,
    /// As Python's `str.format`: `{name}`, with `{{` and `}}` for braces. Jinja's tags work, too.
    Format,
    /// A text without variables.
    Plain,
}
