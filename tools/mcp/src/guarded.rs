//! Protects a connection against a flood: notifications and requests of the server are read at a limited rate, and nothing is
//! read while many messages wait to be sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How many notifications and requests of the server are read in a second. Further ones wait in the pipe.
const UNASKED: usize = 500;

/// How many messages may wait to be sent before reading pauses.
const WAITING: usize = 64;

/// A transport that is read at a limited rate.
pub(crate) struct Guarded<T> {
    transport: T,
    waiting: Arc<Waiting>,
    /// When the second began in which messages are counted.
    second: Instant,
    /// How many notifications and requests came in this second.
    unasked: usize,
}

impl<T> Guarded<T> {
    pub(crate) fn new(transport: T) -> Self {
        Self { transport, waiting: Arc::default(), second: Instant::now(), unasked: 0 }
    }

    /// Waits until another message may be read. The future may be dropped, and the method called again.
    async fn calm(&mut self) {
        self.waiting.fewer().await;
        let end = self.second + Duration::from_secs(1);
        if self.unasked >= UNASKED {
            sleep_until(end).await;
        }
        if Instant::now() >= end {
            self.second = Instant::now();
            self.unasked = 0;
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Guarded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let message_waits = Waits::of(&self.waiting);
        let sent = self.transport.send(message);
        async move {
            let _message_waits = message_waits;
            sent.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.calm().await;
        let message = self.transport.receive().await?;
        if matches!(message, JsonRpcMessage::Notification(_) | JsonRpcMessage::Request(_)) {
            self.unasked += 1;
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

/// Counts the messages that wait to be sent.
#[derive(Default)]
struct Waiting {
    count: AtomicUsize,
    sent: Notify,
}

impl Waiting {
    /// Waits until fewer than [`WAITING`] messages wait.
    async fn fewer(&self) {
        loop {
            let sent = self.sent.notified();
            if self.count.load(Ordering::SeqCst) < WAITING {
                return;
            }
            sent.await;
        }
    }
}

/// A message that is counted until this is dropped.
struct Waits(Arc<Waiting>);

impl Waits {
    fn of(waiting: &Arc<Waiting>) -> Self {
        waiting.count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(waiting))
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.sent.notify_waiters();
    }
}
