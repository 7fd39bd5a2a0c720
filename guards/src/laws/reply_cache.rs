//! What every cache of replies must do.
//!
//! | suite | caches |
//! |---|---|
//! | [`all`] | those that keep at least a few short replies |
//! | [`bounded`] | those that keep a number of bytes, and forget first what was used least recently |
//! | [`persistent`] | those that outlive the process |

use alloquy_core::media::Digest;
use alloquy_core::message::{ChannelText, ToolCall};
use alloquy_core::report::{FinishReason, Usage};
use alloquy_core::{Content, Message, Reply, Role};
use futures::future::join_all;
use serde_json::json;

use super::outcomes::must;
use crate::reply_cache::{CachedReply, ReplyCache};

/// Runs every law of a cache. `open` opens a new empty cache each time.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
///
/// ```
/// use alloquy_guards::laws::reply_cache;
/// use alloquy_guards::reply_cache::MemoryReplies;
///
/// pollster::block_on(reply_cache::all(async || MemoryReplies::new(1_000_000)));
/// pollster::block_on(reply_cache::bounded(async |bytes| MemoryReplies::new(bytes)));
/// ```
pub async fn all<S: ReplyCache>(open: impl AsyncFn() -> S) {
    a_reply_is_returned_as_it_was_kept(&open().await).await;
    a_reply_belongs_to_its_key(&open().await).await;
    a_later_reply_replaces_an_earlier_one(&open().await).await;
    callers_keep_replies_together(&open().await).await;
}

/// A reply is returned as it was kept, with every field.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn a_reply_is_returned_as_it_was_kept(cache: &dyn ReplyCache) {
    let reply = rich();
    must("put", cache.put(key("rich"), reply.clone()).await);
    assert_eq!(must("get", cache.get(key("rich")).await), Some(reply), "each field is as it was");
}

/// A reply is returned for its key alone.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn a_reply_belongs_to_its_key(cache: &dyn ReplyCache) {
    assert_eq!(must("get", cache.get(key("a")).await), None, "an empty cache has no reply");
    for name in ["a", "b", "c"] {
        must("put", cache.put(key(name), text(name)).await);
    }
    for name in ["b", "a", "c", "a"] {
        assert_eq!(must("get", cache.get(key(name)).await), Some(text(name)), "each key has its reply");
    }
    assert_eq!(must("get", cache.get(key("d")).await), None, "an unknown key has no reply");
}

/// A reply that is kept later replaces the one before it.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn a_later_reply_replaces_an_earlier_one(cache: &dyn ReplyCache) {
    for words in ["one", "a much longer reply", "two"] {
        must("put", cache.put(key("same"), text(words)).await);
        assert_eq!(must("get", cache.get(key("same")).await), Some(text(words)), "the last reply is kept");
    }
}

/// Callers that run together keep and find whole replies.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn callers_keep_replies_together(cache: &dyn ReplyCache) {
    let names = ["a", "b", "c", "d"];
    let kept = join_all(names.iter().cycle().take(32).map(|name| cache.put(key(name), text(name)))).await;
    for outcome in kept {
        must("put", outcome);
    }
    let found = join_all(names.iter().map(|name| cache.get(key(name)))).await;
    for (name, outcome) in names.iter().zip(found) {
        assert_eq!(must("get", outcome), Some(text(name)), "each key has its reply");
    }
}

/// A cache of a number of bytes, counted as JSON, keeps no more, and forgets first what was used least recently. `open` opens a new
/// empty cache of so many bytes.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn bounded<S: ReplyCache>(open: impl AsyncFn(usize) -> S) {
    let size = size_of(&text("a"));
    let cache = open(3 * size).await;
    for name in ["a", "b", "c"] {
        must("put", cache.put(key(name), text(name)).await);
    }
    assert_eq!(found(&cache, &["a", "b", "c"]).await, ["a", "b", "c"], "three replies fit exactly");
    // "a" is used last, so "b" is forgotten first.
    must("get", cache.get(key("a")).await);
    must("put", cache.put(key("d"), text("d")).await);
    assert_eq!(
        found(&cache, &["b", "c", "a", "d"]).await,
        ["c", "a", "d"],
        "the least recently used is forgotten"
    );
    must("put", cache.put(key("e"), text("e")).await);
    assert_eq!(found(&cache, &["c", "a", "d", "e"]).await, ["a", "d", "e"], "reading is a use");
    let large = text(&"x".repeat(3 * size));
    must("put of a reply above the bound", cache.put(key("large"), large.clone()).await);
    assert_eq!(must("get", cache.get(key("large")).await), None, "a reply above the bound is not kept");
    assert_eq!(found(&cache, &["a", "d", "e"]).await, ["a", "d", "e"], "it takes the place of no other");
    must("put", cache.put(key("a"), large).await);
    assert_eq!(
        found(&cache, &["a", "d", "e"]).await,
        ["d", "e"],
        "what it replaces is not returned any more"
    );
    for number in 0..50_u32 {
        let words = "y".repeat(number as usize);
        let name = number.to_string();
        must("put", cache.put(key(&name), text(&words)).await);
        let kept = must("get", cache.get(key(&name)).await);
        assert!(kept.is_none_or(|kept| kept == text(&words)), "a reply is whole or absent");
    }
    let mut bytes = 0;
    for number in 0..50_u32 {
        let kept = must("get", cache.get(key(&number.to_string())).await);
        bytes += kept.as_ref().map_or(0, size_of);
    }
    assert!(bytes <= 3 * size, "{bytes} bytes are kept, and {} are allowed", 3 * size);
    let none = open(0).await;
    must("put", none.put(key("a"), text("a")).await);
    assert_eq!(must("get", none.get(key("a")).await), None, "a cache of 0 bytes keeps nothing");
}

/// Replies survive closing, and several handles share them. `open` opens the same place each time, which is empty at first.
///
/// [`all`] has an example of a suite.
///
/// # Panics
/// When the law is broken.
pub async fn persistent<S: ReplyCache>(open: impl AsyncFn() -> S) {
    let first = open().await;
    must("put", first.put(key("a"), rich()).await);
    let second = open().await;
    assert_eq!(must("get", second.get(key("a")).await), Some(rich()), "another handle finds it");
    must("put", second.put(key("a"), text("new")).await);
    assert_eq!(must("get", first.get(key("a")).await), Some(text("new")), "a handle finds what another kept");
    drop(first);
    drop(second);
    assert_eq!(must("get", open().await.get(key("a")).await), Some(text("new")), "it survives closing");
}

/// Returns those of some names whose replies are in the cache, in their order. Each is used.
async fn found<'a>(cache: &dyn ReplyCache, names: &[&'a str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in names {
        if must("get", cache.get(key(name)).await).is_some() {
            found.push(*name);
        }
    }
    found
}

fn key(name: &str) -> Digest {
    Digest::of(name.as_bytes())
}

fn text(words: &str) -> CachedReply {
    cached(&Reply::new(Message::assistant(words)))
}

/// Returns a reply with every field.
fn rich() -> CachedReply {
    let call = ToolCall::new("call", "clock", json!({"zone": "UTC", "of": [1, 0.1, null]}));
    let parts = vec![
        Content::Thinking("Hm. \u{0}".into()),
        Content::Channel(ChannelText::new("joke", "Ha.")),
        Content::Text("Grüner Tee 🍵".to_owned()),
        Content::ToolCall(call),
    ];
    let mut reply = Reply::new(Message::new(Role::Assistant, parts));
    reply.tokens = vec![0, 1, u32::MAX];
    reply.finish = FinishReason::StopString;
    reply.stop_string = Some("\n\n".to_owned());
    reply.usage = Usage::new(7, 3);
    reply.seed = Some(u64::MAX);
    reply.template = Some(key("template"));
    reply.facts.insert("facts".to_owned(), json!({"exact": 0.1, "large": u64::MAX}));
    cached(&reply)
}

fn cached(reply: &Reply) -> CachedReply {
    match CachedReply::of(reply) {
        Some(cached) => cached,
        None => panic!("a complete reply can be kept"),
    }
}

fn size_of(reply: &CachedReply) -> usize {
    match serde_json::to_string(reply) {
        Ok(json) => json.len(),
        Err(error) => panic!("a reply can be written: {error}"),
    }
}
