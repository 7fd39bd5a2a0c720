//! Guards for conversations with language models: middleware that redacts, validates, limits, caches and reports, also while a reply
//! streams.
//!
//! A guard is a [`Middleware`](alloquy_core::middleware::Middleware): it sees each request before the model, and each delta before the
//! caller. A manager has guards for all of its conversations
//! ([`ManagerBuilder::middleware`](alloquy_core::manager::ManagerBuilder::middleware)), and a turn has its own
//! ([`TurnRequest::middleware`](alloquy_core::TurnRequest::middleware)).
//!
//! | guard | what it does |
//! |---|---|
//! | [`redact::RedactReplies`], [`redact::RedactHistory`], [`redact::ScanReplies`] | removes e-mail addresses, card numbers, keys and your own patterns |
//! | [`validate::ValidateReplies`] | shows a reply only after a validator accepted it, and asks again with the reason |
//! | [`limits::RateLimit`], [`limits::BudgetLimit`] | limits calls, tokens and cost of an owner, a conversation, a model, a turn or a day |
//! | [`reply_cache::CacheReplies`] | answers a request that was answered before with the same reply |
//! | [`fallback::Fallback`] | a model that tries again, and then other models |
//! | [`facts::AddFacts`], [`facts::KeepFacts`] | stores facts with the nodes of replies |
//! | [`counters::Counters`] | counts calls, tokens, warnings and tool calls in one place |
//! | [`spans::Spans`] | a `tracing` span for each call, with the names of OpenTelemetry |
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use alloquy_core::{ErrorKind, Manager, Preface};
//! use alloquy_guards::limits::{MemoryLimits, Rate, RateLimit, Scope};
//! use alloquy_guards::redact::{RedactReplies, Redactor};
//! use alloquy_testing::ScriptedModel;
//!
//! # pollster::block_on(async {
//! let model = ScriptedModel::new([("<assistant>", "Pay with 4111 1111 1111 1111, or write to ann@example.org.")]);
//! let rate = Rate::new(1, Duration::from_secs(60))?;
//! let manager = Manager::builder(model)
//!     .middleware(RateLimit::new(rate, Scope::Owner, Arc::new(MemoryLimits::default())))
//!     .middleware(RedactReplies::new(Redactor::named(["email", "card", "key"])?))
//!     .build()?;
//! let conversation = manager.create(Preface::default()).await?;
//!
//! // The caller, the events of the turn and the store see only the redacted reply.
//! let turn = conversation.send("How do I pay?").await?;
//! assert_eq!(turn.text(), "Pay with [card], or write to [email].");
//!
//! // The second call within a minute is refused, and its error says how long to wait.
//! let error = conversation.send("And when?").await.unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Busy);
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # Order
//!
//! The middleware that is added first is the outermost. Of these, from the outermost to the innermost:
//!
//! 1. [`Spans`](spans::Spans) and [`Counters`](counters::Counters): they measure everything. With content it is inside of `RedactReplies` only if spans may show secrets.
//! 2. [`RateLimit`](limits::RateLimit): a refused call costs nothing.
//! 3. [`KeepFacts`](facts::KeepFacts), [`AddFacts`](facts::AddFacts).
//! 4. [`RedactReplies`](redact::RedactReplies): what is outside of it sees redacted replies.
//! 5. [`ValidateReplies`](validate::ValidateReplies): it judges what the model said. A form must hold after the redaction too: then it
//!    is outside of it.
//! 6. [`CacheReplies`](reply_cache::CacheReplies): a hit is redacted again, and counts as a call.
//! 7. [`RedactHistory`](redact::RedactHistory).
//! 8. A policy for a full context.
//! 9. [`BudgetLimit`](limits::BudgetLimit): it counts what the model will see, in each attempt.
//!
//! # What holds for each guard
//!
//! * The deltas join to the message, and a stream may be dropped at any point.
//! * A prompt that is computed ahead is the prompt of the reply.
//! * A changed text has no token ids and no log-probabilities of the old one.
//! * A guard that cannot decide refuses: a limit whose store fails, a scanner that fails, a judge that says something else. Only a
//!   cache that fails lets the model answer.
//!
//! `alloquy_testing::laws::middleware` checks these laws for any middleware, also for one of your own.
//!
//! # Features
//!
//! * `json-schema`, on by default: `validate::SchemaValidator`.
//! * `testing`: `laws` has the laws of a [`LimitStore`](limits::LimitStore) and of a [`ReplyCache`](reply_cache::ReplyCache), for the
//!   tests of your own.
//!
//! # Limits of this crate
//!
//! Guards see calls of models. Results of tools are seen by [`RedactHistory`](redact::RedactHistory) alone, before the model reads them;
//! the store has them as the tools returned them. Guards do not decide whether a tool may run:
//! [`ToolApproval`](alloquy_core::tool::ToolApproval) does.

pub mod clock;
pub mod counters;
pub mod facts;
pub mod fallback;
#[cfg(feature = "testing")]
pub mod laws;
pub mod limits;
pub mod redact;
mod replay;
pub mod reply_cache;
pub mod spans;
pub mod validate;
