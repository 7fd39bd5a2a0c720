//! The replies of chat endpoints: the script word by word, a call where tools are offered, JSON where a schema is sent.

use serde_json::{Value, json};

use super::SCRIPT;

/// What a reply thinks where it is asked to.
pub(crate) const THINKING: &str = "Six seas, six tales.";

/// What a reply is where a schema is sent.
pub(crate) const JSON: &str = "{\"age\": 3}";

/// Returns the events of a reply to a request of the protocol with this path.
pub(crate) fn answer(path: &str, request: &Value) -> Vec<u8> {
    let most = ["max_tokens", "max_output_tokens"].iter().find_map(|name| request[name].as_u64());
    let script = Script {
        thinks: request.to_string().contains("Think"),
        calls: offers_tools(request),
        text: if request.to_string().contains("json_schema") { JSON } else { SCRIPT },
        most: usize::try_from(most.unwrap_or(1000)).unwrap(),
    };
    match path {
        "/v1/messages" => named(&script.messages()),
        "/v1/responses" => named(&script.responses()),
        _ => {
            let mut text = String::new();
            for event in script.completions() {
                text += &format!("data: {event}\n\n");
            }
            (text + "data: [DONE]\n\n").into_bytes()
        }
    }
}

fn offers_tools(request: &Value) -> bool {
    let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let choice = &request["tool_choice"];
    has_tools && choice != "none" && choice["type"] != "none" && !request.to_string().contains("It is noon")
}

/// Writes events with their names, which the data have as well.
fn named(events: &[Value]) -> Vec<u8> {
    let mut text = String::new();
    for event in events {
        text += &format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    }
    text.into_bytes()
}

struct Script {
    thinks: bool,
    calls: bool,
    text: &'static str,
    most: usize,
}

impl Script {
    /// Returns the pieces of the text, as many as are allowed, and whether there are more.
    fn pieces(&self) -> (Vec<&'static str>, bool) {
        let all: Vec<&str> = self.text.split_inclusive(' ').collect();
        let is_cut = all.len() > self.most;
        (all.into_iter().take(self.most).collect(), is_cut)
    }

    fn completions(&self) -> Vec<Value> {
        let chunk = |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        let mut events = vec![chunk(json!({"role": "assistant", "content": null}))];
        if self.thinks {
            events.push(chunk(json!({"reasoning_content": THINKING, "reasoning": THINKING})));
        }
        let mut count = 5;
        let reason = if self.calls {
            let first = json!({"name": "clock", "arguments": ""});
            let call = json!({"index": 0, "id": "call_abc", "type": "function", "function": first});
            events.push(chunk(json!({"tool_calls": [call]})));
            for piece in ["{\"zone\"", ": \"UTC\"}"] {
                let call = json!({"index": 0, "function": {"arguments": piece}});
                events.push(chunk(json!({"tool_calls": [call]})));
            }
            "tool_calls"
        } else {
            let (pieces, is_cut) = self.pieces();
            count = pieces.len();
            events.extend(pieces.iter().map(|piece| chunk(json!({"content": piece}))));
            if is_cut { "length" } else { "stop" }
        };
        events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
        let usage = json!({
            "prompt_tokens": 9,
            "completion_tokens": count,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2},
        });
        events.push(json!({"choices": [], "usage": usage}));
        events
    }

    fn messages(&self) -> Vec<Value> {
        let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 1});
        let start = json!({"id": "msg_1", "role": "assistant", "content": [], "usage": usage});
        let mut events = vec![json!({"type": "message_start", "message": start}), json!({"type": "ping"})];
        let mut blocks: Vec<(Value, Vec<Value>)> = Vec::new();
        if self.thinks {
            let deltas = vec![
                json!({"type": "thinking_delta", "thinking": THINKING}),
                json!({"type": "signature_delta", "signature": "c2ln"}),
            ];
            blocks.push((json!({"type": "thinking", "thinking": "", "signature": ""}), deltas));
        }
        let mut count = 5;
        let reason = if self.calls {
            let piece = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
            let deltas = ["", "{\"zone\"", ": \"UTC\"}"].map(piece).to_vec();
            blocks
                .push((json!({"type": "tool_use", "id": "call_abc", "name": "clock", "input": {}}), deltas));
            "tool_use"
        } else {
            let (pieces, is_cut) = self.pieces();
            count = pieces.len();
            let deltas = pieces.iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
            blocks.push((json!({"type": "text", "text": ""}), deltas));
            if is_cut { "max_tokens" } else { "end_turn" }
        };
        for (index, (block, deltas)) in blocks.into_iter().enumerate() {
            events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
            for delta in deltas {
                events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        let delta = json!({"stop_reason": reason, "stop_sequence": null});
        events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": count}}));
        events.push(json!({"type": "message_stop"}));
        events
    }

    fn responses(&self) -> Vec<Value> {
        let mut events =
            vec![json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}})];
        if self.thinks {
            events.push(json!({"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": THINKING}));
        }
        let mut count = 5;
        let mut kind = "completed";
        if self.calls {
            let item = json!({"type": "function_call", "id": "fc_1", "call_id": "call_abc", "name": "clock", "arguments": ""});
            events.push(json!({"type": "response.output_item.added", "output_index": 1, "item": item}));
            for piece in ["{\"zone\"", ": \"UTC\"}"] {
                events.push(json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": piece}));
            }
            let arguments = "{\"zone\": \"UTC\"}";
            events.push(json!({"type": "response.function_call_arguments.done", "output_index": 1, "arguments": arguments}));
        } else {
            let (pieces, is_cut) = self.pieces();
            count = pieces.len();
            for piece in pieces {
                events.push(json!({"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": piece}));
            }
            if is_cut {
                kind = "incomplete";
            }
        }
        let usage = json!({
            "input_tokens": 9,
            "output_tokens": count,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens_details": {"reasoning_tokens": 2},
        });
        let details = if kind == "incomplete" { json!({"reason": "max_output_tokens"}) } else { Value::Null };
        let response = json!({"status": kind, "incomplete_details": details, "usage": usage});
        events.push(json!({"type": format!("response.{kind}"), "response": response}));
        events
    }
}
