//! What a server is, without a model that is opened on it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

mod stub;

use alloquy_core::ErrorKind;
use alloquy_openai::{Dialect, RemoteReport, RemoteServer};
use stub::Stub;

fn inspected(server: &RemoteServer, dialect: Option<Dialect>) -> RemoteReport {
    pollster::block_on(server.inspect(dialect)).unwrap()
}

#[test]
fn a_server_says_its_dialect_its_models_and_their_contexts() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let report = inspected(&stub.server(), None);
        assert_eq!((report.dialect, report.url.as_str()), (dialect, stub.url.as_str()));
        assert_eq!((report.models.len(), report.models[0].name.as_str()), (1, "script"));
        // That of llama.cpp is the context of a slot.
        let context = if dialect == Dialect::LlamaCpp { 512 } else { 1024 };
        assert_eq!(report.models[0].context_length, Some(context));
        let version = (dialect == Dialect::LlamaCpp).then(|| "b1".to_owned());
        assert_eq!(report.version, version);
        let set = inspected(&stub.server(), Some(Dialect::Completions));
        assert_eq!((set.dialect, set.version), (Dialect::Completions, None));
        assert!(stub.shared.requests.lock().unwrap().is_empty());
    }
}

#[test]
fn no_server_is_an_error_that_names_the_address() {
    let absent = pollster::block_on(RemoteServer::at("http://127.0.0.1:9").inspect(None)).unwrap_err();
    assert_eq!(absent.kind(), ErrorKind::Backend);
    assert!(absent.to_string().contains("http://127.0.0.1:9"), "{absent}");
    let invalid = pollster::block_on(RemoteServer::at("localhost").inspect(None)).unwrap_err();
    assert_eq!(invalid.kind(), ErrorKind::Invalid);
}

#[test]
fn dialects_differ_in_what_they_can_do() {
    let grammars = ["JSON Schema", "regular expression", "choice", "Lark"];
    assert_eq!(Dialect::Vllm.grammars(), grammars);
    assert_eq!(Dialect::Completions.grammars(), ["JSON Schema"]);
    assert!(Dialect::Vllm.has_scores() && !Dialect::LlamaCpp.has_scores());
    for dialect in Dialect::ALL {
        assert!(dialect.ignored_options().contains(&"no_repeat_ngram"), "{dialect:?}");
        assert!(!dialect.ignored_options().contains(&"temperature"), "{dialect:?}");
    }
}
