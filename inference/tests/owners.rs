//! Owners: what one of them has sent is neither reused nor reported for another one, unless the host allows it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::chat_model::Origin;
use alloquy_core::report::CacheReport;
use alloquy_core::{ChatModel, Message, Owner, Preface, Request};
use alloquy_inference::{DraftModel, Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{NoiseEngine, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use proptest::prelude::*;

fn over(generator: Generator, is_shared: bool) -> LanguageModel {
    let builder = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor);
    builder.share_cache(is_shared).build().unwrap()
}

fn model(is_shared: bool) -> LanguageModel {
    let engine = ScriptedEngine::new([("<user>a<end><assistant>", "b")]);
    over(Generator::new(Arc::new(engine), 8).unwrap(), is_shared)
}

/// A request of an owner; of none without a name.
fn request(owner: Option<&str>, text: &str) -> Request {
    let request = Request::new(Preface::system("You are a patient teacher."), vec![Message::user(text)]);
    match owner {
        Some(owner) => request.origin(Origin::new(owner.parse().unwrap(), "letters".parse().unwrap())),
        None => request,
    }
}

fn ask(model: &LanguageModel, owner: Option<&str>, text: &str) -> CacheReport {
    let reply = pollster::block_on(async { model.reply(request(owner, text)).await?.finish().await });
    reply.unwrap().cache.unwrap()
}

#[test]
fn an_owner_reuses_only_what_it_has_sent() {
    let model = model(false);
    let first = ask(&model, Some("ann"), "a");
    let others = ask(&model, Some("bob"), "a");
    assert_eq!((first.cached, others.cached), (0, 0));
    // A reason or a difference would say that somebody has sent it, too.
    assert_eq!((others.miss, others.first_difference), (None, None));
    assert_eq!(ask(&model, Some("ann"), "a").computed, 1);
    assert_eq!(ask(&model, Some("bob"), "a").computed, 1);
}

#[test]
fn a_host_may_let_owners_share() {
    let model = model(true);
    ask(&model, Some("ann"), "a");
    assert_eq!(ask(&model, Some("bob"), "a").computed, 1);
    assert_eq!(ask(&model, None, "a").computed, 1);
}

#[test]
fn this_machine_and_requests_without_an_origin_are_one() {
    let model = model(false);
    ask(&model, None, "a");
    assert_eq!(ask(&model, Some(Owner::local().as_str()), "a").computed, 1);
    assert_eq!(ask(&model, Some("ann"), "a").cached, 0);
}

#[test]
fn what_is_warmed_and_saved_has_an_owner() {
    let engine = ScriptedEngine::new([("<user>a<end><assistant>", "b")]);
    let model = over(Generator::new(Arc::new(engine.clone()), 8).unwrap(), false);
    pollster::block_on(async {
        model.warm(request(Some("ann"), "a")).await.unwrap();
        assert!(model.snapshot(&request(Some("bob"), "a")).await.is_err());
        assert!(model.snapshot(&request(None, "a")).await.is_err());
        let bytes = model.snapshot(&request(Some("ann"), "a")).await.unwrap().bytes().to_vec();
        let later = over(Generator::new(Arc::new(engine), 8).unwrap(), false);
        later.restore_for(&"ann".parse().unwrap(), bytes).await.unwrap();
        assert_eq!(ask(&later, Some("bob"), "a").cached, 0);
        assert_eq!(ask(&later, None, "a").cached, 0);
        assert_eq!(ask(&later, Some("ann"), "a").computed, 1);
    });
}

/// A model whose replies have drafts from a smaller one, which has sessions of its own.
fn drafting() -> LanguageModel {
    let draft = DraftModel::from(Arc::new(NoiseEngine::new([])) as Arc<dyn alloquy_engine::Engine>);
    let options = GeneratorOptions::default();
    over(Generator::with_draft(Arc::new(NoiseEngine::new([])), draft, options).unwrap(), false)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// What an owner is reported is what it would be reported alone, whatever others send in between.
    #[test]
    fn reports_do_not_depend_on_others(
        asked in prop::collection::vec((0_usize..3, "[ab]{0,3}"), 1..10),
        has_drafts in any::<bool>(),
    ) {
        let owners = ["ann", "bob", "cem"];
        let fresh = || if has_drafts { drafting() } else { model(false) };
        let shared = fresh();
        let alone = [fresh(), fresh(), fresh()];
        for (owner, text) in &asked {
            let among_others = ask(&shared, Some(owners[*owner]), text);
            let by_itself = ask(&alone[*owner], Some(owners[*owner]), text);
            // Room is what owners do share: a session may be dropped for another one, so the test stays below it.
            prop_assert_eq!(among_others, by_itself);
        }
    }
}
