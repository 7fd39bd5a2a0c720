//! What replies took and what they cost: of one node, a turn, a branch, a tree. Knows nodes and prices, not stores.

use std::collections::BTreeSet;

use alloquy_core::{Error, ErrorKind, Node, Result};
use rust_decimal::Decimal;
use serde::Serialize;

use crate::prices::{Day, PriceTable, TokenCount};

/// What some replies took and cost.
///
/// ```
/// use alloquy_core::report::{ReplyFacts, Usage};
/// use alloquy_core::{Message, Node};
/// use alloquy_cost::{PriceTable, Spending};
///
/// let mut usage = Usage::new(1000, 30);
/// usage.reused = 400;
/// let mut facts = ReplyFacts::new("gpt-4o");
/// facts.usage = Some(usage);
/// let mut reply = Node::new(None, Message::assistant("Hello!"));
/// reply.reply = Some(Box::new(facts.clone()));
/// let spent = Spending::of([&reply], &PriceTable::example());
/// // 600 at 2.50, 400 at 1.25 and 30 at 10 for a million.
/// assert_eq!(spent.total().map(|total| total.to_string()).as_deref(), Some("0.0023"));
///
/// facts.model = "my own".into();
/// reply.reply = Some(Box::new(facts));
/// assert_eq!(Spending::of([&reply], &PriceTable::example()).total(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spending {
    /// The currency of the table.
    pub currency: String,
    /// How many replies there are: messages that a model generated here. What hosts wrote in its name is none.
    pub replies: usize,
    /// What they took, as far as that is known.
    pub tokens: TokenCount,
    /// What those cost of which it is known.
    pub known: Decimal,
    /// How many replies did not report what they took, such as those that were dropped.
    pub uncounted: usize,
    /// The models of whose replies nobody knows the price.
    pub unpriced: BTreeSet<String>,
}

impl Spending {
    /// Returns the sum of no replies: what others are [added](Self::add) to.
    pub fn zero(prices: &PriceTable) -> Self {
        Self {
            currency: prices.currency().to_owned(),
            replies: 0,
            tokens: TokenCount::default(),
            known: Decimal::ZERO,
            uncounted: 0,
            unpriced: BTreeSet::new(),
        }
    }

    /// Sums up the replies among `nodes`, each at the price of its day: one node, the
    /// [nodes of a turn](alloquy_core::TurnReply::nodes), a path, a tree.
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
        let tokens = TokenCount::from(usage);
        self.tokens.add(tokens);
        let price = prices.price(model, Day::of(node.id.created()));
        if let Some(cost) = price.and_then(|price| price.cost(&tokens)) {
            self.known = self.known.saturating_add(cost).normalize();
        } else {
            self.unpriced.insert(model.to_owned());
        }
    }

    /// Adds other replies, such as those of the next turn.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where they were paid in another currency; nothing is added then.
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

    /// Returns what all of them cost; `None` where that is not known of one.
    pub fn total(&self) -> Option<Decimal> {
        (self.uncounted == 0 && self.unpriced.is_empty()).then_some(self.known)
    }
}
