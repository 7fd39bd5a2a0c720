//! Optimised graphs on disk: they compute the same to the bit, and a damaged one never keeps a model from being loaded.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use alloquy_engine::{Engine, LoadPhase};
use alloquy_onnx::{GraphCacheStatus, GraphOptimization, OnnxEngine, OnnxEngineBuilder};
use common::graphs::{Cache, Lora, model, noise};
use common::{feed, golden, greedy, models};
use tempfile::tempdir;

const PROMPT: [u32; 5] = [3, 1, 4, 15, 9];

fn little(cache: Cache) -> OnnxEngineBuilder {
    let lora = Lora::Baked(noise(5, 16), noise(6, 128));
    OnnxEngine::of_files(model(cache, &lora)).threads(1)
}

fn kept(folder: &Path) -> OnnxEngineBuilder {
    little(Cache::Concat).graph_cache(folder)
}

fn logits(engine: &OnnxEngine) -> Vec<u32> {
    let logits = feed(engine.open().unwrap().as_mut(), &PROMPT, 2);
    logits.into_iter().map(f32::to_bits).collect()
}

/// Returns the only entry of a cache.
fn entry(folder: &Path) -> PathBuf {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [only] = entries.as_slice() else { panic!("{entries:?}") };
    only.clone()
}

/// Checks that other users of the machine cannot read any kept file, also if it is moved to another folder later.
#[cfg(unix)]
fn is_private(place: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let rights = fs::metadata(place).unwrap().permissions().mode() & 0o777;
    let is_folder = place.is_dir();
    assert_eq!(rights, if is_folder { 0o700 } else { 0o600 }, "{place:?}");
    if is_folder {
        fs::read_dir(place).unwrap().for_each(|entry| is_private(&entry.unwrap().path()));
    }
}

#[test]
fn a_kept_graph_computes_the_same_to_the_bit() {
    for cache in [Cache::Concat, Cache::Shared] {
        let folder = tempdir().unwrap();
        let load = || little(cache).graph_cache(folder.path().join("graphs")).load().unwrap();
        let without = little(cache).load().unwrap();
        let first = load();
        let second = load();
        assert_eq!(without.graph_cache(), &GraphCacheStatus::Off);
        assert_eq!(first.graph_cache(), &GraphCacheStatus::Written);
        assert_eq!(second.graph_cache(), &GraphCacheStatus::Read);
        assert_eq!(logits(&first), logits(&without));
        assert_eq!(logits(&second), logits(&without));
        assert_eq!([first.identity(), second.identity()], [without.identity(); 2]);
        let name = entry(&folder.path().join("graphs")).file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(name.len(), 64);
        #[cfg(unix)]
        is_private(&folder.path().join("graphs"));
    }
}

#[test]
fn models_with_weights_beside_them_are_kept_whole() {
    let Some(models) = models() else { return };
    for name in ["stories260k", "stories260k-past-present", "tiny/genai-qwen3-int4"] {
        let folder = tempdir().unwrap();
        let load =
            || OnnxEngine::builder(models.join(name)).threads(1).graph_cache(folder.path()).load().unwrap();
        assert_eq!(load().graph_cache(), &GraphCacheStatus::Written, "{name}");
        let kept = load();
        let own = common::load(&models, name);
        assert_eq!(kept.graph_cache(), &GraphCacheStatus::Read, "{name}");
        assert!(entry(folder.path()).join("weights.bin").metadata().unwrap().len() > 0, "{name}");
        assert_eq!(logits(&kept), logits(&own), "{name}");
    }
    let folder = tempdir().unwrap();
    let load = || OnnxEngine::builder(models.join("stories260k")).graph_cache(folder.path()).load().unwrap();
    drop(load());
    let case = &golden(&models, "stories260k/golden.json").cases[0];
    assert_eq!(greedy(&load(), &case.prompt_ids, 7, case.greedy_ids.len()), case.greedy_ids);
}

/// Damage to a complete entry, and the reason that is reported.
struct Harm {
    what: &'static str,
    spoil: fn(&Path),
    said: &'static str,
}

const HARM: &[Harm] = &[
    Harm {
        what: "a graph cut in half",
        spoil: |entry| {
            let bytes = fs::read(entry.join("model.onnx")).unwrap();
            fs::write(entry.join("model.onnx"), &bytes[..bytes.len() / 2]).unwrap();
        },
        said: "does not hold what was written there",
    },
    Harm {
        what: "a byte of the weights",
        spoil: |entry| {
            let mut bytes = fs::read(entry.join("weights.bin")).unwrap();
            bytes[5] ^= 1;
            fs::write(entry.join("weights.bin"), bytes).unwrap();
        },
        said: "does not hold what was written there",
    },
    Harm {
        what: "no weights",
        spoil: |entry| fs::remove_file(entry.join("weights.bin")).unwrap(),
        said: "does not hold what was written there",
    },
    Harm {
        what: "no graph",
        spoil: |entry| fs::remove_file(entry.join("model.onnx")).unwrap(),
        said: "could not read",
    },
    Harm {
        what: "no list",
        spoil: |entry| fs::remove_file(entry.join("entry.json")).unwrap(),
        said: "could not read",
    },
    Harm {
        what: "a list that is none",
        spoil: |entry| fs::write(entry.join("entry.json"), "{").unwrap(),
        said: "is damaged",
    },
    Harm {
        what: "an empty folder",
        spoil: |entry| {
            fs::remove_dir_all(entry).unwrap();
            fs::create_dir(entry).unwrap();
        },
        said: "could not read",
    },
];

#[test]
fn a_damaged_entry_is_reported_and_written_again() {
    let own = logits(&little(Cache::Concat).load().unwrap());
    for Harm { what, spoil, said } in HARM {
        let folder = tempdir().unwrap();
        assert_eq!(kept(folder.path()).load().unwrap().graph_cache(), &GraphCacheStatus::Written, "{what}");
        spoil(&entry(folder.path()));
        let engine = kept(folder.path()).load().unwrap();
        let GraphCacheStatus::Rewritten { reason } = engine.graph_cache() else {
            panic!("{what}: {:?}", engine.graph_cache())
        };
        assert!(reason.contains(said), "{what}: {reason}");
        assert_eq!(logits(&engine), own, "{what}");
        let again = kept(folder.path()).load().unwrap();
        assert_eq!(again.graph_cache(), &GraphCacheStatus::Read, "{what}");
        assert_eq!(logits(&again), own, "{what}");
    }
}

#[test]
fn a_damaged_graph_is_reported_even_if_its_digest_is_right() {
    let folder = tempdir().unwrap();
    drop(kept(folder.path()).load().unwrap());
    let place = entry(folder.path());
    fs::write(place.join("model.onnx"), "no graph").unwrap();
    let mut list: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(place.join("entry.json")).unwrap()).unwrap();
    // The digest of a short file is that of its length and its bytes.
    let bytes = [&8_u64.to_le_bytes()[..], b"no graph"].concat();
    list["graph"] = alloquy_core::media::Digest::of(&bytes).to_string().into();
    fs::write(place.join("entry.json"), list.to_string()).unwrap();
    let engine = kept(folder.path()).load().unwrap();
    let GraphCacheStatus::Rewritten { reason } = engine.graph_cache() else {
        panic!("{:?}", engine.graph_cache())
    };
    assert!(reason.contains("is not a whole ONNX file"), "{reason}");
}

#[test]
fn a_model_is_loaded_even_if_its_cache_cannot_be_written() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("graphs");
    fs::write(&file, "a file").unwrap();
    let engine = kept(&file).load().unwrap();
    let GraphCacheStatus::NotKept { reason } = engine.graph_cache() else {
        panic!("{:?}", engine.graph_cache())
    };
    assert!(reason.contains("could not write"), "{reason}");
    assert_eq!(logits(&engine), logits(&little(Cache::Concat).load().unwrap()));
    assert_eq!(fs::read(&file).unwrap(), b"a file");
}

#[test]
fn each_level_has_an_entry_and_an_identity_of_its_own() {
    let folder = tempdir().unwrap();
    let load = |level| kept(folder.path()).graph_optimization(level).load().unwrap();
    let levels = [GraphOptimization::Basic, GraphOptimization::Extended, GraphOptimization::All];
    let mut identities: Vec<_> = levels.map(|level| load(level).identity()).into();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), levels.len());
    for level in levels {
        assert_eq!(load(level).graph_cache(), &GraphCacheStatus::Read, "{level}");
    }
    let plain = load(GraphOptimization::Disable);
    assert!(matches!(plain.graph_cache(), GraphCacheStatus::NotKept { .. }), "{:?}", plain.graph_cache());
    identities.push(plain.identity());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), levels.len());
    identities.sort_unstable();
    identities.dedup();
    assert_eq!(identities.len(), 4);
}

/// Loads another model with a cache in the folder.
#[cfg(unix)]
fn other_kept(folder: &Path) -> OnnxEngine {
    let lora = Lora::Baked(noise(5, 16), noise(7, 128));
    let builder = OnnxEngine::of_files(model(Cache::Concat, &lora)).threads(1);
    builder.graph_cache(folder).load().unwrap()
}

#[cfg(unix)] // elsewhere a folder's age cannot be set
#[test]
fn other_models_have_other_entries_and_unfinished_ones_are_removed() {
    let folder = tempdir().unwrap();
    drop(kept(folder.path()).load().unwrap());
    // Old unfinished entries, one with another ending, and a folder that is not an entry.
    let name = |end: &str| folder.path().join(format!(".{}-1-0{end}", "a".repeat(64)));
    let places = [name(".partial"), name(".leaving"), name(".fresh"), folder.path().join(".git")];
    let aged = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 24 * 60 * 60);
    for place in &places {
        fs::create_dir(place).unwrap();
        fs::File::open(place).unwrap().set_modified(aged).unwrap();
    }
    assert_eq!(other_kept(folder.path()).graph_cache(), &GraphCacheStatus::Written);
    assert_eq!(places.map(|place| place.exists()), [false, false, true, true]);
    assert_eq!(other_kept(folder.path()).graph_cache(), &GraphCacheStatus::Read);
}

#[test]
fn loading_is_timed_phase_by_phase() {
    let engine = little(Cache::Shared).load().unwrap();
    let phases: Vec<_> = engine.load_timing().unwrap().phases().iter().map(|(phase, _)| *phase).collect();
    let expected =
        [LoadPhase::Files, LoadPhase::Tokenizer, LoadPhase::Runtime, LoadPhase::Identity, LoadPhase::Graph];
    assert_eq!(phases, expected);
}
