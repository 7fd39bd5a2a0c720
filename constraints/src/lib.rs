//! Replies in the form of a grammar: JSON Schema, regular expressions, Lark, choices.
//!
//! Each step of a reply allows exactly the tokens whose bytes, put behind what was said, the grammar can still
//! continue. The work is done by the crate `llguidance`; this one gives it decoded vocabularies, keeps its limits on,
//! and says in time what it cannot enforce. It draws no token and knows no model.
//!
//! ```
//! use alloquy_constraints::Llguidance;
//! use alloquy_core::grammar::{Constraints, Grammar, Progress};
//! use alloquy_core::tokenizer::Vocabulary;
//! use alloquy_testing::ByteTokenizer;
//!
//! // A token for each byte, and one that ends a reply.
//! let vocabulary = Vocabulary::new(&ByteTokenizer::new(["<end>"]), 257, &[256]);
//! let compiler = Llguidance::default().prepare(&vocabulary)?;
//! let mut matcher = compiler.compile(&Grammar::choice(["yes", "no"]))?;
//! for token in "yes".bytes() {
//!     assert_eq!(matcher.progress()?, Progress::Open);
//!     matcher.accept(token.into())?;
//! }
//! assert_eq!(matcher.progress()?, Progress::Complete);
//! # Ok::<(), alloquy_core::Error>(())
//! ```

mod json_form;
mod limits;
mod llguidance;

mod compiler;
mod failure;
mod source;

mod numbers;
mod schema;

mod reply;

pub use crate::llguidance::Llguidance;
pub use json_form::{JsonNumbers, JsonSpacing};
pub use limits::GrammarLimits;
