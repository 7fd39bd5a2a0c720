//! A prompt text, compiled, and the other prompts that it may refer to.

use std::fmt;
use std::sync::{Arc, OnceLock};

use alloquy_core::prompt_library::{RenderedPrompt, TextTemplate, Values};
use alloquy_core::{Error, ErrorKind, Result};
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use serde_json::{Map, Value};

use super::super::clock::NowSource;
use super::super::dialect::Dialect;
use super::super::fault::Fault;
use super::super::limits::{DEFAULT_SOURCE_BYTES, Limits};
use super::super::{environment, guarded, source};
use super::filters;
use super::format::format_to_jinja;
use super::items::{Kind, items};
use super::problem::of_fault;
use super::program::{Program, Script, TEMPLATE};
use super::sections::sections;
use super::syntax::PromptSyntax;
use super::writer;

/// The text of a prompt, with variables: compiled once, rendered many times, from any thread.
///
/// Values are never read as a template, whatever they contain, and the rendered prompt says which of its parts are values.
/// A copy shares the compiled text.
///
/// ```
/// use alloquy_core::Source;
/// use alloquy_core::prompt_library::Values;
/// use alloquy_templates::{NoReferences, PromptSyntax, PromptText};
///
/// let text = PromptText::new("Hello {{name}}((, you have {{count}} messages))!", PromptSyntax::Mixed)?;
/// assert_eq!(text.variables().collect::<Vec<_>>(), ["count", "name"]);
///
/// let values = Values::new().set("name", "{{ 7 * 7 }}");
/// let rendered = text.render(&values, &NoReferences)?;
/// assert_eq!(rendered.text(), "Hello {{ 7 * 7 }}!");
/// assert_eq!(rendered.spans[0].source, None);
/// assert_eq!(rendered.spans[1].source, Some(Source::Value("name".into())));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone)]
pub struct PromptText {
    inner: Arc<Inner>,
}

struct Inner {
    source: String,
    syntax: PromptSyntax,
    program: Program,
}

impl PromptText {
    /// Compiles a text.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`], with the line, when the text is no valid template; also when it has more than
    /// [`DEFAULT_SOURCE_BYTES`](crate::DEFAULT_SOURCE_BYTES) or nests too deeply.
    ///
    /// ```
    /// use alloquy_core::ErrorKind;
    /// use alloquy_templates::{PromptSyntax, PromptText};
    ///
    /// let error = PromptText::new("Hello\n{{ name + }}", PromptSyntax::Jinja).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Invalid);
    /// assert!(error.to_string().starts_with("line 2 of the prompt: \"{{ name + }}\" is no expression"));
    /// ```
    pub fn new(source: &str, syntax: PromptSyntax) -> Result<Self> {
        if source.len() > DEFAULT_SOURCE_BYTES {
            let found = source.len();
            let message = format!(
                "the prompt has {found} bytes, more than the {DEFAULT_SOURCE_BYTES} allowed: pass long texts as values"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let program = match syntax {
            PromptSyntax::Mixed => compile(source, true)?,
            PromptSyntax::Jinja => compile(source, false)?,
            PromptSyntax::Format => compile(&format_to_jinja(source), false)?,
            PromptSyntax::Plain => plain(source),
        };
        Ok(Self { inner: Arc::new(Inner { source: source.to_owned(), syntax, program }) })
    }

    /// Returns the text as the author wrote it.
    ///
    /// ```
    /// use alloquy_templates::{PromptSyntax, PromptText};
    ///
    /// let text = PromptText::new("Hello {name}", PromptSyntax::Format)?;
    /// assert_eq!(text.source(), "Hello {name}");
    /// assert_eq!(text.syntax(), PromptSyntax::Format);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// Returns how the text is written. [`source`](Self::source) has an example.
    pub fn syntax(&self) -> PromptSyntax {
        self.inner.syntax
    }

    /// Returns the names of the values that the text reads, sorted. Those of other prompts that it refers to are not among
    /// them.
    ///
    /// ```
    /// use alloquy_templates::{PromptSyntax, PromptText};
    ///
    /// let source = "{% for city in cities if open %}{{ city|upper }}{% endfor %} {{ user.name }}";
    /// let text = PromptText::new(source, PromptSyntax::Jinja)?;
    /// assert_eq!(text.variables().collect::<Vec<_>>(), ["cities", "open", "user"]);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.program().script.variables.iter().map(String::as_str)
    }

    pub(super) fn program(&self) -> &Program {
        &self.inner.program
    }
}

impl TextTemplate for PromptText {
    fn template(&self) -> &str {
        self.source()
    }

    /// Renders the text without the prompts that it may refer to.
    fn render(&self, values: &Values) -> Result<RenderedPrompt> {
        Self::render(self, values, &NoReferences)
    }
}

impl fmt::Debug for PromptText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PromptText")
            .field("source", &self.inner.source)
            .field("syntax", &self.inner.syntax)
            .finish_non_exhaustive()
    }
}

fn plain(text: &str) -> Program {
    Program { environment: None, script: Script { source: text.to_owned(), ..Script::default() } }
}

fn compile(text: &str, has_sections: bool) -> Result<Program> {
    let text = source::with_line_feeds(text);
    let items = items(&text)?;
    let found = if has_sections { Some(sections(&items)?) } else { None };
    let is_plain = items.iter().all(|item| item.kind == Kind::Text);
    if is_plain && found.as_ref().is_none_or(|found| found.marks.is_empty()) {
        return Ok(plain(&text));
    }
    let script = writer::write(&items, found.as_ref())?;
    let mut environment = base()?;
    let added = source::rewrite(&script.source).and_then(|rewritten| {
        let line = rewritten.doubtful;
        let added = guarded(|| environment.add_template_owned(TEMPLATE, rewritten.source))?;
        added.map_err(|error| Fault::of_engine(error, 0))?;
        line.map_or(Ok(()), |line| Err(Fault::Syntax { line }))
    });
    added.map_err(|fault| of_fault(fault, ErrorKind::Invalid))?;
    Ok(Program { environment: Some(environment), script })
}

/// Returns the engine without templates. Every prompt has a copy, which shares the filters.
fn base() -> Result<Environment<'static>> {
    static BASE: OnceLock<Environment<'static>> = OnceLock::new();
    if let Some(base) = BASE.get() {
        return Ok(base.clone());
    }
    let built = guarded(configured).and_then(|built| built.map_err(|error| Fault::of_engine(error, 0)));
    let built = built.map_err(|fault| of_fault(fault, ErrorKind::Template))?;
    Ok(BASE.get_or_init(|| built).clone())
}

fn configured() -> std::result::Result<Environment<'static>, minijinja::Error> {
    let limits = Limits::default();
    let mut environment = environment::new(NowSource::System, limits, Dialect::default())?;
    let syntax =
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?;
    environment.set_syntax(syntax);
    filters::add_to(&mut environment, limits);
    Ok(environment)
}

/// Another prompt, which a text refers to with `prompt_ref('name', a=1)`.
///
/// [`PromptReferences`] has an example.
#[derive(Clone, Debug)]
pub struct PromptReference {
    /// Its text.
    pub text: PromptText,
    /// Its own defaults, for values that the call does not pass.
    pub defaults: Map<String, Value>,
}

/// The prompts that a text may refer to, by name.
///
/// ```
/// use alloquy_core::prompt_library::Values;
/// use alloquy_core::{Result, Source};
/// use alloquy_templates::{PromptReference, PromptReferences, PromptSyntax, PromptText};
/// use serde_json::json;
///
/// #[derive(Debug)]
/// struct Greetings;
///
/// impl PromptReferences for Greetings {
///     fn prompt(&self, name: &str) -> Result<Option<PromptReference>> {
///         if name != "greeting" {
///             return Ok(None);
///         }
///         let text = PromptText::new("Hello {{name}} of {{city}}", PromptSyntax::Mixed)?;
///         let defaults = json!({"city": "Lisbon"}).as_object().cloned().unwrap_or_default();
///         Ok(Some(PromptReference { text, defaults }))
///     }
/// }
///
/// let text = PromptText::new("{{ prompt_ref('greeting', name=user) }}!", PromptSyntax::Jinja)?;
/// let rendered = text.render(&Values::new().set("user", "Ann"), &Greetings)?;
/// assert_eq!(rendered.text(), "Hello Ann of Lisbon!");
/// assert_eq!(rendered.spans[1].source, Some(Source::Value("user".into())));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub trait PromptReferences: fmt::Debug {
    /// Returns the prompt of this name, or `None` if there is none.
    ///
    /// # Errors
    /// When the prompt cannot be read. The render returns the error.
    fn prompt(&self, name: &str) -> Result<Option<PromptReference>>;
}

/// No other prompts: each reference to one prints nothing, and is reported as missing.
///
/// ```
/// use alloquy_core::prompt_library::Values;
/// use alloquy_templates::{NoReferences, PromptSyntax, PromptText};
///
/// let text = PromptText::new("[{{ prompt_ref('greeting') }}]", PromptSyntax::Jinja)?;
/// let rendered = text.render(&Values::new(), &NoReferences)?;
/// assert_eq!(rendered.text(), "[]");
/// assert_eq!(rendered.missing_prompts, ["greeting"]);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct NoReferences;

impl PromptReferences for NoReferences {
    fn prompt(&self, _: &str) -> Result<Option<PromptReference>> {
        Ok(None)
    }
}
