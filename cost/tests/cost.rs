//! What replies cost: exact, or unknown.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::time::{Duration, SystemTime};

use alloquy_core::message::ToolCall;
use alloquy_core::report::{CacheReport, FinishReason, ReplyFacts, Usage};
use alloquy_core::{
    ChatModel, Content, Conversation, ErrorKind, Manager, Message, Node, Preface, Reply, ReplyStream,
    Request, Result, Role, Tool, ToolSpec, TurnRequest,
};
use alloquy_cost::{BilledTokens, Cost, Date, Decimal, ModelPrice, PriceTable};
use alloquy_testing::EchoModel;
use proptest::prelude::*;
use serde_json::{Value, json};

fn reply(model: &str, usage: Usage) -> Node {
    let mut node = Node::new(None, Message::assistant("x"));
    let mut facts = ReplyFacts::new(model);
    facts.usage = Some(usage);
    node.reply = Some(Box::new(facts));
    node
}

fn table(prices: &serde_json::Value) -> PriceTable {
    PriceTable::from_json(&json!({"currency": "EUR", "prices": prices}).to_string()).unwrap()
}

#[test]
fn each_kind_of_token_has_its_price() {
    let prices =
        table(&json!([{"models": ["m"], "input": "1", "cached": "0.1", "output": "3", "reasoning": "5"}]));
    let mut usage = Usage::new(1_000_000, 200_000);
    usage.cached = 400_000;
    usage.thinking = 50_000;
    let spent = Cost::of([&reply("m", usage)], &prices);
    // 0.6·1 + 0.4·0.1 + 0.15·3 + 0.05·5
    assert_eq!(spent.total().unwrap().to_string(), "1.34");
    let mut tokens = BilledTokens::default();
    (tokens.input, tokens.cached, tokens.output, tokens.reasoning) = (600_000, 400_000, 150_000, 50_000);
    assert_eq!(spent.tokens, tokens);
    let plain = table(&json!([{"models": ["m"], "input": "1", "output": "3"}]));
    assert_eq!(Cost::of([&reply("m", usage)], &plain).total().unwrap().to_string(), "1.6");
}

#[test]
fn floats_lose_what_this_keeps() {
    let prices = PriceTable::example();
    // 0.1 + 0.2 in the floats of a peer: 0.00030000000000000003.
    let usage = Usage::new(1000, 250);
    assert_eq!(Cost::of([&reply("gpt-4o-mini", usage)], &prices).total().unwrap().to_string(), "0.0003");
    let number = table(&json!([{"models": ["m"], "input": 0.1, "output": 0.2}]));
    assert_eq!(number.price("m", "2025-01-01".parse().unwrap()).unwrap().input.to_string(), "0.1");
}

#[test]
fn what_nobody_knows_is_not_zero() {
    let prices = table(&json!([{"models": ["m"], "input": "1", "output": "1"}]));
    let known = reply("m", Usage::new(10, 0));
    let unknown = reply("n", Usage::default());
    let mut dropped = reply("m", Usage::default());
    dropped.reply = Some(Box::new(ReplyFacts::new("m")));
    let typed = Node::new(None, Message::assistant("by hand"));
    let spent = Cost::of([&known, &unknown, &dropped, &typed], &prices);
    assert_eq!((spent.replies, spent.uncounted, spent.total()), (3, 1, None));
    assert_eq!(spent.unpriced.iter().collect::<Vec<_>>(), ["n"]);
    assert_eq!(spent.known.to_string(), "0.00001");
    assert_eq!(Cost::of([&typed], &prices).total().unwrap().to_string(), "0");
}

#[test]
fn the_longest_name_and_the_last_day_win() {
    let prices = table(&json!([
        {"models": ["gpt-4"], "input": "30", "output": "60"},
        {"models": ["gpt-4o*"], "input": "5", "output": "15"},
        {"models": ["gpt-4o*"], "from": "2024-10-02", "input": "2.5", "output": "10"},
        {"models": ["gpt-4o-mini*"], "input": "0.15", "output": "0.6"},
        {"models": ["gpt-4o-mini"], "from": "2030-01-01", "input": "0", "output": "0"},
    ]));
    let price =
        |model, day: &str| prices.price(model, day.parse().unwrap()).map(|price| price.input.to_string());
    assert_eq!(price("gpt-4o", "2024-10-01").as_deref(), Some("5"));
    assert_eq!(price("gpt-4o-2024-08-06", "2024-10-02").as_deref(), Some("2.5"));
    assert_eq!(price("gpt-4o-mini", "2025-01-01").as_deref(), Some("0.15"));
    assert_eq!(price("gpt-4o-mini", "2030-01-01").as_deref(), Some("0"));
    assert_eq!(price("gpt-4", "2025-01-01").as_deref(), Some("30"));
    assert_eq!(price("gpt-4-32k", "2025-01-01"), None, "it is another model");
    assert_eq!(price("gpt", "2025-01-01"), None);
}

#[test]
fn a_bad_table_says_what_is_wrong() {
    let bad = [
        json!({"currency": "EUR", "prices": [{"models": ["m"], "input": "-1", "output": "1"}]}),
        json!({"currency": "EUR", "prices": [{"models": ["m"], "input": "0.0000001", "output": "1"}]}),
        json!({"currency": "EUR", "prices": [{"models": [], "input": "1", "output": "1"}]}),
        json!({"currency": "EUR", "prices": [{"models": ["m"], "input": "1"}]}),
        json!({"currency": "EUR", "prices": [{"models": ["m"], "from": "2025-02-29", "input": "1", "output": "1"}]}),
        json!({"currency": "EUR", "prices": [{"models": ["m"], "imput": "1", "input": "1", "output": "1"}]}),
    ];
    let errors = bad.map(|table| PriceTable::from_json(&table.to_string()).unwrap_err());
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::Invalid));
    insta::assert_snapshot!(errors.map(|error| format!("{error:#}")).join("\n"));
}

#[test]
fn a_model_that_does_not_count_is_not_free() {
    let manager = Manager::new(EchoModel);
    let prices = table(&json!([{"models": ["*"], "input": "1", "output": "1"}]));
    let spent = pollster::block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        let turn = conversation.send("Hello").await.unwrap();
        Cost::of(&turn.nodes, &prices)
    });
    assert_eq!((spent.replies, spent.uncounted, spent.total()), (1, 1, None));
}

#[derive(Debug)]
struct Clock;

#[async_trait::async_trait]
impl Tool for Clock {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("clock", "Returns the time", json!({"type": "object"}))
    }

    async fn call(&self, _: &Value) -> Result<Value> {
        Ok("noon".into())
    }
}

/// Calls a clock, and reads it then; each takes so many tokens.
#[derive(Debug)]
struct Metered;

#[async_trait::async_trait]
impl ChatModel for Metered {
    fn name(&self) -> &str {
        "m"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let is_asked = request.path.last().is_some_and(|message| message.role == Role::User);
        let message = if is_asked {
            Message::new(
                Role::Assistant,
                vec![Content::ToolCall(ToolCall::new("call_0", "clock", json!({})))],
            )
        } else {
            Message::assistant("Noon.")
        };
        let mut reply = Reply::new(message);
        reply.finish = if is_asked { FinishReason::ToolCalls } else { FinishReason::Stop };
        reply.usage = Usage::new(100 * request.path.len(), 10);
        Ok(ReplyStream::new(|_| async { Ok(reply) }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

#[test]
fn a_turn_costs_what_each_of_its_model_calls_does() {
    let prices = table(&json!([{"models": ["m"], "input": "1", "output": "10"}]));
    let manager = Manager::builder(Metered).tool(Clock).build().unwrap();
    pollster::block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        let mut sum = Cost::zero(&prices);
        let mut costs = Vec::new();
        for _ in 0..2 {
            let turn = conversation.send("What time is it?").await.unwrap();
            let spent = Cost::of(&turn.nodes, &prices);
            assert_eq!((spent.replies, turn.model_calls), (2, 2));
            costs.push(spent.total().unwrap().to_string());
            sum.add(&spent).unwrap();
        }
        // Prompts of 1 and 3 messages, then of 5 and 7; replies of 10 tokens.
        assert_eq!(costs, ["0.0006", "0.0014"]);
        let again = conversation.regenerate(TurnRequest::default()).await.unwrap();
        assert_eq!(Cost::of(&again.nodes, &prices).replies, 2);
        sum.add(&Cost::of(&again.nodes, &prices)).unwrap();
        assert_eq!(Cost::of(conversation.tree().await.unwrap().nodes(), &prices), sum);
        let path = conversation.history().await.unwrap();
        assert_eq!(Cost::of(&path, &prices).total().unwrap().to_string(), "0.002");
    });
}

#[test]
fn a_reply_that_is_added_with_its_facts_counts() {
    pollster::block_on(async {
        let conversation = Conversation::new(EchoModel);
        conversation.add("Hi!").await.unwrap();
        let mut facts = ReplyFacts::new("gpt-4o");
        facts.usage = Some(Usage::new(1000, 100));
        let reply = TurnRequest::from(Message::assistant("Hello!")).reply_facts(facts);
        conversation.add(reply).await.unwrap();
        let spent = Cost::of(&conversation.history().await.unwrap(), &PriceTable::example());
        // 1000 at 2.50 and 100 at 10 for a million.
        assert_eq!(spent.total().unwrap().to_string(), "0.0035");
    });
}

#[test]
fn only_one_currency_is_summed() {
    let euros = table(&json!([{"models": ["m"], "input": "1", "output": "1"}]));
    let mut sum = Cost::of([&reply("m", Usage::new(10, 0))], &euros);
    let before = sum.clone();
    let error = sum.add(&Cost::zero(&PriceTable::example())).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Invalid, "\"USD\" cannot be added to \"EUR\"")
    );
    assert_eq!(sum, before);
    let unknown = Cost::of([&reply("n", Usage::new(1, 1))], &euros);
    sum.add(&unknown).unwrap();
    assert_eq!((sum.replies, sum.total(), sum.known), (2, None, before.known));
}

#[test]
fn a_table_made_in_code_is_checked_as_one_that_is_read() {
    let price = ModelPrice::new(["m"], Decimal::from(-1), Decimal::ONE);
    assert_eq!(PriceTable::new("EUR", [price]).unwrap_err().kind(), ErrorKind::Invalid);
    let read = table(&json!([{"models": ["m"], "input": "1", "output": "3"}]));
    assert_eq!(PriceTable::new("EUR", [ModelPrice::new(["m"], 1.into(), 3.into())]).unwrap(), read);
}

#[test]
fn what_is_refused_is_quoted_in_short() {
    let long = "x".repeat(100_000);
    let day = long.parse::<Date>().unwrap_err();
    let prices = PriceTable::from_json(&json!({&long: long}).to_string()).unwrap_err();
    for error in [day, prices] {
        assert!(error.to_string().len() < 2000, "{:.300}", error.to_string());
    }
}

#[test]
fn the_example_is_a_table() {
    let prices = PriceTable::example();
    assert!(prices.price("gpt-4o", "2025-01-01".parse().unwrap()).is_some());
    assert_eq!(prices.currency(), "USD");
}

proptest! {
    #[test]
    fn a_sum_is_exact_to_the_last_digit(counts in prop::collection::vec((0..u32::MAX, 0..u32::MAX), 1..50), cents in 0..1_000_000_000_u64) {
        let price = format!("{}.{:06}", cents / 1_000_000, cents % 1_000_000);
        let price: ModelPrice = serde_json::from_value(json!({"models": ["m"], "input": price, "output": price})).unwrap();
        let mut sum = Decimal::ZERO;
        let mut exact = 0_u128;
        for (input, output) in counts {
            let mut tokens = BilledTokens::default();
            (tokens.input, tokens.output) = (input as usize, output as usize);
            sum += price.cost(&tokens).unwrap();
            exact += (u128::from(input) + u128::from(output)) * u128::from(cents);
        }
        let whole = sum * Decimal::from(1_000_000_000_000_u64);
        prop_assert_eq!(whole.normalize().to_string(), exact.to_string());
    }

    #[test]
    fn a_day_is_the_day_of_its_seconds(days in 0..200_000_u64, second in 0..86_400_u64) {
        let day = Date::of(SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400 + second));
        prop_assert_eq!(day.to_string().parse::<Date>().unwrap(), day);
        let next = Date::of(SystemTime::UNIX_EPOCH + Duration::from_secs((days + 1) * 86_400));
        prop_assert!(day < next);
    }
}

#[test]
fn days_are_those_of_the_calendar() {
    let known = [
        (0, "1970-01-01"),
        (11_016, "2000-02-29"),
        (19_782, "2024-02-29"),
        (47_540, "2100-02-28"),
        (47_541, "2100-03-01"),
    ];
    for (days, name) in known {
        assert_eq!(Date::of(SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400)).to_string(), name);
    }
}
