//! Limits how large a grammar may be, and how long it may take.

use llguidance::api::ParserLimits;

/// Bounds on what a grammar costs. They are always on, because a schema may come from a stranger.
///
/// The defaults are those of `llguidance`: the largest schemas in public collections compile under them. One step takes
/// 15 ms at most, and usually a hundredth of that.
///
/// ```
/// use alloquy_constraints::{GrammarLimits, LlguidanceEngine};
///
/// let limits = GrammarLimits { grammar_size: 50_000, ..GrammarLimits::default() };
/// let constraints = LlguidanceEngine::default().limits(limits);
/// # let _ = constraints;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrammarLimits {
    /// Symbols of all rules together. The default is 500 000, which is a few megabytes of JSON Schema.
    pub grammar_size: usize,
    /// Steps of building the lexer. The default is 1 000 000, which takes about 20 ms.
    pub compile_fuel: u64,
    /// Steps of the lexer for one token. The default is 200 000, which takes about 15 ms.
    pub step_fuel: u64,
    /// Items of the parser for one token. The default is 50 000, which takes about 3 ms.
    pub step_items: usize,
    /// Items of the parser at one position, which an ambiguous grammar exceeds first. The default is 2000.
    pub row_items: usize,
    /// States of the lexer, of one or two kilobytes each. The default is 250 000.
    pub lexer_states: usize,
}

impl Default for GrammarLimits {
    fn default() -> Self {
        Self {
            grammar_size: 500_000,
            compile_fuel: 1_000_000,
            step_fuel: 200_000,
            step_items: 50_000,
            row_items: 2000,
            lexer_states: 250_000,
        }
    }
}

impl From<GrammarLimits> for ParserLimits {
    fn from(limits: GrammarLimits) -> Self {
        Self {
            max_items_in_row: limits.row_items,
            initial_lexer_fuel: limits.compile_fuel,
            step_lexer_fuel: limits.step_fuel,
            step_max_items: limits.step_items,
            max_lexer_states: limits.lexer_states,
            max_grammar_size: limits.grammar_size,
            precompute_large_lexemes: true,
            // Verbose errors quote the whole grammar and the whole reply.
            verbose_errors: false,
        }
    }
}
