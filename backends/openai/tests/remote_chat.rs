//! Chat models on servers that take no ids, against a server that replies from a script.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod stub;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use alloquy_core::arguments::ProcessorArguments;
use alloquy_core::grammar::Grammar;
use alloquy_core::media::Media;
use alloquy_core::message::{ChannelText, Malformed, ToolCall, ToolResult};
use alloquy_core::output::{OutputConstraints, ToolChoice};
use alloquy_core::report::{FinishReason, Warning};
use alloquy_core::template::PromptEnd;
use alloquy_core::tree::NodeStatus;
use alloquy_core::turn::PartialReplyPolicy;
use alloquy_core::{
    ChatModel, Content, Delta, ErrorKind, Manager, Message, Part, Preface, Reply, Request, Role,
    SamplingOptions, Tool, ToolSpec,
};
use alloquy_openai::{ApiKey, ChatProtocol, Dialect, RemoteChat, RemoteTimeouts};
use alloquy_testing::laws;
use futures::StreamExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use stub::chat::{JSON, THINKING};
use stub::{Answer, SCRIPT, Stub, sse};

fn stub() -> Stub {
    Stub::new(Dialect::Completions)
}

fn request(text: &str) -> Request {
    Request::new(Preface::default(), vec![Message::user(text)])
}

fn with_tool(text: &str) -> Request {
    let schema = json!({"type": "object", "properties": {"zone": {"type": "string"}}});
    let preface = Preface::system("Be exact.").tool(ToolSpec::new("clock", "Says the time.", schema));
    Request::new(preface, vec![Message::user(text)])
}

fn reply(model: &dyn ChatModel, request: Request) -> alloquy_core::Result<Reply> {
    pollster::block_on(async { model.reply(request).await?.finish().await })
}

#[test]
fn a_remote_chat_obeys_the_laws_of_chat_models() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let model = stub.chat(protocol);
        pollster::block_on(laws::chat_model::all(&model, &request("Hi")));
        let offers = with_tool("What time is it?");
        pollster::block_on(laws::chat_model::calls_begin_only_where_wanted(&model, &offers, &["clock("]));
    }
}

#[test]
fn a_reply_has_counts_and_no_tokens() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let reply = reply(&stub.chat(protocol), request("Think, then tell.")).unwrap();
        assert_eq!((reply.text().as_str(), reply.finish), (SCRIPT, FinishReason::Stop), "{protocol:?}");
        assert_eq!(reply.message.thinking().as_deref(), Some(THINKING), "{protocol:?}");
        assert!(reply.tokens.is_empty() && reply.cache.is_none() && reply.warnings.is_empty(), "{reply:?}");
        assert_eq!((reply.usage.prompt, reply.usage.cached), (9, 4), "{protocol:?}");
        let timing = reply.timing.unwrap();
        assert!(timing.first_token.unwrap() >= timing.waiting, "{timing:?}");
        assert_eq!(timing.decode_tokens + 1, reply.usage.generated);
        assert_eq!(reply.usage.generated, SCRIPT.split(' ').count(), "{protocol:?}");
    }
}

#[test]
fn calls_come_in_pieces_and_their_ids_are_sent_back() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let model = stub.chat(protocol);
        let mut asked = with_tool("What time is it?");
        let (pieces, first) = pollster::block_on(async {
            let mut stream = model.reply(asked.clone()).await.unwrap();
            let mut pieces = String::new();
            while let Some(delta) = stream.next().await {
                if let Delta::Arguments(piece) = delta {
                    assert_eq!((piece.id.as_str(), piece.name.as_str()), ("call_abc", "clock"));
                    pieces += &piece.text;
                }
            }
            (pieces, stream.finish().await.unwrap())
        });
        assert_eq!(pieces, "{\"zone\": \"UTC\"}");
        let call = ToolCall::new("call_abc", "clock", json!({"zone": "UTC"}));
        assert_eq!(first.message.tool_calls().collect::<Vec<_>>(), [&call]);
        assert_eq!(first.finish, FinishReason::ToolCalls);

        asked.path.push(first.message);
        asked.path.push(Message::tool(vec![ToolResult::ok(&call, "It is noon")]));
        let second = reply(&model, asked).unwrap();
        assert_eq!(second.text(), SCRIPT);
        let sent = stub.last_request().to_string();
        assert_eq!(sent.matches("call_abc").count(), 2, "{sent}");
        assert!(sent.contains("Be exact.") && sent.contains("Says the time."), "{sent}");
    }
}

#[test]
fn an_id_that_the_conversation_has_is_replaced() {
    let stub = stub();
    let mut asked = with_tool("What time is it?");
    let call = ToolCall::new("call_abc", "clock", json!({}));
    asked.path.push(Message::new(Role::Assistant, vec![Content::ToolCall(call.clone())]));
    asked.path.push(Message::tool(vec![ToolResult::ok(&call, "Late")]));
    asked.path.push(Message::user("And now?"));
    let reply = reply(&stub.chat(ChatProtocol::Completions), asked).unwrap();
    let ids: Vec<_> = reply.message.tool_calls().map(|call| call.id.clone()).collect();
    assert_eq!(ids, ["call_2"]);
}

#[test]
fn a_schema_is_sent_and_other_grammars_are_refused() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let model = stub.chat(protocol);
        let schema = json!({"type": "object", "properties": {"age": {"type": "integer"}}});
        let constraints = OutputConstraints::default().grammar(Grammar::JsonSchema(schema.clone()));
        let answered = reply(&model, request("Hi").output(constraints.clone())).unwrap();
        assert_eq!(answered.text(), JSON);
        assert!(stub.last_request().to_string().contains(&schema.to_string()));
        assert!(answered.warnings.is_empty(), "{answered:?}");

        let short = SamplingOptions { max_tokens: Some(1), ..Default::default() };
        let cut = reply(&model, request("Hi").output(constraints.clone()).sampling(short)).unwrap();
        assert_eq!((cut.finish, cut.warnings), (FinishReason::Length, vec![Warning::GrammarCut]));

        let excluded = reply(&model, with_tool("Hi").output(constraints)).unwrap();
        assert_eq!(excluded.warnings, [Warning::ToolsExcluded { tools: 1 }]);

        let choice = OutputConstraints::default().grammar(Grammar::choice(["yes", "no"]));
        let refused = reply(&model, request("Hi").output(choice)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        let closed = reply(&model, request("Hi").ending(PromptEnd::Continuation)).unwrap_err();
        assert_eq!(closed.kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn images_are_sent_as_data() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let image = Media::new("image/png", b"\x89PNG\r\n\x1a\n".to_vec());
        let parts = vec![Content::Text("What is this?".into()), Content::Image(image)];
        let parts: Vec<Part> = parts.into_iter().map(Part::from).collect();
        let asked = Request::new(Preface::default(), vec![Message::new(Role::User, parts)]);
        reply(&stub.chat(protocol), asked).unwrap();
        let sent = stub.last_request().to_string();
        assert!(sent.contains("iVBORw0KGgo=") && sent.contains("image/png"), "{sent}");
    }
}

#[test]
fn options_are_sent_or_named() {
    let sampling = SamplingOptions {
        temperature: Some(0.5),
        top_p: Some(0.5),
        top_k: Some(7),
        seed: Some(3),
        repetition_penalty: Some(1.5),
        no_repeat_ngram: Some(3),
        suppress: vec![9],
        repetition_detection: Some(4),
        max_tokens: Some(50),
        ..Default::default()
    };
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let replied = reply(&stub.chat(protocol), request("Hi").sampling(sampling.clone())).unwrap();
        let sent = stub.last_request();
        assert_eq!((&sent["temperature"], &sent["top_p"]), (&json!(0.5), &json!(0.5)), "{protocol:?}");
        for name in sampling.names() {
            let is_named = replied.warnings.contains(&Warning::OptionIgnored { name: name.to_owned() });
            let is_sent =
                sent.get(name).is_some() || sent.get("max_output_tokens").is_some() && name == "max_tokens";
            let is_bias = name == "suppress" && sent["logit_bias"]["9"] == json!(-100.0);
            assert!(is_named || is_sent || is_bias, "{protocol:?}: {name} is neither sent nor named: {sent}");
        }
    }
    let stub = stub();
    let refused = OutputConstraints::default().tool_choice(ToolChoice::Required);
    let error = reply(&stub.chat(ChatProtocol::Completions), request("Hi").output(refused)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn a_stop_text_in_pieces_ends_the_reply_and_the_connection() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let sampling =
            SamplingOptions { stop: vec!["six tal".into(), "x seas, of".into()], ..Default::default() };
        let replied = reply(&stub.chat(protocol), request("Hi").sampling(sampling)).unwrap();
        assert_eq!(replied.text(), "a tale of si");
        assert_eq!(replied.stop_string.as_deref(), Some("x seas, of"));
    }
}

#[test]
fn a_reply_cut_anywhere_is_kept() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let manager =
            Manager::builder(stub.chat(protocol)).partial_replies(PartialReplyPolicy::Keep).build().unwrap();
        pollster::block_on(async {
            let conversation = manager.create(Preface::default()).await.unwrap();
            let whole = conversation.send("Hi").await.unwrap();
            assert_eq!(whole.text(), SCRIPT);
            let length = stub.shared.length.load(Ordering::SeqCst);
            for at in 0..length {
                stub.plan([if at % 2 == 0 { Answer::Torn(at) } else { Answer::Cut(at) }]);
                let turn = conversation.send("Hi").finish().await;
                let history = conversation.history().await.unwrap();
                match turn {
                    Ok(reply) if reply.text() == SCRIPT && reply.reply.error.is_none() => {}
                    Ok(reply) => {
                        assert!(SCRIPT.starts_with(&reply.text()), "{:?}", reply.text());
                        assert!(reply.reply.error.is_some(), "{protocol:?} cut at byte {at}: {reply:?}");
                        assert_eq!(history.last().unwrap().status, NodeStatus::Interrupted);
                    }
                    // Nothing was said, so the question is not asked.
                    Err(_) => assert_eq!(history.last().unwrap().message.text(), SCRIPT),
                }
                conversation.goto(whole.node).await.unwrap();
            }
            assert_eq!(conversation.send("And then?").await.unwrap().text(), SCRIPT);
        });
    }
}

#[test]
fn pieces_of_any_size_give_the_same_reply() {
    for protocol in ChatProtocol::ALL {
        let stub = Stub::with(Dialect::Completions, 1, false);
        let replied = reply(&stub.chat(protocol), request("Think.")).unwrap();
        assert_eq!(
            (replied.text().as_str(), replied.message.thinking().as_deref()),
            (SCRIPT, Some(THINKING))
        );
    }
}

#[test]
fn a_request_is_sent_again_only_before_the_first_event() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let builder = RemoteChat::builder(&stub.url).protocol(protocol).model("script");
        let model = pollster::block_on(builder.connect()).unwrap();
        stub.plan([Answer::Status(503, "retry-after: 0\r\n", "{}"), Answer::Cut(0)]);
        assert_eq!(reply(&model, request("Hi")).unwrap().text(), SCRIPT);
        assert_eq!(stub.shared.requests.lock().unwrap().len(), 3);

        let length = stub.shared.length.load(Ordering::SeqCst);
        stub.plan([Answer::Cut(length / 2)]);
        let cut = reply(&model, request("Hi")).unwrap();
        assert_eq!(cut.finish, FinishReason::Error);
        assert_eq!(stub.shared.requests.lock().unwrap().len(), 4);
    }
}

#[test]
fn refusals_have_their_kinds() {
    let cases = [
        (400, r#"{"error": {"message": "maximum context length is 5"}}"#, ErrorKind::ContextOverflow),
        (400, r#"{"error": {"message": "no"}}"#, ErrorKind::Invalid),
        (401, "{}", ErrorKind::Invalid),
        (404, "{}", ErrorKind::NotFound),
        (429, "{}", ErrorKind::Busy),
        (500, "{}", ErrorKind::Backend),
        (529, "{}", ErrorKind::Busy),
    ];
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let model = stub.chat(protocol);
        for (status, body, kind) in cases {
            stub.plan([Answer::Status(status, "", body)]);
            // The request fails before there is a stream.
            let refused = pollster::block_on(model.reply(request("Hi"))).unwrap_err();
            assert_eq!(refused.kind(), kind, "{status}");
        }
    }
}

#[test]
fn a_dropped_stream_closes_its_connection() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let model = stub.chat(protocol);
        reply(&model, request("Hi")).unwrap();
        let length = stub.shared.length.load(Ordering::SeqCst);
        stub.plan([Answer::Stall(length / 2)]);
        pollster::block_on(async {
            let mut stream = model.reply(request("Hi")).await.unwrap();
            assert!(stream.next().await.is_some());
        });
        let begun = Instant::now();
        while stub.shared.closed.load(Ordering::SeqCst) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "the connection stays open");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_stop_signal_ends_the_wait_for_a_first_event() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let model = stub.chat(protocol);
        stub.plan([Answer::Stall(0)]);
        let asked = request("Hi");
        let signal = asked.stop.clone();
        let stopper = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            signal.stop();
        });
        let stopped = reply(&model, asked).unwrap();
        assert_eq!((stopped.finish, stopped.text().as_str()), (FinishReason::Cancelled, ""));
        stopper.join().unwrap();
    }
}

#[test]
fn silence_ends_a_reply_and_keeps_what_was_said() {
    let stub = stub();
    let mut timeouts = RemoteTimeouts::default();
    timeouts.between = Duration::from_millis(100);
    let builder = RemoteChat::builder(stub.server().timeouts(timeouts)).model("script");
    let model = pollster::block_on(builder.connect()).unwrap();
    reply(&model, request("Hi")).unwrap();
    stub.plan([Answer::Stall(stub.shared.length.load(Ordering::SeqCst) / 2)]);
    let cut = reply(&model, request("Hi")).unwrap();
    assert!(!cut.text().is_empty() && SCRIPT.starts_with(&cut.text()));
    assert_eq!(cut.finish, FinishReason::Error);
    assert!(cut.error.unwrap().contains("sent no token within 100ms"));
}

#[test]
fn a_stream_outlives_its_model() {
    let stub = stub();
    let model = stub.chat(ChatProtocol::Completions);
    let stream = pollster::block_on(model.reply(request("Hi"))).unwrap();
    drop(model);
    assert_eq!(pollster::block_on(stream.finish()).unwrap().text(), SCRIPT);
}

#[test]
fn the_key_is_sent_as_the_protocol_has_it_and_never_printed() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "hush").unwrap();
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let server = stub.server().key(ApiKey::file(file.path()).unwrap());
        let builder = RemoteChat::builder(server).model("script").protocol(protocol);
        let model = pollster::block_on(builder.connect()).unwrap();
        reply(&model, request("Hi")).unwrap();
        let head = stub.shared.head.lock().unwrap().to_lowercase();
        if protocol == ChatProtocol::Messages {
            assert!(head.contains("x-api-key: hush") && head.contains("anthropic-version: "), "{head}");
            assert!(!head.contains("authorization"), "{head}");
        } else {
            assert!(head.contains("authorization: bearer hush"), "{head}");
        }
        assert!(!format!("{model:?}").contains("hush"));
    }
}

fn budget(tokens: usize) -> Request {
    request("Hi").output(OutputConstraints::default().thinking_budget(tokens))
}

/// Returns what a server is sent.
fn sent(protocol: ChatProtocol, asked: Request) -> alloquy_core::Result<Value> {
    let stub = stub();
    reply(&stub.chat(protocol), asked).map(|_| stub.last_request())
}

#[test]
fn thinking_is_limited_or_refused() {
    assert_eq!(sent(ChatProtocol::Completions, budget(0)).unwrap()["reasoning_effort"], "none");
    assert_eq!(sent(ChatProtocol::Responses, budget(0)).unwrap()["reasoning"]["effort"], "none");
    assert_eq!(sent(ChatProtocol::Messages, budget(0)).unwrap()["thinking"]["type"], "disabled");
    for protocol in [ChatProtocol::Completions, ChatProtocol::Responses] {
        assert_eq!(sent(protocol, budget(2000)).unwrap_err().kind(), ErrorKind::Unsupported);
    }
    let limited = sent(ChatProtocol::Messages, budget(2000)).unwrap();
    assert_eq!(limited["thinking"], json!({"type": "enabled", "budget_tokens": 2000}));
    assert!(limited["max_tokens"].as_u64().unwrap() > 2000, "{limited}");
}

#[test]
fn template_variables_are_sent_or_named() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let arguments = ProcessorArguments::default().extra("tone", "kind").extra("reasoning_effort", "low");
        let replied = reply(&stub.chat(protocol), request("Hi").arguments(arguments)).unwrap();
        let sent = stub.last_request();
        for name in ["tone", "reasoning_effort"] {
            let warning = Warning::LeftOut { what: format!("the template variable {name}") };
            let is_sent = sent["chat_template_kwargs"].get(name).is_some()
                || name == "reasoning_effort"
                    && (sent[name] == "low" || sent["reasoning"]["effort"] == "low");
            assert!(is_sent != replied.warnings.contains(&warning), "{protocol:?}: {name} in {sent}");
        }
    }
}

#[test]
fn replies_of_other_models_can_be_continued() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let call = ToolCall::new("call_1", "clock", json!({"zone": "UTC"}));
        let parts = vec![
            Content::Text("I look. ".into()),
            Content::Thinking("Which zone?".into()),
            Content::Channel(ChannelText::new("notes", "private")),
            Content::Malformed(Malformed { raw: "<tool>{".into(), reason: "cut".into() }),
            Content::ToolCall(call.clone()),
        ];
        let mut asked = with_tool("What time is it?");
        asked.path.push(Message::new(Role::Assistant, parts));
        asked.path.push(Message::tool(vec![ToolResult::error(&call, "no clock")]));
        asked.path.push(Message::new(Role::Assistant, vec![Content::Thinking("Nothing.".into())]));
        asked.path.push(Message::user("It is noon, is it?"));
        let replied = reply(&stub.chat(protocol), asked).unwrap();
        assert_eq!(replied.text(), SCRIPT);
        assert!(replied.warnings.contains(&Warning::LeftOut { what: "the channel notes".to_owned() }));
        let sent = stub.last_request().to_string();
        for text in ["I look. ", "<tool>{", "call_1", "no clock"] {
            assert!(sent.contains(text), "{protocol:?}: {text:?} is not in {sent}");
        }
        assert!(!sent.contains("private"), "{sent}");
    }
}

/// Says that it is noon.
#[derive(Debug)]
struct Clock;

#[async_trait::async_trait]
impl Tool for Clock {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"zone": {"type": "string"}}});
        ToolSpec::new("clock", "Says the time.", schema)
    }

    async fn call(&self, arguments: &Value) -> alloquy_core::Result<Value> {
        assert_eq!(*arguments, json!({"zone": "UTC"}));
        Ok("It is noon".into())
    }
}

#[test]
fn a_manager_runs_the_tools_that_a_server_calls() {
    for protocol in ChatProtocol::ALL {
        let stub = stub();
        let manager = Manager::builder(stub.chat(protocol)).tool(Clock).build().unwrap();
        pollster::block_on(async {
            let conversation = manager.create(Preface::default()).await.unwrap();
            let answered = conversation.send("What time is it?").await.unwrap();
            assert_eq!(answered.text(), SCRIPT);
            assert_eq!(conversation.history().await.unwrap().len(), 4);
        });
    }
}

#[test]
fn the_only_model_is_found_and_models_are_listed() {
    let stub = stub();
    let model = pollster::block_on(RemoteChat::connect(&stub.url)).unwrap();
    assert_eq!(model.name(), "script");
    assert_eq!(pollster::block_on(model.models()).unwrap(), ["script"]);
}

#[test]
fn answers_are_read_as_the_files_say() {
    let mut files = 0;
    for protocol in ChatProtocol::ALL {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exchanges/chat").join(protocol.as_str());
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let exchange: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            assert!(
                exchange["source"].as_str().is_some_and(|source| !source.is_empty()),
                "{path:?} names no source"
            );
            let bytes = sse(Dialect::LlamaCpp, exchange["events"].as_array().unwrap());
            let stub = stub();
            let model = stub.chat(protocol);
            let sampling = SamplingOptions {
                max_tokens: exchange["request"]["max_tokens"]
                    .as_u64()
                    .map(|most| usize::try_from(most).unwrap()),
                ..Default::default()
            };
            let asked = with_tool("What time is it?").sampling(sampling);
            stub.plan([Answer::Raw(bytes.clone())]);
            let expected = &exchange["reply"];
            assert_eq!(&as_in_files(reply(&model, asked.clone())), expected, "{path:?}");

            // Wherever the answer is cut, the text is the beginning of the whole text.
            let whole = expected["text"].as_str().unwrap_or_default();
            for at in (0..bytes.len()).step_by(7) {
                stub.plan([Answer::Raw(bytes[..at].to_vec())]);
                if let Ok(reply) = reply(&model, asked.clone()) {
                    assert!(whole.starts_with(&reply.text()), "{path:?} cut at byte {at}: {reply:?}");
                }
            }
            files += 1;
        }
    }
    assert!(files >= 17, "only {files} exchanges are found");
}

#[test]
fn numbers_of_any_size_are_survived() {
    let stub = stub();
    let usage = json!({"input_tokens": u64::MAX, "cache_read_input_tokens": u64::MAX, "cache_creation_input_tokens": u64::MAX});
    let events = [
        json!({"type": "message_start", "message": {"usage": usage}}),
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hello"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
    ];
    stub.plan([Answer::Raw(sse(Dialect::LlamaCpp, &events))]);
    let replied = reply(&stub.chat(ChatProtocol::Messages), request("Hi")).unwrap();
    assert_eq!((replied.text().as_str(), replied.usage.prompt), ("Hello", 0));
}

#[test]
fn very_many_calls_are_read_in_time() {
    let stub = stub();
    let model = stub.chat(ChatProtocol::Completions);
    let call = |index: usize, id: String| json!({"index": index, "id": id, "function": {"name": "clock"}});
    // Each of the second half has an id that is made, and the first ones to try are those of the first half.
    let named = (0..10_000).map(|index| call(index, format!("call_{}", 10_001 + index)));
    let unnamed = (10_000..20_000).map(|index| call(index, String::new()));
    let calls: Vec<Value> = named.chain(unnamed).collect();
    let mut events: Vec<Value> =
        calls.chunks(1_000).map(|calls| json!({"choices": [{"delta": {"tool_calls": calls}}]})).collect();
    events.push(json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}));
    stub.plan([Answer::Raw(sse(Dialect::LlamaCpp, &events))]);
    let begun = Instant::now();
    let replied = reply(&model, with_tool("What time is it?")).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?}", begun.elapsed());
    let ids: HashSet<&str> = replied.message.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), 20_000);
}

/// Returns a reply as the files have it.
fn as_in_files(reply: alloquy_core::Result<Reply>) -> Value {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return json!({"error": format!("{:?}", error.kind())}),
    };
    let mut written = json!({"text": reply.text()});
    if let Some(thinking) = reply.message.thinking() {
        written["thinking"] = thinking.into();
    }
    if let Some(signature) = reply.message.extra.get("anthropic_signature") {
        written["signature"] = signature.clone();
    }
    if let Some(refusal) = reply.message.extra.get("refusal") {
        written["refusal"] = refusal.clone();
    }
    let calls: Vec<Value> = reply
        .message
        .tool_calls()
        .map(|call| json!({"id": call.id, "name": call.name, "arguments": call.arguments}))
        .collect();
    if !calls.is_empty() {
        written["calls"] = calls.into();
    }
    let malformed: Vec<&str> = reply.message.malformed().map(|malformed| malformed.raw.as_str()).collect();
    if !malformed.is_empty() {
        written["malformed"] = malformed.into();
    }
    written["finish"] = format!("{:?}", reply.finish).into();
    written["prompt"] = reply.usage.prompt.into();
    written["cached"] = reply.usage.cached.into();
    written["generated"] = reply.usage.generated.into();
    written
}

#[test]
fn thinking_is_sent_back_to_the_server_that_proved_it() {
    let stub = stub();
    let mut asked = request("Think.");
    let first = reply(&stub.chat(ChatProtocol::Messages), asked.clone()).unwrap();
    asked.path.push(first.message);
    asked.path.push(Message::user("And then?"));
    reply(&stub.chat(ChatProtocol::Messages), asked.clone()).unwrap();
    let block = json!({"type": "thinking", "thinking": THINKING, "signature": "c2ln"});
    assert_eq!(stub.last_request()["messages"][1]["content"][0], block);
    reply(&stub.chat(ChatProtocol::Completions), asked).unwrap();
    assert!(!stub.last_request().to_string().contains("c2ln"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a server answers, a request has an end, and deltas join to the message.
    #[test]
    fn any_answer_is_survived(
        lines in prop::collection::vec(prop_oneof![".{0,40}", Just("data: {}".to_owned()), Just(String::new())], 0..12),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        index in 0..3_usize,
    ) {
        let stub = stub();
        let model = stub.chat(ChatProtocol::ALL[index]);
        let mut answer = lines.join("\n").into_bytes();
        answer.extend(bytes);
        stub.plan([Answer::Raw(answer)]);
        prop_assert!(reply(&model, request("Hi")).is_err());
        prop_assert_eq!(reply(&model, request("Hi")).unwrap().text(), SCRIPT);
    }

    /// Stop texts are found however the server cuts its text, as in the whole text.
    #[test]
    fn stop_texts_do_not_depend_on_the_pieces(
        pieces in prop::collection::vec("[ab]{0,4}", 1..8),
        stops in prop::collection::vec("[ab]{1,4}", 1..3),
    ) {
        let stub = stub();
        let mut events: Vec<Value> =
            pieces.iter().map(|piece| json!({"choices": [{"delta": {"content": piece}}]})).collect();
        events.push(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}));
        stub.plan([Answer::Raw(sse(Dialect::Completions, &events))]);
        let sampling = SamplingOptions { stop: stops.clone(), ..Default::default() };
        let replied = reply(&stub.chat(ChatProtocol::Completions), request("Hi").sampling(sampling)).unwrap();
        let whole = pieces.concat();
        // The text ends before the first stop text that is complete.
        let ends = (0..=whole.len()).find(|end| stops.iter().any(|stop| whole[..*end].ends_with(stop.as_str())));
        match ends {
            None => prop_assert_eq!(replied.text(), whole),
            Some(_) => {
                let stop = replied.stop_string.clone().unwrap();
                prop_assert!(stops.contains(&stop));
                prop_assert!(whole.starts_with(&(replied.text() + &stop)));
                prop_assert!(stops.iter().all(|stop| !replied.text().contains(stop.as_str())));
            }
        }
    }
}
