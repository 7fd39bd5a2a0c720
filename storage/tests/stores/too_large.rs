//! What a server of objects refuses for its size is the value's fault, and is not tried again.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::spawn;
use std::time::Duration;

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ErrorKind, Preface};
use alloquy_storage::BucketStore;
use object_store::aws::AmazonS3Builder;
use pollster::block_on;

use crate::me;

const EMPTY: &str = "<?xml version=\"1.0\"?><ListBucketResult><Name>b</Name><KeyCount>0</KeyCount>\
    <IsTruncated>false</IsTruncated></ListBucketResult>";

/// Has nothing, and takes nothing: every put is too large.
fn serve(mut stream: TcpStream, puts: &AtomicUsize, refusal: (&str, &str)) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    let head = loop {
        let count = stream.read(&mut piece)?;
        bytes.extend_from_slice(&piece[..count]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break String::from_utf8_lossy(&bytes[..end + 4]).to_ascii_lowercase();
        }
        if count == 0 {
            return Ok(());
        }
    };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    while bytes.len() < head.len() + length.unwrap_or(0) {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
    let (status, body) = if head.starts_with("put") {
        puts.fetch_add(1, Ordering::SeqCst);
        refusal
    } else {
        ("200 OK", EMPTY)
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nConnection: close\r\n");
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}")
}

#[test]
fn an_object_that_a_server_finds_too_large_is_invalid_and_put_once() {
    let too_large = "<?xml version=\"1.0\"?><Error><Code>EntityTooLarge</Code><Message>no</Message></Error>";
    for refusal in [("400 Bad Request", too_large), ("413 Payload Too Large", "")] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let puts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&puts);
        spawn(move || {
            for stream in listener.incoming().take(50) {
                // A client that goes away is no failure of this test.
                let _ = stream.and_then(|stream| serve(stream, &counted, refusal));
            }
        });
        let objects = AmazonS3Builder::new()
            .with_bucket_name("b")
            .with_region("us-east-1")
            .with_endpoint(endpoint)
            .with_allow_http(true)
            .with_access_key_id("nobody")
            .with_secret_access_key("nothing")
            .build()
            .unwrap();
        block_on(async {
            let store = BucketStore::new(Arc::new(objects), "").await.unwrap();
            let record = ConversationRecord::new("large".parse().unwrap(), Preface::default());
            let error = store.create(&me(), &record).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
        });
        assert_eq!(puts.load(Ordering::SeqCst), 1, "it is not tried again");
    }
}
