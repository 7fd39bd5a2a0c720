//! Validation: nothing is shown before it holds, and the model is asked again with the reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::num::NonZeroU32;
use std::sync::Arc;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::{Usage, Warning};
use alloquy_core::stop::StopSignal;
use alloquy_core::{ErrorKind, Message, Preface, Reply, Request, Result};
use alloquy_guards::validate::{
    ModelJudge, OnRejected, RegexValidator, TypeValidator, ValidateReplies, Validator, Verdict,
};
use alloquy_testing::{ScriptedModel, ScriptedReply, laws};
use futures::StreamExt;
use pollster::block_on;

fn request() -> Request {
    Request::new(Preface::default(), vec![Message::user("2 + 2?")])
}

fn used(text: &str) -> ScriptedReply {
    let mut reply = Reply::new(Message::assistant(text));
    reply.usage = Usage::new(10, 2);
    reply.into()
}

fn digits() -> ValidateReplies {
    ValidateReplies::new(RegexValidator::new("[0-9]+").unwrap())
}

fn answered(guard: ValidateReplies, replies: Vec<ScriptedReply>) -> Result<(Vec<String>, Reply)> {
    let model = ScriptedModel::replying(replies);
    let stack: [Arc<dyn Middleware>; 1] = [Arc::new(guard)];
    block_on(async {
        let mut stream = Next::new(&stack, &model).call(request()).await?;
        let mut shown = Vec::new();
        while let Some(delta) = stream.next().await {
            shown.push(format!("{delta:?}"));
        }
        Ok((shown, stream.finish().await?))
    })
}

#[test]
fn a_rejected_reply_is_not_shown_and_the_model_is_asked_again() {
    let three = digits().attempts(NonZeroU32::new(3).unwrap());
    let (shown, reply) = answered(three, vec![used("four"), used("4!"), used("4")]).unwrap();
    assert_eq!(shown, ["Text(\"4\")"]);
    assert_eq!(reply.facts["alloquy.validation"]["attempts"], 3);
    assert_eq!(reply.facts["alloquy.validation"]["spent"]["prompt"], 20);

    let error = answered(digits(), vec![used("four"), used("for")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(!error.to_string().contains("\"for\""), "{error}");

    let through = digits().rejected(OnRejected::LetThrough);
    let (shown, reply) = answered(through, vec![used("four"), used("for")]).unwrap();
    assert_eq!(shown, ["Text(\"for\")"]);
    let reason = "it does not match the regular expression [0-9]+".to_owned();
    assert_eq!(reply.warnings, [Warning::ReplyRejected { attempts: 2, reason }]);
}

#[test]
fn what_was_not_validated_is_an_error() {
    let failed = answered(digits(), vec![ScriptedReply::Fails("12".to_owned())]).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Backend);

    let model = ScriptedModel::replying([ScriptedReply::Hangs("12".to_owned())]);
    let stack: [Arc<dyn Middleware>; 1] = [Arc::new(digits())];
    let stop = StopSignal::default();
    stop.stop();
    let cancelled = block_on(Next::new(&stack, &model).call(request().stop(stop))).map(|_| ()).unwrap_err();
    assert_eq!(cancelled.kind(), ErrorKind::Cancelled);
}

#[test]
fn the_laws_of_middleware() {
    for reply in ["12", "four"] {
        let reply = Reply::new(Message::assistant(reply));
        let guard: Arc<dyn Middleware> = Arc::new(digits());
        block_on(laws::middleware::all(&guard, &request(), &reply));
        let through: Arc<dyn Middleware> = Arc::new(digits().rejected(OnRejected::LetThrough));
        block_on(laws::middleware::all(&through, &request(), &reply));
    }
    let guard: Arc<dyn Middleware> = Arc::new(digits());
    let reply = Reply::new(Message::assistant("four"));
    block_on(laws::middleware::nothing_removed_is_visible(&guard, &reply, &["four"]));
}

#[test]
fn forms() {
    assert!(reason(&TypeValidator::<u8>::new(), "300").contains("does not fit"));
    assert!(RegexValidator::new("(").is_err());
}

#[cfg(feature = "json-schema")]
#[test]
fn schemas() {
    use alloquy_guards::validate::SchemaValidator;
    use serde_json::json;

    let schema = json!({"type": "object", "properties": {"age": {"type": "integer", "maximum": 150}}});
    let schema = SchemaValidator::new(&schema).unwrap();
    assert_eq!(verdict(&schema, "{\"age\": 3}"), Verdict::Valid);
    assert!(reason(&schema, "{\"age\": 300}").contains("at \"/age\": 300"));
    assert!(reason(&schema, "three").contains("not JSON"));
    assert!(SchemaValidator::new(&json!({"type": 3})).is_err());
    assert!(SchemaValidator::new(&json!({"$ref": "https://example.org/x.json"})).is_err());
}

fn verdict(validator: &dyn Validator, text: &str) -> Verdict {
    block_on(validator.validate(&request(), &Reply::new(Message::assistant(text)))).unwrap()
}

fn reason(validator: &dyn Validator, text: &str) -> String {
    match verdict(validator, text) {
        Verdict::Invalid(reason) => reason,
        Verdict::Valid => panic!("{text:?} is valid"),
    }
}

#[test]
fn a_judge_that_answers_something_else_is_an_error() {
    for (answer, valid) in
        [("yes", Some(true)), ("no", Some(false)), ("yes!", None), ("", None), ("INVALID", None)]
    {
        let judge =
            ModelJudge::new(ScriptedModel::replying([ScriptedReply::text(answer)]), "Is it a number?");
        let outcome = block_on(judge.validate(&request(), &Reply::new(Message::assistant("4"))));
        assert_eq!(outcome.ok().map(|verdict| verdict == Verdict::Valid), valid, "{answer:?}");
    }
}
