//! Vectors of a server that answers.

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{ErrorKind, Owner};
use alloquy_openai::{RemoteEmbedder, RemoteEmbedderBuilder};
use alloquy_retrieval::{Embedder, Lookup, Passage, Retriever, TextKind, VectorFormat, VectorIndex, laws};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

use crate::stub::{Answer, DIMENSIONS, Stub, embeddings};

#[test]
fn the_remote_embedder_is_an_embedder() {
    let stub = Stub::new();
    let builders = [
        stub.embedder(),
        stub.embedder().batch_size(2),
        stub.embedder().dimensions(16),
        stub.embedder().max_characters(1_000),
        stub.embedder().query_prefix("query: ").passage_prefix("passage: "),
    ];
    for builder in builders {
        let embedder = block_on(builder.clone().connect()).unwrap();
        block_on(laws::embedder::all(&embedder)).unwrap();
    }
}

#[test]
fn a_request_has_the_fields_of_the_protocol() {
    let stub = Stub::new();
    let embedder = stub.connected();
    let probe = "Tea is grown in Assam, in Kenya, and on the slopes of Mount Fuji.";
    let shorter = "Tea is grown in Assam, in Kenya, and on the slopes of Mount";
    let expected = [
        json!({"model": "script", "input": [probe], "encoding_format": "float"}),
        json!({"model": "script", "input": [shorter, probe], "encoding_format": "float"}),
    ];
    assert_eq!(stub.requests(), expected);
    assert_eq!(embedder.dimensions(), DIMENSIONS);
    assert_eq!((embedder.info().model.as_str(), embedder.info().dimensions), ("script", DIMENSIONS));

    let builder =
        stub.embedder().model("tea").dimensions(8).passage_prefix("passage: ").query_prefix("query: ");
    let embedder = block_on(builder.batch_size(2).max_characters(4).connect()).unwrap();
    stub.requests();
    let found = block_on(embedder.embed(&["green tea", "", "cup", "茶茶茶茶茶"], TextKind::Passage)).unwrap();
    assert_eq!(found.cut, [0, 3]);
    let expected = [["passage: gree", "passage: "], ["passage: cup", "passage: 茶茶茶茶"]];
    let expected = expected
        .map(|input| json!({"model": "tea", "input": input, "encoding_format": "float", "dimensions": 8}));
    assert_eq!(stub.requests(), expected);
    block_on(embedder.embed(&["tea"], TextKind::Query)).unwrap();
    assert_eq!(stub.requests()[0]["input"], json!(["query: tea"]));
}

#[test]
fn a_server_that_mixes_up_the_texts_of_a_batch_is_refused() {
    let stub = Stub::new();
    let alone = embeddings(&json!({"input": ["tea"]}));
    let mixed = embeddings(&json!({"input": ["a", "Rain falls in April."]}));
    stub.plan([Answer::json(&alone), Answer::json(&mixed)]);
    let error = block_on(stub.embedder().connect()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(error.to_string().contains("`batch_size` to 1"), "{error}");
    stub.plan([Answer::json(&alone)]);
    assert!(block_on(stub.embedder().batch_size(1).connect()).is_ok(), "nothing is compared");
}

#[test]
fn texts_without_visible_characters_are_not_sent() {
    let stub = Stub::new();
    let embedder = stub.connected();
    stub.requests();
    let found = block_on(embedder.embed(&["", " \n"], TextKind::Passage)).unwrap();
    assert_eq!(found.vectors[0], found.vectors[1]);
    assert_eq!(found.vectors[0].len(), DIMENSIONS);
    assert!(stub.requests().is_empty());
}

fn digest(builder: RemoteEmbedderBuilder) -> Digest {
    block_on(builder.connect()).unwrap().digest()
}

#[test]
fn the_digest_is_that_of_what_changes_vectors() {
    let (stub, other) = (Stub::new(), Stub::new());
    let first = digest(stub.embedder());
    assert_eq!(first, digest(other.embedder()), "another address");
    assert_eq!(first, digest(stub.embedder().batch_size(1)), "another size of batches");
    let changed = [
        stub.embedder().model("other"),
        stub.embedder().revision("2"),
        stub.embedder().query_prefix("q"),
        stub.embedder().passage_prefix("q"),
        stub.embedder().dimensions(8),
        stub.embedder().max_characters(8),
    ];
    let mut digests = vec![first];
    for builder in changed {
        let digest = digest(builder);
        assert!(!digests.contains(&digest));
        digests.push(digest);
    }
}

#[test]
fn settings_of_zero_are_refused() {
    let stub = Stub::new();
    let builders =
        [stub.embedder().batch_size(0), stub.embedder().dimensions(0), stub.embedder().max_characters(0)];
    for builder in builders {
        assert_eq!(block_on(builder.connect()).err().map(|error| error.kind()), Some(ErrorKind::Invalid));
    }
    let error = block_on(RemoteEmbedder::connect("http://127.0.0.1:1/?a")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn a_vector_index_uses_it() {
    let stub = Stub::new();
    let embedder = Arc::new(stub.connected());
    let index = VectorIndex::new(embedder, VectorFormat::F32).unwrap();
    let owner = Owner::local();
    let passages =
        vec![Passage::new("1", "Rain falls in April."), Passage::new("2", "Tea is grown in Assam.")];
    block_on(index.add(&owner, passages)).unwrap();
    let found = block_on(index.find(&owner, &Lookup::new("Where is tea grown?"))).unwrap();
    assert_eq!(found.passages[0].id, "2");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_texts_have_the_vectors_that_they_have_alone(
        texts in prop::collection::vec(".{0,12}", 1..9),
        batch in 1_usize..5,
    ) {
        let stub = Stub::new();
        let embedder = block_on(stub.embedder().batch_size(batch).connect()).unwrap();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let together = block_on(embedder.embed(&texts, TextKind::Passage)).unwrap();
        prop_assert_eq!(together.vectors.len(), texts.len());
        for (text, vector) in texts.iter().zip(&together.vectors) {
            let alone = block_on(embedder.embed(&[text], TextKind::Passage)).unwrap();
            prop_assert_eq!(&alone.vectors[0], vector);
        }
    }
}
