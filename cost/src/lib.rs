//! What replies took and what they cost: prices as data, sums to the last digit.
//!
//! Each reply's node has the model's name and how many tokens the reply took ([`ReplyFacts`](alloquy_core::report::ReplyFacts)).
//! A [`PriceTable`] has prices of models, for a million tokens and from a day on. [`Spending::of`] joins the two, for any nodes:
//! one reply, the replies of a turn, a branch, a whole tree.
//!
//! What a host shows below each answer is the cost of that turn and the sum of the conversation:
//!
//! ```
//! use alloquy_core::report::Usage;
//! use alloquy_core::{Conversation, Message, Reply};
//! use alloquy_cost::{Decimal, Price, PriceTable, Spending};
//! use alloquy_testing::{ScriptedModel, ScriptedReply};
//!
//! # pollster::block_on(async {
//! // 2 a million tokens of a prompt, 10 a million tokens of a reply.
//! let price = Price::new(["big*"], Decimal::from(2), Decimal::from(10));
//! let prices = PriceTable::new("EUR", [price])?;
//!
//! let mut reply = Reply::new(Message::assistant("Hello!"));
//! reply.usage = Usage::new(1000, 50);
//! let replies = [reply.clone(), reply].map(ScriptedReply::from);
//! let conversation = Conversation::new(ScriptedModel::replying(replies).named("big-2"));
//!
//! let mut sum = Spending::zero(&prices);
//! for question in ["Hi", "And you?"] {
//!     let turn = conversation.send(question).await?;
//!     let spent = Spending::of(&turn.nodes, &prices);
//!     assert_eq!(spent.total().map(|cost| cost.to_string()).as_deref(), Some("0.0025"));
//!     sum.add(&spent)?;
//! }
//!
//! // The same, of a conversation that is opened again: every branch of its tree.
//! let tree = conversation.tree().await?;
//! assert_eq!(Spending::of(tree.nodes(), &prices), sum);
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! [`TurnReply::nodes`](alloquy_core::TurnReply::nodes) has all replies of a turn: one that runs tools calls the model more than
//! once, and each call costs. Of one branch, [`Conversation::path`](alloquy_core::Conversation::path) has the nodes.
//!
//! # Exact, or unknown
//!
//! Prices and sums are decimals ([`Decimal`]), never floats. What is not known is not zero: [`Spending::total`] is `None` as soon
//! as the price of one model is not in the table ([`Spending::unpriced`]) or one reply does not report its tokens
//! ([`Spending::uncounted`], such as replies that were dropped). [`Spending::known`] is the sum of the rest.
//!
//! # Prices
//!
//! A table is a value of any format that serde reads; [`PriceTable::from_json`] reads JSON. A `*` at the end of a model's name
//! stands for any end. Of the prices that hold on the day of a reply, the one with the longest name that fits counts; of
//! several, the last. [`PriceTable::example`] has list prices of a few models: whoever bills keeps a table of their own.
//!
//! Tokens of four kinds have a price: of prompts (`input`), of prompts that were cached (`cached`), of replies (`output`) and of
//! thinking (`reasoning`). [`TokenCount`] has a reply's tokens by these kinds, and none is counted twice.

mod prices;
mod spending;

pub use prices::{Day, Price, PriceTable, TokenCount};
pub use rust_decimal::Decimal;
pub use spending::Spending;
