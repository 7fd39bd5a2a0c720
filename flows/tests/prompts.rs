//! Prompts of a library in flows: their roles, what they read, and what sources of the manager find for them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::sync::Arc;

use alloquy_core::prompt_library::{Prompt, PromptFacts, PromptPlace, SourcedValues, ValueSource, Values};
use alloquy_core::{ErrorKind, Manager, Preface, Result, Role, Source};
use alloquy_flows::{Flow, FlowRunner, Progress};
use alloquy_prompts::ConfigLibrary;
use alloquy_testing::EchoModel;
use pollster::block_on;
use serde_json::json;

const FLOW: &str = "
name: weather
variables: {city: {type: string, default: Oslo}}
states:
  greet:
    say: {prompt: greeting, with: {name: Ann}}
    to: report
  report:
    ask: {prompt: report, with: {city: '{{city}}'}}
";

/// Knows the weather.
#[derive(Debug)]
struct Station;

#[async_trait::async_trait]
impl ValueSource for Station {
    async fn values(
        &self,
        prompt: &dyn Prompt,
        given: &Values,
        place: &PromptPlace<'_>,
    ) -> Result<SourcedValues> {
        let mut found = SourcedValues::default();
        if prompt.info().variables.contains("weather") {
            let city = given.get("city").unwrap().value.as_str().unwrap();
            let source = Source::Retrieved { id: "station".to_owned() };
            found.values = Values::new().set_from("weather", format!("Rain in {city}."), source);
            found.metadata.insert("messages_before".to_owned(), place.path.len().into());
        }
        Ok(found)
    }
}

fn library() -> Arc<ConfigLibrary> {
    let report =
        json!({"template": "{{weather}} After {{last_response}}: what now?", "defaults": {"city": ""}});
    let library =
        json!({"user": {"greeting": "Hello {{name}}, from {{city}}! ({{system}})", "report": report}});
    Arc::new(ConfigLibrary::from_json(&library).unwrap())
}

#[test]
fn prompts_read_variables_the_conversation_and_sources_of_the_manager() {
    let manager = Manager::builder(EchoModel).value_source(Station).build().unwrap();
    let conversation = block_on(manager.create(Preface::system("Be kind."))).unwrap();
    let flow = Flow::from_yaml(FLOW).unwrap();
    let runner = FlowRunner::new(flow, conversation.clone()).prompts(library());
    assert_eq!(block_on(runner.run()).unwrap(), Progress::Ended { state: "report".to_owned() });
    let history = block_on(conversation.history()).unwrap();
    let said: Vec<_> = history.iter().map(|node| (node.message.role, node.message.text())).collect();
    let greeting = "Hello Ann, from Oslo! (Be kind.)".to_owned();
    let question = format!("Rain in Oslo. After {greeting}: what now?");
    let expected = [(Role::Assistant, greeting), (Role::User, question.clone()), (Role::Assistant, question)];
    assert_eq!(said, expected);
    // The message says where its spans come from, and its node which prompt it is of.
    let source = Some(Source::Retrieved { id: "station".to_owned() });
    assert_eq!(history[1].message.parts[0].source, source);
    assert_eq!(history[1].metadata["messages_before"], 1);
    assert_eq!(PromptFacts::of(&history[1].metadata).unwrap().name, "report");
    assert_eq!(history[1].prompt_name.as_deref(), Some("report"));
}

#[test]
fn a_prompt_needs_a_library_that_has_it() {
    let conversation = block_on(Manager::new(EchoModel).create(Preface::default())).unwrap();
    let flow = Flow::from_yaml(FLOW).unwrap();
    let error = block_on(FlowRunner::new(flow.clone(), conversation.clone()).run()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("greeting"), "{error}");
    let empty = Arc::new(ConfigLibrary::from_json(&json!({})).unwrap());
    let error = block_on(FlowRunner::new(flow, conversation.clone()).prompts(empty).run()).unwrap_err();
    assert!(error.to_string().contains("greeting"), "{error}");
    assert!(block_on(conversation.history()).unwrap().is_empty());
}
