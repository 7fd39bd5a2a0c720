//! A chat model of one's own: a client of a server, which is a small one in this program, with tools and a conversation.

use alloquy::core::message::ToolCall;
use alloquy::core::report::CacheReport;
use alloquy::core::{Delta, ReplyStream};
use alloquy::formats::messages::{self, Dialect, Transcript};
use alloquy::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[derive(Debug)]
struct Remote {
    address: String,
}

#[async_trait::async_trait]
impl ChatModel for Remote {
    fn name(&self) -> &str {
        "remote"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        request.sampling.validate()?;
        if request.path.is_empty() || request.output.grammar.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, "the server takes messages and tools alone"));
        }
        let body = messages::write(Dialect::OpenAi, &Transcript::of(&request.preface, &request.path))?;
        let mut socket = TcpStream::connect(&self.address).await.map_err(failed)?;
        socket.write_all(format!("{body}\n").as_bytes()).await.map_err(failed)?;
        let deltas = futures::stream::try_unfold(BufReader::new(socket).lines(), async |mut lines| {
            let line = lines.next_line().await.map_err(failed)?;
            Ok(line.map(|line| (delta(&line), lines)))
        });
        // The server knows no sampling: each option that is set is reported as ignored.
        Ok(ReplyStream::of_deltas(&request, &[], deltas))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn delta(line: &str) -> Delta {
    match serde_json::from_str(line) {
        Ok(Value::Object(arguments)) => Delta::ToolCall(ToolCall::new("call_0", "sum", arguments.into())),
        _ => Delta::Text(line.to_owned()),
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Backend, "the server did not answer").with_source(error)
}

/// Answers a question with a call, and the result of one with a sentence.
async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (socket, _) = listener.accept().await?;
        let mut socket = BufReader::new(socket);
        let mut line = String::new();
        socket.read_line(&mut line).await?;
        let request: Value = serde_json::from_str(&line)?;
        let last = request.get("messages").and_then(|messages| messages.as_array()?.last());
        let result = last.filter(|last| last.get("role").is_some_and(|role| role == "tool"));
        let said = match result.and_then(|last| last.get("content")?.as_str()) {
            Some(result) => format!("It is \n{result}\n"),
            None => json!({"a": 19, "b": 23}).to_string() + "\n",
        };
        socket.write_all(said.as_bytes()).await?;
    }
}

#[derive(Debug)]
struct Sum;

#[async_trait::async_trait]
impl Tool for Sum {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("sum", "Adds two numbers", json!({"type": "object", "required": ["a", "b"]}))
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        Ok(["a", "b"].iter().filter_map(|name| arguments.get(name)?.as_i64()).sum::<i64>().into())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?.to_string();
    tokio::spawn(serve(listener));
    let manager = Manager::builder(Remote { address }).tool(Sum).build()?;
    let reply = manager.create(Preface::default()).await?.send("What is the sum of 19 and 23?").await?;
    println!("{} after {} model calls", reply.text(), reply.model_calls);
    Ok(())
}
