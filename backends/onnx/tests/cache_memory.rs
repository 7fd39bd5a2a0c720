//! Caches in memory that the provider allocates: the way of a device, on the processor.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod common;
#[allow(dead_code)] // not all of it is needed here
#[path = "caches/narrow.rs"]
mod narrow;

use std::path::Path;

use alloquy_core::tokenizer::TokenizerInput;
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{BatchStep, Engine, Session};
use alloquy_onnx::{CacheLocation, CacheMemory, OnnxEngine};
use alloquy_testing::laws;

use common::{builder, feed, load, models, units};
use narrow::{FLOAT16, narrow, quantize};

/// An export of each kind of cache, and one with states beside it.
const EXPORTS: [&str; 3] = ["stories260k", "stories260k-past-present", "stateful/lfm2-fp32"];

/// More than the positions that a cache on a device has room for at first.
const LONG: usize = 300;

fn allocated(folder: &Path) -> OnnxEngine {
    let engine = builder(folder).cache_memory(CacheMemory::Provider).load();
    let engine = engine.unwrap_or_else(|error| panic!("{folder:?}: {error:#}"));
    assert!(matches!(engine.cache_location(), CacheLocation::Provider { .. }));
    engine
}

fn tokens(count: usize) -> Vec<u32> {
    (0..count as u32).map(|number| 20 + number * 7 % 400).collect()
}

fn snapshot(session: &dyn Session) -> Vec<u8> {
    let mut state = Vec::new();
    session.snapshot(session.length(), &mut state).unwrap();
    state
}

#[test]
fn the_laws_of_sessions_hold() {
    let Some(models) = models() else { return };
    for name in EXPORTS {
        let engine = allocated(&models.join(name));
        let prompt =
            engine.tokenizer().encode(&[TokenizerInput::Text("Tom and Mia went to the zoo.")]).unwrap();
        laws::session::all(&engine, &prompt, 2e-3);
    }
}

#[test]
fn the_laws_hold_for_caches_of_16_and_8_bits() {
    let Some(models) = models() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["stories260k", "stories260k-past-present"] {
        let half = folder.path().join(name);
        std::fs::create_dir(&half).unwrap();
        narrow(&models.join(name), &half, FLOAT16);
        let engine = allocated(&half);
        let prompt =
            engine.tokenizer().encode(&[TokenizerInput::Text("Tom and Mia went to the zoo.")]).unwrap();
        laws::session::all(&engine, &prompt, 0.02);
    }
    let int8 = folder.path().join("int8");
    std::fs::create_dir(&int8).unwrap();
    quantize(&models.join("stories260k"), &int8, 8, 0.05);
    laws::session::all(&allocated(&int8), &tokens(12), 0.5);
}

#[test]
fn a_cache_that_grows_holds_the_same_as_one_in_main_memory() {
    let Some(models) = models() else { return };
    for name in EXPORTS {
        let [mut host, mut device] =
            [load(&models, name), allocated(&models.join(name))].map(|engine| engine.open().unwrap());
        for session in [&mut host, &mut device] {
            feed(session.as_mut(), &tokens(LONG), 1);
        }
        assert_eq!(host.logits(), device.logits(), "{name}");
        assert!(snapshot(&*host) == snapshot(&*device), "{name}: snapshots differ");
        assert_eq!(host.bytes(), device.bytes(), "{name}");
    }
}

#[test]
fn a_snapshot_is_restored_in_either_memory() {
    let Some(models) = models() else { return };
    for name in EXPORTS {
        let engines = [load(&models, name), allocated(&models.join(name))];
        let mut session = engines[1].open().unwrap();
        feed(session.as_mut(), &tokens(40), 40);
        session.mark();
        let state = snapshot(&*session);
        let expected = feed(session.as_mut(), &tokens(9), 1);
        for engine in &engines {
            let mut restored = engine.open().unwrap();
            restored.restore(&units(&tokens(40)), &mut StateReader::new(&mut state.as_slice())).unwrap();
            assert_eq!(feed(restored.as_mut(), &tokens(9), 1), expected, "{name}");
        }
    }
}

#[test]
fn forks_and_rewinds_copy_as_much_as_in_main_memory() {
    let Some(models) = models() else { return };
    for name in ["stories260k", "stories260k-past-present"] {
        let engines = [load(&models, name), allocated(&models.join(name))];
        let copied = engines.each_ref().map(|engine| {
            let mut trunk = engine.open().unwrap();
            feed(trunk.as_mut(), &tokens(40), 40);
            let mut fork = trunk.fork().unwrap();
            fork.truncate(10).unwrap();
            feed(fork.as_mut(), &tokens(5), 5);
            trunk.truncate(20).unwrap();
            feed(trunk.as_mut(), &tokens(5), 5);
            [fork.copied(), trunk.copied()]
        });
        assert_eq!(copied[0], copied[1], "{name}");
        assert!(copied[1][0] > 0, "{name}");
    }
}

#[test]
fn sessions_step_together() {
    let Some(models) = models() else { return };
    let engines = [load(&models, "stories260k"), allocated(&models.join("stories260k"))];
    let logits = engines.each_ref().map(|engine| {
        let mut sessions: Vec<_> = (0..3).map(|_| engine.open().unwrap()).collect();
        for (number, session) in sessions.iter_mut().enumerate() {
            feed(session.as_mut(), &tokens(250 + number), 64);
        }
        // The rows are full in the middle, and are copied to larger ones.
        for token in units(&tokens(20)) {
            let mut steps = Vec::new();
            for session in &mut sessions {
                steps.push(BatchStep { session: session.as_mut(), unit: &token });
            }
            engine.forward_many(&mut steps).unwrap();
        }
        sessions.iter_mut().map(|session| session.logits().to_vec()).collect::<Vec<_>>()
    });
    assert_eq!(logits[0], logits[1]);
}

#[test]
fn the_processor_keeps_caches_in_main_memory_unless_told_otherwise() {
    let Some(models) = models() else { return };
    let engine = OnnxEngine::load(models.join("stories260k")).unwrap();
    assert_eq!(engine.cache_location(), &CacheLocation::Host { reason: None });
    let location = allocated(&models.join("stories260k")).cache_location().to_string();
    assert_eq!(location, "caches in the provider's memory (Cpu)");
}

#[test]
fn a_library_that_is_no_provider_is_an_error_that_names_it() {
    let Some(models) = models() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("libprovider.so");
    std::fs::write(&file, "not a library").unwrap();
    let loaded =
        OnnxEngine::builder(models.join("stories260k")).provider_library(&file).providers(["webgpu"]).load();
    let message = format!("{:#}", loaded.unwrap_err());
    assert!(
        message.contains("register the provider library") && message.contains("libprovider.so"),
        "{message}"
    );
}
