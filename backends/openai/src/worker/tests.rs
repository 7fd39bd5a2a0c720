//! Tests of what a reader sees of work that ends in some way.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may panic

use alloquy_core::{Error, ErrorKind, Result};
use futures::StreamExt;
use pollster::block_on;
use tokio::sync::mpsc;

use super::{Worker, item_stream};

#[test]
fn work_that_panics_is_the_last_item() {
    let worker = Worker::start().unwrap();
    let (sender, received) = mpsc::channel(4);
    let running = worker.spawn(async move {
        sender.send(Ok(1)).await.unwrap();
        panic!("of the test");
    });
    let all: Vec<Result<i32>> = block_on(item_stream(received, running.unwrap(), worker).collect());
    assert!(matches!(all.first(), Some(Ok(1))), "{all:?}");
    let error = all.get(1).unwrap().as_ref().unwrap_err();
    assert_eq!((all.len(), error.kind()), (2, ErrorKind::Backend));
    assert!(error.to_string().contains("panicked"), "{error}");
}

#[test]
fn work_that_ends_ends_the_stream() {
    let worker = Worker::start().unwrap();
    let (sender, received) = mpsc::channel(4);
    let running = worker.spawn(async move {
        sender.send(Ok(1)).await.unwrap();
        sender.send(Err(Error::new(ErrorKind::Busy, "of the test"))).await.unwrap();
    });
    let all: Vec<Result<i32>> = block_on(item_stream(received, running.unwrap(), worker).collect());
    assert_eq!(all.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn the_end_of_the_thread_is_the_last_item() {
    let worker = Worker::start().unwrap();
    let (sender, received) = mpsc::channel::<Result<i32>>(4);
    let running = worker.spawn(async move {
        // Nothing is sent, and the sender lives as long as the work.
        std::future::pending::<()>().await;
        drop(sender);
    });
    drop(worker);
    let all: Vec<Result<i32>> = block_on(item_stream(received, running.unwrap(), ()).collect());
    assert_eq!(
        all.iter().map(|item| item.as_ref().unwrap_err().kind()).collect::<Vec<_>>(),
        [ErrorKind::Backend]
    );
}
