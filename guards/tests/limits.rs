//! Limits: what is allowed is the limit exactly, a failure gives it back, and neither a clock nor a store gives anything away.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloquy_core::chat_model::Origin;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::Usage;
use alloquy_core::{
    ChatModel, Content, Error, ErrorKind, Message, Owner, Preface, Reply, Request, Result, Role,
    SamplingOptions,
};
use alloquy_cost::{Decimal, ModelPrice, PriceTable};
use alloquy_guards::clock::Clock;
use alloquy_guards::laws::limit_store;
use alloquy_guards::limits::{
    Budget, BudgetLimit, LimitStore, MemoryLimits, Period, Rate, RateLimit, RetryAfter, Scope, Spent, Taken,
};
use alloquy_testing::{EchoModel, ScriptedModel, ScriptedReply, laws};
use pollster::block_on;
use proptest::prelude::*;

/// A clock that the test sets.
#[derive(Clone, Debug, Default)]
struct Hand(Arc<Mutex<(u64, u64)>>);

impl Hand {
    /// Sets the seconds since 1970 and the milliseconds since the start.
    fn set(&self, date: u64, elapsed: u64) {
        *self.0.lock().unwrap() = (date, elapsed);
    }
}

impl Clock for Hand {
    fn date(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0.lock().unwrap().0)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.lock().unwrap().1)
    }
}

fn request(conversation: &str) -> Request {
    let origin = Origin::new(Owner::local(), conversation.parse().unwrap());
    Request::new(Preface::default(), vec![Message::user("Hello there")]).origin(origin)
}

fn asked(guard: &dyn Middleware, model: &dyn ChatModel, request: Request) -> Result<Reply> {
    block_on(async { guard.handle(request, Next::new(&[], model)).await?.finish().await })
}

fn rate(calls: u32, seconds: u64) -> Rate {
    Rate::new(calls, Duration::from_secs(seconds)).unwrap()
}

proptest! {
    #[test]
    fn a_rate_allows_its_burst_and_then_one_call_each_interval(
        steps in proptest::collection::vec((0_u64..3000, 1_u32..3), 1..60),
    ) {
        let (clock, burst) = (Hand::default(), 5);
        let store = MemoryLimits::with_clock(clock.clone());
        let limit = rate(1, 1).burst(burst).unwrap();
        let mut now = 0_u64;
        let mut allowed: Vec<(u64, u32)> = Vec::new();
        for (wait, units) in steps {
            now += wait;
            clock.set(0, now);
            match block_on(store.take("key", limit, units)).unwrap() {
                Taken::Yes => allowed.push((now, units)),
                Taken::Wait(wait) => {
                    // A moment before it is refused, and then it is allowed.
                    let wait = u64::try_from(wait.as_millis()).unwrap();
                    if wait > 1 {
                        clock.set(0, now + wait - 1);
                        prop_assert_ne!(block_on(store.take("key", limit, units)).unwrap(), Taken::Yes);
                    }
                    now += wait;
                    clock.set(0, now);
                    prop_assert_eq!(block_on(store.take("key", limit, units)).unwrap(), Taken::Yes);
                    allowed.push((now, units));
                }
                Taken::Never => prop_assert!(false),
            }
            for (first, (start, _)) in allowed.iter().enumerate() {
                let units: u64 = allowed[first..].iter().map(|(_, units)| u64::from(*units)).sum();
                prop_assert!(units <= u64::from(burst) + (now - start) / 1000);
            }
        }
    }
}

#[test]
fn a_clock_that_jumps_back_gives_nothing_away() {
    let clock = Hand::default();
    let store = MemoryLimits::with_clock(clock.clone());
    let limit = rate(1, 10);
    clock.set(86_400 * 20_000 + 100, 50_000);
    assert_eq!(block_on(store.take("key", limit, 1)).unwrap(), Taken::Yes);
    assert!(block_on(store.reserve("key", true, 10, 8)).unwrap().reserved);
    for (date, elapsed) in [(0, 0), (86_400 * 19_999, 10_000), (86_400 * 20_000, 59_000)] {
        clock.set(date, elapsed);
        assert!(matches!(block_on(store.take("key", limit, 1)).unwrap(), Taken::Wait(_)));
        assert!(!block_on(store.reserve("key", true, 10, 3)).unwrap().reserved);
    }
    clock.set(86_400 * 20_001, 60_000);
    assert_eq!(block_on(store.take("key", limit, 1)).unwrap(), Taken::Yes);
    assert!(block_on(store.reserve("key", true, 10, 3)).unwrap().reserved);
    assert_eq!(block_on(store.take("key", limit, 2)).unwrap(), Taken::Never);
}

#[test]
fn threads_share_a_limit_exactly() {
    let store = MemoryLimits::with_clock(Hand::default());
    let allowed = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for _ in 0..4 {
            threads.push(scope.spawn(|| {
                let mut allowed = 0;
                for _ in 0..500 {
                    allowed +=
                        u64::from(block_on(store.take("key", rate(700, 3600), 1)).unwrap() == Taken::Yes);
                }
                allowed
            }));
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
    });
    assert_eq!(allowed, 700);
}

#[test]
fn scopes_are_counted_apart_and_failures_are_given_back() {
    let store = Arc::new(MemoryLimits::with_clock(Hand::default()));
    let limit = RateLimit::new(rate(2, 60), Scope::Conversation, store.clone());
    for _ in 0..2 {
        asked(&limit, &EchoModel, request("one")).unwrap();
    }
    let error = asked(&limit, &EchoModel, request("one")).unwrap_err();
    assert_eq!((error.kind(), RetryAfter::of(&error)), (ErrorKind::Busy, Some(Duration::from_secs(30))));
    asked(&limit, &EchoModel, request("two")).unwrap();

    let failing = ScriptedModel::replying(vec![ScriptedReply::Fails("Hel".to_owned()); 5]);
    for _ in 0..5 {
        assert_eq!(asked(&limit, &failing, request("two")).unwrap_err().kind(), ErrorKind::Backend);
    }
    assert_eq!(
        asked(&limit, &failing, request("two")).unwrap_err().kind(),
        ErrorKind::Invalid,
        "no replies are left"
    );
    asked(&limit, &EchoModel, request("two")).unwrap();
    assert!(asked(&limit, &EchoModel, request("two")).is_err());

    let owner = RateLimit::new(rate(1, 60), Scope::Owner, store);
    asked(&owner, &EchoModel, request("three")).unwrap();
    assert!(asked(&owner, &EchoModel, request("four")).is_err());
    let without = Request::new(Preface::default(), vec![Message::user("Hi")]);
    assert_eq!(asked(&owner, &EchoModel, without).unwrap_err().kind(), ErrorKind::Invalid);
}

/// A store that is away.
#[derive(Debug)]
struct Away;

fn away<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Store, "the store is away"))
}

#[async_trait::async_trait]
impl LimitStore for Away {
    async fn take(&self, _: &str, _: Rate, _: u32) -> Result<Taken> {
        away()
    }

    async fn give_back(&self, _: &str, _: Rate, _: u32) -> Result<()> {
        away()
    }

    async fn reserve(&self, _: &str, _: bool, _: u64, _: u64) -> Result<Spent> {
        away()
    }

    async fn settle(&self, _: &str, _: u64, _: u64, _: u64) -> Result<()> {
        away()
    }

    async fn forget(&self, _: &str) -> Result<()> {
        away()
    }
}

#[test]
fn a_store_that_is_away_allows_nothing() {
    let limit = RateLimit::new(rate(9, 1), Scope::Everything, Arc::new(Away));
    assert_eq!(asked(&limit, &EchoModel, request("one")).unwrap_err().kind(), ErrorKind::Store);
    for period in [Period::Turn, Period::Day, Period::Always] {
        let limit = BudgetLimit::new(Budget::tokens(1000), period, Scope::Owner, Arc::new(Away), counted);
        assert_eq!(asked(&limit, &EchoModel, request("one")).unwrap_err().kind(), ErrorKind::Store);
    }
}

/// Ten tokens a message.
fn counted(request: &Request) -> Result<usize> {
    Ok(10 * request.path.len())
}

fn used(prompt: usize, generated: usize) -> ScriptedReply {
    let mut reply = Reply::new(Message::assistant("Yes."));
    reply.usage = Usage::new(prompt, generated);
    reply.into()
}

fn short(conversation: &str) -> Request {
    request(conversation).sampling(SamplingOptions { max_tokens: Some(20), ..SamplingOptions::default() })
}

#[test]
fn a_budget_counts_what_replies_used() {
    let clock = Hand::default();
    clock.set(86_400 * 20_000 + 86_000, 0);
    let store = Arc::new(MemoryLimits::with_clock(clock.clone()));
    let limit = BudgetLimit::new(Budget::tokens(60), Period::Day, Scope::Owner, store, counted);
    // 15, and 15, and a failure: 30 are used.
    let model = ScriptedModel::replying([
        used(10, 5),
        used(10, 5),
        ScriptedReply::Fails(String::new()),
        used(10, 10),
    ]);
    asked(&limit, &model, short("one")).unwrap();
    asked(&limit, &model, short("two")).unwrap();
    assert_eq!(asked(&limit, &model, short("two")).unwrap_err().kind(), ErrorKind::Backend);
    asked(&limit, &model, short("three")).unwrap();
    let error = asked(&limit, &model, short("four")).unwrap_err();
    assert_eq!((error.kind(), RetryAfter::of(&error)), (ErrorKind::Busy, Some(Duration::from_secs(400))));
    let words = "the budget of 60 tokens a day of an owner is used up: 50 tokens are used or reserved, and this call needs up to 30 tokens";
    assert_eq!(error.to_string(), words);
    clock.set(86_400 * 20_001, 0);
    assert_eq!(
        asked(&limit, &model, short("four")).unwrap_err().to_string(),
        "the script has no more replies"
    );
    // A call that needs more than the whole budget never fits.
    let long =
        request("five").sampling(SamplingOptions { max_tokens: Some(100), ..SamplingOptions::default() });
    assert_eq!(asked(&limit, &model, long).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_budget_of_a_turn_begins_with_each_turn() {
    let store = Arc::new(MemoryLimits::default());
    let limit = BudgetLimit::new(Budget::tokens(70), Period::Turn, Scope::Conversation, store, counted);
    let model = ScriptedModel::replying(vec![used(20, 10); 4]);
    for _ in 0..2 {
        asked(&limit, &model, short("one")).unwrap();
        let call = ToolCall::new("call", "clock", serde_json::json!({}));
        let mut after = short("one");
        after.path.push(Message::new(Role::Assistant, vec![Content::ToolCall(call.clone())]));
        after.path.push(Message::tool(vec![ToolResult::ok(&call, "noon")]));
        // The first call used 30, and this one needs up to 50.
        assert_eq!(asked(&limit, &model, after).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn a_budget_of_cost_is_exact() {
    let price = ModelPrice::new(["tiny"], Decimal::from(2), Decimal::from(10));
    let prices = PriceTable::new("EUR", [price]).unwrap();
    // 10 tokens at 2 and 20 at 10 for a million are 0.00022.
    let budget = Budget::cost(Decimal::new(44, 5), prices.clone()).unwrap();
    let limit =
        BudgetLimit::new(budget, Period::Always, Scope::Owner, Arc::new(MemoryLimits::default()), counted);
    let limit = limit.model("tiny");
    let model = ScriptedModel::replying(vec![used(10, 20); 5]);
    asked(&limit, &model, short("one")).unwrap();
    asked(&limit, &model, short("one")).unwrap();
    let error = asked(&limit, &model, short("one")).unwrap_err();
    assert!(
        error.to_string().contains("0.00044 EUR are used or reserved, and this call needs up to 0.00022 EUR"),
        "{error}"
    );

    let unknown = BudgetLimit::new(
        Budget::cost(Decimal::from(1), prices).unwrap(),
        Period::Always,
        Scope::Owner,
        Arc::new(MemoryLimits::default()),
        counted,
    );
    assert!(asked(&unknown, &model, short("one")).unwrap_err().to_string().contains("no price"));
}

#[test]
fn the_laws_of_stores() {
    block_on(limit_store::all(async || MemoryLimits::default()));
    let store = MemoryLimits::default();
    block_on(limit_store::persistent(async || store.clone()));
    limit_store::threads_share_a_limit(&store);
}

#[test]
fn the_budget_of_a_turn_is_forgotten_after_a_day_without_use() {
    let clock = Hand::default();
    let store = MemoryLimits::with_clock(clock.clone());
    clock.set(86_400 * 20_000 + 86_399, 0);
    assert!(block_on(store.reserve_for_turn("turn", 10, 10)).unwrap().reserved);
    assert!(block_on(store.reserve("always", false, 10, 10)).unwrap().reserved);
    for (day, is_known) in [(20_001, true), (20_002, false)] {
        clock.set(86_400 * day, 0);
        // So many keys make the store look for those without effect.
        for number in 0..5000 {
            let key = format!("{day} {number}");
            block_on(store.reserve(&key, false, 1, 1)).unwrap();
        }
        assert_eq!(block_on(store.reserve_for_turn("turn", 10, 1)).unwrap().reserved, !is_known);
        assert!(!block_on(store.reserve("always", false, 10, 1)).unwrap().reserved);
    }
}

#[test]
fn the_laws_of_middleware() {
    let reply = Reply::new(Message::assistant("Yes, of course."));
    let store = Arc::new(MemoryLimits::default());
    let limits: [Arc<dyn Middleware>; 2] = [
        Arc::new(RateLimit::new(rate(100_000, 1), Scope::Owner, store.clone())),
        Arc::new(BudgetLimit::new(Budget::tokens(u64::MAX), Period::Turn, Scope::Owner, store, counted)),
    ];
    for limit in &limits {
        block_on(laws::middleware::all(limit, &request("one"), &reply));
    }
}
