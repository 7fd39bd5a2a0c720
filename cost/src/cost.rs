//! The tokens and the cost of replies: of one node, a turn, a branch, a tree.

use std::collections::BTreeSet;

use alloquy_core::{Error, ErrorKind, Node, Result};
use rust_decimal::Decimal;
use serde::Serialize;

use crate::prices::{BilledTokens, Date, PriceTable};

/// The tokens and the cost of some replies.
///
/// ```
/// use alloquy_core::report::{ReplyFacts, Usage};
/// use alloquy_core::{Message, Node};
/// use alloquy_cost::{PriceTable, Cost};
///
/// let mut usage = Usage::new(1000, 30);
/// usage.cached = 400;
/// let mut facts = ReplyFacts::new("gpt-4o");
/// facts.usage = Some(usage);
/// let mut reply = Node::new(None, Message::assistant("Hello!"));
/// reply.reply = Some(Box::new(facts.clone()));
/// let spent = Cost::of([&reply], &PriceTable::example());
/// // 600 at 2.50, 400 at 1.25 and 30 at 10 for a million.
/// assert_eq!(spent.total().map(|total| total.to_string()).as_deref(), Some("0.0023"));
///
/// facts.model = "my own".into();
/// reply.reply = Some(Box::new(facts));
/// assert_eq!(Cost::of([&reply], &PriceTable::example()).total(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cost {
    /// The currency of the table.
    pub currency: String,
    /// The number of replies that a model generated. Messages that a program wrote as the assistant are not counted.
    pub replies: usize,
    /// The tokens of the replies that report them.
    pub tokens: BilledTokens,
    /// The cost of the replies whose cost is known.
    pub known: Decimal,
    /// The number of replies without a count of their tokens, such as those that were dropped.
    pub uncounted: usize,
    /// The models without a price in the table.
    pub unpriced: BTreeSet<String>,
}

impl Cost {
    /// Returns the cost of no replies, to which others are [added](Self::add).
    pub fn zero(prices: &PriceTable) -> Self {
        Self {
            currency: prices.currency().to_owned(),
            replies: 0,
            tokens: BilledTokens::default(),
            known: Decimal::ZERO,
            uncounted: 0,
            unpriced: BTreeSet::new(),
        }
    }

    /// Sums the cost of the replies among `nodes`, each at the price of its date.
    ///
    /// The nodes may be those of a reply, of a [turn](alloquy_core::TurnReply::nodes), of a path or of a tree.
    pub fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>, prices: &PriceTable) -> Self {
        let mut spent = Self::zero(prices);
        for node in nodes {
            if let Some(model) = node.model() {
                spent.count(node, model, prices);
            }
        }
        spent
    }

    fn count(&mut self, node: &Node, model: &str, prices: &PriceTable) {
        self.replies += 1;
        let Some(usage) = node.usage() else {
            self.uncounted += 1;
            return;
        };
        let tokens = BilledTokens::from(usage);
        self.tokens.add(tokens);
        let price = prices.price(model, Date::of(node.id.created()));
        if let Some(cost) = price.and_then(|price| price.cost(&tokens)) {
            self.known = self.known.saturating_add(cost).normalize();
        } else {
            self.unpriced.insert(model.to_owned());
        }
    }

    /// Adds other replies, such as those of the next turn.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for another currency. Nothing is added then.
    pub fn add(&mut self, other: &Self) -> Result<()> {
        if self.currency != other.currency {
            let message = format!("{:?} cannot be added to {:?}", other.currency, self.currency);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        self.replies += other.replies;
        self.tokens.add(other.tokens);
        self.known = self.known.saturating_add(other.known).normalize();
        self.uncounted += other.uncounted;
        self.unpriced.extend(other.unpriced.iter().cloned());
        Ok(())
    }

    /// Returns the cost of all replies; `None` if the cost of one is unknown.
    pub fn total(&self) -> Option<Decimal> {
        (self.uncounted == 0 && self.unpriced.is_empty()).then_some(self.known)
    }
}
