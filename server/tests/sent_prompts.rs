//! Prompts as they were sent: the ids are those that the decoder received, each with its origin; replies that begin with given tokens;
//! scores.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart, ReplyParser};
use alloquy_core::prompt::Prompt;
use alloquy_core::sampling::TokenLogprob;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::{Message, Preface, Request, Result};
use alloquy_engine::decoder::{DecodeRequest, Decoder, TokenStream};
use alloquy_inference::{Generator, LanguageModel};
use alloquy_server::{KeyFile, KeyLimits, OpenedModel, ServedModel, Server};
use alloquy_templates::{JinjaTemplate, NowSource, Polyfill};
use alloquy_testing::{EchoModel, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use async_trait::async_trait;
use serde_json::{Map, Value, json};

use shared::{Answer, TestServer};

const ALL: &str = "/v1/alloquy/conversations";

/// The prompts that a decoder received.
type Received = Arc<Mutex<Vec<Prompt>>>;

/// Passes requests on, and keeps their prompts.
#[derive(Debug)]
struct Recording {
    decoder: Generator,
    received: Received,
}

#[async_trait]
impl Decoder for Recording {
    fn model(&self) -> &ModelInfo {
        self.decoder.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.decoder.tokenizer()
    }

    fn decode(&self, request: DecodeRequest) -> TokenStream {
        self.received.lock().unwrap().push(request.prompt.clone());
        self.decoder.decode(request)
    }

    async fn score(&self, prompt: Prompt, targets: Vec<Vec<TokenId>>) -> Result<Vec<Vec<TokenLogprob>>> {
        self.decoder.score(prompt, targets).await
    }
}

fn language_model(
    script: &[(String, &str)],
    template: impl PromptTemplate + 'static,
    received: &Received,
) -> LanguageModel {
    let script: Vec<_> = script.iter().map(|(cue, reply)| (cue.as_str(), *reply)).collect();
    let decoder = Generator::new(Arc::new(ScriptedEngine::new(script)), 1).unwrap();
    let decoder = Recording { decoder, received: Arc::clone(received) };
    LanguageModel::builder(decoder).template(template).processor(TaggedProcessor).build().unwrap()
}

async fn serving(model: LanguageModel) -> TestServer {
    let tokens = model.clone();
    let mut opened = OpenedModel::new(model).tokens(move |token| tokens.tokenizer().bytes(token));
    opened.scores = true;
    TestServer::start(Server::builder().model(ServedModel::opened("tea", opened))).await
}

/// A server whose model answers "Hi" and "And now?", and the prompts that the model receives.
async fn tagged() -> (TestServer, Received) {
    let received = Received::default();
    let script = [
        ("<user>Hi<end><assistant>".to_owned(), "Hello, world!"),
        ("<user>And now?<end><assistant>".to_owned(), "Now we talk."),
    ];
    (serving(language_model(&script, TaggedTemplate, &received)).await, received)
}

async fn created(server: &TestServer, messages: Value) -> String {
    let answer = server.post(ALL, &json!({"messages": messages})).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()["id"].as_str().unwrap().to_owned()
}

async fn turn(server: &TestServer, id: &str, body: Value) -> Value {
    let answer = server.post(&format!("{ALL}/{id}/turns"), &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

async fn refused(server: &TestServer, id: &str, body: Value) -> Answer {
    let answer = server.post(&format!("{ALL}/{id}/turns"), &body).await;
    assert_eq!(answer.status, 400, "{body}: {}", answer.text);
    answer
}

async fn shown(server: &TestServer, id: &str, node: &str) -> Value {
    let answer = server.get(&format!("{ALL}/{id}/nodes/{node}/prompt")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// The ids of a prompt that is shown.
fn ids(prompt: &Value) -> Vec<TokenId> {
    let tokens = prompt["tokens"].as_array().unwrap();
    tokens.iter().map(|token| u32::try_from(token["id"].as_u64().unwrap()).unwrap()).collect()
}

fn received_ids(received: &Received) -> Vec<TokenId> {
    received.lock().unwrap().last().unwrap().tokens().flatten().collect()
}

/// The texts of tokens that follow each other with one origin.
fn pieces(prompt: &Value) -> Vec<(String, String)> {
    let mut pieces: Vec<(String, String)> = Vec::new();
    for token in prompt["tokens"].as_array().unwrap() {
        let text = token["text"].as_str().unwrap();
        let origin = token["origin"].as_str().unwrap();
        match pieces.last_mut().filter(|last| last.0 == origin) {
            Some(last) => last.1.push_str(text),
            None => pieces.push((origin.to_owned(), text.to_owned())),
        }
    }
    pieces
}

fn piece(origin: &str, text: &str) -> (String, String) {
    (origin.to_owned(), text.to_owned())
}

#[tokio::test]
async fn the_ids_of_a_prompt_are_those_that_were_sent_each_with_its_origin() {
    let (server, received) = tagged().await;
    let id = created(&server, json!([{"role": "system", "content": "Be brief."}])).await;
    let first = turn(&server, &id, json!({"text": "Hi"})).await;
    let second = turn(&server, &id, json!({"text": "And now?"})).await;
    let prompt = shown(&server, &id, second["node"].as_str().unwrap()).await;
    assert_eq!(ids(&prompt), received_ids(&received));
    assert_eq!(
        pieces(&prompt),
        [
            piece("template", "<system>"),
            piece("author", "Be brief."),
            piece("template", "<end><user>"),
            piece("user", "Hi"),
            piece("template", "<end><assistant>"),
            piece("sampled", "Hello, world!"),
            piece("template", "<end><user>"),
            piece("user", "And now?"),
            piece("template", "<end><assistant>"),
        ]
    );
    assert_eq!(
        (&prompt["agrees"], &prompt["model"], &prompt["reuse"]["miss"]),
        (&json!(true), &json!("tea"), &Value::Null)
    );
    assert!(prompt["reuse"]["cached"].as_u64().unwrap() > 20, "{}", prompt["reuse"]);
    let reply: String = prompt["reply_tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|token| token["text"].as_str().unwrap())
        .collect();
    assert_eq!(reply, "Now we talk.");
    let spans: String =
        prompt["spans"].as_array().unwrap().iter().map(|span| span["text"].as_str().unwrap()).collect();
    assert_eq!(
        (json!(spans), prompt["spans"][1]["origin"].as_str()),
        (prompt["text"].clone(), Some("author"))
    );
    // A message of the user, and the first reply.
    let before = shown(&server, &id, first["node"].as_str().unwrap()).await;
    let asked = shown(&server, &id, first["answers"].as_str().unwrap()).await;
    assert_eq!((&before["tokens"], &asked["reply_tokens"]), (&asked["tokens"], &Value::Null));
    assert!(prompt["text"].as_str().unwrap().starts_with(before["text"].as_str().unwrap()));
}

#[tokio::test]
async fn values_and_quotations_have_origins_of_their_own() {
    let (server, _) = tagged().await;
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": "{\"zone\": \"UTC\"}"}});
    let id = created(&server, json!([])).await;
    let added = server
        .post(
            &format!("{ALL}/{id}/nodes"),
            &json!({"messages": [
                {"role": "user", "content": "What time is it?"},
                {"role": "assistant", "content": null, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": "It is noon."},
            ]}),
        )
        .await;
    assert_eq!(added.status, 201, "{}", added.text);
    let prompt = shown(&server, &id, "head").await;
    let spans = prompt["spans"].as_array().unwrap();
    let of = |origin: &str| -> String {
        spans
            .iter()
            .filter(|span| span["origin"] == origin)
            .map(|span| span["text"].as_str().unwrap())
            .collect()
    };
    assert_eq!((of("user").as_str(), of("tool").as_str()), ("What time is it?", "It is noon."), "{prompt}");
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused() {
    let (server, _) = tagged().await;
    let id = created(&server, json!([])).await;
    turn(&server, &id, json!({"text": "Hi", "system_prompt": "Rhyme."})).await;
    let prompt = shown(&server, &id, "head").await;
    assert_eq!(
        (&prompt["agrees"], &prompt["spans"][1]),
        (&json!(true), &json!({"text": "Rhyme.", "origin": "author"}))
    );
    for (path, status) in [
        (format!("{ALL}/{id}/nodes/0.7/prompt"), 404),
        (format!("{ALL}/{id}/nodes/head/prompt?model=coffee"), 404),
        (format!("{ALL}/{id}/nodes/head/prompt?color=red"), 400),
        (format!("{ALL}/conv_nowhere/nodes/head/prompt"), 404),
    ] {
        assert_eq!(server.get(&path).await.status, status, "{path}");
    }
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("echo", EchoModel))).await;
    let id = created(&server, json!([])).await;
    turn(&server, &id, json!({"text": "Hi"})).await;
    let answer = server.get(&format!("{ALL}/{id}/nodes/head/prompt")).await;
    assert_eq!((answer.status, answer.error()["param"].as_str()), (400, Some("model")), "{}", answer.text);
}

/// A template of these words.
fn with_effort(source: &str) -> JinjaTemplate {
    JinjaTemplate::builder(source).polyfill(Polyfill::LeaveOut).build().unwrap()
}

/// Names the tools in the prompt.
#[derive(Debug)]
struct NamingTools;

impl DataProcessor for NamingTools {
    fn name(&self) -> &str {
        "naming"
    }

    fn template_input(&self, source: ProcessorInput<'_>) -> Result<TemplateInput> {
        let mut input = TaggedProcessor.template_input(source)?;
        let names: Vec<&str> = source.preface.tools.iter().map(|tool| tool.name.as_str()).collect();
        input.extra.insert("names".to_owned(), names.join(" ").into());
        Ok(input)
    }

    fn prompt_parts(&self, rendered: &str, source: ProcessorInput<'_>) -> Result<Vec<PromptPart>> {
        TaggedProcessor.prompt_parts(rendered, source)
    }

    fn reply_parser(&self, rendered: &str, source: ProcessorInput<'_>) -> Box<dyn ReplyParser> {
        TaggedProcessor.reply_parser(rendered, source)
    }

    fn stop_strings(&self) -> Vec<String> {
        TaggedProcessor.stop_strings()
    }
}

const MESSAGES: &str =
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}<end>{% endfor %}";

#[tokio::test]
async fn settings_of_the_turn_are_kept_with_its_reply() {
    let received = Received::default();
    let template =
        with_effort(&format!("{MESSAGES}[{{{{ reasoning_effort | default('none') }}}}]<assistant>"));
    let script = [
        ("<user>Hi<end>[high]<assistant>".to_owned(), "Hello!"),
        ("<user>Hi<end>[none]<assistant>".to_owned(), "Hi."),
    ];
    let server = serving(language_model(&script, template, &received)).await;
    let id = created(&server, json!([])).await;
    for fields in [
        json!({"text": "Hi", "reasoning_effort": "high"}),
        json!({"action": "retry"}),
        json!({"action": "retry", "reasoning_effort": "high"}),
    ] {
        let said = turn(&server, &id, fields).await;
        let prompt = shown(&server, &id, said["node"].as_str().unwrap()).await;
        assert_eq!(ids(&prompt), received_ids(&received));
        assert_eq!((&prompt["agrees"], &prompt["differences"]), (&json!(true), &json!([])));
    }
    let taken = json!({"text": "Hi", "metadata": {"alloquy_prompt": {}}});
    assert_eq!(refused(&server, &id, taken).await.error()["param"], "metadata.alloquy_prompt");
    // The same for a stored completion.
    let chat = json!({"model": "tea", "store": true, "reasoning_effort": "high",
        "messages": [{"role": "user", "content": "Hi"}]});
    let chat = server.post("/v1/chat/completions", &chat).await.json();
    let ours = &chat["alloquy"];
    let id = format!("conv_{}", ours["conversation"].as_str().unwrap());
    let prompt = shown(&server, &id, ours["node"].as_str().unwrap()).await;
    assert_eq!((ids(&prompt), &prompt["agrees"]), (received_ids(&received), &json!(true)));
}

#[tokio::test]
async fn what_differs_from_the_prompt_of_a_reply_has_a_name() {
    let received = Received::default();
    let script = [("<user>Hi<end><assistant>".to_owned(), "Hello!")];
    let tea = language_model(&script, with_effort(&format!("{MESSAGES}<assistant>")), &received);
    let other = language_model(&script, with_effort(&format!("Be brief. {MESSAGES}<assistant>")), &received);
    let server = TestServer::start(
        Server::builder().model(ServedModel::loaded("tea", tea)).model(ServedModel::loaded("coffee", other)),
    )
    .await;
    let id = created(&server, json!([])).await;
    let said = turn(&server, &id, json!({"text": "Hi"})).await;
    let path = format!("{ALL}/{id}/nodes/{}/prompt", said["node"].as_str().unwrap());
    let prompt = server.get(&format!("{path}?model=coffee")).await.json();
    assert_eq!((&prompt["agrees"], &prompt["differences"]), (&json!(false), &json!(["model", "template"])));
    // The tools of one response are no part of the conversation.
    let template = with_effort(&format!("{{{{ names }}}}{MESSAGES}<assistant>"));
    let script: Vec<_> = script.iter().map(|(cue, reply)| (cue.as_str(), *reply)).collect();
    let decoder = Generator::new(Arc::new(ScriptedEngine::new(script)), 1).unwrap();
    let model = LanguageModel::builder(decoder).template(template).processor(NamingTools);
    let server = serving(model.build().unwrap()).await;
    let weather = json!([{"type": "function", "name": "weather", "parameters": {"type": "object"}}]);
    let request = json!({"model": "tea", "input": "Hi", "tools": weather});
    let ours = server.post("/v1/responses", &request).await.json()["alloquy"].clone();
    let id = format!("conv_{}", ours["conversation"].as_str().unwrap());
    let prompt = shown(&server, &id, ours["node"].as_str().unwrap()).await;
    assert_eq!((&prompt["agrees"], &prompt["differences"]), (&json!(false), &json!(["tools"])));
}

#[tokio::test]
async fn a_reply_continues_what_it_begins_with() {
    let (server, received) = tagged().await;
    let id = created(&server, json!([])).await;
    let text = turn(&server, &id, json!({"text": "Hi", "prefix": "Hello, wo"})).await;
    assert_eq!((&text["text"], &text["begun"]), (&json!("Hello, world!"), &json!(9)));
    assert!(received_ids(&received).ends_with(&b"Hello, wo".map(u32::from)));
    // The same as ids, which is what a click on another token sends.
    let tokens: Vec<u32> = b"Hell".iter().map(|byte| u32::from(*byte)).collect();
    let again = turn(&server, &id, json!({"action": "retry", "prefix_tokens": tokens})).await;
    assert_eq!(
        (&again["text"], &again["begun"], &again["answers"]),
        (&json!("Hello, world!"), &json!(4), &text["answers"])
    );
    let prompt = shown(&server, &id, again["node"].as_str().unwrap()).await;
    assert_eq!(prompt["agrees"], true);
    assert!(received_ids(&received).starts_with(&ids(&prompt)));
    assert_eq!(prompt["reply_tokens"].as_array().unwrap().len(), 13);
}

#[tokio::test]
async fn a_cut_reply_is_continued_beside_it() {
    let (server, received) = tagged().await;
    let id = created(&server, json!([])).await;
    let cut = turn(&server, &id, json!({"text": "Hi", "sampling": {"max_tokens": 5}})).await;
    assert_eq!((&cut["text"], &cut["alloquy"]["finish"]), (&json!("Hello"), &json!("length")));
    let whole = turn(&server, &id, json!({"action": "continue"})).await;
    assert_eq!(
        (&whole["text"], &whole["begun"], &whole["answers"]),
        (&json!("Hello, world!"), &json!(5), &cut["answers"])
    );
    assert!(received_ids(&received).ends_with(&b"Hello".map(u32::from)));
    let tree = server.get(&format!("{ALL}/{id}/tree")).await.json();
    let replies = tree["nodes"].as_array().unwrap().iter().filter(|node| node["role"] == "assistant");
    assert_eq!(
        replies.map(|node| node["text"].as_str().unwrap()).collect::<Vec<_>>(),
        ["Hello", "Hello, world!"]
    );
    // A reply without ids is continued from its text.
    let added = json!({"node": cut["answers"], "messages": [{"role": "assistant", "content": "Hello, w"}]});
    let added = server.post(&format!("{ALL}/{id}/nodes"), &added).await.json();
    let continued = turn(&server, &id, json!({"action": "continue", "node": added["nodes"][0]["id"]})).await;
    assert_eq!(continued["text"], "Hello, world!");
    // As events, the text is that of the whole reply.
    let streamed = json!({"action": "continue", "node": cut["node"], "stream": true});
    let events = server.post(&format!("{ALL}/{id}/turns"), &streamed).await.events();
    let mut text = String::new();
    for event in &events {
        let event: Value = serde_json::from_str(event).unwrap();
        if event.as_object().unwrap().len() == 1 {
            text += event["text"].as_str().unwrap_or_default();
        }
    }
    assert_eq!(text, "Hello, world!", "{events:?}");
}

#[tokio::test]
async fn beginnings_without_a_sense_are_refused() {
    let (server, _) = tagged().await;
    let id = created(&server, json!([])).await;
    turn(&server, &id, json!({"text": "Hi"})).await;
    for body in [
        json!({"text": "Hi", "prefix": ""}),
        json!({"text": "Hi", "prefix_tokens": []}),
        json!({"text": "Hi", "prefix": "a", "prefix_tokens": [97]}),
        json!({"text": "Hi", "prefix_tokens": [9_999_999]}),
        json!({"text": "Hi", "prefix_tokens": [256]}),
        json!({"text": "Hi", "prefix": "a. b", "sampling": {"stop": ["."]}}),
        json!({"action": "continue", "text": "Hi"}),
        json!({"action": "continue", "prefix": "Hi"}),
        json!({"action": "continue", "node": "0"}),
        json!({"text": "Hi", "top_logprobs": 2}),
        json!({"text": "Hi", "logprobs": true, "top_logprobs": 21}),
    ] {
        refused(&server, &id, body).await;
    }
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("echo", EchoModel))).await;
    let id = created(&server, json!([])).await;
    let answer = refused(&server, &id, json!({"text": "Hi", "prefix": "He"})).await;
    assert_eq!(answer.error()["code"], "unsupported_value");
    refused(&server, &id, json!({"text": "Hi", "logprobs": true})).await;
}

#[tokio::test]
async fn log_probabilities_name_their_tokens() {
    let (server, _) = tagged().await;
    let id = created(&server, json!([])).await;
    let plain = turn(&server, &id, json!({"text": "Hi"})).await;
    assert_eq!(plain["logprobs"], Value::Null);
    let scored = json!({"action": "retry", "prefix": "Hello", "logprobs": true, "top_logprobs": 2});
    let scored = turn(&server, &id, scored).await;
    let tokens = scored["logprobs"].as_array().unwrap();
    let text: String = tokens.iter().map(|token| token["text"].as_str().unwrap()).collect();
    assert_eq!(text, ", world!");
    for token in tokens {
        assert_eq!(token["top_logprobs"].as_array().unwrap().len(), 2);
        assert!(token["logprob"].as_f64().unwrap() <= 0.0);
        assert_eq!(token["top_logprobs"][0]["id"], token["id"]);
    }
}

#[tokio::test]
async fn alternatives_are_those_of_the_place_in_the_reply() {
    let (server, received) = tagged().await;
    let id = created(&server, json!([])).await;
    turn(&server, &id, json!({"text": "Hi"})).await;
    let scored = turn(&server, &id, json!({"text": "And now?", "logprobs": true, "top_logprobs": 3})).await;
    let sent = received_ids(&received);
    let tokens = scored["logprobs"].as_array().unwrap();
    let path = format!("{ALL}/{id}/alternatives");
    for (place, top) in [(0, 3), (4, 3), (tokens.len() - 1, 3)] {
        let asked = json!({"node": scored["node"], "place": place, "top_logprobs": top});
        let answer = server.post(&path, &asked).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let found = answer.json();
        assert_eq!((&found["token"], &found["place"]), (&tokens[place], &json!(place)));
        // The model had exactly the ids before the place.
        let mut expected = sent.clone();
        for token in &tokens[..place] {
            expected.push(u32::try_from(token["id"].as_u64().unwrap()).unwrap());
        }
        assert_eq!(received_ids(&received), expected);
    }
    let usual = server.post(&path, &json!({"node": "0.0", "place": 1})).await.json();
    assert_eq!(usual["token"]["top_logprobs"].as_array().unwrap().len(), 8);
    assert_eq!(usual["token"]["text"], "e");
    // Nothing was stored of it.
    let tree = server.get(&format!("{ALL}/{id}/tree")).await.json();
    assert_eq!((tree["nodes"].as_array().unwrap().len(), &tree["head"]), (4, &scored["head"]));
    for (body, param) in [
        (json!({"node": "head", "place": 99}), "place"),
        (json!({"node": "0", "place": 0}), "node"),
        (json!({"node": "head", "place": 0, "top_logprobs": 0}), "top_logprobs"),
        (json!({"node": "head", "place": 0, "top_logprobs": 21}), "top_logprobs"),
    ] {
        let answer = server.post(&path, &body).await;
        assert_eq!((answer.status, &answer.error()["param"]), (400, &json!(param)), "{body}");
    }
    let wrong = json!({"node": "head", "place": 0, "model": "coffee"});
    assert_eq!(server.post(&path, &wrong).await.error()["code"], "model_not_found");
    for body in [json!({"node": "head"}), json!({"place": 0}), json!({"node": "head", "place": -1})] {
        assert_eq!(server.post(&path, &body).await.status, 400, "{body}");
    }
    let elsewhere = format!("{ALL}/conv_nowhere/alternatives");
    assert_eq!(server.post(&elsewhere, &json!({"node": "head", "place": 0})).await.status, 404);
}

#[tokio::test]
async fn the_times_of_a_turn_are_those_of_the_engine() {
    let (server, _) = tagged().await;
    let id = created(&server, json!([])).await;
    let answer = server.post(&format!("{ALL}/{id}/turns"), &json!({"text": "Hi", "stream": true})).await;
    let last: Value = serde_json::from_str(answer.events().last().unwrap()).unwrap();
    let [timing] = last["timings"].as_array().unwrap().as_slice() else { panic!("{last}") };
    let reply = &last["nodes"].as_array().unwrap().last().unwrap()["reply"];
    assert_eq!(timing["prefill_tokens"], reply["cache"]["computed"]);
    assert!(timing["decode_tokens"].as_u64() > Some(0), "{timing}");
    let milliseconds = |name: &str| timing[name].as_f64().unwrap();
    let first = milliseconds("first_token_ms");
    assert!(first >= milliseconds("waiting_ms") + milliseconds("prefill_ms") - 0.01, "{timing}");
    assert!(milliseconds("decode_ms") >= 0.0);
    // A model that measures nothing has none, and none are made up.
    let echo = TestServer::start(Server::builder().model(ServedModel::loaded("echo", EchoModel))).await;
    let id = created(&echo, json!([])).await;
    assert_eq!(turn(&echo, &id, json!({"text": "Hi"})).await["timings"], json!([]));
}

#[tokio::test]
async fn texts_are_scored_as_replies() {
    let (server, _) = tagged().await;
    let id = created(&server, json!([])).await;
    let said = turn(&server, &id, json!({"text": "Hi"})).await;
    let path = format!("{ALL}/{id}/score");
    let asked = json!({"node": said["answers"], "texts": ["Hello", "Goodbye"]});
    let scores = server.post(&path, &asked).await;
    assert_eq!(scores.status, 200, "{}", scores.text);
    let scores = scores.json();
    let total = |index: usize| scores["scores"][index]["total"].as_f64().unwrap();
    assert!(total(0) > total(1), "{scores}");
    assert_eq!(scores["scores"][0]["tokens"].as_array().unwrap().len(), 5);
    assert_eq!((&scores["scores"][0]["tokens"][0]["text"], &scores["node"]), (&json!("H"), &said["answers"]));
    let tree = server.get(&format!("{ALL}/{id}/tree")).await.json();
    assert_eq!(tree["nodes"].as_array().unwrap().len(), 2);
    for body in [
        json!({"texts": []}),
        json!({"texts": [""]}),
        json!({"texts": vec!["a"; 65]}),
        json!({}),
        json!({"texts": ["a"], "color": "red"}),
    ] {
        assert_eq!(server.post(&path, &body).await.status, 400, "{body}");
    }
    let unknown = server.post(&format!("{ALL}/conv_nowhere/score"), &json!({"texts": ["a"]})).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn the_page_learns_what_models_can_do_and_keys_what_they_have_used() {
    let (server, _) = tagged().await;
    let about = server.get("/v1/alloquy/page").await.json();
    let capabilities = &about["models"][0]["capabilities"];
    assert_eq!(about["models"][0]["loaded"], false);
    assert_eq!(*capabilities, Value::Null);
    let id = created(&server, json!([])).await;
    turn(&server, &id, json!({"text": "Hi"})).await;
    let about = server.get("/v1/alloquy/page").await.json();
    let capabilities = &about["models"][0]["capabilities"];
    for (name, value) in [
        ("text", true),
        ("image", false),
        ("logprobs", true),
        ("score", true),
        ("prompt", true),
        ("prefix", true),
    ] {
        assert_eq!(capabilities[name], value, "{name}");
    }
    assert_eq!(
        (&about["keys"], &about["prompts"], &about["flows"]),
        (&json!(false), &json!(false), &json!(false))
    );
    let usage = server.get("/v1/alloquy/usage").await.json();
    assert_eq!((&usage["owner"], &usage["used"]["tokens"]), (&json!("local"), &Value::Null));
    assert_eq!((&usage["limits"]["running"], &usage["used"]["running"]), (&json!(8), &json!(0)));
}

#[tokio::test]
async fn a_key_sees_its_own_limits_and_use() {
    let mut keys = KeyFile::default();
    let mut limits = KeyLimits::default();
    limits.calls_per_minute = Some(1);
    limits.tokens_per_day = Some(1000);
    let ann = keys.add("ann".parse().unwrap(), limits).unwrap();
    let bob = keys.add("bob".parse().unwrap(), KeyLimits::default()).unwrap();
    let received = Received::default();
    let script = [("<user>Hi<end><assistant>".to_owned(), "Hello")];
    let model = language_model(&script, TaggedTemplate, &received);
    let server =
        TestServer::start(Server::builder().model(ServedModel::loaded("tea", model)).keys(keys)).await;
    let usage = async |key: &str| {
        let answer = server.send(server.request("GET", "/v1/alloquy/usage").bearer_auth(key)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    };
    let fresh = usage(&ann).await;
    assert_eq!((&fresh["used"]["tokens"], &fresh["used"]["next_call"]), (&json!(0), &json!(0.0)));
    let chat = json!({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 20});
    let asked = server.send(server.posting("/v1/chat/completions", &chat).bearer_auth(&ann)).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    let spent = usage(&ann).await;
    let tokens = asked.json()["usage"]["total_tokens"].clone();
    assert_eq!((&spent["used"]["tokens"], &spent["limits"]["tokens_per_day"]), (&tokens, &json!(1000)));
    assert!(spent["used"]["next_call"].as_f64().unwrap() > 0.0, "{spent}");
    let others = usage(&bob).await;
    assert_eq!(
        (&others["owner"], &others["used"]["tokens"], &others["used"]["next_call"]),
        (&json!("bob"), &Value::Null, &Value::Null)
    );
    assert_eq!(server.get("/v1/alloquy/usage").await.status, 401);
}

#[tokio::test]
async fn keys_with_limits_score_within_them() {
    let mut keys = KeyFile::default();
    let mut limits = KeyLimits::default();
    limits.tokens_per_day = Some(100);
    let ann = keys.add("ann".parse().unwrap(), limits.clone()).unwrap();
    limits.calls_per_minute = Some(1);
    let bob = keys.add("bob".parse().unwrap(), limits).unwrap();
    let received = Received::default();
    let model = language_model(&[], TaggedTemplate, &received);
    let server =
        TestServer::start(Server::builder().model(ServedModel::loaded("tea", model)).keys(keys)).await;
    let posted = async |key: &str, path: &str, body: Value| {
        server.send(server.posting(path, &body).bearer_auth(key)).await
    };
    let spent = async |key: &str| {
        let usage = server.send(server.request("GET", "/v1/alloquy/usage").bearer_auth(key)).await.json();
        usage["used"]["tokens"].as_u64().unwrap()
    };
    let path = format!("{ALL}/conv_tea/score");
    for key in [&ann, &bob] {
        assert_eq!(posted(key, ALL, json!({"name": "tea"})).await.status, 201);
        let question = json!({"messages": [{"role": "user", "content": "Hi"}]});
        let added = posted(key, &format!("{ALL}/conv_tea/nodes"), question).await;
        assert!(added.status < 300, "{}", added.text);
    }
    // More may be reserved than is taken, and what does not fit is refused before it is computed.
    let asked = json!({"texts": ["Hello", "Goodbye"]});
    let scores = posted(&ann, &path, asked.clone()).await;
    assert_eq!(scores.status, 200, "{}", scores.text);
    let shown = format!("{ALL}/conv_tea/nodes/head/prompt");
    let shown = server.send(server.request("GET", &shown).bearer_auth(&ann)).await.json();
    let taken = shown["positions"].as_u64().unwrap() + 5 + 7;
    assert_eq!(spent(&ann).await, taken);
    let long = posted(&ann, &path, json!({"texts": ["a".repeat(200)]})).await;
    assert_eq!(long.status, 400, "{}", long.text);
    assert!(long.text.contains("the budget of 100 tokens a day"), "{}", long.text);
    // A call that fails takes nothing, and one more call a minute is too many.
    assert_eq!(spent(&ann).await, taken);
    assert_eq!(posted(&bob, &path, asked.clone()).await.status, 200);
    let second = posted(&bob, &path, asked).await;
    assert_eq!((second.status, spent(&bob).await), (429, taken), "{}", second.text);
}

/// The files of public templates, where the shared folder has them.
fn public_templates() -> Vec<PathBuf> {
    let Some(shared) = std::env::var_os("ALLOQUY_SHARED") else { return Vec::new() };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(PathBuf::from(shared).join("cases/templates/jinja")).into_iter().flatten()
    {
        files.push(entry.unwrap().path());
    }
    files.sort();
    files
}

fn public(file: &PathBuf) -> Option<JinjaTemplate> {
    let now = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
    let mut variables = Map::new();
    variables.insert("bos_token".to_owned(), json!("<s>"));
    variables.insert("eos_token".to_owned(), json!("</s>"));
    let source = std::fs::read_to_string(file).unwrap();
    let template = JinjaTemplate::builder(source).variables(variables);
    template.clock(NowSource::Fixed(now)).polyfill(Polyfill::LeaveOut).build().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ids_of_public_templates_are_those_that_were_sent() {
    let files = public_templates();
    if files.is_empty() {
        eprintln!("skipped: set ALLOQUY_SHARED to the folder of shared cases");
        return;
    }
    let question = "Which teas grow in Assam?";
    let reply = "Black ones.";
    let further = "And in Uji?";
    let (mut shown_templates, mut found) = (0, 0);
    // Every so many of them, so that all makers are there.
    for file in files.iter().step_by((files.len() / 40).max(1)) {
        let received = Received::default();
        let Some(template) = public(file) else { continue };
        // What each prompt is, so that the engine answers it.
        let first = vec![Message::user(question)];
        let second = vec![Message::user(question), Message::assistant(reply), Message::user(further)];
        let plain = language_model(&[], template, &received);
        let rendered = |path: Vec<Message>| {
            plain
                .prepare(&Request::new(Preface::default(), path))
                .map(|prompt| prompt.rendered)
                .unwrap_or_default()
        };
        let (first, second) = (rendered(first), rendered(second));
        let (Some(first_at), Some(second_at)) = (first.find(question), second.rfind(further)) else {
            continue;
        };
        let script = [(first[first_at..].to_owned(), reply), (second[second_at..].to_owned(), "Green ones.")];
        let Some(template) = public(file) else { continue };
        let server = serving(language_model(&script, template, &received)).await;
        let id = created(&server, json!([])).await;
        turn(&server, &id, json!({"text": question})).await;
        let last = turn(&server, &id, json!({"text": further})).await;
        let prompt = shown(&server, &id, last["node"].as_str().unwrap()).await;
        assert_eq!(ids(&prompt), received_ids(&received), "{}", file.display());
        assert_eq!(prompt["agrees"], true, "{}", file.display());
        let pieces = pieces(&prompt);
        let users: Vec<_> =
            pieces.iter().filter(|piece| piece.0 == "user").map(|piece| piece.1.trim()).collect();
        shown_templates += 1;
        found += usize::from(users == [question, further]);
    }
    assert!(shown_templates >= 20, "{shown_templates} templates");
    // A template may leave out or change what was said.
    assert!(
        found * 10 >= shown_templates * 9,
        "the user's words are found in {found} of {shown_templates} templates"
    );
}
