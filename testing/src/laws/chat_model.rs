//! What every chat model must do.
//!
//! ```
//! use alloquy_core::{Message, Preface, Request};
//! use alloquy_testing::{EchoModel, laws};
//!
//! let request = Request::new(Preface::default(), vec![Message::user("one two three")]);
//! pollster::block_on(laws::chat_model::all(&EchoModel, &request));
//! ```

use alloquy_core::grammar::Grammar;
use alloquy_core::output::{OutputConstraints, ToolChoice};
use alloquy_core::report::{FinishReason, Warning};
use alloquy_core::{ChatModel, Content, Delta, ErrorKind, Reply, Request, SamplingOptions};
use futures::StreamExt;

use crate::doubles::join_deltas;

/// Runs every law. The model must answer `request` with more than one delta.
///
/// # Panics
/// When a law is broken.
pub async fn all(model: &dyn ChatModel, request: &Request) {
    deltas_join_to_the_message(model, request).await;
    dropping_leaves_the_model_usable(model, request).await;
    stopping_keeps_what_was_said(model, request).await;
    logprobs_belong_to_tokens(model, request).await;
    scoring_changes_nothing(model, request).await;
    options_are_honoured_refused_or_reported(model, request).await;
    a_request_that_cannot_be_answered_fails_early(model).await;
}

/// The deltas of a reply join to its message.
///
/// # Panics
/// When the law is broken.
pub async fn deltas_join_to_the_message(model: &dyn ChatModel, request: &Request) {
    let (deltas, reply) = whole(model, request).await;
    assert_eq!(join_deltas(&deltas), reply.message.parts, "the deltas do not join to the message");
}

/// A model gives the same reply after a stream is dropped, at whichever delta.
///
/// # Panics
/// When the law is broken.
pub async fn dropping_leaves_the_model_usable(model: &dyn ChatModel, request: &Request) {
    let (deltas, reply) = whole(model, request).await;
    for kept in 0..deltas.len() {
        let mut stream = start(model, request).await;
        for _ in 0..kept {
            let _ = stream.next().await;
        }
        drop(stream);
        let (_, again) = whole(model, request).await;
        assert_eq!(again.message, reply.message, "another reply after a drop at delta {kept}");
    }
}

/// The stop signal ends a reply. The reply keeps the text that was generated, and reports that it was cancelled.
///
/// # Panics
/// When the law is broken.
pub async fn stopping_keeps_what_was_said(model: &dyn ChatModel, request: &Request) {
    let (all, reply) = whole(model, request).await;
    assert!(all.len() > 1, "this law needs a request with more than one delta");
    let request = request.clone().stop(alloquy_core::stop::StopSignal::default());
    let mut stream = start(model, &request).await;
    let mut deltas: Vec<_> = stream.next().await.into_iter().collect();
    request.stop.stop();
    while let Some(delta) = stream.next().await {
        deltas.push(delta);
    }
    let stopped = finish(stream).await;
    assert_eq!(join_deltas(&deltas), stopped.message.parts, "the deltas do not join to the stopped message");
    assert!(
        stopped.finish == FinishReason::Cancelled || stopped.message == reply.message,
        "an interrupted reply reports {:?}",
        stopped.finish
    );
}

/// A reply with the option has log-probabilities of all of its tokens, each with the requested number of likely tokens. The
/// model may refuse the option, or report that it ignores it. Without the option a reply has no log-probabilities.
///
/// # Panics
/// When the law is broken.
pub async fn logprobs_belong_to_tokens(model: &dyn ChatModel, request: &Request) {
    let (_, silent) = whole(model, request).await;
    assert!(silent.logprobs.is_empty(), "log-probabilities without a request for them");
    let sampling = SamplingOptions { logprobs: Some(2), ..request.sampling.clone() };
    let Some(reply) = honoured(model, request, "logprobs", sampling).await else { return };
    assert_eq!(reply.message, silent.message, "log-probabilities changed the reply");
    let sampled: Vec<_> = reply.logprobs.iter().map(|logprobs| logprobs.sampled.token).collect();
    assert_eq!(sampled, reply.tokens, "the log-probabilities are not those of the reply's tokens");
    for logprobs in &reply.logprobs {
        assert_eq!(logprobs.top.len(), 2, "two likely tokens were requested");
        let best = logprobs.top.iter().map(|likely| likely.logprob).fold(f32::NEG_INFINITY, f32::max);
        let is_probability = logprobs.sampled.logprob <= best && best <= 0.0;
        assert!(
            is_probability,
            "{} is not the logarithm of a probability of at most {best}",
            logprobs.sampled.logprob
        );
    }
}

/// Scoring gives each target a score and changes neither later replies nor the cache. A model that cannot score returns
/// [`ErrorKind::Unsupported`].
///
/// # Panics
/// When the law is broken.
pub async fn scoring_changes_nothing(model: &dyn ChatModel, request: &Request) {
    // The first reply fills the cache, so that both replies that are compared find the same in it.
    whole(model, request).await;
    let (_, before) = whole(model, request).await;
    let targets = [before.message.text(), "another target".to_owned(), String::new()];
    let scored = match model.score(request.clone(), &targets).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => return,
        scored => scored,
    };
    let Ok(scores) = scored else { panic!("scoring failed: {scored:?}") };
    let texts: Vec<_> = scores.iter().map(|score| score.text.clone()).collect();
    assert_eq!(texts, targets, "the scores are not those of the targets");
    for score in &scores {
        let are_probabilities = score.tokens.iter().all(|token| token.logprob <= 0.0);
        assert!(are_probabilities, "a score is not the logarithm of a probability: {score:?}");
    }
    let (_, after) = whole(model, request).await;
    assert_eq!(after.message, before.message, "another reply after scoring");
    assert_eq!(after.cache, before.cache, "scoring changed what is cached");
}

/// Each option whose effect is visible has that effect, is refused as [`ErrorKind::Unsupported`], or is reported with the
/// reply as [`Warning::OptionIgnored`].
///
/// # Panics
/// When the law is broken.
pub async fn options_are_honoured_refused_or_reported(model: &dyn ChatModel, request: &Request) {
    let (_, plain) = whole(model, request).await;
    let sampling = &request.sampling;

    let short = SamplingOptions { max_tokens: Some(1), ..sampling.clone() };
    if let Some(reply) = honoured(model, request, "max_tokens", short).await {
        assert_eq!(reply.finish, FinishReason::Length, "a reply of at most one token reports another end");
        assert!(reply.usage.generated <= 1, "{} tokens where one was allowed", reply.usage.generated);
    }
    let text = plain.message.text();
    if let Some(last) = text.chars().last() {
        let stopped = SamplingOptions { stop: vec![last.to_string()], ..sampling.clone() };
        if let Some(reply) = honoured(model, request, "stop", stopped).await {
            assert_eq!(reply.finish, FinishReason::StopString, "the stop text {last:?} ends no reply");
            assert!(!reply.message.text().contains(last), "the stop text {last:?} is in the reply");
        }
    }
    let seeded = SamplingOptions { temperature: Some(1.0), seed: Some(7), ..sampling.clone() };
    if let Some(reply) = honoured(model, request, "seed", seeded).await {
        assert_eq!(reply.seed, Some(7), "the seed of a reply is not the requested one");
    }
    let explained = SamplingOptions { logprobs: Some(1), ..sampling.clone() };
    if let Some(reply) = honoured(model, request, "logprobs", explained).await {
        let explained = reply.logprobs.len();
        let generated = reply.tokens.len();
        assert!(
            explained > 0 && explained == generated,
            "{explained} log-probabilities of {generated} tokens"
        );
    }
    if let Some(first) = plain.tokens.first().copied() {
        let banned = SamplingOptions { suppress: vec![first], ..sampling.clone() };
        if let Some(reply) = honoured(model, request, "suppress", banned).await {
            assert!(!reply.tokens.contains(&first), "token {first} is suppressed and generated");
        }
    }
    let guided = request.clone().output(OutputConstraints::default().grammar(Grammar::choice(["x"])));
    match model.reply(guided).await {
        Ok(stream) => {
            let reply = finish(stream).await;
            let is_reported =
                reply.warnings.iter().any(|warning| matches!(warning, Warning::GrammarViolated { .. }));
            let text = reply.message.text();
            assert!(text == "x" || is_reported, "a reply breaks its grammar without a warning: {text:?}");
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "a grammar is refused as {error:#}"),
    }
}

/// A reply calls a tool only if tools are offered and the request does not forbid calls. Otherwise it contains none of `starts`,
/// the texts that begin calls, or reports one as [`Warning::UnwantedCall`].
///
/// The model must answer `request`, which offers tools, with a call.
///
/// # Panics
/// When the law is broken.
pub async fn calls_begin_only_where_wanted(model: &dyn ChatModel, request: &Request, starts: &[&str]) {
    assert!(!request.preface.tools.is_empty(), "this law needs a request that offers tools");
    let (_, wanted) = whole(model, request).await;
    assert_eq!(wanted.finish, FinishReason::ToolCalls, "the offered tools are not called: {wanted:?}");

    let mut without = request.clone();
    without.preface.tools.clear();
    let mut automatic = without.clone();
    automatic.output.tool_choice = Some(ToolChoice::Auto);
    let mut forbidden = request.clone();
    forbidden.output.tool_choice = Some(ToolChoice::None);
    for (request, case) in [
        (without, "without tools"),
        (automatic, "of tools that are not offered"),
        (forbidden, "that is forbidden"),
    ] {
        let (deltas, reply) = whole(model, &request).await;
        assert_eq!(join_deltas(&deltas), reply.message.parts, "the deltas do not join to the message");
        for part in &reply.message.parts {
            let is_call = matches!(part.content, Content::ToolCall(_) | Content::Malformed(_));
            assert!(!is_call, "a call {case}: {:?}", reply.message);
        }
        assert_ne!(reply.finish, FinishReason::ToolCalls, "a reply ends with a call {case}");
        let is_reported =
            reply.warnings.iter().any(|warning| matches!(warning, Warning::UnwantedCall { .. }));
        let text = reply.message.text() + &reply.message.thinking().unwrap_or_default();
        for start in starts {
            assert!(is_reported || !text.contains(start), "{start:?} begins a call {case}: {text:?}");
        }
    }
}

/// Returns the reply with an option; `None` where the option is refused or reported as ignored.
async fn honoured(
    model: &dyn ChatModel,
    request: &Request,
    name: &str,
    sampling: SamplingOptions,
) -> Option<Reply> {
    let stream = match model.reply(request.clone().sampling(sampling)).await {
        Ok(stream) => stream,
        Err(error) => {
            assert_eq!(
                error.kind(),
                ErrorKind::Unsupported,
                "{name} is refused as something else: {error:#}"
            );
            return None;
        }
    };
    let reply = finish(stream).await;
    let ignored = Warning::OptionIgnored { name: name.to_owned() };
    if reply.warnings.contains(&ignored) { None } else { Some(reply) }
}

/// A request without a message and with options out of range fails when `reply` is called, not in the stream.
///
/// # Panics
/// When the law is broken.
pub async fn a_request_that_cannot_be_answered_fails_early(model: &dyn ChatModel) {
    let options = SamplingOptions { temperature: Some(f32::NAN), ..Default::default() };
    let request = Request::default().sampling(options);
    assert!(
        model.reply(request).await.is_err(),
        "a request without messages and with bad options was accepted"
    );
}

async fn start(model: &dyn ChatModel, request: &Request) -> alloquy_core::ReplyStream {
    match model.reply(request.clone()).await {
        Ok(stream) => stream,
        Err(error) => panic!("the model refused the request: {error:#}"),
    }
}

async fn finish(stream: alloquy_core::ReplyStream) -> Reply {
    match stream.finish().await {
        Ok(reply) => reply,
        Err(error) => panic!("the reply failed: {error:#}"),
    }
}

async fn whole(model: &dyn ChatModel, request: &Request) -> (Vec<Delta>, Reply) {
    let mut stream = start(model, request).await;
    let mut deltas = Vec::new();
    while let Some(delta) = stream.next().await {
        deltas.push(delta);
    }
    (deltas, finish(stream).await)
}

#[cfg(test)]
mod tests {
    use alloquy_core::report::{CacheReport, FinishReason};
    use alloquy_core::{ChatModel, Delta, Error, ErrorKind, Message, Preface, ReplyStream, Request, Result};
    use async_trait::async_trait;

    /// A model that returns fixed pieces, as a client of a server does.
    #[derive(Debug)]
    struct Pieces;

    #[async_trait]
    impl ChatModel for Pieces {
        fn name(&self) -> &str {
            "pieces"
        }

        async fn reply(&self, request: Request) -> Result<ReplyStream> {
            if request.path.is_empty() || request.output.grammar.is_some() {
                return Err(Error::new(ErrorKind::Unsupported, "messages alone"));
            }
            let pieces = ["Hello, ", "", "world"].map(|text| Ok(Delta::Text(text.to_owned())));
            Ok(ReplyStream::of_deltas(&request, &[], futures::stream::iter(pieces)))
        }

        async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
            Ok(None)
        }
    }

    #[test]
    fn a_reply_of_pieces_obeys() {
        let request = Request::new(Preface::default(), vec![Message::user("Hi")]);
        pollster::block_on(super::all(&Pieces, &request));
    }

    #[test]
    fn a_piece_that_fails_ends_the_reply_and_keeps_what_was_said() {
        let failure = Error::new(ErrorKind::Backend, "the line is dead");
        let pieces = [Ok(Delta::Text("Hel".to_owned())), Err(failure), Ok(Delta::Text("lo".to_owned()))];
        let stream = ReplyStream::of_deltas(&Request::default(), &[], futures::stream::iter(pieces));
        let reply = pollster::block_on(stream.finish()).unwrap();
        assert_eq!((reply.text().as_str(), reply.finish), ("Hel", FinishReason::Error));
        assert_eq!(reply.error.as_deref(), Some("the line is dead"));
    }
}
