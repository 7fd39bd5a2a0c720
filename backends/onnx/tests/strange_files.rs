//! A model's folder in which a file is a pipe, a device, a folder or far too long: an error at once that names it.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)] // a test may panic

mod common;

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind};
use alloquy_onnx::OnnxEngine;
use common::graphs::{Cache, Lora, embeddings, graph, graph_with_embeddings_at, noise};
use tempfile::TempDir;

const TOKENIZER: &[u8] = include_bytes!("../../../model-files/tests/fixtures/tokenizers/unigram.json");
const CONFIG: &str = r#"{"max_position_embeddings": 64, "eos_token_id": 2, "vocab_size": 64}"#;
const ADAPTER: &str = "french.onnx_adapter";

/// Every file that is read from a folder.
const FILES: [&str; 16] = [
    "config.json",
    "generation_config.json",
    "genai_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "processor_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
    "mlc-chat-config.json",
    "additional_chat_templates/tool_use.jinja",
    "tokenizer.json",
    "model.onnx",
    ADAPTER,
];

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lora = Lora::Merged(noise(3, 16), noise(4, 128));
    fs::write(folder.path().join("model.onnx"), graph(Cache::Concat, &lora)).unwrap();
    fs::write(folder.path().join("tokenizer.json"), TOKENIZER).unwrap();
    fs::write(folder.path().join("config.json"), CONFIG).unwrap();
    fs::create_dir(folder.path().join("additional_chat_templates")).unwrap();
    folder
}

/// Loads a folder, with the adapter if there is one. Loading that waits for a pipe fails after a time.
fn load(folder: &Path) -> Result<(), Error> {
    let (sender, receiver) = mpsc::channel();
    let path = folder.to_owned();
    std::thread::spawn(move || {
        let mut builder = OnnxEngine::builder(&path);
        if fs::symlink_metadata(path.join(ADAPTER)).is_ok() {
            builder = builder.adapter(ADAPTER);
        }
        sender.send(builder.load().map(drop))
    });
    receiver.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{folder:?} is waited for"))
}

fn link_to_a_pipe(path: &Path) {
    let pipe_at = path.with_extension("pipe");
    pipe(&pipe_at);
    symlink(pipe_at, path).unwrap();
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A strange kind of file, and a function that makes it.
type Strange = (&'static str, fn(&Path));

#[test]
fn files_must_be_regular_files() {
    load(folder().path()).unwrap();
    let strange: [Strange; 6] = [
        ("a pipe", pipe),
        ("a link to a pipe", link_to_a_pipe),
        ("a device that never ends", |path| symlink("/dev/zero", path).unwrap()),
        ("a device that is empty", |path| symlink("/dev/null", path).unwrap()),
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
    ];
    for name in FILES {
        for (what, make) in strange {
            let folder = folder();
            let path = folder.path().join(name);
            let _ = fs::remove_file(&path);
            make(&path);
            let error = load(folder.path()).expect_err(&format!("{name} is {what}"));
            assert_eq!(error.kind(), ErrorKind::Model, "{name}, {what}: {error:#}");
            let said = format!("{error:#}");
            let named = said.contains("not a file") && said.contains(name);
            // A link out of the folder is refused before its target is opened.
            let outside = name == ADAPTER && said.contains("leads out of the model folder");
            let absent = name == "model.onnx" && said.contains("no decoder graph");
            assert!(named || outside || absent, "{what}: {said}");
        }
    }
}

#[test]
fn links_to_regular_files_are_followed() {
    let folder = folder();
    let blobs = folder.path().join("blobs");
    fs::create_dir(&blobs).unwrap();
    for name in ["config.json", "tokenizer.json", "model.onnx"] {
        fs::rename(folder.path().join(name), blobs.join(name)).unwrap();
        symlink(blobs.join(name), folder.path().join(name)).unwrap();
    }
    load(folder.path()).unwrap();
}

#[test]
fn a_link_that_leads_nowhere_is_an_error() {
    for name in ["generation_config.json", "tokenizer.json"] {
        let folder = folder();
        let _ = fs::remove_file(folder.path().join(name));
        symlink("/nowhere", folder.path().join(name)).unwrap();
        let error = load(folder.path()).unwrap_err();
        assert!(error.to_string().contains("could not read"), "{error}");
    }
}

/// Makes a file with a length, without content.
fn grow(folder: &TempDir, name: &str, bytes: u64) {
    File::create(folder.path().join(name)).unwrap().set_len(bytes).unwrap();
}

#[test]
fn files_have_limits() {
    let cases = [
        ("tokenizer.json", (256 << 20) + 1, "268435457 bytes, and the limit is 268435456"),
        ("tokenizer.json", 100 << 30, "and the limit is 268435456"),
        ("config.json", (32 << 20) + 1, "33554433 bytes, and the limit is 33554432"),
        ("chat_template.jinja", 1 << 40, "and the limit is"),
        (ADAPTER, (2 << 30) + 1, "2147483649 bytes, and the limit is 2147483648"),
    ];
    for (name, bytes, said) in cases {
        let folder = folder();
        grow(&folder, name, bytes);
        let error = format!("{:#}", load(folder.path()).unwrap_err());
        assert!(error.contains(said), "{name}: {error}");
    }
    let folder = folder();
    for index in 0..40 {
        grow(&folder, &format!("additional_chat_templates/{index}.jinja"), 1 << 20);
    }
    let error = format!("{:#}", load(folder.path()).unwrap_err());
    assert!(error.contains("the description files have more than 33554432 bytes together"), "{error}");
}

#[test]
fn weights_are_a_regular_file() {
    let Some(models) = common::models() else { return };
    for what in ["pipe", "folder"] {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(models.join("stories260k")).unwrap() {
            let from = entry.unwrap().path();
            fs::write(folder.path().join(from.file_name().unwrap()), fs::read(&from).unwrap()).unwrap();
        }
        let weights = folder.path().join("model.onnx.data");
        fs::remove_file(&weights).unwrap();
        match what {
            "pipe" => pipe(&weights),
            _ => fs::create_dir(&weights).unwrap(),
        }
        let error = load(folder.path()).unwrap_err();
        assert!(error.to_string().contains("model.onnx.data\" is a"), "{error}");
    }
}

/// The entries of a tensor about the file of its weights.
type Place = &'static [(&'static str, &'static str)];

#[test]
fn weights_must_be_in_a_file_of_the_folder_and_within_its_length() {
    let place = folder();
    let folder = place.path();
    fs::write(folder.join("weights"), embeddings()).unwrap();
    fs::write(folder.join("short"), &embeddings()[..100]).unwrap();
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), embeddings()).unwrap();
    symlink(outside.path(), folder.join("link")).unwrap();
    symlink("/proc/self/mem", folder.join("memory")).unwrap();
    // ONNX Runtime takes this name for an address in memory, even if there is such a file.
    fs::create_dir_all(folder.join("*/_ORT_MEM_ADDR_")).unwrap();
    fs::write(folder.join("*/_ORT_MEM_ADDR_/*"), embeddings()).unwrap();
    let good: [Place; 2] =
        [&[("location", "weights")], &[("location", "weights"), ("offset", "0"), ("length", "2048")]];
    for place in good {
        fs::write(folder.join("model.onnx"), graph_with_embeddings_at(place)).unwrap();
        load(folder).unwrap();
    }
    let bad: [Place; 20] = [
        &[("location", "/etc/passwd")],
        &[("location", "../weights")],
        &[("location", "inner/../../weights")],
        &[("location", "link")],
        &[("location", "memory"), ("offset", "4194304"), ("length", "2048")],
        &[("location", "/proc/self/mem"), ("offset", "4194304"), ("length", "2048")],
        &[("location", "/dev/zero")],
        &[("location", "*/_ORT_MEM_ADDR_/*"), ("offset", "4194304"), ("length", "2048")],
        &[("location", "gone")],
        &[("location", "")],
        &[("location", ".")],
        &[("offset", "0"), ("length", "2048")],
        &[("location", "short")],
        &[("location", "weights"), ("offset", "1024")],
        &[("location", "weights"), ("offset", "-1")],
        &[("location", "weights"), ("offset", "18446744073709551615")],
        &[("location", "weights"), ("offset", "many")],
        &[("location", "weights"), ("length", "4")],
        &[("location", "weights"), ("length", "1000000000000")],
        &[("location", "weights"), ("length", "-2048")],
    ];
    for place in bad {
        fs::write(folder.join("model.onnx"), graph_with_embeddings_at(place)).unwrap();
        let error = load(folder).expect_err(&format!("{place:?}"));
        assert_eq!(error.kind(), ErrorKind::Model, "{place:?}: {error:#}");
    }
    println!("{} places of weights that are none", bad.len());
}

#[test]
fn the_revision_of_a_hub_cache_must_be_a_regular_file() {
    let place = tempfile::tempdir().unwrap();
    let repository = place.path().join("models--me--little");
    for name in ["blobs", "refs", "snapshots/0123"] {
        fs::create_dir_all(repository.join(name)).unwrap();
    }
    pipe(&repository.join("refs/main"));
    let error = load(&repository).unwrap_err();
    assert!(
        error.to_string().contains("no decoder graph") || error.to_string().contains("tokenizer"),
        "{error}"
    );
}

#[test]
fn a_cache_that_exceeds_all_memory_is_refused() {
    // An empty name of the same length in bytes replaces the number of heads in the graph, so the description sets it.
    let (sized, open): (&[u8], &[u8]) = (b"rows\x0a\x02\x08\x01", b"rows\x0a\x02\x12\x00");
    let mut graph = graph(Cache::Concat, &Lora::Merged(noise(3, 16), noise(4, 128)));
    for at in 0..graph.len() - sized.len() {
        if graph[at..].starts_with(sized) {
            graph[at..at + open.len()].copy_from_slice(open);
        }
    }
    let config = |heads: u64| CONFIG.replace('}', &format!(r#", "num_key_value_heads": {heads}}}"#));
    let folder = folder();
    fs::write(folder.path().join("model.onnx"), graph).unwrap();
    fs::write(folder.path().join("config.json"), config(1)).unwrap();
    load(folder.path()).unwrap();
    for heads in [1 << 27, 1 << 61, i64::MAX as u64] {
        fs::write(folder.path().join("config.json"), config(heads)).unwrap();
        let error = load(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
        assert!(error.to_string().contains(&format!("{heads} heads of 8 numbers")), "{error:#}");
    }
}
