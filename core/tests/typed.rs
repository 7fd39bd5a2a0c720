//! Answers that are values of a Rust type.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may panic

use std::sync::{Arc, Mutex};

use alloquy_core::grammar::Grammar;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::output::{OutputConstraints, ToolChoice};
use alloquy_core::report::FinishReason;
use alloquy_core::{ErrorKind, Manager, Message, Preface, Reply, ReplyStream, Request, Result, TurnRequest};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use pollster::block_on;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Person {
    /// As it is written in the passport.
    name: String,
    age: Option<u8>,
    friends: Vec<Person>,
}

/// Keeps the output constraints of each request.
#[derive(Clone, Debug, Default)]
struct SeenConstraints(Arc<Mutex<Vec<OutputConstraints>>>);

#[async_trait::async_trait]
impl Middleware for SeenConstraints {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        self.0.lock().unwrap().push(request.output.clone());
        next.call(request).await
    }
}

#[test]
fn a_reply_is_a_value_and_the_request_has_its_schema() {
    block_on(async {
        let text = r#"{"name": "Ann", "age": null, "friends": [{"name": "Bob", "age": 7, "friends": []}]}"#;
        let constraints = SeenConstraints::default();
        let model = ScriptedModel::replying([ScriptedReply::text(text)]);
        let manager = Manager::builder(model).middleware(constraints.clone()).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let asked =
            OutputConstraints::default().tool_choice(ToolChoice::None).grammar(Grammar::choice(["no"]));
        let (person, reply) =
            conversation.send_as::<Person>(TurnRequest::from("Who?").output(asked)).await.unwrap();
        let bob = Person { name: "Bob".to_owned(), age: Some(7), friends: Vec::new() };
        assert_eq!(person, Person { name: "Ann".to_owned(), age: None, friends: vec![bob] });
        assert_eq!(reply.text(), text);
        let expected =
            OutputConstraints::default().tool_choice(ToolChoice::None).grammar(Grammar::of::<Person>());
        assert_eq!(*constraints.0.lock().unwrap(), [expected]);
    });
}

#[test]
fn a_schema_has_the_docs_of_fields_and_no_names_of_rust() {
    let Grammar::JsonSchema(schema) = Grammar::of::<Person>() else { panic!("another grammar") };
    // A type that holds itself is the one kind of reference that remains.
    assert_eq!(schema["properties"]["name"]["description"], json!("As it is written in the passport."));
    assert_eq!(schema["properties"]["friends"]["items"], json!({"$ref": "#"}));
    assert_eq!(schema["required"], json!(["name", "friends"]));
    assert!(!schema.to_string().contains("Person"), "{schema}");
}

#[test]
fn a_reply_that_does_not_fit_is_an_error_with_its_text_and_its_end() {
    block_on(async {
        let mut cut = Reply::new(Message::assistant(r#"{"name": "An"#));
        cut.finish = FinishReason::Length;
        let whole = Reply::new(Message::assistant("Ann, I think."));
        let replies = [cut, whole].map(ScriptedReply::from);
        let manager = Manager::new(ScriptedModel::replying(replies));
        let conversation = manager.create(Preface::default()).await.unwrap();

        let error = conversation.send_as::<Person>("Who?").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let message = error.to_string();
        assert!(message.starts_with(r#"the reply "{\"name\": \"An" does not fit: EOF"#), "{message}");
        assert!(message.ends_with("and it ended at its limit of tokens"), "{message}");

        let message = conversation.ask_as::<Person>("Who?").unwrap_err().to_string();
        assert!(
            message.starts_with(r#"the reply "Ann, I think." does not fit: expected value"#),
            "{message}"
        );
        assert_eq!(conversation.history().await.unwrap().len(), 4);
    });
}
