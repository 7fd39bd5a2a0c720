//! A client of `alloquy serve`, and servers as processes.
#![allow(dead_code)] // each test file uses its part

use std::io::{BufRead as _, BufReader, Error, ErrorKind, Read as _, Result, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns a header by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// Sends a request on a connection of its own.
///
/// # Errors
/// When the server is not there, or ends before the response does.
pub(crate) fn send(
    port: u16,
    method: &str,
    path: &str,
    headers: &str,
    body: Option<&Value>,
) -> Result<Answer> {
    send_to(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), method, path, headers, body)
}

/// Sends a request on a connection of its own to a server at any address.
///
/// # Errors
/// As [`send`].
pub(crate) fn send_to(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: Option<&Value>,
) -> Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         {headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return Err(cut()) };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
    let answer = Answer { status, head: head.to_owned(), body: body.to_owned() };
    // A body that is shorter than its length was cut when the server was killed.
    match answer.header("content-length").and_then(|length| length.parse::<usize>().ok()) {
        Some(length) if length != body.len() => Err(cut()),
        _ => Ok(answer),
    }
}

fn cut() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "the response was cut")
}

/// A server that runs, and is killed when this is dropped.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) port: u16,
    log: Receiver<String>,
}

impl Served {
    /// Waits until a server listens, whose standard error is a pipe.
    pub(crate) fn of(mut child: Child) -> Self {
        let errors = child.stderr.take().expect("standard error is a pipe");
        let (sender, log) = channel();
        // The pipe is read to its end, so that the server never waits for it.
        thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut server = Self { child, port: 0, log };
        let line = server.line("serving at http://");
        let (_, rest) = line.split_once("http://").expect("a URL");
        let address = rest.split('/').next().expect("an address");
        server.port = address.parse::<SocketAddr>().expect("an address and a port").port();
        server
    }

    /// Waits for a line of the log that contains these words.
    pub(crate) fn line(&self, words: &str) -> String {
        let mut seen = Vec::new();
        loop {
            match self.log.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => seen.push(line),
                Err(_) => panic!("the server did not say {words:?} but {seen:?}"),
            }
        }
    }

    /// Returns the lines of the log that were not read yet.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.log.try_iter().collect()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
