//! Replies in the form of a grammar: JSON Schema, regular expressions, Lark, choices.
//!
//! Each step of a reply allows exactly the tokens whose bytes, put behind what was said, the grammar can still
//! continue. The work is done by the crate `llguidance`; this one gives it decoded vocabularies, keeps its limits on,
//! and says in time what it cannot enforce. It draws no token and knows no model.
//!
//! ```
//! use std::sync::Arc;
//!
//! use alloquy_constraints::Llguidance;
//! use alloquy_testing::{NoiseEngine, TaggedProcessor, TaggedTemplate};
//! use alloquy_core::{ChatModel, Grammar, Guidance, Message, Preface, Request, Round};
//!
//! # pollster::block_on(async {
//! let round = Round::builder(Arc::new(NoiseEngine::new([])))
//!     .template(TaggedTemplate)
//!     .processor(TaggedProcessor)
//!     .constraints(Llguidance::default())
//!     .build()?;
//! let guidance = Guidance::default().grammar(Grammar::choice(["yes", "no"]));
//! let request = Request::new(Preface::default(), vec![Message::user("Well?")]).guidance(guidance);
//! let reply = round.reply(request).await?.finish().await?;
//! assert!(["yes", "no"].contains(&reply.message.text().as_str()));
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
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
