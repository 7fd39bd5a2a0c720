//! Policies for a full context: conversations that continue when they outgrow what a model can read.
//!
//! A model reads a limited number of tokens, prompt and reply together: its context, or window. Without a policy a prompt that
//! leaves no room for a reply is refused with [`ErrorKind::ContextOverflow`](alloquy_core::ErrorKind::ContextOverflow). A policy
//! is a [`Middleware`](alloquy_core::middleware::Middleware): it shortens the request on its way to the model. The stored
//! conversation keeps every message.
//!
//! | policy | what a prompt that would not fit goes without | choose it when |
//! |---|---|---|
//! | [`HistoryDrop`] | as few of the oldest turns as possible | the model is to see as much as possible |
//! | [`HistoryShift`] | so many of the oldest turns that there is room for a while | computing a prompt is slow: the next prompts begin alike, and what was computed is reused |
//! | [`HistorySummary`] | the oldest turns; a summary that a model writes replaces them | early turns matter later, and one more model call now and then is affordable |
//!
//! ```
//! use alloquy_context::{DropPolicy, HistoryDrop};
//! use alloquy_core::report::Degradation;
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
//! // The first question and its answer were not in the second prompt, and the reply says so.
//! assert_eq!(second.reply.degradations, [Degradation::HistoryShifted { dropped: 2, tokens: 28 }]);
//! assert_eq!(conversation.history().await?.len(), 4);
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # What every policy keeps
//!
//! * A turn is left out as a whole: a message of the user with everything up to the next one. No tool result loses its call.
//! * The preface, system messages at the beginning and the last turn stay. [`DropPolicy::pinned`], [`SummaryPolicy::pinned`] and
//!   [`ShiftPolicy::keep`] name what stays besides, such as examples.
//! * A reply reports what its prompt went without: [`HistoryShifted`](alloquy_core::report::Degradation::HistoryShifted) or
//!   [`HistorySummarised`](alloquy_core::report::Degradation::HistorySummarised). Its node keeps the report.
//! * A prompt that is computed ahead ([`Conversation::warm`](alloquy_core::Conversation::warm)) is the beginning of the prompt
//!   that is answered.
//!
//! `alloquy_testing::laws::context_policy` checks these of any policy, a host's own too.
//!
//! # Lengths
//!
//! A policy counts prompts by a [`PromptLength`](alloquy_core::prompt::PromptLength): the `LanguageModel` of alloquy-inference is
//! one, and so is a function from a request to a number. It must count as the model does, so the policy is the innermost
//! middleware: nothing after it may change the request.
//!
//! # What a turn costs
//!
//! A policy remembers where conversations continued, and a reply remembers it too
//! ([`Reply::cut`](alloquy_core::Reply::cut)), so that another process continues there. With that, a turn costs what is kept
//! and what is new, however much was said before. [`MessagePath::outline`](alloquy_core::message::MessagePath::outline) has what
//! a policy asks of the messages without counting tokens; a policy of your own can use it.

mod cut_history;
mod fitting;
mod groups;
mod history_drop;
mod history_shift;
mod history_summary;
mod ids;
mod lengths;
mod memory;

pub use fitting::FittedRequest;
pub use history_drop::{DropPolicy, HistoryDrop};
pub use history_shift::{HistoryShift, ShiftPolicy};
pub use history_summary::{HistorySummary, SummarisedRequest, SummaryPolicy};
