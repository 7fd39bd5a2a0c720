//! A chat over HTTP: `POST /chat/{id}` streams the answer as server-sent events. A client goes away in the middle of one, and the
//! next request continues the conversation.

use std::convert::Infallible;
use std::time::Duration;

use alloquy::core::Delta;
use alloquy::prelude::*;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::routing::get;
use axum::{Json, Router};
use futures::stream::BoxStream;

type Events = Sse<BoxStream<'static, Result<Event, Infallible>>>;

/// A status and why.
type Failure = (StatusCode, String);

fn or_failure<T>(result: Result<T>) -> Result<T, Failure> {
    result.map_err(|error| {
        let status = StatusCode::from_u16(error.kind().http_status()).unwrap_or_default();
        (status, format!("{error:#}"))
    })
}

async fn chat(manager: &Manager, id: &str) -> Result<Conversation, Failure> {
    or_failure(manager.open_or_create(&or_failure(id.parse())?, Preface::default()).await)
}

async fn say(
    State(manager): State<Manager>,
    Path(id): Path<String>,
    text: String,
) -> Result<Events, Failure> {
    Ok(Sse::new(chat(&manager, &id).await?.send(text).map(|event| Ok(shown(event))).boxed()))
}

fn shown(event: Result<TurnEvent>) -> Event {
    let (name, data) = match event {
        Ok(TurnEvent::Delta(Delta::Text(text))) => ("text", text),
        Ok(TurnEvent::Finished(reply)) => ("end", reply.text()),
        Ok(_) => return Event::default().comment("more"),
        Err(error) => ("error", format!("{error:#}")),
    };
    Event::default().event(name).json_data(data).unwrap_or_default()
}

async fn history(State(manager): State<Manager>, Path(id): Path<String>) -> Result<Json<Vec<Node>>, Failure> {
    or_failure(chat(&manager, &id).await?.history().await.map(Json))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let manager = Model::pocket()?.manager().build()?;
    let app = Router::new().route("/chat/{id}", get(history).post(say)).with_state(manager);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/chat/tea", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, app).await });

    // The client of a workspace that has other uses for it asks for this, though nothing is encrypted here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    let mut answer = client.post(&url).body("Count from 1 to 9.").send().await?;
    for _ in 0..4 {
        answer.chunk().await?;
    }
    // The server sees that the client has gone, and keeps what was said.
    drop(answer);
    let mut kept = String::new();
    for _ in 0..500 {
        kept = client.get(&url).send().await?.text().await?;
        if kept.contains("interrupted") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{kept}");
    println!("{}", client.post(&url).body("What is the capital of Portugal?").send().await?.text().await?);
    Ok(())
}
