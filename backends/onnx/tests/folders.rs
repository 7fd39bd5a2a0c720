//! Folders that cannot be loaded, each with its error, and folders of unusual shapes that can be loaded.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::ErrorKind;
use alloquy_core::report::Warning;
use alloquy_core::tokenizer::{TokenizerInput, decode};
use alloquy_engine::Engine;
use alloquy_onnx::{Locator, OnnxEngine};
use common::protobuf::Message;
use common::{golden, greedy, models};
use tempfile::TempDir;

const STORIES: &str = "stories260k";
const CONCAT: &str = "stories260k-past-present";

/// Copies a model into a folder called `model` in a folder of its own.
fn copied(models: &Path, name: &str) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("model");
    fs::create_dir(&folder).unwrap();
    for entry in fs::read_dir(models.join(name)).unwrap() {
        let from = entry.unwrap().path();
        let to = folder.join(from.file_name().unwrap());
        fs::write(to, fs::read(from).unwrap()).unwrap();
    }
    (place, folder)
}

fn edit_json(path: &Path, edit: impl FnOnce(&mut serde_json::Value)) {
    let mut json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    edit(&mut json);
    fs::write(path, json.to_string()).unwrap();
}

fn without_stop_tokens(folder: &Path) {
    for file in ["config.json", "generation_config.json", "tokenizer_config.json"] {
        edit_json(&folder.join(file), |json| {
            json.as_object_mut().unwrap().retain(|key, _| !key.starts_with("eos_token"));
        });
    }
}

/// Writes another location, of the same length, into a graph that takes its weights from `model.onnx.data`.
fn relocate(folder: &Path, location: &str) {
    let path = folder.join("model.onnx");
    let old = b"model.onnx.data";
    let new = location.as_bytes();
    assert_eq!(old.len(), new.len());
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<_> = (0..bytes.len() - old.len()).filter(|&at| bytes[at..].starts_with(old)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    fs::write(path, bytes).unwrap();
}

struct Bad {
    what: &'static str,
    model: &'static str,
    spoil: fn(&Path),
    kind: ErrorKind,
    said: &'static str,
}

const VISION: &str = "tiny/genai-qwen2.5-vl-fp32";

/// A folder that cannot be loaded. `said` is a part of the error's message, with `{}` for the folder.
const BAD: &[Bad] = &[
    Bad {
        what: "a missing folder",
        model: STORIES,
        spoil: |folder| fs::remove_dir_all(folder).unwrap(),
        kind: ErrorKind::Model,
        said: "model folder \"{}\" does not exist",
    },
    Bad {
        what: "a folder without a graph",
        model: CONCAT,
        spoil: |folder| fs::rename(folder.join("model.onnx"), folder.join("encoder.onnx")).unwrap(),
        kind: ErrorKind::Model,
        said: "model folder \"{}\" has no decoder graph; it has encoder.onnx",
    },
    Bad {
        what: "a graph that the configuration names and that is not there",
        model: STORIES,
        spoil: |folder| fs::remove_file(folder.join("model.onnx")).unwrap(),
        kind: ErrorKind::Model,
        said: "model folder \"{}\" has no decoder graph \"model.onnx\"; it has no .onnx file",
    },
    Bad {
        what: "a graph outside of the folder",
        model: STORIES,
        spoil: |folder| {
            let configure =
                |json: &mut serde_json::Value| json["model"]["decoder"]["filename"] = "../model.onnx".into();
            edit_json(&folder.join("genai_config.json"), configure);
        },
        kind: ErrorKind::Model,
        said: "file name \"../model.onnx\" leads out of the model folder \"{}\"",
    },
    Bad {
        what: "an encoder that is not there",
        model: VISION,
        spoil: |folder| fs::remove_file(folder.join("vision.onnx")).unwrap(),
        kind: ErrorKind::Model,
        said: "model folder \"{}\" has no \"vision.onnx\"",
    },
    Bad {
        what: "embeddings outside of the folder",
        model: VISION,
        spoil: |folder| {
            let configure =
                |json: &mut serde_json::Value| json["model"]["embedding"]["filename"] = "../e.onnx".into();
            edit_json(&folder.join("genai_config.json"), configure);
        },
        kind: ErrorKind::Model,
        said: "file name \"../e.onnx\" leads out of the model folder \"{}\"",
    },
    Bad {
        what: "a truncated graph",
        model: CONCAT,
        spoil: |folder| {
            let bytes = fs::read(folder.join("model.onnx")).unwrap();
            fs::write(folder.join("model.onnx"), &bytes[..bytes.len() / 2]).unwrap();
        },
        kind: ErrorKind::Model,
        said: "model.onnx\" is not a whole ONNX file: it ends too early",
    },
    Bad {
        what: "an empty graph",
        model: CONCAT,
        spoil: |folder| fs::write(folder.join("model.onnx"), "").unwrap(),
        kind: ErrorKind::Model,
        said: "model.onnx\" is not a whole ONNX file: it holds no graph",
    },
    Bad {
        what: "a web page in place of a graph",
        model: CONCAT,
        spoil: |folder| fs::write(folder.join("model.onnx"), "<html>Not found</html>").unwrap(),
        kind: ErrorKind::Model,
        said: "is not a whole ONNX file",
    },
    Bad {
        what: "weights that are not there",
        model: STORIES,
        spoil: |folder| fs::remove_file(folder.join("model.onnx.data")).unwrap(),
        kind: ErrorKind::Model,
        said: "could not read \"{}/model.onnx.data\"",
    },
    Bad {
        what: "weights above the folder",
        model: STORIES,
        spoil: |folder| relocate(folder, "../../etc/hosts"),
        kind: ErrorKind::Model,
        said: "takes weights from \"../../etc/hosts\", which is outside of the model folder",
    },
    Bad {
        what: "weights at an absolute path",
        model: STORIES,
        spoil: |folder| relocate(folder, "/usr/bin/python"),
        kind: ErrorKind::Model,
        said: "takes weights from \"/usr/bin/python\", which is outside of the model folder",
    },
    #[cfg(unix)]
    Bad {
        what: "weights behind a link",
        model: STORIES,
        spoil: |folder| {
            let outside = folder.with_file_name("weights");
            fs::rename(folder.join("model.onnx.data"), &outside).unwrap();
            std::os::unix::fs::symlink(outside, folder.join("model.onnx.data")).unwrap();
        },
        kind: ErrorKind::Model,
        said: "takes weights from \"model.onnx.data\", which is outside of the model folder",
    },
    Bad {
        what: "truncated weights",
        model: STORIES,
        spoil: |folder| fs::write(folder.join("model.onnx.data"), [0; 1000]).unwrap(),
        kind: ErrorKind::Model,
        said: "ONNX Runtime could not load \"{}/model.onnx\"",
    },
    Bad {
        what: "no tokenizer",
        model: STORIES,
        spoil: |folder| fs::remove_file(folder.join("tokenizer.json")).unwrap(),
        kind: ErrorKind::Model,
        said: "model folder \"{}\" has no tokenizer.json",
    },
    Bad {
        what: "a tokenizer of two lists",
        model: STORIES,
        spoil: |folder| fs::rename(folder.join("tokenizer.json"), folder.join("vocab.json")).unwrap(),
        kind: ErrorKind::Model,
        said: "model folder \"{}\" has vocab.json, which is not read, and none of tokenizer.json, tokenizer.model and *.tiktoken. \
               Transformers converts it: AutoTokenizer.from_pretrained(DIR, use_fast=True).save_pretrained(DIR)",
    },
    Bad {
        what: "a damaged tokenizer of SentencePiece",
        model: STORIES,
        spoil: |folder| fs::rename(folder.join("tokenizer.json"), folder.join("tokenizer.model")).unwrap(),
        kind: ErrorKind::Model,
        said: "the SentencePiece file is damaged: ",
    },
    Bad {
        what: "a damaged tokenizer",
        model: STORIES,
        spoil: |folder| fs::write(folder.join("tokenizer.json"), "{").unwrap(),
        kind: ErrorKind::Model,
        said: "tokenizer.json cannot be read",
    },
    Bad {
        what: "a damaged configuration",
        model: CONCAT,
        spoil: |folder| fs::write(folder.join("config.json"), "{").unwrap(),
        kind: ErrorKind::Model,
        said: "config.json is not valid JSON",
    },
    Bad {
        what: "no end of a reply",
        model: CONCAT,
        spoil: without_stop_tokens,
        kind: ErrorKind::Model,
        said: "the model says nowhere what its end-of-sequence token is; looked at generation_config.json /eos_token_id, \
               genai_config.json /model/eos_token_id, config.json /eos_token_id, config.json /text_config/eos_token_id, \
               tokenizer_config.json /eos_token, special_tokens_map.json /eos_token",
    },
    Bad {
        what: "an end beyond the vocabulary",
        model: CONCAT,
        spoil: |folder| edit_json(&folder.join("config.json"), |json| json["eos_token_id"] = 512.into()),
        kind: ErrorKind::Model,
        said: "config.json /eos_token_id is 512, which is not one of the 512 tokens",
    },
    Bad {
        what: "no context length",
        model: CONCAT,
        spoil: |folder| {
            edit_json(&folder.join("config.json"), |json| {
                json["max_position_embeddings"] = serde_json::Value::Null;
            });
        },
        kind: ErrorKind::Model,
        said: "the model says nowhere what its context length is",
    },
    Bad {
        what: "a recommendation out of range",
        model: CONCAT,
        spoil: |folder| {
            edit_json(&folder.join("generation_config.json"), |json| {
                json["do_sample"] = true.into();
                json["top_p"] = 7.into();
            });
        },
        kind: ErrorKind::Model,
        said: "generation_config.json: top-p 7 is not above 0 and at most 1",
    },
];

#[test]
fn bad_folders_are_refused_in_one_clear_sentence() {
    let Some(models) = models() else { return };
    for bad in BAD {
        let (_place, folder) = copied(&models, bad.model);
        (bad.spoil)(&folder);
        let error = OnnxEngine::load(&folder).expect_err(bad.what);
        let said = bad.said.replace("{}", &folder.to_string_lossy());
        assert_eq!(error.kind(), bad.kind, "{}: {error:#}", bad.what);
        assert!(error.to_string().contains(&said), "{}: {error:#}\nshould hold: {said}", bad.what);
        assert!(!error.to_string().contains('\n'), "{}: {error}", bad.what);
    }
}

#[test]
fn exports_that_cannot_be_run_say_why() {
    let Some(models) = models() else { return };
    let (_place, folder) = copied(&models, VISION);
    edit_json(&folder.join("genai_config.json"), |json| {
        json["model"].as_object_mut().unwrap().remove("embedding");
    });
    let error = OnnxEngine::load(&folder).expect_err("no embeddings");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
    assert!(
        error.to_string().contains("has no graph that makes them: neither embed_tokens.onnx"),
        "{error:#}"
    );
}

#[test]
fn options_out_of_range_and_unknown_providers_are_refused() {
    let Some(models) = models() else { return };
    let builder = || OnnxEngine::builder(models.join(STORIES));
    let zero = builder().threads(0).load().unwrap_err();
    assert_eq!(
        (zero.kind(), zero.to_string().as_str()),
        (ErrorKind::Invalid, "threads must be at least 1, not 0")
    );
    let most = alloquy_onnx::most_threads();
    let many = builder().threads(most + 1).load().unwrap_err();
    assert_eq!(
        (many.kind(), many.to_string()),
        (
            ErrorKind::Invalid,
            format!("{} threads, expected at most {most}, four times the processors here", most + 1)
        )
    );
    assert_eq!(builder().threads(usize::MAX).load().unwrap_err().kind(), ErrorKind::Invalid);
    builder().threads(most).load().unwrap();
    assert_eq!(builder().prefill_chunk(0).load().unwrap_err().kind(), ErrorKind::Invalid);
    let unknown = builder().providers(["gpu"]).load().unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Backend);
    assert!(unknown.to_string().starts_with("execution provider \"gpu\" is not available"), "{unknown}");
    assert!(unknown.to_string().contains("one of: cpu"), "{unknown}");
    let replaced = builder().providers(["gpu", "npu", "cpu"]).load().unwrap();
    let reported: Vec<_> = replaced.model().warnings.iter().collect();
    for (warning, wanted) in reported.iter().zip(["gpu", "npu"]) {
        let Warning::ProviderReplaced { asked, used, reason } = warning else { panic!("{warning:?}") };
        assert_eq!((asked.as_str(), used.as_str()), (wanted, "cpu"));
        assert!(reason.contains(wanted), "{reason}");
    }
    assert_eq!(reported.len(), 2);
    assert!(builder().load().unwrap().model().warnings.is_empty());
    assert_eq!(builder().providers(["gpu", "npu"]).load().unwrap_err().kind(), ErrorKind::Backend);
    let graph = builder().graph_type("q4").load().unwrap_err();
    assert!(graph.to_string().ends_with("has no decoder graph \"q4\"; it has model.onnx"), "{graph}");
}

/// A process loads one library, and wrong ones can only be tried before that, so each is tried in a process of its own.
#[test]
fn wrong_libraries_are_refused() {
    let Some(models) = models() else { return };
    let place = tempfile::tempdir().unwrap();
    let names = ["libonnxruntime.so", "empty.so", "garbage.so", "folder.so"];
    let [text, empty, garbage, folder] = names.map(|name| place.path().join(name));
    fs::write(&text, "not a library").unwrap();
    fs::write(&empty, "").unwrap();
    fs::write(&garbage, [b"\x7FELF".as_slice(), &[0xA5; 100_000]].concat()).unwrap();
    fs::create_dir(&folder).unwrap();
    for (library, said) in [
        (text.as_path(), "cannot be used; Alloquy needs ONNX Runtime 1.23 or later"),
        (&empty, "empty.so"),
        (&garbage, "garbage.so"),
        (&folder, "folder.so\", which is not a file"),
        (Path::new("/dev/zero"), "names \"/dev/zero\", which is not a file"),
        (Path::new("/dev/null"), "names \"/dev/null\", which is not a file"),
        // A program instead of a library.
        (&std::env::current_exe().unwrap(), "cannot be used; Alloquy needs ONNX Runtime"),
        (
            Path::new("/nowhere/libonnxruntime.so"),
            "names \"/nowhere/libonnxruntime.so\", which is not a file",
        ),
    ] {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "child_with_a_library", "--nocapture"]);
        child.env("TEST_LIBRARY", library).env("TEST_MODEL", models.join(STORIES));
        let output = child.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains(said), "{printed}");
    }
}

/// Not a test of its own: the process that [`wrong_libraries_are_refused`] starts.
#[test]
#[allow(clippy::print_stdout)]
fn child_with_a_library() {
    let (Some(library), Some(model)) = (std::env::var_os("TEST_LIBRARY"), std::env::var_os("TEST_MODEL"))
    else {
        return;
    };
    let locator = Locator::new().library(PathBuf::from(library));
    let error = OnnxEngine::builder(PathBuf::from(&model)).runtime(locator).load().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Backend);
    println!("{error}");
    // After a failed attempt, the right library can still be loaded.
    OnnxEngine::load(PathBuf::from(model)).unwrap();
}

#[test]
fn a_second_library_is_refused() {
    let Some(models) = models() else { return };
    OnnxEngine::load(models.join(STORIES)).unwrap();
    let other = Locator::new().library("/nowhere/libonnxruntime.so");
    let error = OnnxEngine::builder(models.join(STORIES)).runtime(other).load().unwrap_err();
    assert!(error.to_string().starts_with("ONNX Runtime is already loaded from"), "{error}");
}

/// Builds `models--me--stories` as the hub's client does: files are links into `blobs`.
#[cfg(unix)]
/// Writes the vocabulary of a `tokenizer.json` as a file of SentencePiece, with a better score for each piece that was learned
/// before the next.
fn sentence_piece(json: &serde_json::Value) -> Vec<u8> {
    let mut pieces: Vec<_> = json["model"]["vocab"].as_object().unwrap().iter().collect();
    pieces.sort_by_key(|(_, id)| id.as_u64());
    let mut file = Message::default();
    for (text, id) in pieces {
        let kind = match text.as_str() {
            "<unk>" => 2,
            "<s>" | "</s>" => 3,
            byte if byte.starts_with("<0x") => 6,
            _ => 1,
        };
        let score = -(id.as_u64().unwrap() as f32);
        let mut piece = Message::default().text(1, text).number(3, kind).bytes();
        piece.push(2 << 3 | 5);
        piece.extend(score.to_le_bytes());
        file = file.raw(1, &piece);
    }
    let trainer = Message::default().number(3, 2).number(35, 1);
    let normalizer = Message::default().number(3, 1).number(4, 0).number(5, 1);
    file.message(2, trainer).message(3, normalizer).bytes()
}

#[test]
fn a_folder_with_the_tokenizer_of_sentencepiece_is_the_same_model() {
    let Some(models) = models() else { return };
    let (_place, folder) = copied(&models, STORIES);
    let read = OnnxEngine::load(&folder).unwrap();
    let path = folder.join("tokenizer.json");
    let json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    fs::write(folder.join("tokenizer.model"), sentence_piece(&json)).unwrap();
    fs::remove_file(path).unwrap();
    let other = OnnxEngine::load(&folder).unwrap();
    assert_eq!(other.model().stop_tokens, read.model().stop_tokens);
    assert_eq!(other.model().bos, read.model().bos);
    assert_eq!(other.model().specials, read.model().specials);
    for text in ["Once upon a time, there was a girl", "<s> Lily  said:\n“Hi”</s>中😀", " a", ""] {
        for piece in [TokenizerInput::Text(text), TokenizerInput::Literal(text)] {
            let tokens = other.tokenizer().encode(&[piece]).unwrap();
            assert_eq!(tokens, read.tokenizer().encode(&[piece]).unwrap(), "{piece:?}");
            assert_eq!(
                decode(other.tokenizer(), &tokens).unwrap(),
                decode(read.tokenizer(), &tokens).unwrap()
            );
        }
    }
}

fn cached(models: &Path, name: &str, place: &Path) -> PathBuf {
    let repository = place.join("models--me--stories");
    let snapshot = repository.join("snapshots/0123abcd");
    for folder in ["blobs", "refs", "snapshots/0123abcd"] {
        fs::create_dir_all(repository.join(folder)).unwrap();
    }
    fs::write(repository.join("refs/main"), "0123abcd").unwrap();
    for (index, entry) in fs::read_dir(models.join(name)).unwrap().enumerate() {
        let from = entry.unwrap().path();
        fs::write(repository.join(format!("blobs/{index}")), fs::read(&from).unwrap()).unwrap();
        let link = snapshot.join(from.file_name().unwrap());
        std::os::unix::fs::symlink(format!("../../blobs/{index}"), link).unwrap();
    }
    repository
}

#[cfg(unix)]
#[test]
fn a_hub_cache_is_read_by_repository_and_by_snapshot() {
    let Some(models) = models() else { return };
    for name in [CONCAT, STORIES] {
        let place = tempfile::tempdir().unwrap();
        let repository = cached(&models, name, place.path());
        for path in [repository.clone(), repository.join("snapshots/0123abcd")] {
            let engine = OnnxEngine::load(path).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            assert_eq!(engine.model().name, "me/stories");
        }
        fs::write(repository.join("refs/main"), "gone").unwrap();
        OnnxEngine::load(&repository).unwrap();
        fs::create_dir(repository.join("snapshots/4567")).unwrap();
        let error = OnnxEngine::load(&repository).unwrap_err();
        assert!(error.to_string().ends_with("to choose a snapshot by; it has 0123abcd, 4567"), "{error}");
    }
}

#[test]
fn a_graph_can_be_named_by_type_or_by_file() {
    let Some(models) = models() else { return };
    let (_place, folder) = copied(&models, CONCAT);
    fs::create_dir(folder.join("onnx")).unwrap();
    fs::rename(folder.join("model.onnx"), folder.join("onnx/model_q4.onnx")).unwrap();
    let golden = golden(&models, "stories260k/golden.json");
    let case = &golden.cases[0];
    let engines = [
        OnnxEngine::load(&folder),
        OnnxEngine::builder(&folder).graph_type("q4").load(),
        OnnxEngine::load(folder.join("onnx/model_q4.onnx")),
    ];
    for engine in engines {
        let engine = engine.unwrap();
        assert_eq!(greedy(&engine, &case.prompt_ids, 1, 20), case.greedy_ids[..20]);
        assert_eq!(engine.model().name, "model");
    }
}

#[test]
fn the_facts_about_a_model_are_those_of_its_files() {
    let Some(models) = models() else { return };
    let (_place, folder) = copied(&models, CONCAT);
    fs::create_dir(folder.join("additional_chat_templates")).unwrap();
    fs::write(folder.join("additional_chat_templates/tool_use.jinja"), "{{ tools }}").unwrap();
    edit_json(&folder.join("generation_config.json"), |json| {
        json["eos_token_id"] = serde_json::json!([2, 7]);
        json["do_sample"] = true.into();
        json["temperature"] = 0.6.into();
        json["top_k"] = 20.into();
    });
    let engine = OnnxEngine::load(&folder).unwrap();
    let model = engine.model();
    assert_eq!(model.architecture.as_deref(), Some("LlamaForCausalLM"));
    assert_eq!(model.model_type.as_deref(), Some("llama"));
    assert_eq!((model.context_length, model.vocabulary), (512, 512));
    assert_eq!(model.stop_tokens, [2, 7]);
    assert_eq!(model.bos.as_ref().map(|bos| (bos.text.as_str(), bos.id)), Some(("<s>", 1)));
    assert_eq!(
        (model.sampling.temperature, model.sampling.top_k, model.sampling.top_p),
        (Some(0.6), Some(20), None)
    );
    assert_eq!(model.specials.len(), 3);
    assert_eq!(model.files["additional_chat_templates/tool_use.jinja"], "{{ tools }}");
    let names: Vec<_> = model.files.keys().map(String::as_str).collect();
    let wanted = [
        "additional_chat_templates/tool_use.jinja",
        "config.json",
        "generation_config.json",
        "tokenizer_config.json",
    ];
    assert_eq!(names, wanted);
}
