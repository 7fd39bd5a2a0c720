//! Policies for a full context, with which a conversation can outgrow the model's window.
//!
//! A model reads a limited number of tokens, prompt and reply together: its context, or window. Without a policy a prompt that
//! leaves no room for a reply is refused with [`ErrorKind::ContextOverflow`](alloquy_core::ErrorKind::ContextOverflow). A policy
//! is a [`Middleware`](alloquy_core::middleware::Middleware) that shortens the request on its way to the model. The stored
//! conversation keeps every message.
//!
//! | policy | what a prompt omits that would not fit | choose it when |
//! |---|---|---|
//! | [`HistoryDrop`] | as few of the oldest turns as possible | the model should see as much as possible |
//! | [`HistoryShift`] | so many of the oldest turns that several more turns fit | computing a prompt is slow: the next prompts have the same prefix, which is cached |
//! | [`HistorySummary`] | the oldest turns, which a summary by a model replaces | early turns matter later, and an occasional extra model call is affordable |
//!
//! ```
//! use alloquy_context::{DropPolicy, HistoryDrop};
//! use alloquy_core::report::Warning;
//! use alloquy_core::{Manager, Preface};
//! use alloquy_testing::ScriptedModel;
//!
//! # pollster::block_on(async {
//! // A model with a context of 60 tokens, 10 of them for each reply.
//! let model = ScriptedModel::new([("<assistant>", "Hello!")]).context_length(60);
//! let policy = HistoryDrop::new(model.clone(), DropPolicy::new(60).reply(10))?;
//! let manager = Manager::builder(model).middleware(policy).build()?;
//!
//! let conversation = manager.create(Preface::system("Be kind.")).await?;
//! conversation.send("The first question").await?;
//! let second = conversation.send("The second question").await?;
//!
//! // The second prompt omitted the first question and its answer, and the reply reports it.
//! assert_eq!(second.reply.warnings, [Warning::HistoryShifted { dropped: 2, tokens: 28 }]);
//! assert_eq!(conversation.history().await?.len(), 4);
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # What every policy keeps
//!
//! * A turn is left out as a whole. It is a message of the user with everything up to the next one, so no tool result loses its
//!   call.
//! * The preface, system messages at the beginning and the last turn stay. [`DropPolicy::pinned`], [`SummaryPolicy::pinned`] and
//!   [`ShiftPolicy::keep`] set what else stays, such as examples.
//! * A reply reports what its prompt omitted: [`HistoryShifted`](alloquy_core::report::Warning::HistoryShifted) or
//!   [`HistorySummarized`](alloquy_core::report::Warning::HistorySummarized). The warning is stored with its node.
//! * A prompt that is computed ahead ([`Conversation::warm`](alloquy_core::Conversation::warm)) is a prefix of the prompt that is
//!   answered.
//!
//! `alloquy_testing::laws::context_policy` checks these laws for any policy, also for one of your own.
//!
//! # Lengths
//!
//! A policy counts prompts with a [`PromptCounter`](alloquy_core::prompt::PromptCounter). The `LanguageModel` of
//! alloquy-inference is one, and so is a function from a request to a number. It must count as the model does, so the policy is
//! the innermost middleware: no other one may change the request after it.
//!
//! # What a turn costs
//!
//! A policy remembers where the history of each prompt began. A reply remembers it too ([`Reply::cut`](alloquy_core::Reply::cut)),
//! so that another process continues from there. So the cost of a turn depends on the messages that are kept and those that are
//! new, and not on the length of the conversation.
//!
//! # A policy of your own
//!
//! Implement [`Middleware`](alloquy_core::middleware::Middleware), and shorten the path of the request in `handle` and in
//! `prepare`. [`MessagePath::outline`](alloquy_core::message::MessagePath::outline) says without counting tokens where turns
//! begin, and how long messages are.
//!
//! # What this crate does not do
//!
//! * It does not delete messages: a policy changes only what the model sees.
//! * It does not shorten a single message. A last turn that leaves no room for a reply is an error with the numbers.
//! * It does not decide which turns are important. The oldest ones are left out, apart from those that are pinned.

mod cut_history;
mod fitting;
mod groups;
mod history_drop;
mod history_shift;
mod history_summary;
mod ids;
mod lengths;
mod memory;

pub use fitting::TrimmedRequest;
pub use history_drop::{DropPolicy, HistoryDrop};
pub use history_shift::{HistoryShift, ShiftPolicy};
pub use history_summary::{HistorySummary, SummarizedRequest, SummaryPolicy};
