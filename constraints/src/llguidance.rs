//! The settings of the matcher, and the compiler that they make for a vocabulary.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::grammar::{GrammarCompiler, GrammarEngine};
use alloquy_core::tokenizer::Vocabulary;

use crate::compiler::Compiler;
use crate::json_form::{JsonForm, JsonNumberRange, JsonSpacing};
use crate::limits::GrammarLimits;

/// Enforces grammars through the crate `llguidance`.
///
/// The defaults suit replies that a program reads: compact JSON with numbers of limited length.
///
/// ```
/// use alloquy_constraints::{JsonNumberRange, JsonSpacing, LlguidanceEngine};
///
/// let constraints = LlguidanceEngine::default().spacing(JsonSpacing::Free).numbers(JsonNumberRange::Any);
/// # let _ = constraints;
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct LlguidanceEngine {
    limits: GrammarLimits,
    json: JsonForm,
}

impl LlguidanceEngine {
    /// Sets the limits on what a grammar costs.
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
    pub fn numbers(mut self, numbers: JsonNumberRange) -> Self {
        self.json.numbers = numbers;
        self
    }
}

impl GrammarEngine for LlguidanceEngine {
    fn prepare(&self, vocabulary: &Vocabulary) -> Result<Arc<dyn GrammarCompiler>> {
        Ok(Arc::new(Compiler::new(vocabulary, self.limits, self.json)?))
    }
}
