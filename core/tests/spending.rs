//! What replies cost: exact, or unknown.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::time::{Duration, SystemTime};

use alloquy_core::cost::{Day, Price, PriceTable, Spending, TokenCount};
use alloquy_core::report::{ReplyFacts, Usage};
use alloquy_core::{ErrorKind, Manager, Message, Node, Preface};
use alloquy_testing::EchoModel;
use proptest::prelude::*;
use serde_json::json;

fn reply(model: &str, usage: Usage) -> Node {
    let mut node = Node::new(None, Message::assistant("x"));
    let mut facts = ReplyFacts::new(model);
    facts.usage = Some(usage);
    node.reply = Some(facts);
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
    usage.reused = 400_000;
    usage.thinking = 50_000;
    let spent = Spending::of([&reply("m", usage)], &prices);
    // 0.6·1 + 0.4·0.1 + 0.15·3 + 0.05·5
    assert_eq!(spent.total().unwrap().to_string(), "1.34");
    let mut tokens = TokenCount::default();
    (tokens.input, tokens.cached, tokens.output, tokens.reasoning) = (600_000, 400_000, 150_000, 50_000);
    assert_eq!(spent.tokens, tokens);
    let plain = table(&json!([{"models": ["m"], "input": "1", "output": "3"}]));
    assert_eq!(Spending::of([&reply("m", usage)], &plain).total().unwrap().to_string(), "1.6");
}

#[test]
fn floats_lose_what_this_keeps() {
    let prices = PriceTable::example();
    // 0.1 + 0.2 in the floats of a peer: 0.00030000000000000003.
    let usage = Usage::new(1000, 250);
    assert_eq!(Spending::of([&reply("gpt-4o-mini", usage)], &prices).total().unwrap().to_string(), "0.0003");
    let number = table(&json!([{"models": ["m"], "input": 0.1, "output": 0.2}]));
    assert_eq!(number.price("m", "2025-01-01".parse().unwrap()).unwrap().input.to_string(), "0.1");
}

#[test]
fn what_nobody_knows_is_not_zero() {
    let prices = table(&json!([{"models": ["m"], "input": "1", "output": "1"}]));
    let (known, unknown) = (reply("m", Usage::new(10, 0)), reply("n", Usage::default()));
    let mut dropped = reply("m", Usage::default());
    dropped.reply = Some(ReplyFacts::new("m"));
    let typed = Node::new(None, Message::assistant("by hand"));
    let spent = Spending::of([&known, &unknown, &dropped, &typed], &prices);
    assert_eq!((spent.replies, spent.uncounted, spent.total()), (3, 1, None));
    assert_eq!(spent.unpriced.iter().collect::<Vec<_>>(), ["n"]);
    assert_eq!(spent.known.to_string(), "0.00001");
    assert_eq!(Spending::of([&typed], &prices).total().unwrap().to_string(), "0");
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
    let spent = pollster::block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        conversation.send("Hello").finish().await.unwrap();
        conversation.spending(&table(&json!([{"models": ["*"], "input": "1", "output": "1"}]))).await.unwrap()
    });
    assert_eq!((spent.replies, spent.uncounted, spent.total()), (1, 1, None));
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
        let price: Price = serde_json::from_value(json!({"models": ["m"], "input": price, "output": price})).unwrap();
        let mut sum = rust_decimal::Decimal::ZERO;
        let mut exact = 0_u128;
        for (input, output) in counts {
            let mut tokens = TokenCount::default();
            (tokens.input, tokens.output) = (input as usize, output as usize);
            sum += price.cost(&tokens).unwrap();
            exact += (u128::from(input) + u128::from(output)) * u128::from(cents);
        }
        let whole = sum * rust_decimal::Decimal::from(1_000_000_000_000_u64);
        prop_assert_eq!(whole.normalize().to_string(), exact.to_string());
    }

    #[test]
    fn a_day_is_the_day_of_its_seconds(days in 0..200_000_u64, second in 0..86_400_u64) {
        let day = Day::of(SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400 + second));
        prop_assert_eq!(day.to_string().parse::<Day>().unwrap(), day);
        let next = Day::of(SystemTime::UNIX_EPOCH + Duration::from_secs((days + 1) * 86_400));
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
        assert_eq!(Day::of(SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400)).to_string(), name);
    }
}
