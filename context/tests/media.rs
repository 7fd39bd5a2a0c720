//! Media count with the positions that they take of the context.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_context::{DropPolicy, HistoryDrop};
use alloquy_core::report::Warning;
use alloquy_core::{Content, Manager, Media, Message, Preface, Role, TurnRequest};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{ScriptedEngine, ScriptedMedia, TaggedProcessor, TaggedTemplate};
use pollster::block_on;

#[test]
fn a_policy_drops_the_image_that_no_longer_fits() {
    let script = [("What?<end><assistant>", "A cat."), ("And now?<end><assistant>", "It sleeps.")];
    let engine = ScriptedEngine::new(script).media(ScriptedMedia::default()).context_length(130);
    let model =
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(TaggedTemplate)
            .processor(TaggedProcessor)
            .build()
            .unwrap();
    let policy = HistoryDrop::new(model.clone(), DropPolicy::new(130)).unwrap();
    let manager = Manager::builder(model).middleware(policy).build().unwrap();
    block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        let image = Content::Image(Media::new("image/png", vec![7; 80]));
        let question = Message::new(Role::User, vec![image, Content::Text("What?".into())]);
        let first = conversation.send(TurnRequest::from(vec![question])).finish().await.unwrap();
        assert_eq!(first.reply.warnings, []);
        let second = conversation.send("And now?").finish().await.unwrap();
        let [Warning::HistoryShifted { dropped: 2, .. }] = second.reply.warnings[..] else {
            panic!("{:?}", second.reply.warnings)
        };
    });
}
