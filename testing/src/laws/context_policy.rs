//! What every policy for a full context must do: middleware that leaves out of a prompt what does not fit.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt::PromptLength;
use alloquy_core::report::{CacheReport, Degradation};
use alloquy_core::template::Ending;
use alloquy_core::{ChatModel, Error, ErrorKind, Message, Reply, ReplyStream, Request, Result, Role};
use async_trait::async_trait;

/// Runs every law on one request, whose messages all differ. `length` counts as the model behind the policy does, which has
/// room for `window` units.
///
/// # Panics
/// When a law is broken.
pub async fn all(policy: &Arc<dyn Middleware>, length: &dyn PromptLength, window: usize, request: &Request) {
    let told = match sent(policy, length, window, request).await {
        Ok(told) => told,
        Err(error) => return a_refusal_has_its_reason(&error, length, window, request),
    };
    what_is_left_is_a_chat(request, &told.request);
    the_last_turn_is_whole(request, &told.request);
    what_is_left_out_is_told(length, request, &told);
    what_is_computed_ahead_is_what_is_asked(policy, request, &told.request).await;
}

/// A refusal says how many units there are, of a prompt that does not fit.
///
/// # Panics
/// When the law is broken.
pub fn a_refusal_has_its_reason(error: &Error, length: &dyn PromptLength, window: usize, request: &Request) {
    assert_eq!(error.kind(), ErrorKind::ContextOverflow, "{error:#}");
    assert!(error.to_string().contains(&window.to_string()), "the refusal has no numbers: {error:#}");
    assert!(units(length, request) >= window, "a prompt that fits was refused: {error:#}");
}

/// Results have their calls and calls their results, and behind what was left out comes a message of the user's.
///
/// # Panics
/// When the law is broken.
pub fn what_is_left_is_a_chat(before: &Request, after: &Request) {
    let (called, answered) = (calls(after), results(after));
    assert!(answered.iter().all(|id| called.contains(id)), "a result without its call: {answered:?}");
    let were_answered = results(before);
    let lost = called.iter().find(|id| were_answered.contains(id) && !answered.contains(id));
    assert_eq!(lost, None, "a call without its result");
    let goes_on = after.path.iter().find(|message| message.role != Role::System);
    let began = before.path.iter().find(|message| message.role != Role::System);
    assert!(
        goes_on == began || goes_on.is_some_and(|message| message.role == Role::User),
        "the chat begins with {goes_on:?}"
    );
}

/// The last message of the user's is there with everything behind it, and nothing comes after.
///
/// # Panics
/// When the law is broken.
pub fn the_last_turn_is_whole(before: &Request, after: &Request) {
    let asked = before.path.iter().rposition(|message| message.role == Role::User);
    let last = before.path.get(asked.unwrap_or(0)..).unwrap_or_default();
    assert!(after.path.ends_with(last), "the last turn is not whole: {:?}", after.path);
}

/// A reply says what was left out, to the message and to the unit, and says nothing where nothing was.
///
/// # Panics
/// When the law is broken.
pub fn what_is_left_out_is_told(length: &dyn PromptLength, before: &Request, sent: &Sent) {
    let shorter = units(length, before).saturating_sub(units(length, &sent.request));
    let (dropped, said) = sent.degradations.iter().find_map(left_out).unwrap_or_default();
    assert_eq!(said, shorter, "the units that were left out");
    let kept = before.path.len() - dropped;
    let are_kept = |lead: usize| {
        let (front, back) = (before.path.get(..lead), before.path.get(lead + dropped..));
        front.is_some_and(|front| sent.request.path.starts_with(front))
            && back.is_some_and(|back| sent.request.path.ends_with(back))
    };
    assert!((0..=kept).any(are_kept), "not {dropped} messages in a row were left out");
    assert!(sent.request.path.len() >= kept, "more than {dropped} messages were left out");
    assert_eq!(
        dropped == 0,
        before.path == sent.request.path,
        "what was changed was not told, or not changed"
    );
}

/// What is computed ahead of a question is what the model is asked then.
///
/// # Panics
/// When the law is broken.
pub async fn what_is_computed_ahead_is_what_is_asked(
    policy: &Arc<dyn Middleware>,
    before: &Request,
    after: &Request,
) {
    let ahead = policy.prepare(before.clone().ending(Ending::Closed)).await;
    let ahead = ahead.unwrap_or_else(|error| panic!("what can be asked cannot be computed ahead: {error:#}"));
    assert_eq!(ahead.path, after.path, "another path is computed ahead");
    assert_eq!(ahead.ending, Ending::Closed, "a prompt that is computed ahead ends as it was asked to");
}

/// What a policy made of a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sent {
    /// What the model was asked.
    pub request: Request,
    /// What the reply says of it.
    pub degradations: Vec<Degradation>,
}

/// Sends a request through a policy to a model that has room for `window` units.
///
/// # Errors
/// Those of the policy, and [`ErrorKind::ContextOverflow`] where the model has no room.
pub async fn sent(
    policy: &Arc<dyn Middleware>,
    length: &dyn PromptLength,
    window: usize,
    request: &Request,
) -> Result<Sent> {
    let model = Listening { length, window, asked: Mutex::default() };
    let stack = std::slice::from_ref(policy);
    let reply = Next::new(stack, &model).call(request.clone()).await?.finish().await?;
    let asked = model.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
    let nobody = || Error::new(ErrorKind::Invalid, "the policy answered without the model");
    Ok(Sent { request: asked.ok_or_else(nobody)?, degradations: reply.degradations })
}

/// A model that remembers what it was asked.
struct Listening<'a> {
    length: &'a dyn PromptLength,
    window: usize,
    asked: Mutex<Option<Request>>,
}

impl fmt::Debug for Listening<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Listening").field("window", &self.window).finish_non_exhaustive()
    }
}

#[async_trait]
impl ChatModel for Listening<'_> {
    fn name(&self) -> &str {
        "listening"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let (units, window) = (self.length.units(&request)?, self.window);
        if units >= window {
            let message = format!("a prompt of {units} units leaves no room in {window}");
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        Ok(ReplyStream::new(|_| async { Ok(Reply::new(Message::assistant("Yes."))) }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// How many messages the prompt goes without, and how many units it is shorter.
fn left_out(told: &Degradation) -> Option<(usize, usize)> {
    match told {
        Degradation::HistoryShifted { dropped, tokens } => Some((*dropped, *tokens)),
        Degradation::HistorySummarised { dropped, tokens, summary, .. } => {
            Some((*dropped, tokens.saturating_sub(*summary)))
        }
        _ => None,
    }
}

fn calls(request: &Request) -> Vec<&str> {
    request.path.iter().flat_map(Message::tool_calls).map(|call| call.id.as_str()).collect()
}

fn results(request: &Request) -> Vec<&str> {
    request.path.iter().flat_map(Message::tool_results).map(|result| result.id.as_str()).collect()
}

fn units(length: &dyn PromptLength, request: &Request) -> usize {
    match length.units(request) {
        Ok(units) => units,
        Err(error) => panic!("a prompt cannot be counted: {error:#}"),
    }
}
