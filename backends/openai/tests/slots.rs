//! The slots of llama.cpp's server: which request goes to which, in what order, and how they are saved. What needs a real server
//! says when it skips.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod llama;
mod stub;

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ErrorKind, Manager, Preface, Result, SamplingOptions};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder, SnapshotError, SnapshotIdentity};
use alloquy_inference::LanguageModel;
use alloquy_openai::{Dialect, RemoteDecoder, RemoteTimeouts};
use alloquy_testing::{TaggedProcessor, TaggedTemplate};
use futures::StreamExt;
use futures::future::join_all;
use llama::Llama;
use pollster::block_on;
use serde_json::Value;
use stub::{Answer, SCRIPT, Stub};

/// How many tokens all branches have in common.
const STEM: usize = 400;

/// How many tokens a reply has.
const REPLY: usize = 4;

fn connect(server: &Llama) -> RemoteDecoder {
    block_on(RemoteDecoder::connect(&server.url, server.models.join("stories260k-hf64"))).unwrap()
}

/// A decoder that leaves the choice of slots to the server.
fn connect_plainly(server: &Llama) -> RemoteDecoder {
    let folder = server.models.join("stories260k-hf64");
    block_on(RemoteDecoder::builder(&server.url, folder).slots_by_server().connect()).unwrap()
}

/// Tokens that look random and are the same each time.
fn tokens(seed: u32, count: usize) -> Vec<TokenId> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut ids = Vec::with_capacity(count);
    for _ in 0..count {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ids.push(3 + (state >> 16) % 500);
    }
    ids
}

/// The stem, and a branch of its own.
fn branch(number: u32) -> Vec<TokenId> {
    [stem(), tokens(100 + number, 20)].concat()
}

fn stem() -> Vec<TokenId> {
    [vec![1], tokens(7, STEM - 1)].concat()
}

/// A prompt of another conversation.
fn unrelated(number: u32) -> Vec<TokenId> {
    [vec![1], tokens(1_000 + number, 200)].concat()
}

fn request(ids: &[TokenId], limit: usize) -> DecodeRequest {
    let prompt = Prompt { units: ids.iter().copied().map(PromptUnit::Token).collect() };
    DecodeRequest::new(prompt, limit)
}

/// Waits for a reply that is asked for already.
async fn report(mut events: alloquy_engine::decoder::TokenStream) -> Result<CacheReport> {
    let mut report = CacheReport::default();
    while let Some(event) = events.next().await {
        if let DecodeEventKind::Prefilled(prefilled) = event?.kind {
            report = prefilled;
        }
    }
    Ok(report)
}

fn ask(decoder: &RemoteDecoder, ids: &[TokenId]) -> CacheReport {
    block_on(report(decoder.decode(request(ids, REPLY)))).unwrap()
}

/// Returns which share of the stem eight branches reuse, one after the other, with two prompts of other conversations after
/// each.
fn in_turn(decoder: &RemoteDecoder) -> f64 {
    let mut reused = 0;
    ask(decoder, &branch(0));
    ask(decoder, &branch(0));
    for number in 0..8 {
        ask(decoder, &unrelated(2 * number));
        ask(decoder, &unrelated(2 * number + 1));
        reused += ask(decoder, &branch(number + 1)).cached.min(STEM);
    }
    reused as f64 / (8 * STEM) as f64
}

/// As [`in_turn`], when all are asked at once.
fn at_once(decoder: &RemoteDecoder) -> f64 {
    ask(decoder, &branch(0));
    let mut asked = Vec::new();
    for number in 0..8 {
        asked.push(decoder.decode(request(&unrelated(number), REPLY)));
        asked.push(decoder.decode(request(&branch(number + 1), REPLY)));
    }
    let reports = block_on(join_all(asked.into_iter().map(report)));
    let branches = reports.into_iter().skip(1).step_by(2);
    let reused: usize = branches.map(|report| report.unwrap().cached.min(STEM)).sum();
    reused as f64 / (8 * STEM) as f64
}

#[test]
fn eight_branches_reuse_their_stem_in_two_slots() {
    // The server's own copies of prompts in memory would hide the order: with a large model they have no room there.
    let settings = ["cache_ram_mib=0"];
    for (name, measured) in [("in turn", in_turn as fn(&RemoteDecoder) -> f64), ("at once", at_once)] {
        let Some(server) = Llama::with_slots("2", &settings) else { return };
        let ours = measured(&connect(&server));
        let Some(server) = Llama::with_slots("2", &settings) else { return };
        let plain = measured(&connect_plainly(&server));
        println!("{name}: {ours:.3} of the stem is reused, {plain:.3} as the server chooses");
        assert!(ours >= 0.9, "{name}: {ours}");
        // At once, the server's own choice depends on times and may be as good by luck.
        assert!(plain < 0.9 || name == "at once", "{name}: {plain}");
    }
}

#[test]
fn a_conversation_whose_slot_was_taken_has_the_reason() {
    let Some(server) = Llama::with_slots("1", &["cache_ram_mib=0"]) else { return };
    let decoder = connect(&server);
    assert_eq!(decoder.description().slots, Some(1));
    ask(&decoder, &branch(0));
    let again = ask(&decoder, &branch(0));
    assert_eq!((again.cached, again.miss), (STEM + 19, None));
    ask(&decoder, &unrelated(0));
    let taken = ask(&decoder, &branch(0));
    assert_eq!((taken.cached, taken.miss), (1, Some(MissReason::Evicted)));
}

#[test]
fn another_program_at_the_server_is_noticed() {
    let Some(server) = Llama::with_slots("2", &["cache_ram_mib=0"]) else { return };
    let [one, other] = [connect(&server), connect(&server)];
    ask(&one, &branch(0));
    // It knows nothing of the first one, and takes the same slots.
    ask(&other, &unrelated(0));
    ask(&other, &unrelated(1));
    let taken = ask(&one, &branch(1));
    assert_eq!((taken.cached, taken.miss), (1, Some(MissReason::Evicted)));
    assert_eq!(ask(&one, &branch(2)).cached, STEM, "what the slot holds now is known");
}

#[test]
fn requests_are_sent_as_slots_are_free() {
    let stub = Stub::new(Dialect::LlamaCpp);
    stub.shared.slots.store(1, Ordering::SeqCst);
    stub.plan([Answer::Stall(1)]);
    let decoder = stub.decoder();
    let sent = || stub.shared.requests.lock().unwrap().len();
    let running = decoder.decode(request(&[70, 71], 50));
    wait_for(|| sent() == 1);
    let cancelled = decoder.decode(request(&[72, 73], 50));
    let waiting = decoder.decode(request(&[74, 75], 50));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(sent(), 1, "the others wait");
    drop(cancelled);
    drop(running);
    assert_eq!(block_on(report(waiting)).unwrap().prompt, 2);
    let last = stub.last_request();
    assert_eq!((sent(), &last["id_slot"], &last["prompt"][0]), (2, &Value::from(0), &Value::from(74)));
}

fn wait_for(is_so: impl Fn() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not become so");
}

#[test]
fn the_time_in_the_queue_counts() {
    let stub = Stub::new(Dialect::LlamaCpp);
    stub.shared.slots.store(1, Ordering::SeqCst);
    let mut timeouts = RemoteTimeouts::default();
    timeouts.first = Duration::from_secs(2);
    let builder = stub::builder_at(stub.server().timeouts(timeouts));
    let decoder = block_on(builder.connect()).unwrap();
    block_on(report(decoder.decode(request(&[70, 71], 50)))).unwrap();
    // A reply that has begun and stalls has its slot for much longer.
    let length = stub.shared.length.load(Ordering::SeqCst);
    stub.plan([Answer::Stall(length / 2)]);
    let running = decoder.decode(request(&[70, 71], 50));
    wait_for(|| stub.shared.requests.lock().unwrap().len() == 2);
    let error = block_on(report(decoder.decode(request(&[72, 73], 50)))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains("no slot of"), "{error:#}");
    drop(running);
    assert!(block_on(report(decoder.decode(request(&[74, 75], 50)))).is_ok());
}

#[test]
fn a_hundred_requests_in_three_slots_all_end() {
    let stub = Stub::new(Dialect::LlamaCpp);
    stub.shared.slots.store(3, Ordering::SeqCst);
    let decoder = stub.decoder();
    let streams = (0..100_u32).map(|number| report(decoder.decode(request(&[70 + number % 7, number], 50))));
    assert!(block_on(join_all(streams)).iter().all(Result::is_ok));
    let requests = stub.shared.requests.lock().unwrap();
    assert!(requests.iter().all(|request| request["id_slot"].as_u64().is_some_and(|slot| slot < 3)));
}

/// Returns a port that nothing listens at.
fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("port={}", listener.local_addr().unwrap().port())
}

fn saving(folder: &Path) -> String {
    // The server joins the path and the name as they are.
    format!("slot_save_path={}/", folder.display())
}

fn model(decoder: RemoteDecoder) -> LanguageModel {
    LanguageModel::builder(decoder).template(TaggedTemplate).processor(TaggedProcessor).build().unwrap()
}

fn manager_over(model: LanguageModel, store: Arc<dyn ConversationStore>) -> Manager {
    let sampling = SamplingOptions { max_tokens: Some(8), ..SamplingOptions::default() };
    Manager::builder(model).sampling(sampling).store(store).build().unwrap()
}

#[test]
fn a_conversation_continues_after_the_server_was_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let settings = [&*port, &saving(folder.path()), "cache_ram_mib=0"];
    let Some(server) = Llama::with_slots("2", &settings) else { return };
    let before = model(connect(&server));
    block_on(async {
        let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::default());
        let manager = manager_over(before.clone(), Arc::clone(&store));
        let conversation = manager.create(Preface::system("Tell a story.")).await.unwrap();
        conversation.send("Once upon a time").await.unwrap();
        // Another conversation takes the other slot.
        manager.create(Preface::system("Be brief.")).await.unwrap().send("Who is Lily?").await.unwrap();
        let snapshot = before.snapshot(&conversation.request().await.unwrap()).await.unwrap();
        assert!(snapshot.bytes().len() < 4_096, "the state is on the server: {snapshot:?}");
        drop(server);

        let server = Llama::with_slots("2", &settings).unwrap();
        let after = model(connect(&server));
        let restored = after.restore(snapshot.bytes().to_vec()).await.unwrap();
        assert_eq!(restored, snapshot.units().len());
        let manager = manager_over(after, store);
        let conversation = manager.find(conversation.id().as_str()).await.unwrap();
        let cache = conversation.send("And then?").await.unwrap().reply.cache.unwrap();
        assert_eq!((cache.cached, cache.miss), (restored, None), "{cache:?}");
    });
}

fn origin(decoder: &RemoteDecoder) -> SnapshotIdentity {
    SnapshotIdentity::new(decoder.identity().unwrap(), Digest::of(b"template"))
}

fn prompt(ids: &[TokenId]) -> Prompt {
    Prompt { units: ids.iter().copied().map(PromptUnit::Token).collect() }
}

#[test]
fn saved_slots_are_refused_with_their_reason() {
    let folder = tempfile::tempdir().unwrap();
    let save = saving(folder.path());
    let port = free_port();
    let Some(server) = Llama::with_slots("2", &[&port, &save]) else { return };
    let decoder = connect(&server);
    let ids = branch(0);
    let none = block_on(decoder.snapshot(prompt(&ids), origin(&decoder))).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound, "{none:#}");
    ask(&decoder, &ids);
    let snapshot = block_on(decoder.snapshot(prompt(&ids), origin(&decoder))).unwrap();
    assert_eq!(snapshot.units().len(), ids.len());
    let bytes = || snapshot.bytes().to_vec();
    assert_eq!(block_on(decoder.restore(bytes().into(), origin(&decoder))), Ok(ids.len()));

    let other_template = SnapshotIdentity::new(origin(&decoder).model, Digest::of(b"another"));
    let refused = block_on(decoder.restore(bytes().into(), other_template)).unwrap_err();
    assert_eq!(refused, SnapshotError::OtherTemplate);
    let mut damaged = bytes();
    let at = damaged.len() - 50;
    damaged[at] ^= 1;
    let refused = block_on(decoder.restore(damaged.into(), origin(&decoder))).unwrap_err();
    assert_eq!(refused, SnapshotError::Damaged);

    let elsewhere = Llama::with_slots("2", &[&save]).unwrap();
    let other = connect(&elsewhere);
    let refused = block_on(other.restore(bytes().into(), origin(&other))).unwrap_err();
    assert_eq!(refused, SnapshotError::OtherServer { server: server.url.clone() });

    for file in std::fs::read_dir(folder.path()).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let refused = block_on(decoder.restore(bytes().into(), origin(&decoder))).unwrap_err();
    assert!(matches!(refused, SnapshotError::Gone { .. }), "{refused}");
    assert_eq!(ask(&decoder, &ids).miss, Some(MissReason::Evicted), "the server has emptied the slot");
    drop(server);

    let changed = Llama::with_slots("2", &[&port, &save, "n_ctx=512"]).unwrap();
    let changed = connect(&changed);
    let refused = block_on(changed.restore(bytes().into(), origin(&changed))).unwrap_err();
    assert_eq!(refused, SnapshotError::OtherModel);
}

#[test]
fn a_server_without_a_folder_for_slots_says_what_to_do() {
    let Some(server) = Llama::with_slots("2", &[]) else { return };
    let decoder = connect(&server);
    ask(&decoder, &branch(0));
    let error = block_on(decoder.snapshot(prompt(&branch(0)), origin(&decoder))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("--slot-save-path"), "{error:#}");
    let plain = connect_plainly(&server);
    assert_eq!(plain.identity(), None);
    let error = block_on(plain.snapshot(prompt(&branch(0)), origin(&decoder))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn servers_of_other_dialects_have_no_slots() {
    let stub = Stub::new(Dialect::Vllm);
    let decoder = stub.decoder();
    assert_eq!((decoder.description().slots, decoder.identity()), (None, None));
    let report = block_on(report(decoder.decode(request(&[70, 71], SCRIPT.len())))).unwrap();
    assert_eq!(report.prompt, 2);
    assert!(stub.last_request().get("id_slot").is_none());
}
