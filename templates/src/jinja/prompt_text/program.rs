//! A compiled prompt text: the source for the engine, and what each print needs at a render.

use std::sync::Arc;

use minijinja::Environment;

use super::flow::{Flow, Node};

/// The filter that says which [`Site`] prints a value.
pub(super) const FROM: &str = "__alloquy_from";
/// The function that returns whether any of its arguments is not empty.
pub(super) const ANY: &str = "__alloquy_any";
/// The function that renders another prompt.
pub(super) const REFER: &str = "__alloquy_prompt_ref";

/// The site of text that the author wrote.
pub(super) const AUTHOR: usize = 0;

/// The name of the template in the environment.
pub(super) const TEMPLATE: &str = "prompt";

/// A compiled text.
#[derive(Debug)]
pub(super) struct Program {
    /// The engine with the template, or `None` if the whole text is printed as it is.
    pub(super) environment: Option<Environment<'static>>,
    pub(super) script: Script,
}

/// What is known about a text before it is rendered.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) source: String,
    pub(super) sites: Vec<Site>,
    pub(super) calls: Vec<Call>,
    pub(super) flow: Flow,
    /// The names that the text reads, sorted.
    pub(super) variables: Vec<String>,
    /// The prompts that it refers to by a literal name.
    pub(super) literals: Vec<String>,
}

/// A place that prints a value.
#[derive(Debug, Default)]
pub(super) struct Site {
    /// What the text may contain, in order.
    pub(super) from: Vec<Node>,
    /// What is printed, and reported as missing, instead of a value that is undefined. `None` prints nothing.
    pub(super) label: Option<String>,
    /// Whether `None` prints nothing.
    pub(super) hides_none: bool,
    /// The author's text around the value, which is omitted with it.
    pub(super) before: String,
    pub(super) after: String,
    /// Whether it prints another prompt and nothing else.
    pub(super) is_reference: bool,
}

/// A call of `prompt_ref`.
#[derive(Debug)]
pub(super) struct Call {
    /// The arguments by name, with what each may contain.
    pub(super) arguments: Vec<(String, Vec<Node>)>,
    /// What any other argument may contain.
    pub(super) others: Arc<[Node]>,
}
