//! The chat model: a request to a server, and the reply from its events.

use std::fmt;
use std::sync::Arc;

use alloquy_core::report::CacheReport;
use alloquy_core::stream::Emitter;
use alloquy_core::{ChatModel, Delta, Error, ErrorKind, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use futures::{Stream, StreamExt, stream};
use tokio::sync::mpsc;

use super::assembly::{Assembly, Cut};
use super::clock::Clock;
use super::completions::seed;
use super::event::ChatEvent;
use super::protocol::ChatProtocol;
use super::question::Question;
use super::transfer::ChatTransfer;
use crate::http::Http;
use crate::probe;
use crate::worker::{Running, Worker};

/// How many events the thread of the connection may be ahead of the reader.
const AHEAD: usize = 64;

/// A model on a server that takes messages, and no ids.
///
/// It is for servers where [`RemoteDecoder`](crate::RemoteDecoder) has nothing to connect to. The server renders the prompt, so
/// [`Reply::tokens`](alloquy_core::Reply::tokens) is empty, [`Reply::cache`](alloquy_core::Reply::cache) is `None`, and a text
/// with a control token is the server's to handle.
///
/// ```no_run
/// use alloquy_core::{Manager, Preface};
/// use alloquy_openai::RemoteChat;
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let model = RemoteChat::connect("http://localhost:8000").await?;
/// let manager = Manager::builder(model).build()?;
/// let conversation = manager.create(Preface::system("Be brief.")).await?;
/// println!("{}", conversation.send("Hello!").await?.text());
/// # Ok(())
/// # }
/// ```
pub struct RemoteChat {
    pub(crate) connection: Arc<ChatConnection>,
}

/// What every request to one server needs.
pub(crate) struct ChatConnection {
    pub(crate) worker: Worker,
    pub(crate) http: Arc<Http>,
    pub(crate) protocol: ChatProtocol,
    pub(crate) model: String,
    /// The name that the limit of a reply has in Chat Completions.
    pub(crate) limit: &'static str,
}

impl RemoteChat {
    /// Returns the protocol of the endpoint. [`RemoteChatBuilder`](crate::RemoteChatBuilder) has an example.
    pub fn protocol(&self) -> ChatProtocol {
        self.connection.protocol
    }

    /// Asks the server for the names of its models. [`RemoteChatBuilder`](crate::RemoteChatBuilder) has an example.
    ///
    /// # Errors
    /// Why the server does not answer.
    pub async fn models(&self) -> Result<Vec<String>> {
        let http = Arc::clone(&self.connection.http);
        let found = self.connection.worker.run(async move { probe::models(&http).await }).await??;
        Ok(found.iter().filter_map(probe::name_of).map(str::to_owned).collect())
    }

    /// Sends a request. Returns the events of its reply, and what ends it when it is dropped.
    fn started(&self, body: String) -> Result<(mpsc::Receiver<Result<ChatEvent>>, Running<()>)> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let transfer = ChatTransfer {
            http: Arc::clone(&self.connection.http),
            protocol: self.connection.protocol,
            body,
            events: sender,
        };
        let running = self.connection.worker.spawn(transfer.run())?;
        Ok((receiver, running))
    }
}

#[async_trait]
impl ChatModel for RemoteChat {
    fn name(&self) -> &str {
        &self.connection.model
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let mut question = Question::of(&self.connection.model, &request)?;
        question.limit = self.connection.limit;
        let protocol = self.connection.protocol;
        let body = protocol.body(&mut question)?.to_string();
        let is_seeded = protocol.has_seeds() && seed(&request.sampling).is_some();
        let seed = request.sampling.seed.filter(|_| is_seeded);
        let assembly = Assembly::new(&request, question, seed);
        let mut clock = Clock::start();
        let (mut receiver, running) = self.started(body)?;
        let events = stream::poll_fn(move |context| receiver.poll_recv(context));
        let mut events = request.stop.cut(events);
        // A server that refuses the request does so here. A stop signal ends the wait.
        if let Some(first) = events.next().await {
            first?;
        }
        clock.accepted();
        let connection = Arc::clone(&self.connection);
        Ok(ReplyStream::new(move |emit| async move {
            let reply = assembled(events, running, request, assembly, clock, emit).await;
            // The thread of the connection lives as long as the stream.
            drop(connection);
            reply
        }))
    }

    /// Returns `None`: no chat endpoint computes a prompt ahead.
    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// Emits the deltas of a reply, and returns it.
async fn assembled(
    mut events: impl Stream<Item = Result<ChatEvent>> + Send + Unpin,
    running: Running<()>,
    request: Request,
    mut assembly: Assembly,
    mut clock: Clock,
    mut emit: Emitter<Delta>,
) -> Result<Reply> {
    let mut cut = None;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                clock.received(&event);
                emit.send_all(assembly.take(event)).await;
            }
            Err(failure) => {
                cut = Some(Cut::Failed(failure));
                break;
            }
        }
        if assembly.is_stopped() {
            break;
        }
    }
    // It closes the connection, so that the server stops generating.
    drop(running);
    let is_complete = assembly.has_ended() || assembly.is_stopped();
    if !is_complete && cut.is_none() {
        cut = Some(if request.stop.is_stopped() { Cut::Cancelled } else { Cut::Failed(ended()) });
    }
    if let Some(failure) = assembly.failure() {
        return Err(failure);
    }
    match cut {
        Some(Cut::Failed(failure)) if assembly.is_empty() => Err(failure),
        cut => {
            emit.send_all(assembly.close()).await;
            let mut reply = assembly.reply(cut);
            reply.timing = Some(clock.timing(reply.usage.generated));
            Ok(reply)
        }
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Backend, "the thread that speaks to the server has ended")
}

impl fmt::Debug for RemoteChat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connection = &self.connection;
        formatter
            .debug_struct("RemoteChat")
            .field("protocol", &connection.protocol)
            .field("address", &connection.http.address())
            .field("model", &connection.model)
            .finish_non_exhaustive()
    }
}
