//! HTTP as a stub serves it: one request a connection.
#![allow(dead_code)] // not every test reads all of it

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::Value;

/// What a client sent.
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) head: String,
    /// The body, or null if it is no JSON.
    pub(crate) body: Value,
}

/// Serves each request on a thread of its own. Returns the address.
pub(crate) fn serve(handle: impl Fn(&mut TcpStream, Asked) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let handle = Arc::new(handle);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let handle = Arc::clone(&handle);
            thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                if let Some(asked) = read(&stream) {
                    handle(&mut stream, asked);
                }
            });
        }
    });
    url
}

/// Reads a request; `None` if the client closes the connection first.
fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return None;
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    let mut head = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        head += &line;
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Asked { path, head, body })
}

pub(crate) fn respond(stream: &mut TcpStream, status: u16, headers: &str, body: &str) {
    respond_bytes(stream, status, headers, body.as_bytes());
}

pub(crate) fn respond_bytes(stream: &mut TcpStream, status: u16, headers: &str, body: &[u8]) {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n");
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

/// Answers with a stream of events.
pub(crate) fn respond_with_events(stream: &mut TcpStream, events: &[u8]) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(events);
}
