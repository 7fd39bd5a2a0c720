//! A conversation over a remote decoder: a reply that breaks off is kept, and the next turn succeeds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod stub;

use std::sync::atomic::Ordering;

use alloquy_core::tree::NodeStatus;
use alloquy_core::turn::PartialReplyPolicy;
use alloquy_core::{Manager, Preface};
use alloquy_inference::LanguageModel;
use alloquy_openai::Dialect;
use alloquy_testing::{TaggedProcessor, TaggedTemplate, laws};
use stub::{Answer, SCRIPT, Stub};

fn model(stub: &Stub) -> LanguageModel {
    LanguageModel::builder(stub.decoder())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

#[test]
fn a_reply_that_breaks_off_anywhere_is_kept() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let manager =
            Manager::builder(model(&stub)).partial_replies(PartialReplyPolicy::Keep).build().unwrap();
        pollster::block_on(async {
            let conversation = manager.create(Preface::default()).await.unwrap();
            let whole = conversation.send("Hi").await.unwrap();
            assert_eq!(whole.text(), SCRIPT);
            let length = stub.shared.length.load(Ordering::SeqCst);
            for at in (0..length).step_by(length / 40 + 1) {
                stub.plan([Answer::Torn(at)]);
                let turn = conversation.send("Hi").finish().await;
                let history = conversation.history().await.unwrap();
                match turn {
                    Ok(reply) if reply.text() == SCRIPT => {}
                    Ok(reply) => {
                        assert!(SCRIPT.starts_with(&reply.text()), "{:?}", reply.text());
                        assert!(reply.reply.error.is_some(), "{dialect:?} cut at byte {at}");
                        assert_eq!(history.last().unwrap().status, NodeStatus::Interrupted);
                    }
                    // Nothing was said, so the question is not asked.
                    Err(_) => assert_eq!(history.last().unwrap().message.text(), SCRIPT),
                }
                conversation.goto(whole.node).await.unwrap();
            }
            let next = conversation.send("And then?").await.unwrap();
            assert_eq!(next.text(), SCRIPT);
        });
    }
}

#[test]
fn a_language_model_over_a_remote_decoder_is_a_chat_model() {
    let stub = Stub::new(Dialect::Vllm);
    let request = alloquy_core::Request::new(Preface::default(), vec![alloquy_core::Message::user("Hi")]);
    pollster::block_on(laws::chat_model::all(&model(&stub), &request));
}
