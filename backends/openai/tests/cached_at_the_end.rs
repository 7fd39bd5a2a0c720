//! Servers that count what was cached only at the end: the reply has their number, and the reason of a miss.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod stub;

use std::sync::atomic::Ordering;

use alloquy_core::report::MissReason;
use alloquy_core::{Manager, Preface, SamplingOptions, TurnRequest};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_inference::LanguageModel;
use alloquy_openai::Dialect;
use alloquy_testing::{TaggedProcessor, TaggedTemplate};
use futures::TryStreamExt;
use stub::{Stub, prompt};

#[test]
fn the_number_comes_once_and_replaces_the_first_report() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        stub.shared.cached.store(7, Ordering::SeqCst);
        let events =
            stub.decoder().decode(DecodeRequest::new(prompt("Tell me: "), 3)).try_collect::<Vec<_>>();
        let mut reports = Vec::new();
        for event in pollster::block_on(events).unwrap() {
            if let DecodeEventKind::Prefilled(report) | DecodeEventKind::Cached(report) = event.kind {
                reports.push(report.cached);
            }
        }
        let expected = if dialect.reports_cache_first() { vec![7] } else { vec![0, 7] };
        assert_eq!(reports, expected, "{dialect:?}");
    }
}

#[test]
fn replies_have_the_number() {
    let stub = Stub::new(Dialect::Vllm);
    let model = LanguageModel::builder(stub.decoder()).template(TaggedTemplate).processor(TaggedProcessor);
    let manager = Manager::builder(model.build().unwrap()).build().unwrap();
    pollster::block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        let first = conversation.send("Hi").await.unwrap();
        assert_eq!(first.reply.cache.unwrap().cached, 0);
        stub.shared.cached.store(48, Ordering::SeqCst);
        let second = conversation.send("And then?").await.unwrap();
        let cache = second.reply.cache.unwrap();
        assert_eq!((cache.cached, cache.computed), (48, cache.prompt - 48));
        assert_eq!(second.reply.usage.cached, 48);
        // The server has lost it.
        stub.shared.cached.store(0, Ordering::SeqCst);
        let third = conversation.send("And then?").await.unwrap();
        assert_eq!(third.reply.cache.unwrap().miss, Some(MissReason::Evicted));
        // A connection that is closed early has no number, and the first report counts.
        stub.shared.cached.store(48, Ordering::SeqCst);
        let stop = SamplingOptions { stop: vec!["tale".to_owned()], ..SamplingOptions::default() };
        let cut = conversation.send(TurnRequest::from("And then?").sampling(stop)).await.unwrap();
        assert_eq!(cut.reply.cache.unwrap().cached, 0);
    });
}
