//! What replies took and what they cost: of one node, a branch, a tree. Knows nodes and prices, not stores.

use std::collections::BTreeSet;

use rust_decimal::Decimal;
use serde::Serialize;

use crate::cost::{Day, PriceTable, TokenCount};
use crate::tree::Node;

/// What some replies took and cost.
///
/// ```
/// use alloquy_core::{Message, Node};
/// use alloquy_core::cost::{PriceTable, Spending};
/// use alloquy_core::report::{ReplyFacts, Usage};
///
/// let mut usage = Usage::new(1000, 30);
/// usage.reused = 400;
/// let mut facts = ReplyFacts::new("gpt-4o");
/// facts.usage = Some(usage);
/// let mut reply = Node::new(None, Message::assistant("Hello!"));
/// reply.reply = Some(facts.clone());
/// let spent = Spending::of([&reply], &PriceTable::example());
/// // 600 at 2.50, 400 at 1.25 and 30 at 10 for a million.
/// assert_eq!(spent.total().map(|total| total.to_string()).as_deref(), Some("0.0023"));
///
/// facts.model = "my own".into();
/// reply.reply = Some(facts);
/// assert_eq!(Spending::of([&reply], &PriceTable::example()).total(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spending {
    /// The currency of the table.
    pub currency: String,
    /// How many replies there are: what a model said here. What hosts wrote in its name is none.
    pub replies: usize,
    /// What they took, as far as that is known.
    pub tokens: TokenCount,
    /// What those cost of which it is known.
    pub known: Decimal,
    /// How many replies did not say what they took, such as those that were dropped.
    pub uncounted: usize,
    /// The models of whose replies nobody knows the price.
    pub unpriced: BTreeSet<String>,
}

impl Spending {
    /// Sums up the replies among `nodes`, each at the price of its day.
    pub fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>, prices: &PriceTable) -> Self {
        let mut spent = Self {
            currency: prices.currency().to_owned(),
            replies: 0,
            tokens: TokenCount::default(),
            known: Decimal::ZERO,
            uncounted: 0,
            unpriced: BTreeSet::new(),
        };
        for node in nodes {
            if let Some(model) = node.model() {
                spent.add(node, model, prices);
            }
        }
        spent
    }

    fn add(&mut self, node: &Node, model: &str, prices: &PriceTable) {
        self.replies += 1;
        let Some(usage) = node.usage() else {
            self.uncounted += 1;
            return;
        };
        let tokens = TokenCount::from(usage);
        self.tokens.add(tokens);
        let price = prices.price(model, Day::of(node.id.created()));
        match price.and_then(|price| price.cost(&tokens)) {
            Some(cost) => self.known = self.known.saturating_add(cost).normalize(),
            None => drop(self.unpriced.insert(model.to_owned())),
        }
    }

    /// Returns what all of them cost; `None` where that is not known of one.
    pub fn total(&self) -> Option<Decimal> {
        (self.uncounted == 0 && self.unpriced.is_empty()).then_some(self.known)
    }
}
