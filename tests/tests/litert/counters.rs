//! What LiteRT-LM counts of a thinking block, seen from outside: how much more of it a model may say, and what ends it.

use alloquy_core::Result;
use alloquy_core::tokenizer::TokenId;
use serde_json::{Map, Value, json};

use crate::budget::{ids, reply};

/// A word of a thinking block, which is no marker's.
const WORD: TokenId = 60;

/// The counters that a row asks about, behind the tokens said so far.
pub(crate) fn state(input: &Value, asked: &Value, said: &[TokenId]) -> Result<Value> {
    let counted = Counted::new(input, said);
    let mut found = Map::new();
    for name in asked.as_object().into_iter().flatten().map(|(name, _)| name) {
        let value = match name.as_str() {
            "in_thinking" => json!(counted.thinks(&[])?),
            "thinking_token_count" => json!(counted.count()?),
            "forced_end_token_index" => json!(counted.forced()?),
            "matching_start_index" => json!(counted.opened()?),
            "natural_end_match_index" => json!(counted.closed()?),
            _ => json!("is not known"),
        };
        found.insert(name.clone(), value);
    }
    Ok(found.into())
}

struct Counted<'a> {
    /// Without what a caller demands of the answer: it would stop the words after a thinking block.
    input: Value,
    said: &'a [TokenId],
    start: Vec<TokenId>,
    end: Vec<TokenId>,
}

impl<'a> Counted<'a> {
    fn new(input: &Value, said: &'a [TokenId]) -> Self {
        let mut input = input.clone();
        input.as_object_mut().unwrap().shift_remove("user_constraint");
        let start = ids(&input["start_tokens"]);
        let end = ids(&input["end_tokens"]);
        Self { input, said, start, end }
    }

    fn budget(&self) -> usize {
        self.input["budget"].as_u64().unwrap_or(0) as usize
    }

    /// How many words come behind the tokens said so far and `more`, of a model that would say words for ever; `None`
    /// where nothing stops it.
    fn words(&self, more: &[TokenId]) -> Result<Option<usize>> {
        let before = [self.said, more].concat();
        let wanted = [before.as_slice(), &vec![WORD; self.budget() + 1]].concat();
        let tokens = reply(&self.input, &wanted)?.tokens;
        let words = tokens.iter().skip(before.len()).take_while(|token| **token == WORD).count();
        Ok((words <= self.budget()).then_some(words))
    }

    fn thinks(&self, more: &[TokenId]) -> Result<bool> {
        Ok(self.words(more)?.is_some())
    }

    /// What of the budget is spent; outside a thinking block, what is spent when it opens.
    fn count(&self) -> Result<Option<usize>> {
        let opening = match self.opened()? {
            -1 => &[],
            opened => self.start.get(opened as usize..).unwrap_or_default(),
        };
        Ok(self.words(opening)?.map(|words| self.budget() - words))
    }

    /// Which token of the end marker must come next, or -1.
    fn forced(&self) -> Result<i64> {
        let tokens = reply(&self.input, &[self.said, &[WORD]].concat())?.tokens;
        let next = tokens.get(self.said.len());
        Ok(position(self.end.iter().position(|token| Some(token) == next)))
    }

    /// How much of the start marker is said; -1 inside a thinking block.
    fn opened(&self) -> Result<i64> {
        if self.thinks(&[])? {
            return Ok(-1);
        }
        self.longest(&self.start, |rest| self.thinks(rest))
    }

    /// How much of the end marker is said; 0 outside a thinking block.
    fn closed(&self) -> Result<i64> {
        if self.thinks(&[])? { self.longest(&self.end, |rest| Ok(!self.thinks(rest)?)) } else { Ok(0) }
    }

    /// How much of a marker is said, when the rest of it is enough for something to hold; -1 when nothing is.
    fn longest(&self, marker: &[TokenId], holds: impl Fn(&[TokenId]) -> Result<bool>) -> Result<i64> {
        for said in (0..marker.len()).rev() {
            if holds(&marker[said..])? {
                return Ok(said as i64);
            }
        }
        Ok(-1)
    }
}

fn position(index: Option<usize>) -> i64 {
    index.map_or(-1, |index| index as i64)
}
