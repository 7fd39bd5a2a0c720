//! Fallback: what is tried again, what is not, and what each reply reports.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use alloquy_core::report::{CacheReport, Warning};
use alloquy_core::{
    ChatModel, Delta, Error, ErrorKind, Message, Preface, Reply, ReplyStream, Request, Result,
};
use alloquy_guards::clock::Clock;
use alloquy_guards::fallback::{BreakerPolicy, Fallback, RetryPolicy};
use alloquy_guards::limits::RetryAfter;
use alloquy_testing::{EchoModel, laws};
use futures::StreamExt;
use futures::future::BoxFuture;
use pollster::block_on;

/// What a scripted call does.
#[derive(Clone, Debug)]
enum Step {
    Answers(&'static str),
    /// Fails before the first delta.
    Fails(ErrorKind),
    /// Fails and says how long to wait.
    Busy(Duration),
    /// Fails after the first delta.
    Breaks,
    /// Sends nothing.
    Hangs,
}

#[derive(Clone, Debug)]
struct Steps(&'static str, Arc<Mutex<VecDeque<Step>>>);

impl Steps {
    fn new(name: &'static str, steps: impl IntoIterator<Item = Step>) -> Self {
        Self(name, Arc::new(Mutex::new(steps.into_iter().collect())))
    }

    fn left(&self) -> usize {
        self.1.lock().unwrap().len()
    }
}

#[async_trait::async_trait]
impl ChatModel for Steps {
    fn name(&self) -> &str {
        self.0
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        let step = self.1.lock().unwrap().pop_front().expect("a step");
        match step {
            Step::Fails(kind) => Err(Error::new(kind, "it fails")),
            Step::Busy(wait) => Err(Error::new(ErrorKind::Busy, "it is busy").with_source(RetryAfter(wait))),
            step => Ok(ReplyStream::new(|mut emit| async move {
                match step {
                    Step::Answers(text) => {
                        emit.send(Delta::Text(text.to_owned())).await;
                        Ok(Reply::new(Message::assistant(text)))
                    }
                    Step::Breaks => {
                        emit.send(Delta::Text("Hel".to_owned())).await;
                        Err(Error::new(ErrorKind::Backend, "it breaks"))
                    }
                    _ => std::future::pending().await,
                }
            })),
        }
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// A timer that notes what is waited, and a clock that it moves. A wait of a minute for a delta ends only where nothing else happens.
#[derive(Clone, Debug, Default)]
struct Time(Arc<Mutex<Vec<Duration>>>, Arc<Mutex<Duration>>);

impl Time {
    fn waited(&self) -> Vec<Duration> {
        let waited = self.0.lock().unwrap();
        waited.iter().copied().filter(|wait| *wait < Duration::from_secs(60)).collect()
    }

    fn pass(&self, time: Duration) {
        *self.1.lock().unwrap() += time;
    }
}

impl Clock for Time {
    fn date(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn elapsed(&self) -> Duration {
        *self.1.lock().unwrap()
    }
}

fn timer(time: &Time) -> impl Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync + 'static {
    let time = time.clone();
    move |duration| {
        time.0.lock().unwrap().push(duration);
        Box::pin(async {})
    }
}

fn request() -> Request {
    Request::new(Preface::default(), vec![Message::user("one two three")])
}

fn asked(model: &Fallback) -> Result<(String, Reply)> {
    block_on(async {
        let mut stream = model.reply(request()).await?;
        let mut text = String::new();
        while let Some(delta) = stream.next().await {
            if let Delta::Text(piece) = delta {
                text += &piece;
            }
        }
        Ok((text, stream.finish().await?))
    })
}

#[test]
fn a_model_is_tried_again_with_longer_waits_and_then_replaced() {
    let time = Time::default();
    let first = Steps::new("first", vec![Step::Fails(ErrorKind::Backend); 4]);
    let second = Steps::new("second", [Step::Busy(Duration::from_secs(3)), Step::Answers("Hello")]);
    let policy = RetryPolicy::default().attempts(4);
    let model = Fallback::new(first.clone(), timer(&time)).or(second).policy(policy);
    let (text, reply) = asked(&model).unwrap();
    assert_eq!((text.as_str(), first.left()), ("Hello", 0));
    assert_eq!(time.waited(), [500, 1000, 2000, 3000].map(Duration::from_millis));
    let reason = "it fails".to_owned();
    let warning = Warning::ModelReplaced { asked: "first".to_owned(), used: "second".to_owned(), reason };
    assert_eq!(reply.warnings, [warning]);
}

#[test]
fn only_what_another_attempt_may_change_is_tried_again() {
    for (kind, used) in [
        (ErrorKind::Invalid, None),
        (ErrorKind::Cancelled, None),
        (ErrorKind::NotFound, None),
        (ErrorKind::ContextOverflow, Some(1)),
        (ErrorKind::Unsupported, Some(1)),
        (ErrorKind::Backend, Some(2)),
    ] {
        let time = Time::default();
        let first = Steps::new("first", vec![Step::Fails(kind); 3]);
        let second = Steps::new("second", [Step::Answers("Hello")]);
        let model = Fallback::new(first.clone(), timer(&time)).or(second);
        let outcome = asked(&model);
        assert_eq!(outcome.is_ok(), used.is_some(), "{kind:?}");
        assert_eq!(3 - first.left(), used.unwrap_or(1), "{kind:?}");
    }
}

#[test]
fn nothing_is_tried_again_after_the_first_delta() {
    let time = Time::default();
    let first = Steps::new("first", [Step::Breaks, Step::Answers("no")]);
    let model = Fallback::new(first.clone(), timer(&time)).or(EchoModel);
    assert_eq!(asked(&model).unwrap_err().to_string(), "it breaks");
    assert_eq!(first.left(), 1);
}

#[test]
fn a_model_that_hangs_is_replaced_and_all_failures_are_named() {
    let time = Time::default();
    let first = Steps::new("first", [Step::Hangs, Step::Hangs]);
    let second = Steps::new("second", [Step::Busy(Duration::from_secs(3600)), Step::Answers("no")]);
    let model = Fallback::new(first, timer(&time)).or(second.clone());
    let error = asked(&model).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert_eq!(RetryAfter::of(&error), Some(Duration::from_secs(3600)));
    assert_eq!(second.left(), 1, "an hour is longer than the longest wait");
    let words = "every model failed (first: model \"first\" sent nothing within 60s): it is busy";
    assert_eq!(error.to_string(), words);
}

#[test]
fn a_model_that_fails_again_and_again_is_left_out_for_a_while() {
    let time = Time::default();
    let first = Steps::new(
        "first",
        [
            Step::Fails(ErrorKind::Backend),
            Step::Fails(ErrorKind::Backend),
            Step::Fails(ErrorKind::Backend),
            Step::Answers("back"),
            Step::Answers("again"),
        ],
    );
    let pause = Duration::from_secs(30);
    let model = Fallback::new(first.clone(), timer(&time))
        .or(EchoModel)
        .policy(RetryPolicy::default().attempts(1))
        .breaker(BreakerPolicy { failures: 2, pause })
        .clock(time.clone());
    for left in [4, 3, 3, 3] {
        assert_eq!(asked(&model).unwrap().0, "one two three");
        assert_eq!(first.left(), left);
    }
    time.pass(pause);
    assert_eq!(asked(&model).unwrap().0, "one two three");
    assert_eq!(first.left(), 2, "one call tried it");
    assert_eq!(asked(&model).unwrap().0, "one two three");
    assert_eq!(first.left(), 2, "and its failure began another pause");
    time.pass(pause);
    assert_eq!(asked(&model).unwrap().0, "back");
    assert_eq!(asked(&model).unwrap().0, "again");
}

/// A timer that never ends.
async fn never(_: Duration) {
    std::future::pending::<()>().await;
}

#[test]
fn the_laws_of_chat_models() {
    block_on(laws::chat_model::all(&Fallback::new(EchoModel, never), &request()));
}
