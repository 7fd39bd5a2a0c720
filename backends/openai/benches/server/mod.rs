//! A server of vLLM's protocol that has every token at once, and keeps its connections open.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// What starts the benchmark as the server.
pub(crate) const ARGUMENT: &str = "serve";

/// How many requests wait for the last one of their round.
static WAITING: Mutex<usize> = Mutex::new(0);
static ALL_HERE: Condvar = Condvar::new();

/// Serves until the process is killed. Prints the address.
pub(crate) fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    for stream in listener.incoming().flatten() {
        thread::spawn(move || connection(stream));
    }
}

fn connection(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some((path, body)) = request(&mut reader) {
        let answered = match path.as_str() {
            "/v1/models" => whole(&mut stream, &json!({"data": [{"id": "script", "owned_by": "vllm"}]})),
            "/tokenize" => {
                let text = body["prompt"].as_str().unwrap_or_default();
                whole(&mut stream, &json!({"tokens": text.bytes().map(u32::from).collect::<Vec<_>>()}))
            }
            "/v1/completions" => reply(&mut stream, &body),
            _ => whole(&mut stream, &json!({})),
        };
        if answered.is_err() {
            return;
        }
    }
}

/// Reads a request; `None` once the client has closed the connection.
fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

fn whole(stream: &mut TcpStream, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())
}

/// Returns an event as a chunk of HTTP.
fn chunk(data: &str) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}

fn event(is_last: bool) -> String {
    let reason = if is_last { json!("length") } else { Value::Null };
    let choice = json!({"index": 0, "text": "?", "token_ids": [97], "logprobs": null, "finish_reason": reason, "stop_reason": null});
    chunk(
        &json!({"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "script", "choices": [choice]})
            .to_string(),
    )
}

/// The text of a prompt may say for how many requests the answer waits, and how long the server pauses after each token.
fn plan(body: &Value) -> (usize, u64) {
    let ids = body["prompt"].as_array().cloned().unwrap_or_default();
    let bytes = ids.iter().filter_map(|id| u8::try_from(id.as_u64()?).ok()).collect();
    let text = String::from_utf8(bytes).unwrap_or_default();
    let words: Vec<&str> = text.split(' ').collect();
    match words[..] {
        ["wait", waiting, "pause", pause] => (waiting.parse().unwrap_or(0), pause.parse().unwrap_or(0)),
        _ => (0, 0),
    }
}

/// Waits until so many requests are here.
fn wait_for(all: usize) {
    let mut waiting = WAITING.lock().unwrap();
    *waiting += 1;
    if *waiting >= all {
        *waiting = 0;
        ALL_HERE.notify_all();
    } else {
        drop(ALL_HERE.wait(waiting).unwrap());
    }
}

fn reply(stream: &mut TcpStream, body: &Value) -> std::io::Result<()> {
    let (all, pause) = plan(body);
    let length = body["max_tokens"].as_u64().unwrap_or(1);
    if all > 0 {
        wait_for(all);
    }
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for number in 1..=length {
        text += &event(number == length);
        if pause > 0 {
            stream.write_all(text.as_bytes())?;
            text.clear();
            thread::sleep(Duration::from_millis(pause));
        }
    }
    let usage = json!({"prompt_tokens": 3, "completion_tokens": length, "prompt_tokens_details": {"cached_tokens": 0}});
    text += &chunk(&json!({"choices": [], "usage": usage}).to_string());
    text += &chunk("[DONE]");
    text += "0\r\n\r\n";
    stream.write_all(text.as_bytes())
}
