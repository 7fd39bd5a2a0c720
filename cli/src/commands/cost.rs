//! `alloquy cost`: the tokens of a conversation's replies, and their cost.

use alloquy::cost;
use clap::Args;
use serde_json::json;

use crate::arguments::PriceArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::prices;
use crate::stored::Stored;

const EXAMPLES: &str = "\
Examples:
  alloquy cost --prices prices.toml
  alloquy cost --prices prices.toml --at 0.1     only this message and those before it

A table of prices is TOML or JSON, with prices for a million tokens each. The longest name that matches counts, and of \
several prices the last that was valid on the date of the reply:

  currency = \"USD\"
  [[prices]]
  models = [\"gpt-4o\", \"gpt-4o-2024*\"]
  from = \"2024-10-02\"
  input = \"2.50\"
  cached = \"1.25\"
  output = \"10\"
  reasoning = \"10\"

A reply whose price or whose tokens are unknown makes the sum unknown, not smaller.";

/// Print the tokens and the cost of a conversation's replies
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cost {
    #[command(flatten)]
    prices: PriceArguments,
    /// Count only this message and those before it: an address, a part of a node's id or a bookmark
    #[arg(long, value_name = "ADDRESS", env = "ALLOQUY_AT")]
    at: Option<String>,
    #[command(flatten)]
    stored: Stored,
}

impl Cost {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let arguments = context.settings.settle(&self.prices)?;
        let prices = prices::table(&arguments)?;
        pollster::block_on(async {
            let chat = self.stored.open_for_reading(context).await?;
            let spent = match &self.at {
                Some(at) => cost::Cost::of(&chat.path(chat.resolve(at).await?).await?, &prices),
                None => cost::Cost::of(chat.tree().await?.nodes(), &prices),
            };
            let value = json!({"conversation": chat.id(), "cost": spent, "total": spent.total()});
            if spent.total().is_none() && arguments.prices.is_none() && !spent.unpriced.is_empty() {
                context.notes.say("no prices: give --prices FILE; `alloquy cost --help` shows such a file");
            }
            context.print(&text(&spent), &value)
        })
    }
}

fn text(spent: &cost::Cost) -> String {
    let cost::Cost { currency, replies, tokens, known, uncounted, unpriced, .. } = spent;
    let mut text = format!(
        "{replies} replies: {} tokens of prompts, {} cached, {} of replies, {} of thinking\n",
        tokens.input, tokens.cached, tokens.output, tokens.reasoning
    );
    text += &match spent.total() {
        Some(total) => format!("total {total} {currency}\n"),
        None if known.is_zero() => "total unknown\n".to_owned(),
        None => format!("total unknown; {known} {currency} of it are known\n"),
    };
    if *uncounted > 0 {
        text += &format!("{uncounted} replies have no count of tokens\n");
    }
    for model in unpriced {
        text += &format!("no price for {model:?}\n");
    }
    text
}
