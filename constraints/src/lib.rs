//! Constrains replies to a grammar: a JSON Schema, a regular expression, a Lark grammar or a choice among texts.
//!
//! A language model generates a reply token by token. A matcher follows the reply and reports before each step which
//! tokens are allowed: exactly those whose bytes, appended to the reply, the grammar can still continue. The sampler then
//! samples among these, so that a reply is valid by construction and never has to be checked and repeated.
//!
//! The crate [`llguidance`](https://docs.rs/llguidance) does the work. This crate gives it the bytes of a model's
//! vocabulary, always keeps its limits on, and refuses a grammar that it could not enforce before the first token.
//!
//! # Use
//!
//! Most programs never call this crate: the crate `alloquy` sets up a model with it, and a request carries a
//! [`Grammar`](alloquy_core::grammar::Grammar). A backend that samples its own tokens uses it in three steps:
//!
//! 1. [`LlguidanceEngine`] prepares a model's vocabulary once, and returns a compiler.
//! 2. The compiler compiles each grammar.
//! 3. Each reply has a matcher of its own.
//!
//! ```
//! use alloquy_constraints::LlguidanceEngine;
//! use alloquy_core::grammar::{GrammarEngine, Grammar, MatcherState};
//! use alloquy_core::tokenizer::Vocabulary;
//! use alloquy_testing::ByteTokenizer;
//!
//! // A token for each byte, and one that ends a reply.
//! let vocabulary = Vocabulary::new(&ByteTokenizer::new(["<end>"]), 257, &[256]);
//! let compiler = LlguidanceEngine::default().prepare(&vocabulary)?;
//! let mut matcher = compiler.compile(&Grammar::choice(["yes", "no"]))?;
//! for token in "yes".bytes() {
//!     assert_eq!(matcher.progress()?, MatcherState::Open);
//!     matcher.accept(token.into())?;
//! }
//! assert_eq!(matcher.progress()?, MatcherState::Complete);
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! Before each sampled token, [`mask`](alloquy_core::grammar::GrammarMatcher::mask) sets the logits of all other tokens to minus
//! infinity:
//!
//! ```
//! # use alloquy_constraints::LlguidanceEngine;
//! # use alloquy_core::grammar::{GrammarEngine, Grammar};
//! # use alloquy_core::tokenizer::Vocabulary;
//! # use alloquy_testing::ByteTokenizer;
//! # let vocabulary = Vocabulary::new(&ByteTokenizer::new(["<end>"]), 257, &[256]);
//! # let compiler = LlguidanceEngine::default().prepare(&vocabulary)?;
//! let mut matcher = compiler.compile(&Grammar::Regex("[0-9]{4}".to_owned()))?;
//! let mut logits = vec![0.0; 257];
//! matcher.mask(&mut logits)?;
//! let allowed = (0..=255_u8).filter(|byte| logits[usize::from(*byte)].is_finite());
//! assert!(allowed.eq(b'0'..=b'9'));
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # Grammars
//!
//! - **JSON Schema**: objects, arrays, strings with patterns and formats, numbers with bounds, `enum`, `const`, `anyOf`,
//!   `allOf`, and `$ref` inside the schema. A schema leaves open how much white space and how many digits a reply may
//!   have; [`JsonSpacing`] and [`JsonNumberRange`] decide it, and bound both by default.
//! - **Regular expressions**: a pattern matches the whole reply. Look-around is unsupported.
//! - **Lark**: a context-free grammar whose start is the rule `start`. In a composed grammar, `@name` refers to another
//!   one, of any kind.
//! - **Choices**: one of several texts, or one of several grammars.
//!
//! # Limits
//!
//! - A keyword of JSON Schema that cannot be enforced token by token, such as `not`, `if` or `uniqueItems`, is refused by
//!   name.
//! - A grammar may come from a stranger, so [`GrammarLimits`] bounds what it may cost. The limits cannot be turned off.
//! - A matcher allows tokens and samples none. This crate runs no model.
//! - `cargo bench -p alloquy-constraints` measures what a matcher adds to each token.

mod json_form;
mod limits;
mod llguidance;

mod compiler;
mod failure;
mod source;

mod numbers;
mod schema;

mod reply;

pub use crate::llguidance::LlguidanceEngine;
pub use json_form::{JsonNumberRange, JsonSpacing};
pub use limits::GrammarLimits;
