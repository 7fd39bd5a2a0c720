//! The way to enforce grammars that this crate has: settings, and what they make of a vocabulary.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::grammar::{ConstraintCompiler, Constraints};
use alloquy_core::tokenizer::Vocabulary;

use crate::compiler::Compiler;
use crate::json_form::{JsonForm, JsonNumbers, JsonSpacing};
use crate::limits::GrammarLimits;

/// Enforces grammars through the crate `llguidance`.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Llguidance {
    limits: GrammarLimits,
    json: JsonForm,
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
