//! The way to enforce grammars that this crate has: settings, and what they make of a vocabulary.

use std::sync::Arc;

use alloquy_core::{ConstraintCompiler, Constraints, Result, Vocabulary};

use crate::compiler::Compiler;
use crate::limits::GrammarLimits;

/// Enforces grammars through the crate `llguidance`.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Llguidance {
    limits: GrammarLimits,
    json: JsonForm,
}

/// What a schema leaves open about the JSON of a reply.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JsonForm {
    pub(crate) spacing: JsonSpacing,
    pub(crate) numbers: JsonNumbers,
}

/// Where a reply in JSON may have white space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonSpacing {
    /// At most one space, behind a comma or a colon: a model cannot spend its tokens on indentation.
    #[default]
    Tight,
    /// Between any two symbols, without bound.
    Free,
}

/// Which numbers a reply in JSON may have, where its schema sets no bounds of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonNumbers {
    /// Those that end: up to 2⁵³ − 1 in size, with at most eight digits behind the point and no exponent.
    #[default]
    Short,
    /// All of them: a model may write digits until its tokens are used up.
    Any,
}

impl Llguidance {
    /// Sets what a grammar may cost.
    pub fn limits(mut self, limits: GrammarLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets where JSON may have white space.
    pub fn spacing(mut self, spacing: JsonSpacing) -> Self {
        self.json.spacing = spacing;
        self
    }

    /// Sets which numbers JSON may have.
    pub fn numbers(mut self, numbers: JsonNumbers) -> Self {
        self.json.numbers = numbers;
        self
    }
}

impl Constraints for Llguidance {
    fn prepare(&self, vocabulary: &Vocabulary) -> Result<Arc<dyn ConstraintCompiler>> {
        Ok(Arc::new(Compiler::new(vocabulary, self.limits, self.json)?))
    }
}
