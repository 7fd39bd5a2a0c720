//! Pulling models from a server that fails in every way that a Hub and a network fail.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use alloquy_hub::{
    CachedModel, Hub, HubBuilder, HubCache, HubError, Machine, ModelName, PullEvent, Reason, Repository,
    choose,
};
use alloquy_testing::{HubFaults, HubServer};
use tempfile::TempDir;

const MODEL: &str = "tiny/model-ONNX";

/// A Hub with one model in three number types, and a cache of its own.
struct World {
    server: HubServer,
    folder: TempDir,
    weights: Vec<u8>,
}

impl World {
    fn new() -> Self {
        let server = HubServer::start().unwrap();
        let weights: Vec<u8> =
            (0..5_000_000_u32).map(|index| (index.wrapping_mul(7919) >> 3) as u8).collect();
        let files: [(&str, &[u8]); 10] = [
            ("README.md", b"# A tiny model"),
            (".gitattributes", b"*.onnx filter=lfs"),
            ("config.json", br#"{"model_type": "qwen3"}"#),
            ("tokenizer.json", b"{}"),
            ("tokenizer_config.json", b"{}"),
            ("onnx/model.onnx", b"graph of 32 bits"),
            ("onnx/model.onnx_data", b"weights of 32 bits"),
            ("onnx/model_fp16.onnx", b"graph of 16 bits"),
            ("onnx/model_q4.onnx", b"graph of 4 bits"),
            ("onnx/model_q4.onnx_data", &weights),
        ];
        for (path, content) in files {
            server.add(MODEL, path, content);
        }
        Self { server, folder: TempDir::new().unwrap(), weights }
    }

    fn builder(&self) -> HubBuilder {
        Hub::builder()
            .endpoint(self.server.endpoint())
            .cache(HubCache::at(self.folder.path().join("hub")))
            .machine(Machine::with_memory(16_000_000_000))
            .first_wait(Duration::from_millis(1))
    }

    fn hub(&self) -> Hub {
        self.builder().build().unwrap()
    }

    fn pull(&self) -> Result<CachedModel, HubError> {
        self.hub().pull(&name(MODEL), &mut |_| ControlFlow::Continue(()))
    }

    /// Checks that the model is whole, and that nothing else is in the cache.
    fn assert_whole(&self, model: &CachedModel) {
        let graph = &model.path;
        assert!(graph.ends_with("onnx/model_q4.onnx"), "{graph:?}");
        assert_eq!(fs::read(graph).unwrap(), b"graph of 4 bits");
        assert_eq!(fs::read(graph.with_file_name("model_q4.onnx_data")).unwrap(), self.weights);
        let root = graph.parent().unwrap().parent().unwrap();
        assert_eq!(names(root), ["config.json", "onnx", "tokenizer.json", "tokenizer_config.json"]);
        assert_eq!(names(&root.join("onnx")), ["model_q4.onnx", "model_q4.onnx_data"]);
        let blobs = names(&root.parent().unwrap().parent().unwrap().join("blobs"));
        // Two of the five files are the same, so that there is one blob for both.
        assert_eq!(blobs.len(), 4);
        assert!(blobs.iter().all(|blob| !blob.ends_with("incomplete")), "{blobs:?}");
    }
}

fn name(text: &str) -> ModelName {
    text.parse().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn only_what_the_variant_needs_is_fetched_once() {
    let world = World::new();
    let model = world.pull().unwrap();
    world.assert_whole(&model);
    assert_eq!((model.variant.as_str(), model.name.to_string().as_str()), ("q4", MODEL));
    let requests = world.server.requests();
    assert!(
        requests.iter().all(|request| !request.path.contains("fp16") && !request.path.contains("README"))
    );

    world.server.clear_requests();
    assert_eq!(world.pull().unwrap(), model);
    assert_eq!(world.server.requests().len(), 1, "the listing alone is asked for again");
}

#[test]
fn what_was_pulled_is_found_without_a_network() {
    let world = World::new();
    let offline = world.builder().offline(true).build().unwrap();
    let error = offline.pull(&name(MODEL), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, HubError::Offline { .. }), "{error}");
    assert_eq!(offline.cache().find(&name(MODEL)).unwrap(), None);

    let pulled = world.pull().unwrap();
    let found = offline.cache().find(&name(MODEL)).unwrap().unwrap();
    assert_eq!((&found.path, &found.variant, found.bytes), (&pulled.path, &pulled.variant, pulled.bytes));
    assert_eq!(offline.cache().find(&name("tiny/model-ONNX:q4")).unwrap().unwrap().path, pulled.path);
    assert_eq!(offline.cache().find(&name("tiny/model-ONNX:fp16")).unwrap(), None);
    assert_eq!(offline.cache().find(&name("tiny/model-ONNX@other")).unwrap(), None);
    let commit = name(&format!("{MODEL}@{}", pulled.commit));
    assert_eq!(offline.cache().find(&commit).unwrap().unwrap().path, pulled.path);
}

#[test]
fn the_description_of_a_model_needs_no_weights_and_no_onnx() {
    let world = World::new();
    for (path, content) in [
        ("config.json", "{}"),
        ("tokenizer.json", "{}"),
        ("merges.txt", "a"),
        ("model.safetensors", "weights"),
    ] {
        world.server.add("tiny/sea", path, content);
    }
    world.server.add("tiny/gguf", "sea.gguf", "weights");
    let sea = name("tiny/sea");
    let cache = world.hub().cache().clone();
    assert_eq!(cache.find_description(&sea).unwrap(), None);
    let mut events = |_: PullEvent<'_>| ControlFlow::Continue(());
    let pulled = world.hub().pull_description(&sea, &mut events).unwrap();
    assert_eq!(names(&pulled.path), ["config.json", "tokenizer.json"]);
    assert_eq!((pulled.variant.as_str(), pulled.bytes), ("description", 4));
    let found = cache.find_description(&sea).unwrap().unwrap();
    assert_eq!((found.path, found.commit), (pulled.path, pulled.commit));
    assert_eq!(cache.find(&sea).unwrap(), None, "it has no weights to run here");
    let error = world.hub().pull_description(&name("tiny/gguf"), &mut events).unwrap_err();
    assert!(matches!(error, HubError::NoTokenizer { .. }), "{error}");
    // A whole model is described by the files beside its weights.
    world.pull().unwrap();
    let whole = cache.find_description(&name(MODEL)).unwrap().unwrap();
    assert!(whole.path.join("tokenizer_config.json").is_file());
}

#[test]
fn several_variants_have_names_of_their_own() {
    let world = World::new();
    world.pull().unwrap();
    let cache = world.hub().cache().clone();
    let listed = |cache: &HubCache| -> Vec<String> {
        cache.models().unwrap().iter().map(|model| model.name.to_string()).collect()
    };
    assert_eq!(listed(&cache), [MODEL]);
    world.hub().pull(&name("tiny/model-ONNX:fp32"), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(listed(&cache), ["tiny/model-ONNX:fp32", "tiny/model-ONNX:q4"]);

    let repository: Repository = MODEL.parse().unwrap();
    assert!(cache.remove(&repository).unwrap().unwrap() > 5_000_000);
    assert_eq!(cache.remove(&repository).unwrap(), None);
    assert!(listed(&cache).is_empty());
}

#[test]
fn connections_that_are_cut_are_continued() {
    let world = World::new();
    world.server.set_faults(HubFaults { cut_after: Some(1 << 20), ..HubFaults::default() });
    world.assert_whole(&world.pull().unwrap());
    let starts: Vec<_> = world
        .server
        .requests()
        .iter()
        .filter(|request| request.is_to_storage)
        .map(|request| request.from)
        .collect();
    let expected = [None, Some(1 << 20), Some(2 << 20), Some(3 << 20), Some(4 << 20)];
    assert_eq!(starts.iter().filter(|start| **start != Some(0)).copied().collect::<Vec<_>>()[1..], expected);
}

#[test]
fn the_next_pull_continues_what_one_began() {
    let world = World::new();
    world.server.set_faults(HubFaults { dead_after: Some(3_000_000), ..HubFaults::default() });
    let error = world.pull().unwrap_err();
    assert!(matches!(error, HubError::Connection { tries: 6, .. }), "{error}");
    assert!(error.to_string().contains("what was fetched is kept"));
    assert_eq!(world.hub().cache().find(&name(MODEL)).unwrap(), None, "a part is no model");

    world.server.set_faults(HubFaults::default());
    world.server.clear_requests();
    let mut cached = 0;
    let model = world.hub().pull(&name(MODEL), &mut |event| {
        if let PullEvent::Begins { cached: bytes, .. } = event {
            cached = bytes;
        }
        ControlFlow::Continue(())
    });
    world.assert_whole(&model.unwrap());
    assert!(cached > 2_900_000, "{cached}");
    assert!(world.server.requests().iter().any(|request| request.from.is_some_and(|from| from > 2_900_000)));
}

#[test]
fn a_caller_ends_a_pull_and_goes_on_later() {
    let world = World::new();
    let error = world.hub().pull(&name(MODEL), &mut |event| match event {
        PullEvent::Received { bytes, .. } if bytes > 2_000_000 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(error, Err(HubError::Cancelled)), "{error:?}");
    world.server.clear_requests();
    world.assert_whole(&world.pull().unwrap());
    assert!(world.server.requests().iter().any(|request| request.from.is_some_and(|from| from > 2_000_000)));
}

#[test]
fn a_server_that_ignores_ranges_sends_everything_again() {
    let world = World::new();
    world.server.set_faults(HubFaults { dead_after: Some(3_000_000), ..HubFaults::default() });
    world.pull().unwrap_err();
    world.server.set_faults(HubFaults { ignores_ranges: true, ..HubFaults::default() });
    world.assert_whole(&world.pull().unwrap());
}

#[test]
fn a_damaged_file_is_not_kept() {
    let world = World::new();
    world.server.set_faults(HubFaults { damages: true, ..HubFaults::default() });
    let error = world.pull().unwrap_err();
    assert!(matches!(error, HubError::Digest { .. }), "{error}");
    assert_eq!(world.hub().cache().find(&name(MODEL)).unwrap(), None);

    world.server.set_faults(HubFaults::default());
    world.assert_whole(&world.pull().unwrap());
}

#[test]
fn a_part_that_was_damaged_on_the_disk_is_fetched_again() {
    let world = World::new();
    world.server.set_faults(HubFaults { dead_after: Some(3_000_000), ..HubFaults::default() });
    world.pull().unwrap_err();
    let blobs = world.folder.path().join("hub/models--tiny--model-ONNX/blobs");
    let part = names(&blobs).into_iter().find(|blob| blob.ends_with(".incomplete")).unwrap();
    let mut bytes = fs::read(blobs.join(&part)).unwrap();
    bytes[1_000_000] ^= 1;
    fs::write(blobs.join(&part), bytes).unwrap();

    world.server.set_faults(HubFaults::default());
    world.assert_whole(&world.pull().unwrap());
}

#[test]
fn the_server_is_asked_again_after_as_long_as_it_says() {
    let world = World::new();
    let faults = HubFaults { status: Some((429, 2)), retry_after: Some("1".into()), ..HubFaults::default() };
    world.server.set_faults(faults);
    let mut waits = Vec::new();
    let started = Instant::now();
    let model = world.hub().pull(&name(MODEL), &mut |event| {
        if let PullEvent::Waiting { wait, reason } = event {
            waits.push(wait);
            assert!(reason.contains("429"), "{reason}");
        }
        ControlFlow::Continue(())
    });
    world.assert_whole(&model.unwrap());
    assert_eq!(waits, [Duration::from_secs(1); 2]);
    assert!(started.elapsed() >= Duration::from_secs(2));
}

#[test]
fn a_wait_that_is_too_long_is_an_error() {
    let world = World::new();
    let faults =
        HubFaults { status: Some((429, 9)), retry_after: Some("3600".into()), ..HubFaults::default() };
    world.server.set_faults(faults);
    let error = world.pull().unwrap_err();
    assert!(matches!(error, HubError::RateLimited { .. }), "{error}");
    assert!(error.to_string().contains("3600 seconds"), "{error}");
}

#[test]
fn a_server_in_trouble_is_asked_six_times() {
    let world = World::new();
    world.server.set_faults(HubFaults { status: Some((503, 3)), ..HubFaults::default() });
    world.assert_whole(&world.pull().unwrap());
    world.server.set_faults(HubFaults { status: Some((503, 99)), ..HubFaults::default() });
    world.server.clear_requests();
    let error = world.pull().unwrap_err();
    assert!(matches!(&error, HubError::Status { status: 503, .. }), "{error}");
    assert!(error.to_string().ends_with("the server says no"), "{error}");
    assert_eq!(world.server.requests().len(), 6);
}

#[test]
fn a_listing_that_is_cut_is_requested_again() {
    let world = World::new();
    world.server.set_faults(HubFaults { cut_listing: Some((200, 5)), ..HubFaults::default() });
    let mut waits = 0;
    let model = world.hub().pull(&name(MODEL), &mut |event| {
        if let PullEvent::Waiting { reason, .. } = event {
            waits += 1;
            assert!(reason.contains("127.0.0.1"), "{reason}");
        }
        ControlFlow::Continue(())
    });
    world.assert_whole(&model.unwrap());
    assert_eq!(waits, 5);

    world.server.set_faults(HubFaults { cut_listing: Some((200, 99)), ..HubFaults::default() });
    world.server.clear_requests();
    let error = world.hub().list(&MODEL.parse().unwrap(), "main").unwrap_err();
    assert!(matches!(error, HubError::Connection { tries: 6, .. }), "{error}");
    assert_eq!(world.server.requests().len(), 6);

    world.server.set_faults(HubFaults { cut_listing: Some((0, 1)), ..HubFaults::default() });
    let error = world.hub().pull(&name(MODEL), &mut |event| match event {
        PullEvent::Waiting { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(error, Err(HubError::Cancelled)), "{error:?}");
}

#[test]
fn what_does_not_exist_is_said() {
    let world = World::new();
    let hub = world.hub();
    let ignore = &mut |_: PullEvent<'_>| ControlFlow::Continue(());
    let error = hub.pull(&name("tiny/other"), ignore).unwrap_err();
    assert!(matches!(error, HubError::NotFound { .. }), "{error}");
    let error = hub.pull(&name("tiny/model-ONNX@v9"), ignore).unwrap_err();
    assert!(matches!(error, HubError::NoRevision { .. }), "{error}");
    let error = hub.pull(&name("tiny/model-ONNX:q8"), ignore).unwrap_err();
    assert!(error.to_string().ends_with("it has fp32, fp16, q4"), "{error}");
    world.server.add("tiny/torch", "model.safetensors", "weights");
    world.server.add("tiny/torch", "tokenizer.json", "{}");
    let error = hub.pull(&name("tiny/torch"), ignore).unwrap_err();
    assert!(error.to_string().contains("it has 1 .safetensors"), "{error}");
    assert!(world.hub().cache().repositories().unwrap().is_empty(), "nothing was created");
}

#[test]
fn a_gated_model_needs_a_token_that_goes_to_the_hub_alone() {
    let world = World::new();
    world.server.set_faults(HubFaults { gate: Some("hf_right".into()), ..HubFaults::default() });
    let error = world.pull().unwrap_err().to_string();
    assert!(error.contains("is gated: accept its conditions at http://127.0.0.1"), "{error}");
    assert!(error.ends_with("and set HF_TOKEN to a token of your account"), "{error}");
    let refused = world.builder().token("hf_other").build().unwrap();
    let error = refused.pull(&name(MODEL), &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(error.ends_with("as the owner of the token in HF_TOKEN"), "{error}");

    world.server.clear_requests();
    let accepted = world.builder().token("hf_right").build().unwrap();
    world.assert_whole(&accepted.pull(&name(MODEL), &mut |_| ControlFlow::Continue(())).unwrap());
    for request in world.server.requests() {
        let expected = if request.is_to_storage { None } else { Some("hf_right".to_owned()) };
        assert_eq!(request.token, expected, "{request:?}");
    }
}

#[test]
fn nobody_there_is_an_error_after_six_tries() {
    let world = World::new();
    let hub = world.builder().endpoint("http://127.0.0.1:1").build().unwrap();
    let error = hub.list(&MODEL.parse().unwrap(), "main").unwrap_err();
    assert!(matches!(error, HubError::Connection { tries: 6, .. }), "{error}");
    for endpoint in ["huggingface.co", "ftp://x", "http://", "https://x/?y"] {
        assert!(
            matches!(world.builder().endpoint(endpoint).build(), Err(HubError::Endpoint { .. })),
            "{endpoint}"
        );
    }
}

#[test]
fn other_servers_are_no_hub() {
    let world = World::new();
    world.server.set_faults(HubFaults { status: Some((200, 99)), ..HubFaults::default() });
    let error = world.pull().unwrap_err();
    assert!(matches!(error, HubError::Answer { .. }), "{error}");
    assert!(error.to_string().contains("does not answer like a Hub"), "{error}");
}

#[test]
fn many_pulls_at_once_fetch_each_file_once() {
    let world = World::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| world.assert_whole(&world.pull().unwrap()));
        }
    });
    let requests = world.server.requests();
    let fetched = requests.iter().filter(|request| request.is_to_storage).count();
    assert_eq!(fetched, 2, "the graph and its weights");
}

#[test]
fn the_choice_has_a_reason() {
    let world = World::new();
    let listing = world.hub().list(&MODEL.parse().unwrap(), "main").unwrap();
    assert_eq!(listing.licence.as_deref(), Some("apache-2.0"));
    let chosen = |machine| choose(&listing, None, machine).unwrap();
    assert_eq!(chosen(Machine::with_memory(1 << 40)).variant.name, "q4");
    let small = chosen(Machine::with_memory(10));
    assert!(matches!(small.reason, Reason::Smallest { memory: 10 }), "{:?}", small.reason);
    assert_eq!(choose(&listing, Some("fp16"), Machine::this()).unwrap().reason, Reason::Named);
}

#[test]
fn a_renamed_repository_is_found_by_both_names() {
    let world = World::new();
    world.server.rename(MODEL, "tiny/new-ONNX");
    world.assert_whole(&world.pull().unwrap());
    assert!(world.hub().cache().find(&name(MODEL)).unwrap().is_some());
    world.hub().pull(&name("tiny/new-ONNX"), &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(world.hub().cache().find(&name("tiny/new-ONNX")).unwrap().is_some());
}

/// A folder on a disk of its own, which is unmounted at the end.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// Returns a disk of so many megabytes; `None` where this process may not mount one.
    fn of(megabytes: usize) -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let size = format!("size={megabytes}m");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        eprintln!("skipped: this process may not mount a disk");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_disk_without_room_is_refused_before_the_first_byte() {
    let world = World::new();
    let Some(disk) = SmallDisk::of(4) else { return };
    let hub = world.builder().cache(HubCache::at(disk.0.path())).build().unwrap();
    let error = hub.pull(&name(MODEL), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, HubError::DiskFull { .. }), "{error}");
    assert!(error.to_string().starts_with("5.0 MB more are needed"), "{error}");
    assert!(world.server.requests().iter().all(|request| !request.path.contains("resolve")));
}

#[test]
fn a_disk_that_fills_up_meanwhile_loses_nothing() {
    let world = World::new();
    // As much as must stay free, and half of the model more.
    let Some(disk) = SmallDisk::of(72) else { return };
    let hub = world.builder().cache(HubCache::at(disk.0.path())).build().unwrap();
    let filler = disk.0.path().join("filler");
    let error = hub.pull(&name(MODEL), &mut |event| {
        if matches!(event, PullEvent::Received { bytes, .. } if bytes > 1_000_000) && !filler.exists() {
            // It ends when the disk is full.
            let _ = fs::write(&filler, vec![0; 80 << 20]);
        }
        ControlFlow::Continue(())
    });
    let error = error.unwrap_err();
    assert!(matches!(error, HubError::DiskFull { .. }), "{error}");
    fs::remove_file(&filler).unwrap();
    world.server.clear_requests();
    world.assert_whole(&hub.pull(&name(MODEL), &mut |_| ControlFlow::Continue(())).unwrap());
    assert!(world.server.requests().iter().any(|request| request.from.is_some_and(|from| from >= 1_000_000)));
}
