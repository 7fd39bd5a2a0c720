//! What every middleware must do.
//!
//! ```
//! use std::sync::Arc;
//!
//! use alloquy_core::middleware::{Middleware, Next};
//! use alloquy_core::{Message, Preface, Reply, ReplyStream, Request, Result};
//! use alloquy_testing::laws;
//!
//! /// Tells the model to be polite.
//! #[derive(Debug)]
//! struct Polite;
//!
//! #[async_trait::async_trait]
//! impl Middleware for Polite {
//!     async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
//!         next.call(self.prepare(request).await?).await
//!     }
//!
//!     async fn prepare(&self, mut request: Request) -> Result<Request> {
//!         request.preface.messages.push(Message::system("Be polite."));
//!         Ok(request)
//!     }
//! }
//!
//! let polite: Arc<dyn Middleware> = Arc::new(Polite);
//! let request = Request::new(Preface::default(), vec![Message::user("Tea?")]);
//! pollster::block_on(laws::middleware::all(&polite, &request, &Reply::new(Message::assistant("Yes, please."))));
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::processor::ToolCallDelta;
use alloquy_core::report::CacheReport;
use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
use alloquy_core::store::MemoryStore;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{
    ChatModel, Content, Delta, Manager, Preface, Reply, ReplyStream, Request, Result, TurnEvent,
};
use async_trait::async_trait;
use futures::StreamExt;

use crate::doubles::join_deltas;

/// Runs every law. The middleware is called several times with `request`, over a model that answers each time with the message
/// of `reply`. It must allow that: a limit must not be reached, and a reply that it refuses is refused each time.
///
/// # Panics
/// When a law is broken.
pub async fn all(middleware: &Arc<dyn Middleware>, request: &Request, reply: &Reply) {
    prepare_equals_what_is_passed_on(middleware, request, reply).await;
    deltas_join_to_the_message(middleware, request, reply).await;
    dropping_leaves_everything_usable(middleware, request, reply).await;
    a_changed_text_has_no_old_tokens(middleware, request, reply).await;
}

/// The request that [`Middleware::prepare`] returns is the first one that [`Middleware::handle`] passes on, if it passes one on.
///
/// # Panics
/// When the law is broken.
pub async fn prepare_equals_what_is_passed_on(
    middleware: &Arc<dyn Middleware>,
    request: &Request,
    reply: &Reply,
) {
    let model = PlayedModel::new(reply);
    let answered = reply_of(middleware, &model, request).await;
    let passed = model.received().into_iter().next();
    let Some(passed) = passed else { return };
    let prepared = match middleware.prepare(request.clone()).await {
        Ok(prepared) => prepared,
        Err(error) => panic!("a request that is passed on cannot be prepared: {error:#}"),
    };
    drop(answered);
    assert_eq!(prepared.preface, passed.preface, "another preface is prepared than passed on");
    assert_eq!(prepared.path, passed.path, "another path is prepared than passed on");
    let ids: Vec<_> = prepared.path.sampled().collect();
    let passed_ids: Vec<_> = passed.path.sampled().collect();
    assert_eq!(ids, passed_ids, "other token ids of the path are prepared than passed on");
    assert_eq!(prepared.replies, passed.replies, "other token ids of replies are prepared than passed on");
    assert_eq!(prepared.arguments, passed.arguments, "other arguments are prepared than passed on");
    assert_eq!(prepared.ending, passed.ending, "another ending is prepared than passed on");
    assert_eq!(prepared.model, passed.model, "another model is prepared than passed on");
}

/// The deltas of a reply join to its message.
///
/// # Panics
/// When the law is broken.
pub async fn deltas_join_to_the_message(middleware: &Arc<dyn Middleware>, request: &Request, reply: &Reply) {
    let model = PlayedModel::new(reply);
    let Ok((deltas, reply)) = reply_of(middleware, &model, request).await else { return };
    assert_eq!(join_deltas(&deltas), reply.message.parts, "the deltas do not join to the message");
}

/// After a stream is dropped, at whichever delta, the next call has the same outcome as without the drop.
///
/// # Panics
/// When the law is broken.
pub async fn dropping_leaves_everything_usable(
    middleware: &Arc<dyn Middleware>,
    request: &Request,
    reply: &Reply,
) {
    let model = PlayedModel::new(reply);
    let whole = outcome(reply_of(middleware, &model, request).await);
    let deltas = match &whole {
        Ok(parts) => parts.len().max(DROPS),
        Err(_) => DROPS,
    };
    for kept in 0..=deltas {
        let Ok(mut stream) = started(middleware, &model, request).await else { continue };
        for _ in 0..kept {
            if stream.next().await.is_none() {
                break;
            }
        }
        drop(stream);
        let again = outcome(reply_of(middleware, &model, request).await);
        assert_eq!(again, whole, "another outcome after a drop at delta {kept}");
    }
}

/// After how many deltas a stream is dropped at most, where nothing says how many there are.
const DROPS: usize = 24;

/// A reply whose message is not the model's has no token ids of the model's text, and no log-probabilities of them. An unchanged
/// message may keep both.
///
/// # Panics
/// When the law is broken.
pub async fn a_changed_text_has_no_old_tokens(
    middleware: &Arc<dyn Middleware>,
    request: &Request,
    reply: &Reply,
) {
    let model = PlayedModel::new(reply);
    let Ok((_, changed)) = reply_of(middleware, &model, request).await else { return };
    if changed.message.parts == reply.message.parts {
        return;
    }
    let ids = ids_of(&changed.message.text());
    let has_ids = changed.tokens.is_empty() || changed.tokens == ids;
    assert!(has_ids, "a changed text has token ids of another text: {:?}", changed.tokens);
    for (index, logprobs) in changed.logprobs.iter().enumerate() {
        let is_of_text = changed.tokens.get(index) == Some(&logprobs.sampled.token);
        assert!(is_of_text, "a changed text has log-probabilities of another text");
    }
}

/// No part of `secrets` is in what a caller or a store sees of a reply: the deltas, the reply, every event of a turn, and the
/// stored nodes with their ids, facts and metadata. The turn is read to its end, and dropped after each of its polls, so that its
/// partial reply is stored.
///
/// The message of `reply` contains the secrets. A middleware that refuses the reply must not quote them.
///
/// # Panics
/// When the law is broken.
pub async fn nothing_removed_is_visible(middleware: &Arc<dyn Middleware>, reply: &Reply, secrets: &[&str]) {
    let polls = look_for(middleware, reply, secrets, None).await;
    for kept in 0..polls {
        look_for(middleware, reply, secrets, Some(kept)).await;
    }
}

/// Runs a turn, dropped after `kept` polls, and looks for the secrets. Returns the number of polls.
async fn look_for(
    middleware: &Arc<dyn Middleware>,
    reply: &Reply,
    secrets: &[&str],
    kept: Option<usize>,
) -> usize {
    let store = Arc::new(MemoryStore::default());
    let manager = Manager::builder(PlayedModel::new(reply))
        .store(store.clone())
        .middleware(Arc::clone(middleware))
        .build();
    let manager = must(manager, "the manager");
    let conversation = must(manager.create(Preface::default()).await, "a conversation");
    let mut seen = String::new();
    let mut joined = Vec::new();
    let mut polls = 0;
    let mut turn = conversation.send("Tell me.");
    loop {
        let next = std::future::poll_fn(|context| {
            if kept == Some(polls) {
                return Poll::Ready(None);
            }
            polls += 1;
            match turn.poll_next_unpin(context) {
                // The turn is dropped while it waits.
                Poll::Pending if kept == Some(polls) => Poll::Ready(None),
                polled => polled,
            }
        });
        let Some(event) = next.await else { break };
        seen += &format!("{event:?}\n");
        if let Ok(TurnEvent::Delta(delta)) = &event {
            joined.push(delta.clone());
        }
    }
    if kept.is_none() {
        seen += &format!("{:?}\n", turn.finish().await);
    } else {
        drop(turn);
    }
    // Pieces show a secret only when they are joined.
    seen += &joined_texts(&joined);
    let tree = must(conversation.tree().await, "the tree");
    for node in tree.nodes() {
        seen += &serde_json::to_string(node).unwrap_or_else(|error| panic!("{error}"));
    }
    for secret in secrets {
        assert!(!seen.contains(secret), "{secret:?} is visible after {kept:?} polls in {seen}");
    }
    polls
}

/// Returns the joined text of each kind of delta.
fn joined_texts(deltas: &[Delta]) -> String {
    let mut text = String::new();
    let mut thinking = String::new();
    let mut channels = String::new();
    let mut arguments = String::new();
    for delta in deltas {
        match delta {
            Delta::Text(more) => text += more,
            Delta::Thinking(more) => thinking += more,
            Delta::Channel(more) => channels += &more.text,
            Delta::Arguments(more) => arguments += &more.text,
            other => text += &format!("{other:?}"),
        }
    }
    [text, thinking, channels, arguments].join("\n")
}

fn must<T>(result: Result<T>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("{what} is not available: {error:#}"))
}

/// The parts of a reply, or the error, as far as two calls must have the same.
fn outcome(result: Result<(Vec<Delta>, Reply)>) -> Result<Vec<Content>, String> {
    match result {
        Ok((_, reply)) => Ok(reply.message.parts.into_iter().map(|part| part.content).collect()),
        Err(error) => Err(error.to_string()),
    }
}

async fn started(
    middleware: &Arc<dyn Middleware>,
    model: &PlayedModel,
    request: &Request,
) -> Result<ReplyStream> {
    let stack = std::slice::from_ref(middleware);
    Next::new(stack, model).call(request.clone()).await
}

async fn reply_of(
    middleware: &Arc<dyn Middleware>,
    model: &PlayedModel,
    request: &Request,
) -> Result<(Vec<Delta>, Reply)> {
    let mut stream = started(middleware, model, request).await?;
    let mut deltas = Vec::new();
    while let Some(delta) = stream.next().await {
        deltas.push(delta);
    }
    Ok((deltas, stream.finish().await?))
}

/// A model that answers each request with one reply, a character at a time, and keeps the requests.
///
/// The token ids of its reply are the bytes of its text, and each has a log-probability.
#[derive(Clone, Debug)]
struct PlayedModel {
    reply: Reply,
    received: Arc<Mutex<Vec<Request>>>,
}

impl PlayedModel {
    fn new(reply: &Reply) -> Self {
        let mut reply = reply.clone();
        reply.tokens = ids_of(&reply.message.text());
        let logprobs = reply.tokens.iter().map(|token| TokenLogprob::new(*token, -0.5));
        reply.logprobs = logprobs.map(|logprob| TokenLogprobs::new(logprob, vec![logprob])).collect();
        Self { reply, received: Arc::default() }
    }

    fn received(&self) -> Vec<Request> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Request>> {
        // A list of whole requests is valid at every moment.
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ids_of(text: &str) -> Vec<TokenId> {
    text.bytes().map(TokenId::from).collect()
}

#[async_trait]
impl ChatModel for PlayedModel {
    fn name(&self) -> &str {
        "played"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        self.lock().push(request);
        let reply = self.reply.clone();
        Ok(ReplyStream::new(move |mut emit| async move {
            for part in &reply.message.parts {
                emit.send_all(deltas_of(&part.content)).await;
            }
            Ok(reply)
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// Returns the deltas of a part: a text character by character, and the arguments of a call before the call.
fn deltas_of(content: &Content) -> Vec<Delta> {
    match content {
        Content::Text(text) => text.chars().map(|one| Delta::Text(one.to_string())).collect(),
        Content::Thinking(text) => text.chars().map(|one| Delta::Thinking(one.to_string())).collect(),
        Content::Channel(said) => {
            let mut deltas = Vec::new();
            for one in said.text.chars() {
                let mut piece = said.clone();
                piece.text = one.to_string();
                deltas.push(Delta::Channel(piece));
            }
            deltas
        }
        Content::ToolCall(call) => {
            let mut deltas = Vec::new();
            for one in call.arguments.to_string().chars() {
                let piece =
                    ToolCallDelta { id: call.id.clone(), name: call.name.clone(), text: one.to_string() };
                deltas.push(Delta::Arguments(piece));
            }
            deltas.push(Delta::ToolCall(call.clone()));
            deltas
        }
        Content::Malformed(malformed) => vec![Delta::Malformed(malformed.clone())],
        other => panic!("no model generates {other:?}"),
    }
}
