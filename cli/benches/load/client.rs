//! The least client: a socket that sends a request and reads the answer, without looking into it more than the times need.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A connection that is kept.
pub(crate) struct Client(TcpStream);

/// When the parts of an answer came, from the moment before the request was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) first_byte: Duration,
    /// The event with the first word.
    pub(crate) first_word: Duration,
    pub(crate) whole: Duration,
    pub(crate) text: String,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        Ok(Self(stream))
    }

    /// Sends a request and returns.
    pub(crate) fn send(&mut self, path: &str, body: &Value) -> io::Result<()> {
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.0.write_all((head + &body).as_bytes())
    }

    /// Reads until something has come.
    pub(crate) fn read_some(&mut self) -> io::Result<usize> {
        self.0.read(&mut [0; 4096])
    }

    /// Sends a request and reads the answer to its end. The first word is in the event of this number.
    pub(crate) fn ask(&mut self, path: &str, body: &Value, event: usize) -> io::Result<Answer> {
        let begun = Instant::now();
        self.send(path, body)?;
        let mut answer = Answer::default();
        let mut bytes = Vec::new();
        let mut buffer = [0; 1 << 14];
        while !is_whole(&bytes) {
            let read = self.0.read(&mut buffer)?;
            if read == 0 && bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if read == 0 {
                // Some servers end an answer by closing the connection.
                break;
            }
            if bytes.is_empty() {
                answer.first_byte = begun.elapsed();
            }
            bytes.extend_from_slice(&buffer[..read]);
            answer.whole = begun.elapsed();
            if answer.first_word.is_zero() && events(&bytes) > event {
                answer.first_word = begun.elapsed();
            }
        }
        answer.text = String::from_utf8_lossy(&bytes).into_owned();
        answer.status = answer.text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_default();
        Ok(answer)
    }
}

fn events(bytes: &[u8]) -> usize {
    bytes.windows(6).filter(|window| window == b"data: ").count()
}

/// Returns whether an answer has ended: with its last chunk, or with as many bytes as its head says.
fn is_whole(bytes: &[u8]) -> bool {
    if bytes.ends_with(b"\r\n0\r\n\r\n") {
        return true;
    }
    let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    length
        .and_then(|length| length.trim().parse().ok())
        .is_some_and(|length: usize| bytes.len() >= head + 4 + length)
}
