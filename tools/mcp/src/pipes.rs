//! The protocol over the standard streams of a program, one message a line. A line that is too long or cannot be parsed fails
//! the call that it answers at once, and the next line is read.

use std::sync::Arc;

use memchr::memchr;
use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use crate::scanner::Scanner;

/// The code of errors that are made on this side.
const OURS: ErrorCode = ErrorCode(-32_000);

/// A line is read to its end up to this many times the limit. After that the connection ends, because the line may never do.
const PATIENCE: usize = 64;

/// Both directions of the connection.
pub(crate) struct Pipes<R, W> {
    output: BufReader<R>,
    /// `None` once it is closed.
    input: Arc<Mutex<Option<W>>>,
    /// The line so far. It is kept here, because the future that reads may be dropped at any time.
    line: Vec<u8>,
    /// The scanner of a line that is too long to be kept, and how many bytes of it were read.
    too_long: Option<(Scanner, usize)>,
    longest: usize,
}

impl<R: AsyncRead + Unpin, W> Pipes<R, W> {
    /// Returns a transport over the output and the input of a program, whose messages may have `longest` bytes.
    pub(crate) fn new(output: R, input: W, longest: usize) -> Self {
        Self {
            output: BufReader::with_capacity(1 << 16, output),
            input: Arc::new(Mutex::new(Some(input))),
            line: Vec::new(),
            too_long: None,
            longest,
        }
    }

    /// Reads to the end of a line. `None` at the end of the output; an unfinished line there is not a message.
    async fn line(&mut self) -> Option<()> {
        loop {
            let bytes = self.output.fill_buf().await.ok()?;
            if bytes.is_empty() {
                return None;
            }
            let end = memchr(b'\n', bytes);
            let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            if let Some((scanner, seen)) = &mut self.too_long {
                scanner.see(piece);
                *seen += piece.len();
                if *seen / PATIENCE > self.longest {
                    tracing::warn!("a program wrote a line of more than {seen} bytes, and is given up");
                    return None;
                }
            } else if self.line.len() + piece.len() > self.longest {
                // From here on only the id is looked for, so that the call can be failed at the end of the line.
                let mut scanner = Scanner::default();
                scanner.see(&self.line);
                scanner.see(piece);
                let seen = self.line.len() + piece.len();
                self.line = Vec::new();
                self.too_long = Some((scanner, seen));
            } else {
                self.line.extend_from_slice(piece);
            }
            let read = piece.len() + usize::from(end.is_some());
            self.output.consume(read);
            if end.is_some() {
                return Some(());
            }
        }
    }

    /// Takes the line as a message. `None` when it is not a message and answers no call.
    fn message(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if let Some((scanner, _)) = self.too_long.take() {
            return failed(
                &scanner,
                format!("the server's answer has more than {} bytes, which is the limit", self.longest),
            );
        }
        let line = std::mem::take(&mut self.line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        match serde_json::from_slice(&line) {
            Ok(message) => Some(message),
            Err(error) => {
                let mut scanner = Scanner::default();
                scanner.see(&line);
                failed(&scanner, format!("the server's answer cannot be read: {error}"))
            }
        }
    }
}

/// Returns an error for the call that a message answers. A line that answers no call is skipped: some programs print other
/// text, too.
fn failed(scanner: &Scanner, message: String) -> Option<RxJsonRpcMessage<RoleClient>> {
    let Some(id) = scanner.answered() else {
        tracing::warn!("a line that is no message was passed over: {message}");
        return None;
    };
    Some(JsonRpcMessage::error(ErrorData::new(OURS, message, None), Some(id)))
}

impl<R, W> Transport<RoleClient> for Pipes<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let input = Arc::clone(&self.input);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let Some(input) = input.as_mut() else { return Err(std::io::ErrorKind::NotConnected.into()) };
            input.write_all(&line).await?;
            input.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            self.line().await?;
            if let Some(message) = self.message() {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // A write in progress holds the lock, and never ends if the program does not read.
        if let Ok(mut input) = self.input.try_lock() {
            input.take();
        }
        Ok(())
    }
}
