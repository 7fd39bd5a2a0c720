//! Computes the tokens and the cost of replies. Prices are data, and sums are exact.
//!
//! The node of a reply has the name of its model and its count of tokens ([`ReplyFacts`](alloquy_core::report::ReplyFacts)).
//! A [`PriceTable`] has prices of models for a million tokens, each valid from a date. [`Cost::of`] multiplies the two for any
//! nodes: one reply, the replies of a turn, a branch, a whole tree.
//!
//! This program computes the cost of each turn and the sum of the conversation:
//!
//! ```
//! use alloquy_core::report::Usage;
//! use alloquy_core::{Conversation, Message, Reply};
//! use alloquy_cost::{Decimal, ModelPrice, PriceTable, Cost};
//! use alloquy_testing::{ScriptedModel, ScriptedReply};
//!
//! # pollster::block_on(async {
//! // 2 a million tokens of a prompt, 10 a million tokens of a reply.
//! let price = ModelPrice::new(["big*"], Decimal::from(2), Decimal::from(10));
//! let prices = PriceTable::new("EUR", [price])?;
//!
//! let mut reply = Reply::new(Message::assistant("Hello!"));
//! reply.usage = Usage::new(1000, 50);
//! let replies = [reply.clone(), reply].map(ScriptedReply::from);
//! let conversation = Conversation::new(ScriptedModel::replying(replies).named("big-2"));
//!
//! let mut sum = Cost::zero(&prices);
//! for question in ["Hi", "And you?"] {
//!     let turn = conversation.send(question).await?;
//!     let spent = Cost::of(&turn.nodes, &prices);
//!     assert_eq!(spent.total().map(|cost| cost.to_string()).as_deref(), Some("0.0025"));
//!     sum.add(&spent)?;
//! }
//!
//! // The sum of every branch of the tree is the same. It needs nothing but the stored nodes.
//! let tree = conversation.tree().await?;
//! assert_eq!(Cost::of(tree.nodes(), &prices), sum);
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! [`TurnReply::nodes`](alloquy_core::TurnReply::nodes) has all replies of a turn: a turn that runs tools calls the model several
//! times, and each call costs. [`Conversation::path`](alloquy_core::Conversation::path) has the nodes of one branch.
//!
//! # Exact, or unknown
//!
//! Prices and sums are decimals ([`Decimal`]), never floats. An unknown cost is not zero: [`Cost::total`] is `None` if a model
//! has no price in the table ([`Cost::unpriced`]) or a reply has no count of its tokens ([`Cost::uncounted`]), as a dropped
//! reply has none. [`Cost::known`] is the sum of the other replies.
//!
//! # Prices
//!
//! A table is deserialized from any format that serde supports; [`PriceTable::from_json`] reads JSON. A model's name may end in
//! `*`, which matches any end. Several prices may match the model and the date of a reply. The one with the longest name
//! counts, and of these the one with the latest date. [`PriceTable::example`] has list prices of a few models; a program that
//! bills needs a table of its own.
//!
//! Four kinds of tokens have a price: those of prompts (`input`), of cached prompts (`cached`), of replies (`output`) and of
//! thinking (`reasoning`). [`BilledTokens`] has the tokens of a reply by these kinds, each token once.
//!
//! # Limits
//!
//! The crate computes the cost of nodes that have a count of tokens. It does not read stores, fetch prices, convert currencies
//! or enforce budgets.

mod cost;
mod prices;

pub use cost::Cost;
pub use prices::{BilledTokens, Date, ModelPrice, PriceTable};
pub use rust_decimal::Decimal;
