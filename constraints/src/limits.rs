//! How large a grammar may be, and how long it may take. Knows no grammar.

use llguidance::api::ParserLimits;

/// Bounds on what a grammar costs. They are always on: a schema may come from a stranger.
///
/// The defaults are those of `llguidance`, under which the largest schemas in public collections compile; one step
/// then takes 15 ms at the very most, and usually a hundredth of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrammarLimits {
    /// Symbols of all rules together; 500 000, a few megabytes of JSON Schema.
    pub grammar_size: usize,
    /// Steps of building the lexer; 1 000 000, about 20 ms.
    pub compile_fuel: u64,
    /// Steps of the lexer for one token; 200 000, about 15 ms.
    pub step_fuel: u64,
    /// Items of the parser for one token; 50 000, about 3 ms.
    pub step_items: usize,
    /// Items of the parser in one place, which an ambiguous grammar reaches first; 2000.
    pub row_items: usize,
    /// States of the lexer, of one or two kilobytes each; 250 000.
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
            // Errors would otherwise quote the whole grammar and all that was said.
            verbose_errors: false,
        }
    }
}
