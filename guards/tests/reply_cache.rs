//! Cached replies: what is in the key, what is not cached, and how much is kept.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::chat_model::Origin;
use alloquy_core::grammar::Grammar;
use alloquy_core::media::Digest;
use alloquy_core::message::{ChannelText, ToolCall};
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::{CacheReport, FinishReason, Usage};
use alloquy_core::template::PromptEnd;
use alloquy_core::{
    ChatModel, Content, Delta, Error, ErrorKind, Message, Owner, Preface, Reply, ReplyStream, Request,
    Result, Role, SamplingOptions, ToolSpec,
};
use alloquy_guards::laws::reply_cache;
use alloquy_guards::reply_cache::{CacheReplies, CachedReply, MemoryReplies, ReplyCache};
use alloquy_testing::{join_deltas, laws};
use futures::StreamExt;
use pollster::block_on;
use serde_json::json;

/// Counts its calls and answers with the number.
#[derive(Clone, Debug, Default)]
struct Counter(Arc<AtomicUsize>);

#[async_trait::async_trait]
impl ChatModel for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    fn names(&self) -> Vec<&str> {
        vec!["counter", "other"]
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Ok(ReplyStream::new(move |mut emit| async move {
            let call = ToolCall::new("call", "clock", json!({}));
            let parts = vec![
                Content::Thinking("Hm.".into()),
                Content::Channel(ChannelText::new("joke", "Ha.")),
                Content::Text(number.to_string()),
                Content::ToolCall(call.clone()),
            ];
            emit.send(Delta::Thinking("Hm.".into())).await;
            emit.send(Delta::Channel(ChannelText::new("joke", "Ha."))).await;
            emit.send(Delta::Text(number.to_string())).await;
            emit.send(Delta::ToolCall(call)).await;
            let mut reply = Reply::new(Message::new(Role::Assistant, parts));
            reply.usage = Usage::new(7, 3);
            reply.tokens = vec![1, 2];
            Ok(reply)
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn greedy() -> SamplingOptions {
    SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() }
}

fn request() -> Request {
    let origin = Origin::new(Owner::local(), "tea".parse().unwrap());
    Request::new(Preface::system("Be kind."), vec![Message::user("Hi")]).sampling(greedy()).origin(origin)
}

fn asked(guard: &CacheReplies, model: &dyn ChatModel, request: &Request) -> (Vec<Delta>, Reply) {
    let stack: [Arc<dyn Middleware>; 1] = [Arc::new(guard.clone())];
    block_on(async {
        let mut stream = Next::new(&stack, model).call(request.clone()).await.unwrap();
        let mut deltas = Vec::new();
        while let Some(delta) = stream.next().await {
            deltas.push(delta);
        }
        (deltas, stream.finish().await.unwrap())
    })
}

#[test]
fn a_hit_replays_the_reply_and_says_so() {
    let guard = CacheReplies::new("counter", MemoryReplies::new(1 << 20));
    let model = Counter::default();
    let (first_deltas, first) = asked(&guard, &model, &request());
    let (deltas, hit) = asked(&guard, &model, &request());
    assert_eq!((deltas.clone(), hit.message.clone()), (first_deltas, first.message));
    assert_eq!(join_deltas(&deltas), hit.message.parts);
    assert_eq!((hit.tokens, hit.usage), (vec![1, 2], Usage::default()));
    assert_eq!(hit.facts["alloquy.reply_cache"]["generated"]["prompt"], 7);
    assert!(first.facts.is_empty());
}

#[test]
fn each_part_of_the_key_misses_alone_and_hits_when_it_is_restored() {
    let guard = CacheReplies::new("counter", MemoryReplies::new(1 << 20));
    let model = Counter::default();
    let base = request();
    let (_, first) = asked(&guard, &model, &base);
    let mut others: Vec<(&str, Request)> = Vec::new();
    let mut add = |name, change: &dyn Fn(&mut Request)| {
        let mut other = base.clone();
        change(&mut other);
        others.push((name, other));
    };
    add("model", &|other| other.model = Some("other".into()));
    add("preface", &|other| other.preface = Preface::system("Be brief."));
    add("tools", &|other| other.preface.tools.push(ToolSpec::new("clock", "Time", json!({}))));
    add("path", &|other| other.path.push(Message::user("And?")));
    add("role", &|other| other.path = vec![Message::system("Hi")].into());
    add("temperature", &|other| {
        other.sampling = SamplingOptions { top_k: Some(1), ..SamplingOptions::default() }
    });
    add("seed", &|other| other.sampling.seed = Some(3));
    add("max_tokens", &|other| other.sampling.max_tokens = Some(3));
    add("output", &|other| other.output.grammar = Some(Grammar::choice(["yes"])));
    add("arguments", &|other| {
        other.arguments.extra.insert("date".into(), json!("today"));
    });
    add("ending", &|other| other.ending = PromptEnd::Continuation);
    add("replies", &|other| other.replies = vec![vec![1]]);
    add("owner", &|other| other.origin = Some(Origin::new("bob".parse().unwrap(), "tea".parse().unwrap())));
    for (name, other) in &others {
        let (_, reply) = asked(&guard, &model, other);
        assert_ne!(reply.message, first.message, "{name} is in the key");
        assert!(!reply.facts.contains_key("alloquy.reply_cache"), "{name} is in the key");
        let (_, again) = asked(&guard, &model, other);
        assert_eq!(again.message, reply.message, "{name} hits");
        assert_eq!(asked(&guard, &model, &base).1.message, first.message);
    }
    let template = guard.clone().template(Digest::of(b"other"));
    assert_ne!(asked(&template, &model, &base).1.message, first.message, "the template is in the key");

    // The conversation is not.
    let other = base.clone().origin(Origin::new(Owner::local(), "coffee".parse().unwrap()));
    assert_eq!(asked(&guard, &model, &other).1.message, first.message);
}

#[test]
fn replies_that_differ_each_time_are_not_cached() {
    let guard = CacheReplies::new("counter", MemoryReplies::new(1 << 20));
    let model = Counter::default();
    for sampling in [
        SamplingOptions::default(),
        SamplingOptions { temperature: Some(0.7), ..SamplingOptions::default() },
        SamplingOptions { logprobs: Some(1), ..greedy() },
    ] {
        let request = request().sampling(sampling);
        let first = asked(&guard, &model, &request).1;
        assert_ne!(asked(&guard, &model, &request).1.message, first.message);
    }
    for spoil in [
        |reply: &mut Reply| reply.finish = FinishReason::Cancelled,
        |reply: &mut Reply| reply.error = Some("failed".into()),
    ] {
        let mut reply = Reply::new(Message::assistant("Hel"));
        spoil(&mut reply);
        assert_eq!(CachedReply::of(&reply), None);
    }
}

#[test]
fn a_cache_keeps_its_bytes_and_forgets_what_was_used_least_recently() {
    let cache = MemoryReplies::new(1000);
    let reply = |text: &str| CachedReply::of(&Reply::new(Message::assistant(text.repeat(100)))).unwrap();
    let key = |name: &str| Digest::of(name.as_bytes());
    block_on(async {
        for name in ["a", "b", "c"] {
            cache.put(key(name), reply(name)).await.unwrap();
        }
        assert!(cache.get(key("a")).await.unwrap().is_some());
        cache.put(key("d"), reply("d")).await.unwrap();
        cache.put(key("e"), reply("e")).await.unwrap();
        assert!(cache.bytes() <= 1000);
        assert!(cache.get(key("b")).await.unwrap().is_none());
        assert!(cache.get(key("a")).await.unwrap().is_some() && cache.get(key("e")).await.unwrap().is_some());
        cache.put(key("large"), reply(&"x".repeat(100))).await.unwrap();
        assert!(cache.get(key("large")).await.unwrap().is_none());
        assert!(cache.get(key("e")).await.unwrap().is_some());
    });
}

/// A cache that is away.
#[derive(Debug)]
struct Away;

#[async_trait::async_trait]
impl ReplyCache for Away {
    async fn get(&self, _: Digest) -> Result<Option<CachedReply>> {
        Err(Error::new(ErrorKind::Store, "away"))
    }

    async fn put(&self, _: Digest, _: CachedReply) -> Result<()> {
        Err(Error::new(ErrorKind::Store, "away"))
    }
}

#[test]
fn a_cache_that_is_away_lets_the_model_answer() {
    let guard = CacheReplies::new("counter", Away);
    let model = Counter::default();
    assert_eq!(asked(&guard, &model, &request()).1.text(), "0");
    assert_eq!(asked(&guard, &model, &request()).1.text(), "1");
}

#[test]
fn the_laws_of_caches() {
    block_on(reply_cache::all(async || MemoryReplies::new(1 << 20)));
    block_on(reply_cache::bounded(async |bytes| MemoryReplies::new(bytes)));
    let cache = MemoryReplies::new(1 << 20);
    block_on(reply_cache::persistent(async || cache.clone()));
}

#[test]
fn the_laws_of_middleware() {
    let reply = Reply::new(Message::assistant("Yes, of course."));
    let guard: Arc<dyn Middleware> = Arc::new(CacheReplies::new("played", MemoryReplies::new(1 << 20)));
    let without: Arc<dyn Middleware> = Arc::new(CacheReplies::new("played", MemoryReplies::new(0)));
    for guard in [guard, without] {
        block_on(laws::middleware::all(&guard, &request(), &reply));
    }
}
